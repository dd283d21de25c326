// toolrack.v1.DispatcherService.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCHER_SERVICE_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCHER_SERVICE_H_

#include <grpcpp/impl/codegen/service_type.h>

#include <memory>

#include "server/services/core.h"
#include "server/services/dispatch_retry.h"

namespace toolrack {

// Both outlive the service. The ledger is one for all sockets.
std::unique_ptr<grpc::Service> MakeDispatcherService(const Core* core, RetryLedger* retries);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCHER_SERVICE_H_
