// Who calls, and whether they may at all: the first step of every RPC.
#ifndef TOOLRACK_SERVER_RPC_ADMISSION_H_
#define TOOLRACK_SERVER_RPC_ADMISSION_H_

#include <grpcpp/server_context.h>

#include <string>

#include "absl/status/statusor.h"
#include "registry/policy/principals.h"

namespace toolrack {

// A bearer token (metadata `authorization`) decides, also on a Unix socket; without one the peer's
// user does, or, on TCP, nobody: refused as soon as tokens are configured. Every doubt is a
// refusal, never another identity. Thread-safe.
class Admission {
 public:
  explicit Admission(const Principals* principals) : principals_(principals) {}  // outlives this

  // The principal's name: that of the configuration, else `uid:N` or `tcp`. TOKEN_INVALID;
  // POLICY_DENIED when a principal of the configuration has not the scope. `method`: for messages.
  absl::StatusOr<std::string> Admit(const grpc::CallbackServerContext& context, AccessScope scope,
                                    absl::string_view method) const;

 private:
  const Principals* const principals_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_ADMISSION_H_
