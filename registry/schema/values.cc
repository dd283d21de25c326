#include "registry/schema/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/schema/exact.h"

namespace toolrack {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : (b < a ? 1 : 0);
}

// A stored integer as sign and magnitude.
struct Whole {
  bool negative;
  uint64_t magnitude;
};

Whole ToWhole(const Json& number) {
  if (number.is_number_unsigned()) return {false, number.get<uint64_t>()};
  const int64_t value = number.get<int64_t>();
  if (value >= 0) return {false, static_cast<uint64_t>(value)};
  return {true, ~static_cast<uint64_t>(value) + 1};
}

int CompareWholes(const Whole& a, const Whole& b) {
  if (a.negative != b.negative) return a.negative ? -1 : 1;
  const int order = Order(a.magnitude, b.magnitude);
  return a.negative ? -order : order;
}

int CompareWholeToDouble(const Whole& a, double b) {
  const double size = std::abs(b);
  if (b < 0 && !a.negative) return 1;
  if (b >= 0 && a.negative) return -1;
  int order;
  if (size >= kTwoTo64) {
    order = -1;
  } else {
    const double whole = std::trunc(size);
    order = Order(a.magnitude, static_cast<uint64_t>(whole));
    if (order == 0 && size > whole) order = -1;
  }
  return a.negative ? -order : order;
}

LongDecimal AsLongDecimal(const Json& number) {
  if (IsLongNumber(number)) return ToLongDecimal(number);
  const Decimal decimal = ToDecimal(number);
  return ParseLongDecimal(
      absl::StrCat(decimal.negative ? "-" : "", decimal.digits, "e", decimal.exponent));
}

int CompareNumbers(const Json& a, const Json& b) {
  if (IsLongNumber(a) || IsLongNumber(b)) {
    return CompareLongDecimals(AsLongDecimal(a), AsLongDecimal(b));
  }
  const bool a_whole = !a.is_number_float();
  const bool b_whole = !b.is_number_float();
  if (a_whole && b_whole) return CompareWholes(ToWhole(a), ToWhole(b));
  if (a_whole) return CompareWholeToDouble(ToWhole(a), b.get<double>());
  if (b_whole) return -CompareWholeToDouble(ToWhole(b), a.get<double>());
  return Order(a.get<double>(), b.get<double>());
}

// Kinds in the order in which CompareJson sorts them.
int KindOf(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
    case Json::value_t::discarded:
      return 0;
    case Json::value_t::boolean:
      return 1;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
    case Json::value_t::binary:  // a long number
      return 2;
    case Json::value_t::string:
      return 3;
    case Json::value_t::array:
      return 4;
    case Json::value_t::object:
      return 5;
  }
  return 0;
}

unsigned __int128 PowerOfTenModulo(int power, uint64_t modulus) {
  unsigned __int128 result = 1 % modulus;
  unsigned __int128 base = 10 % modulus;
  for (; power > 0; power >>= 1) {
    if (power & 1) result = result * base % modulus;
    base = base * base % modulus;
  }
  return result;
}

}  // namespace

JsonTypes TypeOf(const Json& value) {
  switch (value.type()) {
    case Json::value_t::boolean:
      return kBooleanType;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return kIntegerType;
    case Json::value_t::number_float: {
      const double number = value.get<double>();
      return number == std::trunc(number) ? kIntegerType : kFractionType;
    }
    case Json::value_t::binary:
      return ToLongDecimal(value).exponent >= 0 ? kIntegerType : kFractionType;
    case Json::value_t::string:
      return kStringType;
    case Json::value_t::array:
      return kArrayType;
    case Json::value_t::object:
      return kObjectType;
    default:
      return kNullType;
  }
}

JsonTypes TypesNamed(absl::string_view name) {
  if (name == "null") return kNullType;
  if (name == "boolean") return kBooleanType;
  if (name == "integer") return kIntegerType;
  if (name == "number") return kNumberType;
  if (name == "string") return kStringType;
  if (name == "array") return kArrayType;
  if (name == "object") return kObjectType;
  return 0;
}

int CompareJson(const Json& a, const Json& b) {
  const int kind = KindOf(a);
  if (const int order = Order(kind, KindOf(b)); order != 0) return order;
  switch (kind) {
    case 1:
      return Order(a.get<bool>(), b.get<bool>());
    case 2:
      return CompareNumbers(a, b);
    case 3:
      return Order(a.get_ref<const std::string&>(), b.get_ref<const std::string&>());
    case 4: {
      if (const int order = Order(a.size(), b.size()); order != 0) return order;
      for (size_t i = 0; i < a.size(); ++i) {
        if (const int order = CompareJson(a[i], b[i]); order != 0) return order;
      }
      return 0;
    }
    case 5: {
      if (const int order = Order(a.size(), b.size()); order != 0) return order;
      for (auto at = a.begin(), bt = b.begin(); at != a.end(); ++at, ++bt) {
        if (const int order = Order(at.key(), bt.key()); order != 0) return order;
        if (const int order = CompareJson(at.value(), bt.value()); order != 0) return order;
      }
      return 0;
    }
    default:
      return 0;
  }
}

