// JSON whose numbers keep what a double would lose.
//
// Json holds a number as a 64-bit integer or as a double. A number that is neither exactly (2^64 +
// 1, 0.1 with twenty more digits) is, in values read here, a `binary` with the number's text in it:
// a long number. The rest of the schema room treats those as the numbers that they are. Pure,
// thread-safe.
#ifndef TOOLRACK_REGISTRY_SCHEMA_EXACT_H_
#define TOOLRACK_REGISTRY_SCHEMA_EXACT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "registry/base/json.h"

namespace toolrack {

// False: the text has no number of 16 characters or more, so Json holds each one exactly. Looks at
// every sixteenth byte only.
bool MayHaveLongNumbers(absl::string_view text);

// `text`, which ParseJson took, with its long numbers kept.
Json ReadExactly(absl::string_view text);

bool IsLongNumber(const Json& value);

// digits × 10^exponent; digits without zeros at either end, empty for zero.
struct LongDecimal {
  bool negative = false;
  std::string digits;
  int64_t exponent = 0;
};
LongDecimal ToLongDecimal(const Json& long_number);
// Of the text of a JSON number.
LongDecimal ParseLongDecimal(absl::string_view text);
// Negative, zero or positive.
int CompareLongDecimals(const LongDecimal& a, const LongDecimal& b);

// DumpJson, with long numbers as they were written.
std::string DumpExactly(const Json& value);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_EXACT_H_
