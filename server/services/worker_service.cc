#include <memory>

#include "server/backends/worker_stream.h"
#include "server/rpc/peer.h"
#include "server/services/services.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {
namespace {

// Attach as bytes: see worker_decode.h.
class WorkerServiceDoor
    : public v1::WorkerService::WithRawCallbackMethod_Attach<v1::WorkerService::Service> {
 public:
  explicit WorkerServiceDoor(WorkerHub* hub) : hub_(hub) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    return MakeWorkerStream(hub_, context, PrincipalOf(*context));
  }

 private:
  WorkerHub* const hub_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkerService(WorkerHub* hub) {
  return std::make_unique<WorkerServiceDoor>(hub);
}

}  // namespace toolrack
