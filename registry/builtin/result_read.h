// __result_read: the rest of a result that was cut.
#ifndef TOOLRACK_REGISTRY_BUILTIN_RESULT_READ_H_
#define TOOLRACK_REGISTRY_BUILTIN_RESULT_READ_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "registry/tool.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Reads a stored result for whoever the context names. RESULT_NOT_FOUND.
using ReadStored = std::function<absl::StatusOr<v1::ReadResultResponse>(
    const v1::ReadResultRequest&, const CallContext&)>;

// A reserved tool, always there. Gives a range of the text, cut at characters, and where the next
// one begins. At most `max_bytes` at once, so that it is not cut itself.
ToolFactory MakeResultReadTool(ReadStored read, uint64_t max_bytes);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_RESULT_READ_H_
