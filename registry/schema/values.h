// JSON values as JSON Schema sees them: numbers by their value, not by how they are stored; long
// numbers (exact.h) are numbers like others.
// Pure, thread-safe. Values must be of bounded depth (those from ParseJson are).
#ifndef TOOLRACK_REGISTRY_SCHEMA_VALUES_H_
#define TOOLRACK_REGISTRY_SCHEMA_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "registry/base/json.h"

namespace toolrack {

// A set of JSON types. `number` is both kinds of number; 1.0 is an integer.
using JsonTypes = uint8_t;
inline constexpr JsonTypes kNullType = 1;
inline constexpr JsonTypes kBooleanType = 2;
inline constexpr JsonTypes kIntegerType = 4;
inline constexpr JsonTypes kFractionType = 8;
inline constexpr JsonTypes kNumberType = kIntegerType | kFractionType;
inline constexpr JsonTypes kStringType = 16;
inline constexpr JsonTypes kArrayType = 32;
inline constexpr JsonTypes kObjectType = 64;
inline constexpr JsonTypes kAnyType = 127;

// Exactly one bit.
JsonTypes TypeOf(const Json& value);
// The bits for a name in a schema's `type`; 0 for a name that JSON Schema does not have.
JsonTypes TypesNamed(absl::string_view name);

// A total order in which equal means equal to JSON Schema: 1 and 1.0 are equal, 2^53 and 2^53 + 1
// are not, false and 0 are not. Negative, zero or positive.
int CompareJson(const Json& a, const Json& b);
inline bool SameJson(const Json& a, const Json& b) { return CompareJson(a, b) == 0; }

// Two equal elements of an array, lower index first; in n log n.
std::optional<std::pair<size_t, size_t>> FindDuplicate(const Json& array);

// Characters, not bytes. `text` must be UTF-8.
size_t CountCodePoints(absl::string_view text);

// A number as decimal digits times a power of ten: the shortest decimal that reads back as the same
// double, so that 4.35 is a multiple of 0.01.
struct Decimal {
  bool negative = false;
  uint64_t digits = 0;
  int exponent = 0;
};
// Not for long numbers.
Decimal ToDecimal(const Json& number);
bool IsMultipleOf(const Decimal& value, const Decimal& divisor);
// The same for any number, long ones included.
bool IsMultipleOf(const Json& value, const Decimal& divisor);

// A count (`maxLength` …): a whole number, not negative, `2.0` included. Saturates at 2^64 - 1.
std::optional<uint64_t> ToCount(const Json& value);

// Steps from a name to another (insertions, deletions, replacements, swaps of neighbours), ASCII
// case aside; `limit` + 1 when there are more than `limit`.
size_t EditDistance(absl::string_view a, absl::string_view b, size_t limit);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_VALUES_H_
