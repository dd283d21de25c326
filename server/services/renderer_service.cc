#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "renderers/catalog.h"
#include "renderers/history.h"
#include "renderers/output_parser.h"
#include "renderers/provider_json.h"
#include "renderers/render.h"
#include "server/rpc/unary.h"
#include "server/services/core.h"
#include "server/services/parse_stream.h"
#include "server/services/prompts.h"
#include "server/services/services.h"
#include "toolrack/v1/renderer_service.grpc.pb.h"

namespace toolrack {
namespace {

class RendererService final : public v1::RendererService::CallbackService {
 public:
  explicit RendererService(const Core* core)
      : core_(*core),
        prompts_(*core->prompts),
        max_pending_(core->config.limits().max_pending_requests()),
        list_(core->methods->Get("RendererService/ListRenderers")),
        resolve_(core->methods->Get("RendererService/ResolveRenderer")),
        initial_(core->methods->Get("RendererService/RenderInitial")),
        load_(core->methods->Get("RendererService/RenderToolLoad")),
        changes_(core->methods->Get("RendererService/RenderChanges")),
        boundary_(core->methods->Get("RendererService/RenderBoundary")),
        history_(core->methods->Get("RendererService/RenderHistory")),
        parse_(core->methods->Get("RendererService/ParseOutput")),
        parse_stream_(core->methods->Get("RendererService/ParseOutputStream")),
        format_(core->methods->Get("RendererService/FormatResult")) {}

  grpc::ServerUnaryReactor* ListRenderers(grpc::CallbackServerContext* context,
                                          const v1::ListRenderersRequest*,
                                          v1::ListRenderersResponse* response) override {
    return AnswerHere(context, response, list_,
                      [this, context]() -> absl::StatusOr<v1::ListRenderersResponse> {
                        TR_RETURN_IF_ERROR(Admit(context, list_).status());
                        v1::ListRenderersResponse out;
                        for (const RendererSpec& spec : AllRenderers())
                          *out.add_renderers() = DescribeRenderer(spec);
                        return out;
                      });
  }

  grpc::ServerUnaryReactor* ResolveRenderer(grpc::CallbackServerContext* context,
                                            const v1::ResolveRendererRequest* request,
                                            v1::ResolveRendererResponse* response) override {
    return AnswerHere(context, response, resolve_,
                      [this, context, request]() -> absl::StatusOr<v1::ResolveRendererResponse> {
                        TR_RETURN_IF_ERROR(Admit(context, resolve_).status());
                        if (request->model().empty()) {
                          return RequestInvalid("model", "", "a model id or a provider scheme");
                        }
                        return prompts_.Resolve(request->model());
                      });
  }

  grpc::ServerUnaryReactor* RenderInitial(grpc::CallbackServerContext* context,
                                          const v1::RenderInitialRequest* request,
                                          v1::RenderInitialResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, initial_,
        [this, request,
         who = Admit(context, initial_)]() -> absl::StatusOr<v1::RenderInitialResponse> {
          TR_RETURN_IF_ERROR(who.status());
          return Prompt(*request, *who, &Prompts::Initial);
        });
  }

  grpc::ServerUnaryReactor* RenderBoundary(grpc::CallbackServerContext* context,
                                           const v1::RenderBoundaryRequest* request,
                                           v1::RenderBoundaryResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, boundary_,
        [this, request,
         who = Admit(context, boundary_)]() -> absl::StatusOr<v1::RenderBoundaryResponse> {
          TR_RETURN_IF_ERROR(who.status());
          v1::RenderBoundaryResponse out;
          TR_ASSIGN_OR_RETURN(*out.mutable_prompt(), Prompt(*request, *who, &Prompts::Boundary));
          return out;
        });
  }

  grpc::ServerUnaryReactor* RenderToolLoad(grpc::CallbackServerContext* context,
                                           const v1::RenderToolLoadRequest* request,
                                           v1::RenderToolLoadResponse* response) override {
    return AnswerOn(core_.executor, max_pending_, context, response, load_,
                    [this, request,
                     who = Admit(context, load_)]() -> absl::StatusOr<v1::RenderToolLoadResponse> {
                      TR_RETURN_IF_ERROR(who.status());
                      TR_ASSIGN_OR_RETURN(const Target target, Choose(*request, *who));
                      return prompts_.Load(target, {{}, {}, 0, request->options(), nullptr},
                                           {request->names().begin(), request->names().end()},
                                           request->call_id());
                    });
  }

