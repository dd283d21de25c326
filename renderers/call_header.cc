#include "renderers/call_header.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace toolrack {

bool MatchCallHeader(absl::string_view pattern, absl::string_view text, std::string& name) {
  absl::string_view* into = nullptr;
  absl::string_view found, ignored;
  while (!pattern.empty()) {
    const size_t mark = pattern.find('%');
    const absl::string_view literal = pattern.substr(0, mark);
    const size_t at = text.find(literal);
    if (at == absl::string_view::npos || (into == nullptr && at != 0)) return false;
    if (into != nullptr && !literal.empty()) *into = text.substr(0, at);
    if (!literal.empty()) text.remove_prefix(at + literal.size());
    if (mark == absl::string_view::npos) {
      name = std::string(absl::StripAsciiWhitespace(found));
      return absl::StripAsciiWhitespace(text).empty();
    }
    into = pattern[mark + 1] == 'n' ? &found : &ignored;
    pattern.remove_prefix(mark + 2);
  }
  if (into != nullptr) *into = text;
  name = std::string(absl::StripAsciiWhitespace(found));
  return true;
}

std::string BareCallName(const OfferedTools& offered, std::string name) {
  if (offered.Find(name) != nullptr) return name;
  absl::string_view bare = name;
  const size_t colon = bare.rfind(':');
  if (colon != absl::string_view::npos && colon + 1 < bare.size() &&
      bare.find_first_not_of("0123456789", colon + 1) == absl::string_view::npos) {
    bare = bare.substr(0, colon);
  }
  if (absl::StartsWith(bare, "functions.")) bare.remove_prefix(10);
  return std::string(bare);
}

}  // namespace toolrack