std::optional<std::pair<size_t, size_t>> FindDuplicate(const Json& array) {
  std::vector<size_t> order(array.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&array](size_t a, size_t b) {
    const int by_value = CompareJson(array[a], array[b]);
    return by_value != 0 ? by_value < 0 : a < b;
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (SameJson(array[order[i - 1]], array[order[i]])) return {{order[i - 1], order[i]}};
  }
  return std::nullopt;
}

size_t CountCodePoints(absl::string_view text) {
  size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

Decimal ToDecimal(const Json& number) {
  Decimal out;
  if (!number.is_number_float()) {
    const Whole whole = ToWhole(number);
    out.negative = whole.negative;
    out.digits = whole.magnitude;
    return out;
  }
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof(text), number.get<double>(), std::chars_format::scientific);
  // d.ddddde±xx, at most 17 digits.
  bool fraction = false;
  for (const char* p = text; p != end.ptr; ++p) {
    if (*p == '-') {
      out.negative = true;
    } else if (*p == '.') {
      fraction = true;
    } else if (*p == 'e') {
      int exponent = 0;
      std::from_chars(p[1] == '+' ? p + 2 : p + 1, end.ptr, exponent);
      out.exponent += exponent;
      break;
    } else {
      out.digits = out.digits * 10 + static_cast<uint64_t>(*p - '0');
      if (fraction) --out.exponent;
    }
  }
  return out;
}

bool IsMultipleOf(const Decimal& value, const Decimal& divisor) {
  if (value.digits == 0) return true;
  if (divisor.digits == 0) return false;
  const int shift = value.exponent - divisor.exponent;
  if (shift >= 0) {
    const unsigned __int128 rest = value.digits % divisor.digits;
    return rest * PowerOfTenModulo(shift, divisor.digits) % divisor.digits == 0;
  }
  // The divisor is larger than any 64-bit number from here on.
  if (shift < -19) return false;
  unsigned __int128 scaled = divisor.digits;
  for (int i = shift; i < 0; ++i) scaled *= 10;
  return value.digits % scaled == 0;
}

bool IsMultipleOf(const Json& value, const Decimal& divisor) {
  if (!IsLongNumber(value)) return IsMultipleOf(ToDecimal(value), divisor);
  if (divisor.digits == 0) return false;
  const LongDecimal number = ToLongDecimal(value);
  const int64_t shift = number.exponent - divisor.exponent;
  // Its last digit is none: no multiple of ten, let alone of ten times the divisor's digits.
  if (shift < 0) return false;
  unsigned __int128 rest = 0;
  for (const char digit : number.digits) {
    rest = (rest * 10 + static_cast<unsigned>(digit - '0')) % divisor.digits;
  }
  return rest * PowerOfTenModulo(static_cast<int>(shift), divisor.digits) % divisor.digits == 0;
}

std::optional<uint64_t> ToCount(const Json& value) {
  if (IsLongNumber(value)) {
    const LongDecimal number = ToLongDecimal(value);
    if (number.negative || number.exponent < 0) return std::nullopt;
    return UINT64_MAX;
  }
  if (!value.is_number()) return std::nullopt;
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (value.is_number_integer()) {
    const int64_t count = value.get<int64_t>();
    if (count < 0) return std::nullopt;
    return static_cast<uint64_t>(count);
  }
  const double count = value.get<double>();
  if (count < 0 || count != std::trunc(count)) return std::nullopt;
  return count >= kTwoTo64 ? UINT64_MAX : static_cast<uint64_t>(count);
}

size_t EditDistance(absl::string_view a, absl::string_view b, size_t limit) {
  const size_t gap = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (gap > limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  const auto same = [&](size_t i, size_t j) {
    return absl::ascii_tolower(a[i]) == absl::ascii_tolower(b[j]);
  };
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    size_t least = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same(i - 1, j - 1) ? 0 : 1)});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
      least = std::min(least, row[j]);
    }
    // No later row can come back below this one and the one before it.
    if (least > limit && *std::min_element(above.begin(), above.end()) > limit) return limit + 1;
    before.swap(above);
    above.swap(row);
  }
  return std::min(above[b.size()], limit + 1);
}

}  // namespace toolrack
