#include "server/services/dispatcher_service.h"

#include <exception>
#include <memory>
#include <utility>

#include "registry/base/errors.h"
#include "server/rpc/unary.h"
#include "server/services/caller.h"
#include "server/services/core.h"
#include "server/services/dispatch_run.h"
#include "server/services/dispatch_stream.h"
#include "toolrack/v1/dispatcher_service.grpc.pb.h"

namespace toolrack {
namespace {

class DispatcherService final : public v1::DispatcherService::CallbackService {
 public:
  DispatcherService(const Core* core, RetryLedger* retries)
      : core_(*core),
        retries_(*retries),
        max_pending_(core->config.limits().max_pending_requests()),
        dispatch_(core->methods->Get("DispatcherService/Dispatch")),
        stream_(core->methods->Get("DispatcherService/DispatchStream")) {}

  grpc::ServerUnaryReactor* Dispatch(grpc::CallbackServerContext* context,
                                     const v1::DispatchRequest* request,
                                     v1::DispatchResponse* response) override {
    auto* call = new StoppableUnaryCall<v1::DispatchResponse>(context, response, dispatch_);
    absl::StatusOr<std::string> who = Admit(context, dispatch_);
    if (!who.ok()) {
      call->Answer(who.status());
      return call;
    }
    const bool taken =
        core_.executor->Post([this, call, request, caller = CallerOf(*context, *std::move(who))] {
          try {
            Run(call, *request, caller);
          } catch (const std::exception& error) {
            call->Answer(InternalError(call->method(), error.what()));
          }
        });
    if (!taken) {
      call->Answer(QueueFull("limits.max_pending_requests", max_pending_, "this daemon"));
    }
    return call;
  }

  grpc::ServerBidiReactor<v1::DispatchStreamRequest, v1::DispatchStreamResponse>* DispatchStream(
      grpc::CallbackServerContext* context) override {
    return toolrack::DispatchStream::Begin(&core_, &retries_, context, stream_,
                                           Admit(context, stream_));
  }

 private:
  absl::StatusOr<std::string> Admit(grpc::CallbackServerContext* context,
                                    const MethodStats* method) const {
    return core_.admission->Admit(*context, AccessScope::kCall, method->name());
  }

  // Answers `call` once, by itself or when the run is done; gRPC keeps both until then.
  void Run(StoppableUnaryCall<v1::DispatchResponse>* call, const v1::DispatchRequest& request,
           const Caller& caller) {
    if (request.output_case() == v1::DispatchRequest::OUTPUT_NOT_SET) {
      return call->Answer(RequestInvalid("output", "", "text or provider_json"));
    }
    const absl::StatusOr<std::shared_ptr<DispatchRun>> run = DispatchRun::Begin(
        core_, retries_, {request.session_id(), request.turn_id(), request.has_provider_json()},
        caller, call->stop().token(), {}, [call](absl::StatusOr<v1::DispatchResponse> response) {
          call->Answer(std::move(response));
        });
    if (!run.ok()) return call->Answer(run.status());
    if (request.has_text()) {
      (*run)->Feed(request.text());
    } else {
      (*run)->Provide(request.provider_json());
    }
    (*run)->Finish();
  }

  const Core& core_;
  RetryLedger& retries_;
  const uint64_t max_pending_;
  MethodStats* const dispatch_;
  MethodStats* const stream_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeDispatcherService(const Core* core, RetryLedger* retries) {
  return std::make_unique<DispatcherService>(core, retries);
}

}  // namespace toolrack
