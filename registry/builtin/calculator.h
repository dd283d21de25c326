// Arithmetic from text.
#ifndef TOOLRACK_REGISTRY_BUILTIN_CALCULATOR_H_
#define TOOLRACK_REGISTRY_BUILTIN_CALCULATOR_H_

#include <cstddef>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace toolrack {

inline constexpr size_t kMaxExpressionBytes = 1000;
inline constexpr int kMaxExpressionDepth = 64;

// The value of an expression in double precision: numbers (`1`, `.5`, `2e-3`), `+ - * / %` (the
// remainder has the sign of the dividend), `^` (to the right, before a sign: -2^2 is -4),
// parentheses, pi, e, and sqrt abs floor ceil round exp ln sin cos tan (radians), log(x) to the
// base 10 or log(x, base), min and max of one or more.
//
// INVALID_ARGUMENT with the position (from 1) and what was expected there; division by zero, values
// outside a function's domain and results that no double holds are errors too. Pure, thread-safe,
// linear time.
absl::StatusOr<double> Calculate(absl::string_view expression);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BUILTIN_CALCULATOR_H_
