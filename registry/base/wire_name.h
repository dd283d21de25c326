// The name that a tool has for one target. Pure, thread-safe.
#ifndef TOOLRACK_REGISTRY_BASE_WIRE_NAME_H_
#define TOOLRACK_REGISTRY_BASE_WIRE_NAME_H_

#include <cstddef>
#include <string>

#include "absl/strings/string_view.h"

namespace toolrack {

// The name for a target that allows `max_length` characters of `[A-Za-z0-9_-]` (and `.` when
// `allow_dot`): itself when legal, else sanitised, cut and ended with `_` and 8 hex digits of the
// SHA-256 of the canonical name. Depends on nothing else. `max_length` >= 16.
std::string WireName(absl::string_view canonical, size_t max_length = 64, bool allow_dot = false);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_WIRE_NAME_H_
