#include "renderers/arguments.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/json_text.h"

namespace toolrack {
namespace {

constexpr size_t kMaxDepth = 256;

bool IsBlank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
bool IsWordChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '+' || c == '.' ||
         c == '_';
}
bool IsJsonNumber(absl::string_view word) {
  const auto value = ParseJsonText(word);
  return value && value->kind == JsonText::Kind::kNumber;
}

}  // namespace

struct ArgumentsReader::Writer {
  std::string& out;
  std::vector<absl::string_view>& repairs;
};

ArgumentsReader::ArgumentsReader(Extent extent) : extent_(extent) {}
ArgumentsReader::~ArgumentsReader() = default;

void ArgumentsReader::Fail(absl::string_view reason) {
  state_ = State::kBad;
  reason_ = std::string(reason);
}

size_t ArgumentsReader::Feed(absl::string_view text, std::string& out,
                             std::vector<absl::string_view>& repairs) {
  Writer writer{out, repairs};
  for (size_t at = 0; at < text.size(); ++at) {
    if (state_ == State::kBad || (extent_ == Extent::kOneValue && done())) return at;
    if (state_ == State::kString) {
      // The plain part of a string goes in one piece.
      const size_t from = at;
      while (at < text.size() && text[at] != '"' && text[at] != '\\' && text[at] != '\'' &&
             static_cast<unsigned char>(text[at]) >= 0x20) {
        ++at;
      }
      out.append(text.data() + from, at - from);
      if (at == text.size()) break;
    }
    if (extent_ == Extent::kOneValue && state_ == State::kStart && !IsWordChar(text[at]) &&
        (word_ == "null" || word_ == "None")) {
      out += "{}";
      state_ = State::kDone;
      return at;
    }
    Step(text[at], writer);
    if (state_ == State::kBad) return at;
  }
  return text.size();
}

void ArgumentsReader::Begin(char c, Writer& writer) {
  // A value, key or closer begins: the comma before it counts, unless a closer follows.
  if (!held_.empty()) {
    if (c == '}' || c == ']') {
      writer.repairs.push_back("trailing_comma");
      writer.out.append(held_, 1, std::string::npos);
    } else {
      writer.out += held_;
    }
    held_.clear();
  }
  if (c == '}' || c == ']') return Close(c, writer);
  if (c == '"' || c == '\'') {
    quote_ = c;
    if (c == '\'') writer.repairs.push_back("python_literal");
    writer.out += '"';
    state_ = State::kString;
    return;
  }
  if (key_)
    return Fail(
        absl::StrCat("a key must be in double quotes, got ", ForMessage(std::string(1, c))));
  if (c == '{' || c == '[') {
    if (stack_.size() >= kMaxDepth) return Fail("nested too deeply");
    stack_ += c;
    writer.out += c;
    state_ = c == '{' ? State::kKeyOrEnd : State::kValueOrEnd;
    return;
  }
  if (!IsWordChar(c)) return Fail(absl::StrCat("not JSON at ", ForMessage(std::string(1, c))));
  word_ = c;
  state_ = State::kWord;
}

void ArgumentsReader::Close(char c, Writer& writer) {
  if (stack_.empty() || (stack_.back() == '{') != (c == '}')) {
    return Fail(absl::StrCat("an unexpected ", std::string(1, c)));
  }
  stack_.pop_back();
  writer.out += c;
  EndValue();
}

void ArgumentsReader::EndValue() {
  key_ = false;
  state_ = stack_.empty() ? State::kDone : State::kAfter;
}

void ArgumentsReader::EndWord(Writer& writer) {
  if (word_ == "True" || word_ == "False" || word_ == "None") {
    writer.repairs.push_back("python_literal");
    writer.out += word_ == "True" ? "true" : word_ == "False" ? "false" : "null";
  } else if (word_ == "true" || word_ == "false" || word_ == "null" || IsJsonNumber(word_)) {
    writer.out += word_;
  } else {
    return Fail(absl::StrCat("not JSON: ", ForMessage(word_)));
  }
  word_.clear();
  EndValue();
}

void ArgumentsReader::InString(char c, Writer& writer) {
  if (c == quote_) {
    writer.out += '"';
    if (key_) {
      key_ = false;
      state_ = State::kColon;
    } else {
      EndValue();
    }
  } else if (c == '\\') {
    state_ = State::kEscape;
  } else if (c == '"') {
    writer.out += "\\\"";  // within single quotes
  } else if (static_cast<unsigned char>(c) < 0x20) {
    writer.repairs.push_back("raw_control_character");
    AppendJsonEscaped(absl::string_view(&c, 1), writer.out);
  } else {
    writer.out += c;
  }
}

