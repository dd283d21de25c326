// What stands between the opener of a call and its JSON: a name, and what a family writes around
// it.
//
// Pure, thread-safe.
#ifndef TOOLRACK_RENDERERS_CALL_HEADER_H_
#define TOOLRACK_RENDERERS_CALL_HEADER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "renderers/output.h"

namespace toolrack {

// Whether `text` is written as `pattern`: `%n` is the name, `%i` anything else; blanks at the end
// do not matter.
bool MatchCallHeader(absl::string_view pattern, absl::string_view text, std::string& name);

// A name as Kimi writes it, `functions.f:3`, is `f`; as it stands if that is a tool.
std::string BareCallName(const OfferedTools& offered, std::string name);

}  // namespace toolrack

#endif  // TOOLRACK_RENDERERS_CALL_HEADER_H_
