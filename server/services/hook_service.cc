#include <memory>

#include "server/hooks/hook_hub.h"
#include "server/rpc/peer.h"
#include "server/services/services.h"
#include "toolrack/v1/hook_service.grpc.pb.h"

namespace toolrack {
namespace {

// Attach as bytes: see hook_stream.cc.
class HookServiceDoor
    : public v1::HookService::WithRawCallbackMethod_Attach<v1::HookService::Service> {
 public:
  explicit HookServiceDoor(HookHub* hub) : hub_(hub) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    return MakeHookStream(hub_, context, PrincipalOf(*context));
  }

 private:
  HookHub* const hub_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeHookService(HookHub* hub) {
  return std::make_unique<HookServiceDoor>(hub);
}

}  // namespace toolrack
