// Calls by way of another name: `__tool_call {name, arguments}` and, as Harmony's dispatcher spells
// it, `call_mcp {server, tool, args}`.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_UNWRAP_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_UNWRAP_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "registry/call/pipeline.h"
#include "registry/policy/policy.h"
#include "registry/registry.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Makes such a request the inner tool's own: name and arguments (byte for byte) are the inner
// one's, and whatever comes then (permission, validation, hooks, limits, counting) is about it
// alone. Both forms are taken under both names. A request stays as it is when its principal may not
// use `__tool_call`, or when that is disabled: it is refused as any tool is.
//
// ARGUMENTS_INVALID, ARGUMENTS_TOO_LARGE, ARGUMENTS_NOT_JSON, REQUEST_INVALID. The inner tool need
// not exist; it must be none of the meta tools.
class ToolCallUnwrapper final : public CallUnwrapper {
 public:
  // Both outlive this. `max_bytes`: of the arguments.
  ToolCallUnwrapper(const Registry* registry, const Policy* policy, size_t max_bytes)
      : registry_(*registry), policy_(*policy), max_bytes_(max_bytes) {}

  bool MayWrap(absl::string_view name) const override;
  absl::Status Unwrap(absl::string_view principal, v1::CallToolRequest& request) const override;

 private:
  const Registry& registry_;
  const Policy& policy_;
  const size_t max_bytes_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_UNWRAP_H_
