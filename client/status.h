// What the daemon said about a failure, read from the wire.
#ifndef TOOLRACK_CLIENT_STATUS_H_
#define TOOLRACK_CLIENT_STATUS_H_

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace toolrack {

// The same code and message, and each detail of `grpc-status-details-bin` as a payload, so that
// ReasonOf, MetadataOf, FaultsOf and RetryDelayOf of registry/base/errors.h read it. Details that
// do not parse are left out; a code outside gRPC's becomes UNKNOWN. Pure, thread-safe.
absl::Status FromGrpcStatus(const grpc::Status& status);

// The same for a call of a tool: when the connection broke after the call may have been sent,
// nobody knows whether the tool ran, so that becomes UNKNOWN with reason OUTCOME_UNKNOWN. A
// connection that was never there stays UNAVAILABLE.
absl::Status FromGrpcCallStatus(const grpc::Status& status, absl::string_view tool);

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_STATUS_H_