void ArgumentsReader::AfterBackslash(char c, Writer& writer) {
  state_ = State::kString;
  if (c == 'u') {
    hex_.clear();
    state_ = State::kHex;
  } else if (absl::string_view("\"\\/bfnrt").find(c) != absl::string_view::npos) {
    writer.out += '\\';
    writer.out += c;
  } else if (c == '\'') {
    if (quote_ == '"') writer.repairs.push_back("bad_escape");
    writer.out += c;
  } else {
    writer.repairs.push_back("bad_escape");
    writer.out += "\\\\";
    InString(c, writer);
  }
}

void ArgumentsReader::Step(char c, Writer& writer) {
  switch (state_) {
    case State::kStart:
      if (IsBlank(c)) return;
      if (c == '{') return Begin(c, writer);
      if (c == '[' && !unwrapped_) {
        unwrapped_ = true;
        return;
      }
      if (c == '"' && !unwrapped_) {
        word_ = c;
        state_ = State::kWholeString;
        return;
      }
      if (IsWordChar(c) && !unwrapped_ && word_.size() < 4) {
        word_ += c;
        return;
      }
      return Fail("the arguments are no JSON object");
    case State::kWholeString:
      word_ += c;
      if (c == '"' && !escaped_) {
        const auto text = ParseJsonText(word_);
        if (!text) return Fail("the arguments are no JSON object but a string");
        inner_ = std::make_unique<ArgumentsReader>();
        inner_->Feed(text->text, writer.out, writer.repairs);
        const bool good = inner_->state_ != State::kWholeString &&
                          inner_->Finish(writer.out, writer.repairs) == End::kComplete;
        if (!good) return Fail("the arguments are a string that holds no JSON object");
        writer.repairs.push_back("arguments_as_string");
        word_.clear();
        state_ = State::kDone;
        return;
      }
      escaped_ = c == '\\' && !escaped_;
      return;
    case State::kKeyOrEnd:
    case State::kKey:
    case State::kValue:
    case State::kValueOrEnd:
      if (IsBlank(c)) {
        (held_.empty() ? writer.out : held_) += c;
        return;
      }
      key_ = state_ == State::kKeyOrEnd || state_ == State::kKey;
      if ((c == '}' || c == ']') && state_ == State::kValue && held_.empty()) {
        return Fail("a value is missing");
      }
      return Begin(c, writer);
    case State::kColon:
      if (!IsBlank(c) && c != ':') return Fail("a colon is missing behind a key");
      writer.out += c;
      if (c == ':') state_ = State::kValue;
      return;
    case State::kString:
      return InString(c, writer);
    case State::kEscape:
      return AfterBackslash(c, writer);
    case State::kHex:
      if (!absl::ascii_isxdigit(static_cast<unsigned char>(c))) {
        writer.repairs.push_back("bad_escape");
        absl::StrAppend(&writer.out, "\\\\u", hex_);
        state_ = State::kString;
        return InString(c, writer);
      }
      hex_ += c;
      if (hex_.size() == 4) {
        absl::StrAppend(&writer.out, "\\u", hex_);
        state_ = State::kString;
      }
      return;
    case State::kWord:
      if (IsWordChar(c)) {
        word_ += c;
        return;
      }
      EndWord(writer);
      if (state_ != State::kBad) Step(c, writer);
      return;
    case State::kAfter:
      if (IsBlank(c)) {
        writer.out += c;
      } else if (c == ',') {
        held_ = c;
        state_ = stack_.back() == '{' ? State::kKey : State::kValue;
      } else if (c == '}' || c == ']') {
        Close(c, writer);
      } else {
        Fail(absl::StrCat("a comma or a closing brace is missing before ",
                          ForMessage(std::string(1, c))));
      }
      return;
    case State::kDone:
      if (IsBlank(c)) return;
      if (c == ']' && unwrapped_) {
        unwrapped_ = false;
        writer.repairs.push_back("array_unwrapped");
      } else if (c == ']' || c == '}') {
        writer.repairs.push_back("stray_closer");
      } else {
        Fail("there is more behind the JSON object");
      }
      return;
    case State::kBad:
      return;
  }
}

ArgumentsReader::End ArgumentsReader::Finish(std::string& out, std::vector<absl::string_view>&) {
  if (state_ == State::kStart && !unwrapped_ &&
      (word_.empty() || word_ == "null" || word_ == "None")) {
    out += "{}";
    return End::kComplete;
  }
  if (state_ == State::kDone && !unwrapped_) return End::kComplete;
  if (state_ == State::kBad) return End::kNotUnderstood;
  if (state_ == State::kStart && !word_.empty()) {
    reason_ = "the arguments are no JSON object";
    return End::kNotUnderstood;
  }
  reason_ = "the arguments end before they are complete";
  return End::kTruncated;
}

}  // namespace toolrack
