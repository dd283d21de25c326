// Who makes a call over gRPC, and under which conditions.
#ifndef TOOLRACK_SERVER_SERVICES_CALLER_H_
#define TOOLRACK_SERVER_SERVICES_CALLER_H_

#include <grpcpp/server_context.h>

#include <chrono>
#include <string>
#include <utility>

#include "registry/call/pipeline.h"
#include "server/rpc/peer.h"

namespace toolrack {

// `principal` was let in by Admission. The deadline is what is left of the request's own.
inline Caller CallerOf(const grpc::CallbackServerContext& context, std::string principal) {
  Caller caller;
  caller.principal = std::move(principal);
  caller.traceparent = TraceparentOf(context);
  const std::chrono::system_clock::time_point deadline = context.deadline();
  if (deadline != std::chrono::system_clock::time_point::max()) {
    caller.deadline =
        absl::FromChrono(deadline) - absl::FromChrono(std::chrono::system_clock::now());
  }
  return caller;
}

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_CALLER_H_
