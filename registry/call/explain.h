// ExplainCall: the checks of a call, told one by one.
#ifndef TOOLRACK_REGISTRY_CALL_EXPLAIN_H_
#define TOOLRACK_REGISTRY_CALL_EXPLAIN_H_

#include "absl/strings/string_view.h"
#include "registry/arguments.h"
#include "registry/call/call_limits.h"
#include "registry/call/call_table.h"
#include "registry/registry.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// What a call is checked against.
struct ExplainParts {
  const Registry& registry;
  const CallTable& table;
  const CallLimits& limits;
  const ArgumentLimits& argument_limits;
  bool coerce;  // when the request does not say
};

// Changes and counts nothing. Uses the functions of steps.h in the order of CallPipeline::Steps.
v1::ExplainCallResponse ExplainSteps(const ExplainParts& parts, v1::CallToolRequest request,
                                     absl::string_view principal);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_EXPLAIN_H_
