// The checks that a call goes through before it runs. CallPipeline::Start and ExplainCall use the
// same functions: what they say cannot differ.
//
// All are const looks: nothing is counted or changed.
#ifndef TOOLRACK_REGISTRY_CALL_STEPS_H_
#define TOOLRACK_REGISTRY_CALL_STEPS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "registry/arguments.h"
#include "registry/base/proto_time.h"
#include "registry/registry.h"
#include "registry/session.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Fields of the request that need no tool. REQUEST_INVALID, NOT_SUPPORTED.
absl::Status CheckRequest(const v1::CallToolRequest& request);

struct FoundTool {
  ToolEntryPtr entry;
  uint64_t revision = 0;
};
// Null when there is no such tool: NotFoundWithNearest has the words then.
FoundTool FindTool(const Registry& registry, absl::string_view name);
// Some ms at 100,000 tools. Only visible ones are named.
absl::Status NotFoundWithNearest(const Registry& registry, absl::string_view name,
                                 const ToolVisibility& visible = {});
// TOOL_QUARANTINED, TOOL_DISABLED, DEFINITION_CHANGED.
absl::Status CheckCallable(const ToolEntry& entry, absl::string_view expected_digest);

// What the request holds, moved out of it. ARGUMENTS_NOT_JSON when a Struct cannot be written as
// JSON.
absl::StatusOr<ArgumentInput> TakeInput(absl::string_view tool, v1::CallToolRequest& request);
// Roughly how much text the request holds: decides where it is parsed.
size_t InputBytes(const v1::CallToolRequest& request);

// The least busy replica that takes calls, none of `tried` when there is another; for a
// session-scoped tool in a session (null: none) the one that has its instance.
// BACKEND_UNAVAILABLE.
absl::StatusOr<std::shared_ptr<Backend>> ChooseBackend(const ToolEntry& entry,
                                                       const std::vector<const Backend*>& tried,
                                                       const Session* session);

// A refusal of ValidateArguments, as the session (null: none) is to read it.
absl::Status InSession(absl::Status fault, const ToolEntry& entry, const Session* session);

// Whether the tool's calls in this session (null: none) go to one replica only.
bool IsPinned(const ToolEntry& entry, const Session* session);

// Whether a replica that takes calls is not among `tried`.
bool HasFresh(const ToolEntry& entry, const std::vector<const Backend*>& tried);

// The shorter of what the caller and the tool say; the default when neither does.
absl::Duration TimeoutOf(const v1::CallToolRequest& request, const v1::Tool& tool,
                         absl::Duration default_timeout);

// Whether a call that a backend ended with `status` may be tried again: it surely did not run, or
// the tool may run twice.
bool MayRetry(const absl::Status& status, const v1::Tool& tool);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_STEPS_H_
