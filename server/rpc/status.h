// The one place that turns an error of the rack into a gRPC status with details.
#ifndef TOOLRACK_SERVER_RPC_STATUS_H_
#define TOOLRACK_SERVER_RPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace toolrack {

// Code and message as they are; the payloads (google.rpc messages, see registry/base/errors.h)
// become the details of a google.rpc.Status in `grpc-status-details-bin`, ErrorInfo first. A status
// without ErrorInfo is a bug of ours: it gets reason INTERNAL. The whole stays under 7 KiB, so that
// it fits the metadata limits of every client: the message and then the field violations are cut,
// never the reason.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_STATUS_H_
