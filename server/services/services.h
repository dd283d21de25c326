// One function for each service: stateless doors over one core. Explicit list, no static
// registration.
#ifndef TOOLRACK_SERVER_SERVICES_SERVICES_H_
#define TOOLRACK_SERVER_SERVICES_SERVICES_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>
#include <string>
#include <vector>

#include "server/backends/worker_hub.h"
#include "server/hooks/hook_hub.h"
#include "server/services/core.h"

namespace toolrack {

// toolrack.v1.ToolService. The core outlives the service, here and below.
std::unique_ptr<grpc::Service> MakeToolService(const Core* core);

// toolrack.v1.RendererService.
std::unique_ptr<grpc::Service> MakeRendererService(const Core* core);

// toolrack.v1.SessionService. `everybodys`: for those who may see every session, else a caller sees
// its own.
std::unique_ptr<grpc::Service> MakeSessionService(const Core* core, bool everybodys);

// toolrack.v1.AdminService.
std::unique_ptr<grpc::Service> MakeAdminService(const Core* core);

// grpc.reflection.v1.ServerReflection over the descriptors of this process. Lists `services`.
std::unique_ptr<grpc::Service> MakeReflectionService(std::vector<std::string> services,
                                                     Executor* executor);

// toolrack.v1.HookService. Both outlive the service.
std::unique_ptr<grpc::Service> MakeHookService(HookHub* hub, const Admission* admission);

// toolrack.v1.WorkerService. Both outlive the service.
std::unique_ptr<grpc::Service> MakeWorkerService(WorkerHub* hub, const Admission* admission);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_SERVICES_H_
