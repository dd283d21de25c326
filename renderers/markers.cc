#include "renderers/markers.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

namespace toolrack {
namespace {

bool IsTagChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-'; }

// `text` begins with `<`.
bool IsTag(absl::string_view text, const std::vector<absl::string_view>& names) {
  text.remove_prefix(1);
  if (absl::StartsWith(text, "/")) text.remove_prefix(1);
  const auto end = std::find_if_not(text.begin(), text.end(), IsTagChar);
  absl::string_view name = text.substr(0, static_cast<size_t>(end - text.begin()));
  if (end != text.end() && *end == ':' && !name.empty()) {
    text.remove_prefix(name.size() + 1);
    name = text.substr(
        0,
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsTagChar) - text.begin()));
  }
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool Markers::At(absl::string_view text, size_t at) const {
  const absl::string_view rest = text.substr(at);
  for (const absl::string_view literal : literals) {
    if (absl::StartsWith(rest, literal)) return true;
  }
  return !tags.empty() && absl::StartsWith(rest, "<") && IsTag(rest, tags);
}

bool Markers::In(absl::string_view text) const {
  for (size_t at = 0; at < text.size(); ++at) {
    if (At(text, at)) return true;
  }
  return false;
}

template <typename Write>
bool Markers::Rewrite(std::string& text, Write write) const {
  std::string first;  // what a marker can begin with
  for (const absl::string_view literal : literals) first += literal[0];
  if (!tags.empty()) first += '<';
  size_t at = text.find_first_of(first);
  if (at == std::string::npos) return false;
  std::string out;
  size_t from = 0;
  for (; at != std::string::npos; at = text.find_first_of(first, at + 1)) {
    if (!At(text, at)) continue;
    out.append(text, from, at - from);
    write(text[at], out);
    from = at + 1;
  }
  if (from == 0) return false;
  out.append(text, from);
  text = std::move(out);
  return true;
}

bool Markers::EscapeJson(std::string& json) const {
  return Rewrite(json, [](char c, std::string& out) {
    absl::StrAppendFormat(&out, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
  });
}

bool Markers::SplitText(std::string& text) const {
  return Rewrite(text, [](char c, std::string& out) {
    out += c;
    out += "\u200b";
  });
}

}  // namespace toolrack
