#include "registry/name.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

constexpr size_t kMaxNamespace = 32;
constexpr size_t kMaxToolName = 128;
constexpr size_t kSlugHashDigits = 6;

bool IsLowerOrDigit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }
bool IsNameChar(char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-'; }

std::string HashDigits(absl::string_view text, size_t digits) {
  return Sha256Hex(text).substr(0, digits);
}

// `text` with every run of characters that are not `legal` as one `separator`.
template <typename Legal>
std::string ReplaceRuns(absl::string_view text, char separator, Legal legal) {
  std::string out;
  out.reserve(text.size());
  bool in_run = false;
  for (const char c : text) {
    if (legal(c)) {
      out += c;
      in_run = false;
    } else if (!in_run) {
      out += separator;
      in_run = true;
    }
  }
  return out;
}

}  // namespace

absl::Status CheckNamespace(absl::string_view ns) {
  constexpr char kRule[] =
      "a namespace is 1 to 32 of a-z, 0-9 and -, and starts with a letter or digit";
  const bool fits =
      !ns.empty() && ns.size() <= kMaxNamespace && IsLowerOrDigit(ns[0]) &&
      std::all_of(ns.begin(), ns.end(), [](char c) { return IsLowerOrDigit(c) || c == '-'; });
  return fits ? absl::OkStatus() : NameInvalid(ns, kRule);
}

absl::Status CheckToolName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxToolName ||
      !std::all_of(name.begin(), name.end(), IsNameChar)) {
    return NameInvalid(name, "a tool name is 1 to 128 of A-Z, a-z, 0-9, _, . and -");
  }
  if (absl::StartsWith(name, "__")) {
    return NameInvalid(name, "names that start with __ are reserved for meta tools");
  }
  return absl::OkStatus();
}

bool IsReservedName(absl::string_view name) {
  return name.size() >= 2 && name[0] == '_' && name[1] == '_';
}

absl::Status CheckCategory(absl::string_view category) {
  // The seven standard categories match the namespace rule too.
  if (CheckNamespace(category).ok()) return absl::OkStatus();
  return NameInvalid(category,
                     "a category is basic, file, network, system, browser, memory, external, or "
                     "1 to 32 of a-z, 0-9 and -, starting with a letter or digit");
}

bool IsLowerSnakeCase(absl::string_view name) {
  if (name.empty() || !absl::ascii_islower(name[0])) return false;
  char previous = '_';
  for (const char c : name) {
    if (c == '_' ? previous == '_' : !IsLowerOrDigit(c)) return false;
    previous = c;
  }
  return previous != '_';
}

std::string CanonicalName(absl::string_view ns, absl::string_view name) {
  return ns.empty() ? std::string(name) : absl::StrCat(ns, "__", name);
}

std::string NamespaceForId(absl::string_view id) {
  if (CheckNamespace(id).ok()) return std::string(id);
  std::string slug = ReplaceRuns(absl::AsciiStrToLower(id), '-', IsLowerOrDigit);
  if (absl::StartsWith(slug, "-")) slug.erase(0, 1);
  if (absl::EndsWith(slug, "-")) slug.pop_back();
  if (slug.empty()) slug = "ns";
  return absl::StrCat(slug.substr(0, kMaxNamespace - kSlugHashDigits - 1), "-",
                      HashDigits(id, kSlugHashDigits));
}

std::string ToolNameForId(absl::string_view id) {
  if (CheckToolName(id).ok()) return std::string(id);
  std::string name = ReplaceRuns(id, '_', IsNameChar);
  // The reserved prefix counts as illegal characters do.
  const size_t start = std::min(name.find_first_not_of('_'), name.size());
  if (start > 1) name.erase(0, start - 1);
  if (name.empty() || name == "_") name = "tool";
  return absl::StrCat(name.substr(0, kMaxToolName - kSlugHashDigits - 1), "_",
                      HashDigits(id, kSlugHashDigits));
}

}  // namespace toolrack
