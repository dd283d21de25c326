// The names of Unicode's general categories.
#ifndef TOOLRACK_REGISTRY_SCHEMA_UNICODE_NAMES_H_
#define TOOLRACK_REGISTRY_SCHEMA_UNICODE_NAMES_H_

#include "absl/strings/string_view.h"

namespace toolrack {

// The short name, as RE2 knows it, of a category by its long or short name ("Letter", "L"); empty
// when there is none.
absl::string_view CategoryNamed(absl::string_view name);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_UNICODE_NAMES_H_
