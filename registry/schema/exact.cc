#include "registry/schema/exact.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/schema/values.h"

namespace toolrack {
namespace {

// Up to so many significant digits a double gives back the decimal that it was read from.
constexpr size_t kSafeCharacters = 16;

bool IsNumberByte(char c) { return absl::ascii_isdigit(c) || c == '.'; }

Json MakeLongNumber(absl::string_view text) {
  return Json::binary(std::vector<uint8_t>(text.begin(), text.end()));
}

// Builds the value of a text that is known to be good.
class ExactSax : public nlohmann::json_sax<Json> {
 public:
  explicit ExactSax(Json& root) : root_(root) {}

  bool null() override { return Put(nullptr); }
  bool boolean(bool value) override { return Put(value); }
  bool number_integer(number_integer_t value) override { return Put(value); }
  bool number_unsigned(number_unsigned_t value) override { return Put(value); }
  bool number_float(number_float_t value, const string_t& text) override {
    if (text.size() < kSafeCharacters) return Put(value);
    const Decimal shortest = ToDecimal(Json(value));
    LongDecimal held;
    held.negative = shortest.negative;
    held.digits = shortest.digits == 0 ? "" : absl::StrCat(shortest.digits);
    held.exponent = shortest.exponent;
    const bool exact = CompareLongDecimals(held, ParseLongDecimal(text)) == 0;
    return exact ? Put(value) : Put(MakeLongNumber(text));
  }
  bool string(string_t& value) override { return Put(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json(Json::value_t::object)); }
  bool start_array(std::size_t) override { return Open(Json(Json::value_t::array)); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& key) override {
    slot_ = &open_.back()->get_ref<Json::object_t&>()[std::move(key)];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  Json* Place(Json value) {
    Json* place = &root_;
    if (!open_.empty() && open_.back()->is_array()) {
      place = &open_.back()->get_ref<Json::array_t&>().emplace_back(nullptr);
    } else if (!open_.empty()) {
      place = slot_;
    }
    *place = std::move(value);
    return place;
  }
  bool Put(Json value) {
    Place(std::move(value));
    return true;
  }
  bool Open(Json value) {
    open_.push_back(Place(std::move(value)));
    return true;
  }
  bool Close() {
    open_.pop_back();
    return true;
  }

  Json& root_;
  std::vector<Json*> open_;  // stable: a container is not touched while a child of it is open
  Json* slot_ = nullptr;
};

bool HasLongNumbers(const Json& value) {
  if (value.is_binary()) return true;
  return value.is_structured() && std::any_of(value.begin(), value.end(), HasLongNumbers);
}

void AppendExactly(const Json& value, std::string& out) {
  if (!value.is_structured()) {
    if (!value.is_binary()) return absl::StrAppend(&out, DumpJson(value));
    out.append(value.get_binary().begin(), value.get_binary().end());
    return;
  }
  const bool object = value.is_object();
  out.push_back(object ? '{' : '[');
  bool first = true;
  for (const auto& [key, each] : value.items()) {
    absl::StrAppend(&out, first ? "" : ",", object ? absl::StrCat(JsonQuote(key), ":") : "");
    AppendExactly(each, out);
    first = false;
  }
  out.push_back(object ? '}' : ']');
}

}  // namespace

bool MayHaveLongNumbers(absl::string_view text) {
  for (size_t i = 0; i < text.size(); i += kSafeCharacters) {
    if (!IsNumberByte(text[i])) continue;
    size_t start = i, end = i + 1;
    while (start > 0 && IsNumberByte(text[start - 1])) --start;
    while (end < text.size() && IsNumberByte(text[end])) ++end;
    if (end - start >= kSafeCharacters) return true;
  }
  return false;
}

Json ReadExactly(absl::string_view text) {
  Json value;
  ExactSax sax(value);
  Json::sax_parse(text.begin(), text.end(), &sax);
  return value;
}

bool IsLongNumber(const Json& value) { return value.is_binary(); }

LongDecimal ToLongDecimal(const Json& long_number) {
  const auto& bytes = long_number.get_binary();
  return ParseLongDecimal({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

LongDecimal ParseLongDecimal(absl::string_view text) {
  LongDecimal out;
  bool fraction = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '-') {
      out.negative = true;
    } else if (c == '.') {
      fraction = true;
    } else if (c == 'e' || c == 'E') {
      int64_t exponent = 0;
      const size_t from = i + 1 + (i + 1 < text.size() && text[i + 1] == '+' ? 1 : 0);
      const auto [stop, error] =
          std::from_chars(text.data() + from, text.data() + text.size(), exponent);
      // Only a number as good as zero can have such an exponent: larger ones are not read at all.
      if (error == std::errc::result_out_of_range) exponent = -(int64_t{1} << 40);
      out.exponent += exponent;
      break;
    } else {
      if (c != '0' || !out.digits.empty()) out.digits.push_back(c);
      if (fraction) --out.exponent;
    }
  }
  while (!out.digits.empty() && out.digits.back() == '0') {
    out.digits.pop_back();
    ++out.exponent;
  }
  if (out.digits.empty()) out = LongDecimal();
  return out;
}

int CompareLongDecimals(const LongDecimal& a, const LongDecimal& b) {
  const auto sign = [](const LongDecimal& each) {
    return each.digits.empty() ? 0 : each.negative ? -1 : 1;
  };
  if (sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
  if (sign(a) == 0) return 0;
  // Where the first digit stands decides; then the digits, as the last zeros may be missing in one.
  const int64_t a_place = a.exponent + static_cast<int64_t>(a.digits.size());
  const int64_t b_place = b.exponent + static_cast<int64_t>(b.digits.size());
  int order = a_place != b_place ? (a_place < b_place ? -1 : 1) : 0;
  const size_t longer = std::max(a.digits.size(), b.digits.size());
  for (size_t i = 0; order == 0 && i < longer; ++i) {
    const char x = i < a.digits.size() ? a.digits[i] : '0';
    const char y = i < b.digits.size() ? b.digits[i] : '0';
    if (x != y) order = x < y ? -1 : 1;
  }
  return a.negative ? -order : order;
}

std::string DumpExactly(const Json& value) {
  if (!HasLongNumbers(value)) return DumpJson(value);
  std::string out;
  AppendExactly(value, out);
  return out;
}

}  // namespace toolrack
