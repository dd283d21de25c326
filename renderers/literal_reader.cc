#include "renderers/literal_reader.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "registry/base/errors.h"
#include "renderers/json_text.h"

namespace toolrack {
namespace {

constexpr size_t kMaxDepth = 256;
constexpr size_t kMaxWord = 4096;

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '+' ||
         c == '.' || c == '/' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

// A number in JSON's spelling, digits kept; empty when it is none.
std::string JsonNumber(absl::string_view word, bool& changed) {
  std::string text(word);
  if (!text.empty() && (text.back() == 'L' || text.back() == 'l')) text.pop_back();
  text = absl::StrReplaceAll(text, {{"_", ""}});
  if (absl::StartsWith(text, "+")) text.erase(0, 1);
  const bool negative = absl::StartsWith(text, "-");
  std::string digits = text.substr(negative ? 1 : 0);
  if (absl::StartsWith(digits, ".")) digits = absl::StrCat("0", digits);
  if (absl::EndsWith(digits, ".")) digits += '0';
  digits = absl::StrReplaceAll(digits, {{".e", ".0e"}, {".E", ".0E"}});
  const auto value = ParseJsonText(digits);
  if (!value || value->kind != JsonText::Kind::kNumber) return "";
  digits = absl::StrCat(negative ? "-" : "", digits);
  changed = digits != word;
  return digits;
}

}  // namespace

LiteralReader::LiteralReader(Rules rules, char closer) : rules_(std::move(rules)), closer_(closer) {
  stack_ = "a";
}

bool LiteralReader::Fail(absl::string_view reason) {
  state_ = State::kBad;
  reason_ = std::string(reason);
  return false;
}

void LiteralReader::Put(absl::string_view text) { absl::StrAppend(out_, text); }

void LiteralReader::PutEscaped(absl::string_view text) {
  if (high_ != 0) FlushSurrogate();
  if (key_) {
    absl::StrAppend(&key_text_, text);
  } else if (holding_) {
    absl::StrAppend(&held_, text);
  } else {
    AppendJsonEscaped(text, *out_);
  }
}

size_t LiteralReader::Feed(absl::string_view text, std::string& out,
                           std::vector<absl::string_view>& repairs) {
  out_ = &out;
  repairs_ = &repairs;
  // The object begins with its first byte.
  if (!begun_ && !text.empty()) {
    Put("{");
    begun_ = true;
  }
  size_t at = 0;
  while (at < text.size()) {
    if (state_ == State::kDone || state_ == State::kBad) return at;
    if (state_ == State::kString && quotes_ == 0) {
      // The plain part of a string in one piece.
      const size_t from = at;
      while (at < text.size() && text[at] != quote_ && text[at] != '\\' &&
             static_cast<unsigned char>(text[at]) >= 0x20) {
        ++at;
      }
      if (at > from) PutEscaped(text.substr(from, at - from));
      if (at == text.size()) break;
    } else if (state_ == State::kDelimited && matched_ == 0) {
      const size_t end = std::min(text.find(rules_.quote[0], at), text.size());
      if (end > at) PutEscaped(text.substr(at, end - at));
      at = end;
      if (at == text.size()) break;
    }
    if (Step(text[at])) ++at;
  }
  return at;
}

bool LiteralReader::Step(char c) {
  switch (state_) {
    case State::kKeyOrEnd:
      if (IsBlank(c)) return true;
      if (c == closer_ && stack_ == "a") return Close(c);
      if (c == '}' && stack_.back() == '{') return Close(c);
      key_ = true;
      key_text_.clear();
      if (c == '"' || c == '\'' || (!rules_.quote.empty() && c == rules_.quote[0])) {
        return BeginValue(c);
      }
      if (IsWordChar(c)) {
        word_ = c;
        state_ = State::kKeyWord;
        return true;
      }
      return Fail(absl::StrCat("a key is missing at ", ForMessage(std::string(1, c))));
    case State::kKeyWord:
      if (IsWordChar(c)) {
        if (word_.size() < kMaxWord) word_ += c;
        return true;
      }
      if (stack_.back() != 'a' && !rules_.bare_keys) {
        bool changed = false;
        if (JsonNumber(word_, changed).empty()) return Fail("a key must be a text");
        repairs_->push_back("python_literal");
      }
      key_text_ = std::exchange(word_, "");
      state_ = State::kSeparator;
      return false;
    case State::kSeparator: {
      if (IsBlank(c)) return true;
      const bool good = c == ':' ? stack_.back() != 'a' || rules_.separator == ':'
                                 : c == '=' && stack_.back() == 'a';
      if (!good) return Fail("an argument must be written with its name");
      if (comma_) Put(", ");
      std::string head;
      AppendJsonString(key_text_, head);
      Put(head + ": ");
      key_ = false;
      comma_ = false;
      state_ = State::kValue;
      return true;
    }
    case State::kValue:
    case State::kValueOrEnd:
      if (IsBlank(c)) return true;
      if ((c == ']' || c == ')') && state_ == State::kValueOrEnd) return Close(c);
      return BeginValue(c);
    case State::kOpening:
      if (c == quote_) {
        state_ = State::kOpening2;
        return true;
      }
      BeginString();
      return false;
    case State::kOpening2:
      if (c == quote_) {
        triple_ = true;
        BeginString();
        return true;
      }
      BeginString();
      EndString();
      return false;
    case State::kString:
      InString(c);
      return true;
    case State::kEscape:
      Escape(c);
      return true;
    case State::kHex:
      if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
        return Fail("an escape in a text is not whole");
      }
      hex_ += c;
      if (hex_.size() == hex_size_) {
        uint32_t point = 0;
        (void)absl::SimpleHexAtoi(hex_, &point);
        state_ = State::kString;
        Unicode(point);
      }
      return true;
    case State::kDelimiter:
      if (c != rules_.quote[matched_]) return Fail("a value is missing");
      if (++matched_ == rules_.quote.size()) {
        matched_ = 0;
        BeginString();
        state_ = State::kDelimited;
      }
      return true;
    case State::kDelimited:
      if (c == rules_.quote[matched_]) {
        if (++matched_ == rules_.quote.size()) {
          matched_ = 0;
          EndString();
        }
        return true;
      }
      if (matched_ > 0) {
        // It only looked like the end. No quote has its first character twice.
        PutEscaped(rules_.quote.substr(0, std::exchange(matched_, 0)));
        return false;
      }
      PutEscaped(absl::string_view(&c, 1));
      return true;
    case State::kWord:
      if (IsWordChar(c)) {
        if (word_.size() >= kMaxWord) return Fail("a value is too long to be a number");
        word_ += c;
        return true;
      }
      if ((c == '"' || c == '\'') && word_.size() == 1 && absl::StrContains("rRuUbB", word_)) {
        raw_ = absl::StrContains("rR", word_);
        word_.clear();
        quote_ = c;
        triple_ = false;
        state_ = State::kOpening;
        return true;
      }
      return EndWord();
    case State::kAfter:
      if (IsBlank(c)) return true;
      if (c == ',') {
        comma_ = true;
        state_ =
            stack_.back() == 'a' || stack_.back() == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
        return true;
      }
      return Close(c);
    case State::kDone:
    case State::kBad:
      break;
  }
  return Fail("not understood");
}

