// How the open families spell declarations, calls and results: templates of their rows, filled.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_FAMILY_TEXT_H_
#define TOOLRACK_RENDERERS_FAMILY_TEXT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "renderers/declare.h"
#include "renderers/dialect.h"
#include "renderers/json_text.h"

namespace toolrack {

// What tells the model of its tools and of how to call them.
std::string FamilyDeclaration(const Dialect& dialect, const std::vector<DeclaredTool>& tools);
// Definitions, one a line, as JSON in which no marker stands.
std::string FamilyDefinitions(const Dialect& dialect, const std::vector<DeclaredTool>& tools);

// One call. Nullopt when the family's own parser would not read it back as it is: because of a
// marker within a value, say.
std::optional<std::string> FamilyCall(const Dialect& dialect, absl::string_view name,
                                      absl::string_view arguments_json);
// Calls of one turn that were spelled so.
std::string FamilyCalls(const Dialect& dialect, const std::vector<std::string>& calls);

// `text` must hold no markers.
std::string FamilyResult(const Dialect& dialect, absl::string_view name, absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_FAMILY_TEXT_H_
