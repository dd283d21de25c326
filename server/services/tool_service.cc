#include <cstddef>
#include <memory>
#include <utility>

#include "registry/base/errors.h"
#include "registry/call/steps.h"
#include "registry/checks.h"
#include "server/config.h"
#include "server/rpc/unary.h"
#include "server/services/call_stream.h"
#include "server/services/caller.h"
#include "server/services/core.h"
#include "server/services/services.h"
#include "server/services/watch_stream.h"
#include "toolrack/v1/tool_service.grpc.pb.h"

namespace toolrack {
namespace {

// Looking through a larger schema for what providers refuse takes longer than a gRPC thread should.
constexpr size_t kInlineSchemaBytes = 16 << 10;

// Takes what a request holds: gRPC owns it, made it for this one call, and does not look at it
// again; only the generated signature says const.
template <typename Request>
Request TakeRequest(const Request* request) {
  return std::move(*const_cast<Request*>(request));
}

// The three requests that carry a call have the same fields by the same numbers.
template <typename Request>
v1::CallToolRequest ToCall(const Request& request) {
  v1::CallToolRequest call;
  call.ParseFromString(request.SerializeAsString());
  return call;
}

class ToolService final : public v1::ToolService::CallbackService {
 public:
  explicit ToolService(const Core* core)
      : core_(*core),
        max_pending_(core->config.limits().max_pending_requests()),
        list_(core->methods->Get("ToolService/ListTools")),
        describe_(core->methods->Get("ToolService/DescribeTool")),
        search_(core->methods->Get("ToolService/SearchTools")),
        call_(core->methods->Get("ToolService/CallTool")),
        call_stream_(core->methods->Get("ToolService/CallToolStream")),
        explain_(core->methods->Get("ToolService/ExplainCall")),
        watch_(core->methods->Get("ToolService/WatchTools")),
        read_(core->methods->Get("ToolService/ReadResult")) {}

  grpc::ServerUnaryReactor* ListTools(grpc::CallbackServerContext* context,
                                      const v1::ListToolsRequest* request,
                                      v1::ListToolsResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, list_,
        [this, request, who = Admit(context, list_)]() -> Answer<v1::ListToolsResponse> {
          if (!who.ok()) return who.status();
          return toolrack::ListTools(*core_.registry, *request, core_.policy->VisibilityOf(*who));
        });
  }

  grpc::ServerUnaryReactor* DescribeTool(grpc::CallbackServerContext* context,
                                         const v1::DescribeToolRequest* request,
                                         v1::Tool* response) override {
    absl::StatusOr<std::string> who = Admit(context, describe_);
    // What is there is given at once; looking for near names takes long.
    const ToolEntryPtr entry = core_.registry->Peek().Get(request->name());
    const bool known =
        who.ok() && entry != nullptr && core_.policy->Check(*who, *entry->definition).ok();
    if (!who.ok()) {
      return AnswerHere(context, response, describe_,
                        [&who]() -> Answer<v1::Tool> { return who.status(); });
    }
    if (known) {
      const auto answer = [entry]() -> absl::StatusOr<v1::Tool> {
        v1::Tool tool = entry->ToProto(v1::TOOL_VIEW_FULL);
        AddTargetFindings(tool);
        return tool;
      };
      if (entry->definition->tool.input_schema().size() <= kInlineSchemaBytes) {
        return AnswerHere(context, response, describe_, answer);
      }
      return AnswerOn(core_.executor, max_pending_, context, response, describe_, answer);
    }
    return AnswerOn(core_.executor, max_pending_, context, response, describe_,
                    [this, request, who = *std::move(who)]() -> Answer<v1::Tool> {
                      if (request->name().empty()) {
                        return RequestInvalid("name", "", "the canonical name of a tool");
                      }
                      return NotFoundWithNearest(*core_.registry, request->name(),
                                                 core_.policy->VisibilityOf(who));
                    });
  }

  grpc::ServerUnaryReactor* SearchTools(grpc::CallbackServerContext* context,
                                        const v1::SearchToolsRequest* request,
                                        v1::SearchToolsResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, search_,
        [this, request, who = Admit(context, search_)]() -> Answer<v1::SearchToolsResponse> {
          if (!who.ok()) return who.status();
          return core_.searcher->Search(*request, core_.policy->VisibilityOf(*who));
        });
  }

