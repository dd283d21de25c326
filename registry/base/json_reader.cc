#include "registry/base/json_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

// Bytes that end a run of plain characters in a string.
constexpr uint8_t kPlain = 0, kEnd = 1, kHigh = 2;
constexpr std::array<uint8_t, 256> kStringBytes = [] {
  std::array<uint8_t, 256> kinds{};
  for (int c = 0; c < 0x20; ++c) kinds[c] = kEnd;
  for (int c = 0x80; c < 0x100; ++c) kinds[c] = kHigh;
  kinds['"'] = kinds['\\'] = kEnd;
  return kinds;
}();

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(absl::string_view text, const JsonLimits& limits)
      : at_(text.data()), end_(text.data() + text.size()), limits_(limits) {}

  bool Read(Json& root) {
    Json* target = &root;
    while (true) {
      if (!Value(target)) return false;
      if (target != nullptr) continue;  // a container was opened: its first value is next
      if (!AfterValue(target)) return false;
      if (target == nullptr) return at_ == end_;
    }
  }

 private:
  // Reads the value that goes to *target. A container with content is only opened: `target` becomes
  // the place of its first value; otherwise null.
  bool Value(Json*& target) {
    SkipSpace();
    if (at_ == end_ || ++nodes_ > limits_.max_nodes) return false;
    Json& value = *target;
    target = nullptr;
    switch (*at_) {
      case '{':
        if (!Open(value, Json::value_t::object)) return false;
        return Closes('}') || Key(value, target);
      case '[':
        if (!Open(value, Json::value_t::array)) return false;
        if (!Closes(']')) target = Append(value);
        return true;
      case '"': {
        std::string text;
        if (!String(text)) return false;
        value = std::move(text);
        return true;
      }
      case 't':
        value = true;
        return Word("true");
      case 'f':
        value = false;
        return Word("false");
      case 'n':
        return Word("null");
      default:
        return Number(value);
    }
  }

  // What follows a value: the place of the next one, or null at the end of the text.
  bool AfterValue(Json*& target) {
    while (true) {
      SkipSpace();
      target = nullptr;
      if (open_.empty()) return true;
      if (at_ == end_) return false;
      Json& parent = *open_.back();
      const char c = *at_++;
      if (c == ',') {
        if (parent.is_object()) {
          SkipSpace();
          return Key(parent, target);
        }
        target = Append(parent);
        return true;
      }
      if (c != (parent.is_object() ? '}' : ']')) return false;
      open_.pop_back();
    }
  }

  bool Open(Json& value, Json::value_t kind) {
    if (open_.size() >= limits_.max_depth) return false;
    ++at_;
    value = kind;
    open_.push_back(&value);
    return true;
  }

  bool Closes(char bracket) {
    SkipSpace();
    if (at_ == end_ || *at_ != bracket) return false;
    ++at_;
    open_.pop_back();
    return true;
  }

  // Addresses are stable: a container is not touched while one of its children is open.
  static Json* Append(Json& array) {
    return &array.get_ref<Json::array_t&>().emplace_back(nullptr);
  }

  bool Key(Json& object, Json*& target) {
    if (at_ == end_ || *at_ != '"') return false;
    std::string key;
    if (!String(key)) return false;
    SkipSpace();
    if (at_ == end_ || *at_++ != ':') return false;
    const auto [place, fresh] = object.get_ref<Json::object_t&>().emplace(std::move(key), nullptr);
    target = &place->second;
    return fresh;
  }

  // From the opening quote to behind the closing one.
  bool String(std::string& out) {
    const char* run = ++at_;
    uint8_t seen = 0;
    while (true) {
      uint8_t kind = kPlain;
      while (at_ != end_ && (kind = kStringBytes[static_cast<uint8_t>(*at_)]) != kEnd) {
        seen |= kind;
        ++at_;
      }
      if (at_ == end_) return false;
      out.append(run, at_ - run);
      if (*at_ == '"') break;
      if (*at_ != '\\' || !Escape(out)) return false;
      run = at_;
    }
    ++at_;
    // Escapes add whole characters only: the whole is well-formed just when the runs are.
    return (seen & kHigh) == 0 || IsUtf8(out);
  }

  bool Escape(std::string& out) {
    if (++at_ == end_) return false;
    switch (*at_++) {
      case '"':
        out.push_back('"');
        return true;
      case '\\':
        out.push_back('\\');
        return true;
      case '/':
        out.push_back('/');
        return true;
      case 'b':
        out.push_back('\b');
        return true;
      case 'f':
        out.push_back('\f');
        return true;
      case 'n':
        out.push_back('\n');
        return true;
      case 'r':
        out.push_back('\r');
        return true;
      case 't':
        out.push_back('\t');
        return true;
      case 'u':
        return CodePoint(out);
      default:
        return false;
    }
  }

  bool CodePoint(std::string& out) {
    uint32_t c = 0;
    if (!Hex(c) || (c >= 0xDC00 && c < 0xE000)) return false;
    if (c >= 0xD800 && c < 0xDC00) {
      uint32_t low = 0;
      if (end_ - at_ < 2 || at_[0] != '\\' || at_[1] != 'u') return false;
      at_ += 2;
      if (!Hex(low) || low < 0xDC00 || low >= 0xE000) return false;
      c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
    if (c < 0x80) {
      out.push_back(static_cast<char>(c));
    } else if (c < 0x800) {
      out.append({static_cast<char>(0xC0 | c >> 6), tail(0)});
    } else if (c < 0x10000) {
      out.append({static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)});
    } else {
      out.append({static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)});
    }
    return true;
  }

  bool Hex(uint32_t& out) {
    if (end_ - at_ < 4) return false;
    const auto [stop, error] = std::from_chars(at_, at_ + 4, out, 16);
    const bool good = error == std::errc() && stop == at_ + 4;
    at_ += 4;
    return good;
  }

  bool Number(Json& value) {
    const char* start = at_;
    const bool negative = *at_ == '-';
    if (negative) ++at_;
    const char* digits = at_;
    if (!Digits() || (*digits == '0' && at_ - digits > 1)) return false;
    bool integer = true;
    if (at_ != end_ && *at_ == '.') {
      ++at_;
      integer = false;
      if (!Digits()) return false;
    }
    if (at_ != end_ && (*at_ == 'e' || *at_ == 'E')) {
      ++at_;
      integer = false;
      if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
      if (!Digits()) return false;
    }
    if (integer && negative && As<Json::number_integer_t>(start, value)) return true;
    if (integer && !negative && As<Json::number_unsigned_t>(start, value)) return true;
    return As<Json::number_float_t>(start, value);  // also integers beyond 64 bits
  }

  template <typename T>
  bool As(const char* start, Json& value) {
    T number;
    const auto [stop, error] = std::from_chars(start, at_, number);
    if (error != std::errc() || stop != at_) return false;
    value = number;
    return true;
  }

  bool Digits() {
    const char* start = at_;
    while (at_ != end_ && IsDigit(*at_)) ++at_;
    return at_ != start;
  }

  bool Word(absl::string_view word) {
    if (static_cast<size_t>(end_ - at_) < word.size() ||
        std::memcmp(at_, word.data(), word.size()) != 0) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }

  const char* at_;
  const char* const end_;
  const JsonLimits& limits_;
  absl::InlinedVector<Json*, 16> open_;
  size_t nodes_ = 0;
};

}  // namespace

bool ReadGoodJson(absl::string_view text, const JsonLimits& limits, Json& out) {
  return text.size() <= limits.max_bytes && Reader(text, limits).Read(out);
}

}  // namespace toolrack
