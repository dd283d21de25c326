#include <memory>

#include "server/backends/worker_stream.h"
#include "server/rpc/admission.h"
#include "server/rpc/refused_stream.h"
#include "server/services/services.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {
namespace {

// Attach as bytes: see worker_decode.h.
class WorkerServiceDoor
    : public v1::WorkerService::WithRawCallbackMethod_Attach<v1::WorkerService::Service> {
 public:
  WorkerServiceDoor(WorkerHub* hub, const Admission* admission)
      : hub_(hub), admission_(admission) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Attach(
      grpc::CallbackServerContext* context) override {
    absl::StatusOr<std::string> who =
        admission_->Admit(*context, AccessScope::kRegister, "WorkerService/Attach");
    if (!who.ok()) return new RefusedStream(who.status());
    return MakeWorkerStream(hub_, context, *std::move(who));
  }

 private:
  WorkerHub* const hub_;
  const Admission* const admission_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeWorkerService(WorkerHub* hub, const Admission* admission) {
  return std::make_unique<WorkerServiceDoor>(hub, admission);
}

}  // namespace toolrack
