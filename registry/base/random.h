// Ids and hashes.
#ifndef TOOLRACK_REGISTRY_BASE_RANDOM_H_
#define TOOLRACK_REGISTRY_BASE_RANDOM_H_

#include <string>

#include "absl/strings/string_view.h"

namespace toolrack {

// 128 bits from the operating system, as 32 lower-case hex digits. Thread-safe. Unguessable.
std::string RandomId();
// A short unique id that need not be unguessable (call ids): a random prefix of this process and a
// counter. Thread-safe.
std::string QuickId();
// Lower-case hex SHA-256.
std::string Sha256Hex(absl::string_view bytes);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_RANDOM_H_
