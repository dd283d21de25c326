// One function for each service: stateless doors over one core. Explicit list, no static
// registration.
#ifndef TOOLRACK_SERVER_SERVICES_SERVICES_H_
#define TOOLRACK_SERVER_SERVICES_SERVICES_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/backends/worker_hub.h"

namespace toolrack {

// toolrack.v1.WorkerService. The hub outlives the service.
std::unique_ptr<grpc::Service> MakeWorkerService(WorkerHub* hub);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_SERVICES_H_