  grpc::ServerUnaryReactor* CallTool(grpc::CallbackServerContext* context,
                                     const v1::CallToolRequest* request,
                                     v1::CallToolResponse* response) override {
    auto* call = new StoppableUnaryCall<v1::CallToolResponse>(context, response, call_);
    absl::StatusOr<std::string> who = Admit(context, call_);
    if (!who.ok()) {
      call->Answer(who.status());
      return call;
    }
    try {
      core_.pipeline->Start(
          TakeRequest(request), CallerOf(*context, *std::move(who)), call->stop(), nullptr,
          [call](absl::StatusOr<v1::CallToolResponse> answer) { call->Answer(std::move(answer)); });
    } catch (const std::exception& error) {
      call->Answer(InternalError(call->method(), error.what()));
    }
    return call;
  }

  grpc::ServerWriteReactor<v1::CallToolStreamResponse>* CallToolStream(
      grpc::CallbackServerContext* context, const v1::CallToolStreamRequest* request) override {
    auto stream = std::make_shared<CallStream>(context, call_stream_);
    absl::StatusOr<std::string> who = Admit(context, call_stream_);
    if (!who.ok()) {
      stream->Done(who.status());
      return stream->Begin();
    }
    try {
      core_.pipeline->Start(ToCall(*request), CallerOf(*context, *std::move(who)), stream->stop(),
                            stream, [stream](absl::StatusOr<v1::CallToolResponse> answer) {
                              stream->Done(std::move(answer));
                            });
    } catch (const std::exception& error) {
      stream->Done(InternalError(call_stream_->name(), error.what()));
    }
    return stream->Begin();
  }

  grpc::ServerUnaryReactor* ExplainCall(grpc::CallbackServerContext* context,
                                        const v1::ExplainCallRequest* request,
                                        v1::ExplainCallResponse* response) override {
    auto* call = new StoppableUnaryCall<v1::ExplainCallResponse>(context, response, explain_);
    absl::StatusOr<std::string> who = Admit(context, explain_);
    if (!who.ok()) {
      call->Answer(who.status());
      return call;
    }
    const bool taken =
        core_.executor->Post([this, call, request, caller = CallerOf(*context, *std::move(who))] {
          try {
            core_.pipeline->Explain(ToCall(*request), caller, call->stop(),
                                    [call](absl::StatusOr<v1::ExplainCallResponse> answer) {
                                      call->Answer(std::move(answer));
                                    });
          } catch (const std::exception& error) {
            call->Answer(InternalError(call->method(), error.what()));
          }
        });
    if (!taken) {
      call->Answer(QueueFull("limits.max_pending_requests", max_pending_, "this daemon"));
    }
    return call;
  }

  grpc::ServerWriteReactor<v1::WatchToolsResponse>* WatchTools(
      grpc::CallbackServerContext* context, const v1::WatchToolsRequest* request) override {
    return BeginWatch(context, watch_, *request, core_, Admit(context, watch_));
  }

  grpc::ServerUnaryReactor* ReadResult(grpc::CallbackServerContext* context,
                                       const v1::ReadResultRequest* request,
                                       v1::ReadResultResponse* response) override {
    return AnswerHere(context, response, read_,
                      [this, request, context]() -> Answer<v1::ReadResultResponse> {
                        const absl::StatusOr<std::string> who = Admit(context, read_);
                        if (!who.ok()) return who.status();
                        return core_.results->Read(*request, *who);
                      });
  }

 private:
  template <typename Response>
  using Answer = absl::StatusOr<Response>;
  absl::StatusOr<std::string> Admit(grpc::CallbackServerContext* context,
                                    MethodStats* method) const {
    return core_.admission->Admit(*context, AccessScope::kCall, method->name());
  }

  const Core& core_;
  const uint64_t max_pending_;
  MethodStats* const list_;
  MethodStats* const describe_;
  MethodStats* const search_;
  MethodStats* const call_;
  MethodStats* const call_stream_;
  MethodStats* const explain_;
  MethodStats* const watch_;
  MethodStats* const read_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeToolService(const Core* core) {
  return std::make_unique<ToolService>(core);
}

}  // namespace toolrack