bool LiteralReader::BeginValue(char c) {
  if (!key_ && comma_) {
    Put(", ");
    comma_ = false;
  }
  raw_ = triple_ = false;
  if (c == '"' || c == '\'') {
    quote_ = c;
    state_ = State::kOpening;
    return true;
  }
  if (!rules_.quote.empty() && c == rules_.quote[0]) {
    matched_ = 1;
    state_ = State::kDelimiter;
    return true;
  }
  if (c == '{' || c == '[' || c == '(') {
    if (stack_.size() > kMaxDepth) return Fail("nested too deeply");
    stack_ += c;
    Put(c == '{' ? "{" : "[");
    state_ = c == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
    return true;
  }
  if (!IsWordChar(c)) return Fail(absl::StrCat("no value at ", ForMessage(std::string(1, c))));
  word_ = c;
  state_ = State::kWord;
  return true;
}

bool LiteralReader::EndWord() {
  if (word_ == "True" || word_ == "true") {
    Put("true");
  } else if (word_ == "False" || word_ == "false") {
    Put("false");
  } else if (word_ == "None" || word_ == "null") {
    Put("null");
  } else {
    bool changed = false;
    const std::string number = JsonNumber(word_, changed);
    if (number.empty()) return Fail(absl::StrCat("no literal: ", ForMessage(word_)));
    Put(number);
  }
  word_.clear();
  EndValue();
  return false;
}

