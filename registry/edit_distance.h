// How far two words are apart.
#ifndef TOOLRACK_REGISTRY_EDIT_DISTANCE_H_
#define TOOLRACK_REGISTRY_EDIT_DISTANCE_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace toolrack {

// Only so much of each text is compared.
inline constexpr size_t kMaxCompared = 192;

// Damerau's distance (optimal string alignment) by bytes, or `bound` + 1 when it is larger.
// Thread-safe.
size_t BoundedEditDistance(absl::string_view a, absl::string_view b, size_t bound);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_EDIT_DISTANCE_H_
