// The meta tools as prompts show them: tools about tools. Names that start with `__` are reserved
// for them. Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_META_TOOLS_H_
#define TOOLRACK_RENDERERS_META_TOOLS_H_

#include "absl/strings/string_view.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

inline constexpr absl::string_view kToolSearch = "__tool_search";
inline constexpr absl::string_view kToolDescribe = "__tool_describe";
inline constexpr absl::string_view kToolCall = "__tool_call";
inline constexpr absl::string_view kResultRead = "__result_read";
// How Harmony's dispatcher calls `__tool_call`: server is the namespace, tool the bare name.
inline constexpr absl::string_view kCallMcp = "call_mcp";

bool IsMetaTool(absl::string_view name);

// Definitions for renderers that must show one which the given tools do not have.
const v1::Tool& ToolSearchDefinition();    // query, limit
const v1::Tool& ToolDescribeDefinition();  // names
const v1::Tool& ToolCallDefinition();      // name, arguments
const v1::Tool& CallMcpDefinition();       // server, tool, args
const v1::Tool& ResultReadDefinition();    // handle, offset, length

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_META_TOOLS_H_