  grpc::ServerUnaryReactor* RenderChanges(grpc::CallbackServerContext* context,
                                          const v1::RenderChangesRequest* request,
                                          v1::RenderChangesResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, changes_,
        [this, request,
         who = Admit(context, changes_)]() -> absl::StatusOr<v1::RenderChangesResponse> {
          TR_RETURN_IF_ERROR(who.status());
          TR_ASSIGN_OR_RETURN(const Target target, Choose(*request, *who));
          return prompts_.Changes(target, request->filters(),
                                  {{}, {}, 0, request->options(), nullptr},
                                  {request->known().begin(), request->known().end()});
        });
  }

  grpc::ServerUnaryReactor* RenderHistory(grpc::CallbackServerContext* context,
                                          const v1::RenderHistoryRequest* request,
                                          v1::RenderHistoryResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, history_,
        [this, request,
         who = Admit(context, history_)]() -> absl::StatusOr<v1::RenderHistoryResponse> {
          TR_RETURN_IF_ERROR(who.status());
          TR_ASSIGN_OR_RETURN(const Target target, Choose(*request, *who));
          v1::RenderHistoryResponse out;
          for (v1::OutMessage& message : toolrack::RenderHistory(
                   target.spec, {request->turns().begin(), request->turns().end()},
                   request->options(), *out.mutable_warnings())) {
            *out.add_messages() = std::move(message);
          }
          return out;
        });
  }

  grpc::ServerUnaryReactor* ParseOutput(grpc::CallbackServerContext* context,
                                        const v1::ParseOutputRequest* request,
                                        v1::ParseOutputResponse* response) override {
    return AnswerOn(
        core_.executor, max_pending_, context, response, parse_,
        [this, request, who = Admit(context, parse_)]() -> absl::StatusOr<v1::ParseOutputResponse> {
          TR_RETURN_IF_ERROR(who.status());
          TR_ASSIGN_OR_RETURN(const Target target,
                              prompts_.Find(request->session_id(), request->renderer(), *who));
          const ToolViewPtr view = prompts_.Offered(target, request->filters());
          const OfferedTools& offered = view->Offered(target.spec);
          const ParseOptions options{request->strict()};
          switch (request->output_case()) {
            case v1::ParseOutputRequest::kText:
              return ParseText(offered, request->text(), options);
            case v1::ParseOutputRequest::kProviderJson:
              return ParseProviderJson(offered, request->provider_json(), options);
            case v1::ParseOutputRequest::OUTPUT_NOT_SET:
              break;
          }
          return RequestInvalid("output", "", "text or provider_json");
        });
  }

  grpc::ServerBidiReactor<v1::ParseOutputStreamRequest, v1::ParseOutputStreamResponse>*
  ParseOutputStream(grpc::CallbackServerContext* context) override {
    return new ParseStream(
        core_.executor, parse_stream_,
        [this, who = Admit(context, parse_stream_)](
            const v1::ParseOutputStreamRequest& first) -> absl::StatusOr<ParseStream::Setting> {
          TR_RETURN_IF_ERROR(who.status());
          TR_ASSIGN_OR_RETURN(const Target target,
                              prompts_.Find(first.session_id(), first.renderer(), *who));
          return ParseStream::Setting{target.spec, prompts_.Offered(target, first.filters()),
                                      ParseOptions{first.strict()}};
        });
  }

  grpc::ServerUnaryReactor* FormatResult(grpc::CallbackServerContext* context,
                                         const v1::FormatResultRequest* request,
                                         v1::FormatResultResponse* response) override {
    return AnswerOn(core_.executor, max_pending_, context, response, format_,
                    [this, request,
                     who = Admit(context, format_)]() -> absl::StatusOr<v1::FormatResultResponse> {
                      TR_RETURN_IF_ERROR(who.status());
                      TR_ASSIGN_OR_RETURN(const Target target, Choose(*request, *who));
                      if (request->outcome_case() == v1::FormatResultRequest::OUTCOME_NOT_SET) {
                        return RequestInvalid("outcome", "", "result or status");
                      }
                      v1::TurnResult outcome;
                      *outcome.mutable_call() = request->call();
                      if (request->has_result()) *outcome.mutable_result() = request->result();
                      if (request->has_status()) *outcome.mutable_status() = request->status();
                      v1::FormatResultResponse out;
                      *out.mutable_message() = toolrack::FormatResult(
                          target.spec, outcome, request->options(), *out.mutable_warnings());
                      return out;
                    });
  }

 private:
  using Target = Prompts::Target;

  absl::StatusOr<std::string> Admit(grpc::CallbackServerContext* context,
                                    const MethodStats* method) const {
    return core_.admission->Admit(*context, AccessScope::kRender, method->name());
  }
  // What the request names, with what its options say of the medium.
  template <typename Request>
  absl::StatusOr<Target> Choose(const Request& request, const std::string& who) {
    TR_ASSIGN_OR_RETURN(Target target,
                        prompts_.Find(request.session_id(), request.renderer(), who));
    TR_ASSIGN_OR_RETURN(target.spec, WithMedium(target.spec, request.options().medium()));
    return target;
  }

  // Of RenderInitial and RenderBoundary alike.
  template <typename Request, typename Render>
  absl::StatusOr<v1::RenderInitialResponse> Prompt(const Request& request, const std::string& who,
                                                   Render render) {
    TR_ASSIGN_OR_RETURN(const Target target, Choose(request, who));
    const std::string& variant = request.options().variant();
    if (!variant.empty() && variant != "jinja" && variant != "library") {
      return RequestInvalid("options.variant", variant, "library or jinja");
    }
    const std::string& effort = request.options().reasoning_effort();
    if (!effort.empty() && effort != "low" && effort != "medium" && effort != "high") {
      return RequestInvalid("options.reasoning_effort", effort, "low, medium or high");
    }
    return *(prompts_.*render)(target, request.filters(),
                               {{},
                                {request.loaded_tools().begin(), request.loaded_tools().end()},
                                request.clock().seconds(),
                                request.options(),
                                nullptr});
  }

  const Core& core_;
  Prompts& prompts_;
  const uint64_t max_pending_;
  MethodStats* const list_;
  MethodStats* const resolve_;
  MethodStats* const initial_;
  MethodStats* const load_;
  MethodStats* const changes_;
  MethodStats* const boundary_;
  MethodStats* const history_;
  MethodStats* const parse_;
  MethodStats* const parse_stream_;
  MethodStats* const format_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeRendererService(const Core* core) {
  return std::make_unique<RendererService>(core);
}

}  // namespace toolrack
