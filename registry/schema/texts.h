// The words of the explainer. Pure, thread-safe.
#ifndef TOOLRACK_REGISTRY_SCHEMA_TEXTS_H_
#define TOOLRACK_REGISTRY_SCHEMA_TEXTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/schema/node.h"

namespace toolrack {

// "string", "string or null", "string, integer or null"; "" for any type.
std::string TypesText(JsonTypes types);
// `"5" (a string)`, `5 (an integer)`, `null`, `an object`: shortened.
std::string GotText(const Json& value);
// A value as JSON, shortened.
std::string ValueText(const Json& value);
// A name in quotes, shortened.
std::string NameText(absl::string_view name);
// `1 character`, `2 characters`.
std::string CountText(uint64_t count, absl::string_view one, absl::string_view many);
// "a, b and c" with the given last word.
std::string ListText(const std::vector<std::string>& items, absl::string_view last);
// `"a"` for one, `one of "a", "b"` for several.
std::string AllowedText(const std::vector<const Json*>& allowed);
// What a node wants, in a few words: "string", `one of "a", "b"`, "string or array"; "" when that
// cannot be said.
std::string WantedText(const Node& node);

// The one of `known` that is most like `name`; nullptr when none is like it.
const std::string* FindNearest(absl::string_view name,
                               const std::vector<const std::string*>& known);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_TEXTS_H_
