#include <memory>

#include "server/hooks/hook_hub.h"
#include "server/rpc/refused_stream.h"
#include "server/services/services.h"
#include "toolrack/v1/hook_service.grpc.pb.h"

namespace toolrack {
namespace {

// Attach as bytes: see hook_stream.cc.
class HookServiceDoor
    : public v1::HookService::WithRawCallbackMethod_Attach<v1::HookService::Service> {
 public:
  HookServiceDoor(HookHub* hub, const Admission* admission) : hub_(hub), admission_(admission) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    absl::StatusOr<std::string> who =
        admission_->Admit(*context, AccessScope::kHook, "HookService/Attach");
    if (!who.ok()) return new RefusedStream(who.status());
    return MakeHookStream(hub_, context, *std::move(who));
  }

 private:
  HookHub* const hub_;
  const Admission* const admission_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHookService(HookHub* hub, const Admission* admission) {
  return std::make_unique<HookServiceDoor>(hub, admission);
}

}  // namespace toolrack
