// Names: what is legal, how a canonical name is made, how foreign ids become namespaces, which
// names are near.
//
// Source: the naming rules of the README ("Names"). Pure functions, thread-safe.
#ifndef TOOLRACK_REGISTRY_NAME_H_
#define TOOLRACK_REGISTRY_NAME_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "registry/base/wire_name.h"  // a name for a target

namespace toolrack {

// `[a-z0-9][a-z0-9-]{0,31}`; NAME_INVALID with the rule that is broken.
absl::Status CheckNamespace(absl::string_view ns);
// 1 to 128 of `[A-Za-z0-9_.-]`, not starting with `__` (reserved for meta tools); NAME_INVALID.
absl::Status CheckToolName(absl::string_view name);
// Begins with `__`: a meta tool.
bool IsReservedName(absl::string_view name);
// One of the seven standard categories, or one that matches the namespace rule; NAME_INVALID.
absl::Status CheckCategory(absl::string_view category);
// `[a-z][a-z0-9]*(_[a-z0-9]+)*`, the recommended form.
bool IsLowerSnakeCase(absl::string_view name);

// `name` when `ns` is empty, else `ns__name`. Never taken apart again: calls are routed by the
// whole name.
std::string CanonicalName(absl::string_view ns, absl::string_view name);

// A namespace for a foreign id (an mcpServers key, a package name): the id itself when it is legal,
// else its slug (lower case, every run of other characters one `-`, none at the ends) cut to 25,
// `-`, and the first 6 hex digits of the SHA-256 of the id. An empty slug becomes `ns`.
std::string NamespaceForId(absl::string_view id);
// The same for a tool name of a foreign source: itself when legal, else every run of illegal
// characters `_`, at most 121 characters, `_` and 6 hex digits of the SHA-256 of the original.
std::string ToolNameForId(absl::string_view id);

// At most `max` of `names` that are near to `name`, best first, ties bytewise: equal but for case
// and separators, one a part of the other, or a small edit distance (Damerau, at most a third of
// the length). O(total length) with small constants; for 100,000 names some ms: call it for errors
// only.
std::vector<std::string> NearestNames(absl::string_view name,
                                      const std::vector<absl::string_view>& names, size_t max);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_NAME_H_
