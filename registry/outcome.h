// What a tool's ending means: a result for the model, or a failure of the rack.
//
// Pure functions, thread-safe.
#ifndef TOOLRACK_REGISTRY_OUTCOME_H_
#define TOOLRACK_REGISTRY_OUTCOME_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "toolrack/v1/error.pb.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

// A result of one text.
v1::ToolResult TextResult(absl::string_view text);
// A result with is_error: `text` is for the model, `reason` for programs.
v1::ToolResult ErrorResult(v1::ErrorReason reason, absl::string_view text,
                           const std::map<std::string, std::string>& metadata = {});

// True when a backend's status says that the rack could not run the call to its end; false when it
// is the tool's own verdict (see ToolDone).
bool IsBackendFailure(const absl::Status& status);
// The tool's own verdict as a result: INVALID_ARGUMENT is TOOL_INVALID_ARGUMENT, INTERNAL is
// TOOL_INTERNAL, the rest EXECUTION_FAILED. Metadata: `code`, and whatever the status carries.
v1::ToolResult ResultFromStatus(const absl::Status& status);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_OUTCOME_H_
