#include "registry/schema/pattern.h"

#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "registry/schema/unicode_names.h"

namespace toolrack {
namespace {

// What ECMA-262 calls white space and line ends, as class items, and everything else.
constexpr char kSpace[] =
    "\\t\\n\\v\\f\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}"
    "\\x{3000}\\x{feff}";
constexpr char kNotSpace[] =
    "\\x00-\\x08\\x0e-\\x1f!-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}"
    "\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}"
    "\\x{ff00}-\\x{10ffff}";
constexpr char kDot[] = "[^\\n\\r\\x{2028}\\x{2029}]";

// A code point as RE2 reads it anywhere, inside a class or out.
std::string Literal(uint32_t point) { return absl::StrFormat("\\x{%x}", point); }

class Translator {
 public:
  // `only_read`: what cannot be translated is passed over, so that only its syntax is judged.
  Translator(absl::string_view pattern, bool only_read) : text_(pattern), only_read_(only_read) {}

  absl::StatusOr<std::string> Run() {
    while (status_.ok() && at_ < text_.size()) Next();
    if (status_.ok() && open_ > 0) Bad("a group is not closed");
    if (!status_.ok()) return status_;
    return std::move(out_);
  }

 private:
  void Bad(absl::string_view what) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("not a regular expression: ", what, " (byte ", at_, ")"));
    }
  }
  // False: the caller is to go on.
  bool Cannot(absl::string_view what) {
    if (only_read_) return false;
    if (status_.ok()) {
      status_ =
          absl::UnimplementedError(absl::StrCat(what, " cannot be enforced (byte ", at_, ")"));
    }
    return true;
  }

  bool More() const { return at_ < text_.size(); }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool Skip(absl::string_view token) {
    if (!absl::StartsWith(text_.substr(at_), token)) return false;
    at_ += token.size();
    return true;
  }
  void Atom(absl::string_view re2) {
    absl::StrAppend(&out_, re2);
    repeatable_ = true;
  }
  void Anchor(absl::string_view re2) {
    absl::StrAppend(&out_, re2);
    repeatable_ = false;
  }

  // The character at the cursor, in any encoding length.
  uint32_t TakeCharacter() {
    const auto lead = static_cast<unsigned char>(text_[at_]);
    const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    uint32_t point = length == 1 ? lead : lead & (0xFF >> (length + 1));
    for (size_t i = 1; i < length && at_ + i < text_.size(); ++i) {
      point = point << 6 | (static_cast<unsigned char>(text_[at_ + i]) & 0x3F);
    }
    at_ += length;
    return point;
  }

  void Next() {
    const char c = Peek();
    switch (c) {
      case '\\':
        ++at_;
        OutsideEscape();
        return;
      case '[':
        ++at_;
        Class();
        return;
      case '(':
        ++at_;
        Group();
        return;
      case ')':
        if (open_ == 0) return Bad("a `)` without its `(`");
        ++at_;
        --open_;
        Atom(")");
        return;
      case '|':
        ++at_;
        Anchor("|");
        return;
      case '^':
        ++at_;
        Anchor("^");
        return;
      case '$':
        ++at_;
        Anchor("$");
        return;
      case '.':
        ++at_;
        Atom(kDot);
        return;
      case '*':
      case '+':
      case '?':
        ++at_;
        Quantifier(std::string(1, c));
        return;
      case '{':
        Braces();
        return;
      default:
        Atom(Literal(TakeCharacter()));
    }
  }

  void Quantifier(absl::string_view re2) {
    if (!repeatable_) return Bad("nothing to repeat");
    absl::StrAppend(&out_, re2);
    if (Skip("?")) out_.push_back('?');
    repeatable_ = false;
  }

  void Braces() {
    // {n}, {n,} or {n,m}; anything else is read as text, as browsers do.
    size_t end = at_ + 1;
    while (end < text_.size() && absl::ascii_isdigit(text_[end])) ++end;
    const bool has_low = end > at_ + 1;
    if (end < text_.size() && text_[end] == ',') {
      ++end;
      while (end < text_.size() && absl::ascii_isdigit(text_[end])) ++end;
    }
    if (!has_low || end >= text_.size() || text_[end] != '}') {
      ++at_;
      return Atom("\\{");
    }
    const absl::string_view braces = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    Quantifier(braces);
  }

  void Group() {
    if (Skip("?:")) {
    } else if (Skip("?=") || Skip("?!")) {
      if (Cannot("look-ahead")) return;
    } else if (Skip("?<=") || Skip("?<!")) {
      if (Cannot("look-behind")) return;
    } else if (Skip("?<")) {
      const size_t end = text_.find('>', at_);
      if (end == absl::string_view::npos || end == at_) return Bad("a group name is not closed");
      at_ = end + 1;
    } else if (Peek() == '?') {
      return Bad("an unknown kind of group");
    }
    ++open_;
    Anchor("(?:");  // nothing reads the groups
  }

  void OutsideEscape() {
    if (!More()) return Bad("it ends in a backslash");
    const char c = Peek();
    if (c == 'b' || c == 'B') {
      ++at_;
      return Anchor(c == 'b' ? "\\b" : "\\B");
    }
    if ((absl::ascii_isdigit(c) && c != '0') || c == 'k') {
      if (Cannot("a back-reference")) return;
      ++at_;
      while (absl::ascii_isdigit(c) && absl::ascii_isdigit(Peek())) ++at_;
      if (c == 'k') {
        const size_t end = text_.find('>', at_);
        if (Peek() != '<' || end == absl::string_view::npos) return Bad("`\\k` without a name");
        at_ = end + 1;
      }
      return Atom("x");
    }
    std::string items;
    if (ClassEscape(items)) return Atom(absl::StrCat("[", items, "]"));
    uint32_t point;
    if (CharacterEscape(point)) Atom(Literal(point));
  }

  // \d \D \w \W \s \S \p \P, as items that may stand in a class. False: something else, or a fault.
  bool ClassEscape(std::string& items) {
    switch (Peek()) {
      case 'd':
      case 'D':
      case 'w':
      case 'W':
        items = std::string("\\") + Peek();
        break;
      case 's':
        items = kSpace;
        break;
      case 'S':
        items = kNotSpace;
        break;
      case 'p':
      case 'P':
        return PropertyEscape(items);
      default:
        return false;
    }
    ++at_;
    return true;
  }

  bool PropertyEscape(std::string& items) {
    const char c = Peek();
    const size_t end = text_.find('}', at_);
    if (Peek(1) != '{' || end == absl::string_view::npos) {
      Bad("a Unicode property without its name in braces");
      return false;
    }
    absl::string_view name = text_.substr(at_ + 2, end - at_ - 2);
    std::string re2;
    bool script = false;
    for (const char* prefix : {"Script=", "sc="}) {
      if (!absl::StartsWith(name, prefix)) continue;
      name.remove_prefix(std::string(prefix).size());
      script = true;
    }
    for (const char* prefix : {"General_Category=", "gc="}) {
      if (absl::StartsWith(name, prefix)) name.remove_prefix(std::string(prefix).size());
    }
    if (!script) {
      re2 = std::string(CategoryNamed(name));
    } else {
      re2 = std::string(name);
    }
    const std::string candidate = absl::StrCat("\\", std::string(1, c), "{", re2, "}");
    RE2::Options options;
    options.set_log_errors(false);
    if (re2.empty() || !RE2(candidate, options).ok()) {
      if (Cannot(absl::StrCat("the Unicode property `", name, "`"))) return false;
      at_ = end + 1;
      items = "x";
      return true;
    }
    at_ = end + 1;
    items = candidate;
    return true;
  }

  bool Hex(size_t digits, uint32_t& value) {
    if (at_ + digits > text_.size()) return false;
    value = 0;
    for (size_t i = 0; i < digits; ++i) {
      const char c = text_[at_ + i];
      if (!absl::ascii_isxdigit(c)) return false;
      value = value * 16 + static_cast<uint32_t>(absl::ascii_isdigit(c)
                                                     ? c - '0'
                                                     : absl::ascii_tolower(c) - 'a' + 10);
    }
    at_ += digits;
    return true;
  }

  // The cursor is after the backslash. False after a fault.
  bool CharacterEscape(uint32_t& point) {
    const char c = Peek();
    switch (c) {
      case 't':
        point = '\t';
        break;
      case 'n':
        point = '\n';
        break;
      case 'v':
        point = '\v';
        break;
      case 'f':
        point = '\f';
        break;
      case 'r':
        point = '\r';
        break;
      case '0':
        if (absl::ascii_isdigit(Peek(1)) && Cannot("an octal escape")) return false;
        point = 0;
        break;
      case 'c':
        if (!absl::ascii_isalpha(Peek(1))) {
          Bad("`\\c` without a letter");
          return false;
        }
        point = static_cast<uint32_t>(Peek(1)) % 32;
        ++at_;
        break;
      case 'x':
        ++at_;
        if (Hex(2, point)) return true;
        Bad("`\\x` without two hexadecimal digits");
        return false;
      case 'u':
        ++at_;
        return UnicodeEscape(point);
      default:
        if (static_cast<unsigned char>(c) >= 0x80) {
          point = TakeCharacter();
          return true;
        }
        if (absl::ascii_isalnum(c) || c == '_') {
          Bad(absl::StrCat("unknown escape `\\", std::string(1, c), "`"));
          return false;
        }
        if (!absl::ascii_isascii(c)) {
          Bad("a backslash before a character that is not ASCII");
          return false;
        }
        point = static_cast<unsigned char>(c);
    }
    ++at_;
    return true;
  }

  bool UnicodeEscape(uint32_t& point) {
    if (Skip("{")) {
      point = 0;
      size_t digits = 0;
      while (absl::ascii_isxdigit(Peek()) && digits < 8) {
        uint32_t digit;
        Hex(1, digit);
        point = point * 16 + digit;
        ++digits;
      }
      if (digits > 0 && point <= 0x10FFFF && Skip("}")) return true;
      Bad("`\\u{` without a code point");
      return false;
    }
    if (!Hex(4, point)) {
      Bad("`\\u` without four hexadecimal digits");
      return false;
    }
    if (point >= 0xD800 && point <= 0xDBFF) {
      const size_t before = at_;
      uint32_t low;
      if (Skip("\\u") && Hex(4, low) && low >= 0xDC00 && low <= 0xDFFF) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        return true;
      }
      at_ = before;
    }
    if (point >= 0xD800 && point <= 0xDFFF) {
      if (Cannot("half of a surrogate pair")) return false;
      point = 0xFFFD;
    }
    return true;
  }

  // One item of a class: a set (then `items`) or one character. False at a fault.
  bool ClassItem(std::string& items, uint32_t& point) {
    if (Peek() != '\\') {
      point = TakeCharacter();
      return true;
    }
    ++at_;
    if (!More()) {
      Bad("it ends in a backslash");
      return false;
    }
    if (Peek() == 'b') {
      ++at_;
      point = '\b';
      return true;
    }
    if (ClassEscape(items)) return true;
    return status_.ok() && CharacterEscape(point);
  }

  void Class() {
    const bool negated = Skip("^");
    std::string body;
    while (More() && Peek() != ']') {
      std::string set;
      uint32_t low = 0;
      if (!ClassItem(set, low)) return;
      if (!set.empty()) {
        body += set;
        continue;
      }
      if (Peek() != '-' || Peek(1) == ']' || at_ + 1 >= text_.size()) {
        body += Literal(low);
        continue;
      }
      ++at_;
      uint32_t high = 0;
      if (!ClassItem(set, high)) return;
      if (!set.empty()) {
        absl::StrAppend(&body, Literal(low), "\\-", set);
      } else if (high < low) {
        return Bad("a range from high to low");
      } else {
        absl::StrAppend(&body, Literal(low), "-", Literal(high));
      }
    }
    if (!Skip("]")) return Bad("a class is not closed");
    if (body.empty()) return Atom(negated ? "[\\x00-\\x{10ffff}]" : "[^\\x00-\\x{10ffff}]");
    Atom(absl::StrCat("[", negated ? "^" : "", body, "]"));
  }

  absl::string_view text_;
  const bool only_read_;
  size_t at_ = 0;
  std::string out_;
  int open_ = 0;
  bool repeatable_ = false;
  absl::Status status_;
};

}  // namespace

absl::StatusOr<std::string> TranslatePattern(absl::string_view pattern) {
  return Translator(pattern, false).Run();
}

bool IsRegex(absl::string_view text) { return Translator(text, true).Run().ok(); }

absl::StatusOr<Pattern> Pattern::Create(absl::string_view pattern) {
  absl::StatusOr<std::string> translated = TranslatePattern(pattern);
  if (!translated.ok()) return translated.status();
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(4 << 20);
  auto regex = std::make_unique<RE2>(*translated, options);
  if (!regex->ok()) {
    if (regex->error_code() == RE2::ErrorPatternTooLarge ||
        regex->error_code() == RE2::ErrorRepeatSize) {
      return absl::UnimplementedError(
          "a repeat count over 1000, or an expression this large,"
          " cannot be enforced");
    }
    return absl::InvalidArgumentError(absl::StrCat("not a regular expression: ", regex->error()));
  }
  return Pattern(std::string(pattern), std::move(regex));
}

}  // namespace toolrack
