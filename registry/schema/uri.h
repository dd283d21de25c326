// URI references (RFC 3986, section 5), as far as `$id` and `$ref` need them. Nothing is fetched.
#ifndef TOOLRACK_REGISTRY_SCHEMA_URI_H_
#define TOOLRACK_REGISTRY_SCHEMA_URI_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace toolrack {

// `reference` seen from `base`, dot segments removed. The fragment, if any, stays. An empty base
// leaves the reference as it is.
std::string ResolveUri(absl::string_view base, absl::string_view reference);

// Everything before the first `#`, and the fragment without it; an absent fragment is empty.
struct UriParts {
  std::string document;
  std::string fragment;
};
UriParts SplitFragment(absl::string_view uri);

// nullopt on a `%` that is not followed by two hex digits.
std::optional<std::string> PercentDecode(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_URI_H_