void LiteralReader::EndValue() {
  comma_ = false;
  state_ = State::kAfter;
}

void LiteralReader::BeginString() {
  quotes_ = 0;
  high_ = 0;
  state_ = State::kString;
  if (key_) return;
  holding_ = false;
  if (rules_.types && stack_ == "a") {
    types_ = rules_.types(key_text_);
    holding_ = !types_.any() && !types_.string;
    held_.clear();
  }
  if (!holding_) Put("\"");
}

void LiteralReader::EndString() {
  if (high_ != 0) FlushSurrogate();
  if (key_) {
    state_ = State::kSeparator;
    return;
  }
  if (holding_) {
    bool repaired = false;
    Put(DecodeValue(types_, held_, repaired));
    repairs_->push_back("quoted_value");
    holding_ = false;
  } else {
    Put("\"");
  }
  EndValue();
}

void LiteralReader::InString(char c) {
  if (c == quote_) {
    if (!triple_) return EndString();
    if (++quotes_ == 3) EndString();
    return;
  }
  if (quotes_ > 0) {
    PutEscaped(std::string(static_cast<size_t>(std::exchange(quotes_, 0)), quote_));
  }
  if (c == '\\') {
    if (raw_) return PutEscaped("\\");
    state_ = State::kEscape;
    return;
  }
  if (static_cast<unsigned char>(c) < 0x20 && !triple_)
    repairs_->push_back("raw_control_character");
  PutEscaped(absl::string_view(&c, 1));
}

void LiteralReader::Escape(char c) {
  state_ = State::kString;
  hex_.clear();
  hex_size_ = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (hex_size_ > 0) {
    state_ = State::kHex;
    return;
  }
  static constexpr absl::string_view kFrom = "abfnrtv0", kTo = "\a\b\f\n\r\t\v";
  const size_t at = kFrom.find(c);
  if (c == '\n') return;
  if (c == '\\' || c == '\'' || c == '"') return PutEscaped(absl::string_view(&c, 1));
  if (at == absl::string_view::npos) {
    const char both[2] = {'\\', c};
    return PutEscaped(absl::string_view(both, 2));
  }
  PutEscaped(at < kTo.size() ? kTo.substr(at, 1) : absl::string_view("\0", 1));
}

void LiteralReader::FlushSurrogate() {
  high_ = 0;
  PutEscaped("\uFFFD");
}

void LiteralReader::Unicode(uint32_t point) {
  if (point >= 0xDC00 && point < 0xE000 && high_ != 0) {
    point = 0x10000 + ((high_ - 0xD800) << 10) + (point - 0xDC00);
    high_ = 0;
  }
  if (high_ != 0) FlushSurrogate();
  if (point >= 0xD800 && point < 0xDC00) {
    high_ = point;
    return;
  }
  if (point > 0x10FFFF || (point >= 0xDC00 && point < 0xE000)) point = 0xFFFD;
  std::string text;
  if (point < 0x80) {
    text += static_cast<char>(point);
  } else if (point < 0x800) {
    text += static_cast<char>(0xC0 | point >> 6);
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    text += static_cast<char>(0xE0 | point >> 12);
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | point >> 18);
    text += static_cast<char>(0x80 | (point >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (point >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (point & 0x3F));
  }
  PutEscaped(text);
}

bool LiteralReader::Close(char c) {
  const char open = stack_.back();
  const bool fits = open == 'a'   ? c == closer_
                    : open == '{' ? c == '}'
                    : open == '[' ? c == ']'
                                  : c == ')';
  if (!fits)
    return Fail(
        absl::StrCat("a comma or a closer is missing before ", ForMessage(std::string(1, c))));
  stack_.pop_back();
  Put(open == 'a' || open == '{' ? "}" : "]");
  if (stack_.empty()) {
    state_ = State::kDone;
  } else {
    EndValue();
  }
  return true;
}

std::string ReadLiteral(absl::string_view text) {
  LiteralReader reader({}, ')');
  std::string out;
  std::vector<absl::string_view> repairs;
  for (const absl::string_view piece : {absl::string_view("v="), text, absl::string_view(")")}) {
    if (reader.Feed(piece, out, repairs) != piece.size()) return "";
  }
  if (!reader.done()) return "";
  const auto value = ParseJsonText(out);
  return value && value->members.size() == 1 ? WriteJson(value->members[0].value, kSpacedJson) : "";
}

}  // namespace toolrack
