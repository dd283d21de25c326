// The sentences that stand around definitions. Ours, fixed, without a word of a tool's author.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_PROMPT_TEXTS_H_
#define TOOLRACK_RENDERERS_PROMPT_TEXTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/declare.h"

namespace toolrack {

// How to write calls for the raw-text Claude dialect.
std::string ClaudeIntroduction();

// Harmony's whole system message. `clock` 0: no date; empty effort: medium.
std::string HarmonySystemText(bool tools, int64_t clock, absl::string_view effort);

// That more tools can be found, and which: wire names, or counts by namespace when there are very
// many. `loads`: a found tool becomes callable by its own name.
std::string DeferredNames(const std::vector<DeclaredTool>& rest, bool loads);

// What came and went. `removed`: wire names.
std::string ChangedNames(const std::vector<DeclaredTool>& added,
                         const std::vector<std::string>& removed);

// One JSON object a line with canonical name, description and parameters: a search result for
// families that cannot load.
std::string DefinitionLines(const std::vector<DeclaredTool>& tools);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_PROMPT_TEXTS_H_
