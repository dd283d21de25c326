// Calls in a provider's answer: Anthropic content blocks, OpenAI tool_calls, Responses items,
// Gemini parts.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_PROVIDER_JSON_H_
#define TOOLRACK_RENDERERS_PROVIDER_JSON_H_

#include "absl/strings/string_view.h"
#include "renderers/output_parser.h"

namespace toolrack {

// A whole response, its message, or the list of its parts, of any of these providers: its own shape
// says which. Arguments come out byte for byte, mended where they are not quite JSON. Ids,
// `namespace` and `caller` are kept, for they must be sent back. What is no answer of theirs is one
// Malformed event.
v1::ParseOutputResponse ParseProviderJson(const OfferedTools& offered, absl::string_view json,
                                          const ParseOptions& options = {});

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_PROVIDER_JSON_H_
