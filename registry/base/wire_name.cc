#include "registry/base/wire_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

constexpr size_t kHashDigits = 8;

}  // namespace

std::string WireName(absl::string_view canonical, size_t max_length, bool allow_dot) {
  const auto legal = [allow_dot](char c) {
    return absl::ascii_isalnum(c) || c == '_' || c == '-' || (c == '.' && allow_dot);
  };
  if (!canonical.empty() && canonical.size() <= max_length &&
      std::all_of(canonical.begin(), canonical.end(), legal)) {
    return std::string(canonical);
  }
  // Every run of other characters is one `_`.
  std::string name;
  bool in_run = false;
  for (const char c : canonical) {
    if (legal(c)) name += c;
    if (!legal(c) && !in_run) name += '_';
    in_run = !legal(c);
  }
  return absl::StrCat(name.substr(0, max_length - kHashDigits - 1), "_",
                      Sha256Hex(canonical).substr(0, kHashDigits));
}

}  // namespace toolrack
