// Calls as tags: `<function=f>` with `<parameter=k>`, `<invoke name="f">` with `<parameter
// name="k">`, and GLM's pairs of key and value. Not XML: nothing is escaped, and a value ends only
// at a closing tag that something of the call follows.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/family_engines.h"
#include "renderers/family_parser.h"
#include "renderers/json_text.h"
#include "renderers/literal_reader.h"
#include "renderers/value_codec.h"

namespace toolrack {
namespace {

constexpr size_t kMaxTag = 1000;

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool IsBlankText(absl::string_view text) { return absl::StripAsciiWhitespace(text).empty(); }

// The value of an attribute in an opening tag; nullopt when there is none.
std::optional<std::string> Attribute(absl::string_view tag, absl::string_view name) {
  const size_t at = tag.find(absl::StrCat(" ", name, "="));
  if (at == absl::string_view::npos) return std::nullopt;
  tag.remove_prefix(at + name.size() + 2);
  if (tag.empty()) return std::nullopt;
  const char quote = tag[0];
  if (quote != '"' && quote != '\'') return std::nullopt;
  const size_t end = tag.find(quote, 1);
  if (end == absl::string_view::npos) return std::nullopt;
  return std::string(tag.substr(1, end - 1));
}

class TagCallParser final : public FamilyParser {
 public:
  TagCallParser(const OfferedTools& offered, OutputSink& sink)
      : FamilyParser(offered, sink), tags_(format_.tags), pairs_(tags_.style == TagStyle::kPairs) {
    const auto tag = [this](absl::string_view word, bool closing) {
      return pairs_ ? absl::StrCat(closing ? "</" : "<", word, tags_.affix)
                    : absl::StrCat(closing ? "</" : "<", tags_.affix, word);
    };
    if (pairs_) {
      key_open_ = tag("arg_key", false) + ">";
      key_close_ = tag("arg_key", true) + ">";
      parameter_open_ = tag("arg_value", false) + ">";
      parameter_close_ = tag("arg_value", true) + ">";
      call_open_ = tag("tool_call", false) + ">";
      call_close_ = tag("tool_call", true) + ">";
      separator_ = tag("tool_sep", false) + ">";
    } else {
      const absl::string_view behind = tags_.style == TagStyle::kEquals ? "=" : "";
      call_open_ = absl::StrCat(tag(tags_.call, false), behind);
      call_close_ = tag(tags_.call, true) + ">";
      parameter_open_ = absl::StrCat(tag(tags_.parameter, false), behind);
      parameter_close_ = tag(tags_.parameter, true) + ">";
    }
  }

 private:
  enum Own { kCallOpen = kOwn, kCallClose, kParameterOpen, kParameterClose };
  enum class State { kInvoke, kValue, kAfterValue };

  absl::string_view OwnFirsts() const override { return "<"; }
  bool WantsMarkers() const override { return true; }
  void Begin(absl::string_view raw) override { BeginCall(raw); }

  // Of a tag with a name in it: up to `>`, outside quotes.
  Match WholeTag(absl::string_view rest, size_t at, int id) const {
    char quote = 0;
    for (; at < rest.size() && at < kMaxTag; ++at) {
      const char c = rest[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '>') {
        return {Match::Kind::kYes, id, at + 1};
      } else if (tags_.style == TagStyle::kAttribute && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == '<' || c == '\n') {
        return {};
      }
    }
    return {at < kMaxTag ? Match::Kind::kMore : Match::Kind::kNo};
  }

  // `<tool_call>f`, up to a tag or a line's end.
  Match PairsCall(absl::string_view rest) const {
    size_t at = call_open_.size();
    while (at < rest.size() && IsBlank(rest[at])) ++at;
    const size_t from = at;
    while (at < rest.size() && rest[at] != '<' && rest[at] != '\n' && at < kMaxTag) ++at;
    if (at >= kMaxTag) return {};
    if (at == rest.size()) return {Match::Kind::kMore};
    const absl::string_view name = absl::StripAsciiWhitespace(rest.substr(from, at - from));
    // Prose that mentions the marker.
    if (absl::StrContains(name, " ") && in_text()) return {};
    const absl::string_view behind = rest.substr(at);
    if (absl::StartsWith(behind, separator_)) at += separator_.size();
    if (absl::StartsWith(separator_, behind)) return {Match::Kind::kMore};
    return {Match::Kind::kYes, kCallOpen, at};
  }

  // `<arg_key>k</arg_key>`, blanks, `<arg_value>`.
  Match PairsKey(absl::string_view rest) const {
    const size_t from = key_open_.size();
    const size_t end = rest.find(key_close_, from);
    if (end == absl::string_view::npos) {
      return {rest.size() < kMaxTag ? Match::Kind::kMore : Match::Kind::kNo};
    }
    size_t at = end + key_close_.size();
    while (at < rest.size() && IsBlank(rest[at])) ++at;
    if (at >= kMaxTag) return {};
    const absl::string_view behind = rest.substr(at);
    if (absl::StartsWith(behind, parameter_open_)) {
      return {Match::Kind::kYes, kParameterOpen, at + parameter_open_.size()};
    }
    return {absl::StartsWith(parameter_open_, behind) ? Match::Kind::kMore : Match::Kind::kNo};
  }

  Match OwnMatch(absl::string_view rest) const override {
    bool more = false;
    const auto begins = [&](absl::string_view wanted) {
      if (absl::StartsWith(rest, wanted)) return true;
      if (absl::StartsWith(wanted, rest)) more = true;
      return false;
    };
    Match match;
    const bool inside = in_body();
    if (inside && begins(parameter_close_)) {
      match = {Match::Kind::kYes, kParameterClose, parameter_close_.size()};
    } else if (!in_text() && begins(call_close_)) {
      match = {Match::Kind::kYes, kCallClose, call_close_.size()};
    } else if (inside && pairs_ && begins(key_open_)) {
      match = PairsKey(rest);
    } else if (inside && !pairs_ && begins(parameter_open_)) {
      match = NamedTag(rest, parameter_open_, kParameterOpen);
    } else if (begins(call_open_)) {
      match = pairs_ ? PairsCall(rest) : NamedTag(rest, call_open_, kCallOpen);
    }
    if (match.kind == Match::Kind::kYes && match.id == kCallOpen && !inside && !pairs_ &&
        Name(rest.substr(0, match.length)).empty()) {
      return {};
    }
    if (match.kind == Match::Kind::kNo && more) match.kind = Match::Kind::kMore;
    if (match.kind == Match::Kind::kYes && state_ == State::kValue && inside &&
        !InValue(match.id, rest.substr(0, match.length))) {
      return {};
    }
    return match;
  }

  Match NamedTag(absl::string_view rest, absl::string_view open, int id) const {
    if (tags_.style == TagStyle::kAttribute) {
      if (rest.size() == open.size()) return {Match::Kind::kMore};
      // A longer word, `<parameters>`.
      if (!IsBlank(rest[open.size()]) && rest[open.size()] != '>') return {};
    }
    return WholeTag(rest, open.size(), id);
  }

  // Within a value only its closer counts, and what cannot stand there unless the closer was
  // forgotten: the tag of another declared parameter at the beginning of a line.
  bool InValue(int id, absl::string_view raw) const {
    if (id == kParameterClose) return true;
    if (id != kParameterOpen || !at_line_) return false;
    const std::string name = Name(raw);
    return schema_ && seen_.count(name) == 0 && Declared(name);
  }
  bool Declared(const std::string& name) const {
    const JsonText* properties = schema_->Find("properties");
    return properties != nullptr && properties->Find(name) != nullptr;
  }

  std::string Name(absl::string_view raw) const {
    if (pairs_) {
      if (absl::StartsWith(raw, call_open_)) {
        raw.remove_prefix(call_open_.size());
        return std::string(absl::StripAsciiWhitespace(raw.substr(0, raw.find('<'))));
      }
      raw.remove_prefix(key_open_.size());
      return std::string(raw.substr(0, raw.find(key_close_)));
    }
    if (tags_.style == TagStyle::kAttribute) return Attribute(raw, "name").value_or("");
    const size_t equals = raw.find('=');
    absl::string_view name =
        absl::StripAsciiWhitespace(raw.substr(equals + 1, raw.size() - equals - 2));
    if (name.size() > 1 && name.front() == '"' && name.back() == '"') {
      name = name.substr(1, name.size() - 2);
    }
    return std::string(name);
  }

  void OwnMarker(int id, absl::string_view raw) override {
    if (!in_body()) {
      if (id == kCallOpen) {
        if (!in_section() && !format_.section_open.empty()) Repair("missing_opener");
        Enter(raw);
      } else {
        Repair("stray_closer");
      }
      return;
    }
    if (state_ == State::kAfterValue) {
      if (id == kParameterClose) {
        // Two of them: the second is one too many, unless more of the value follows.
        absl::StrAppend(&closer_, raw);
        return;
      }
      EndValue();
    } else if (state_ == State::kValue) {
      if (id == kParameterClose) {
        closer_ = std::string(raw);
        state_ = State::kAfterValue;
        return;
      }
      Repair("missing_closer");
      EndValue();
    }
    InCall(id, raw);
  }

  void InCall(int id, absl::string_view raw) {
    Raw(raw);
    state_ = State::kInvoke;
    switch (id) {
      case kParameterOpen:
        BeginValue(raw);
        return;
      case kParameterClose:
        Repair("stray_closer");
        return;
      case kCallClose:
        EndCall();
        Leave(false);
        return;
      default:
        Repair("missing_closer");
        EndCall();
        Leave(false);
        Enter(raw);
    }
  }

  // A marker of the family.
  void BodyMarker(int role, absl::string_view raw) override {
    if (state_ == State::kValue || (state_ == State::kAfterValue && role == kSectionOpen)) {
      const bool ends = role == kNoise && state_ == State::kValue;
      if (!ends) {
        Value(std::exchange(closer_, ""));
        state_ = State::kValue;
        Value(raw);
        return;
      }
      bad_ = "a value does not end";
    }
    if (state_ == State::kAfterValue) EndValue();
    if (state_ == State::kValue) EndValue();
    state_ = State::kInvoke;
    Raw(raw);
    Repair("missing_closer");
    EndCall();
    Leave(false);
    BetweenMarker(role, raw);
  }

  size_t Body(absl::string_view text) override {
    switch (state_) {
      case State::kInvoke:
        Raw(text);
        if (!IsBlankText(text)) bad_ = "text stands between the tags of the call";
        break;
      case State::kValue:
        Value(text);
        break;
      case State::kAfterValue:
        if (IsBlankText(text)) {
          absl::StrAppend(&closer_, text);
          break;
        }
        state_ = State::kValue;
        Value(std::exchange(closer_, ""));
        Value(text);
    }
    return text.size();
  }

  void BodyEnds() override {
    if (state_ == State::kAfterValue) EndValue();
    if (state_ == State::kValue && types_.only_string()) EmitArguments("\"");
    if (candidate()) return Reject();
    if (!open()) return;
    EmitArguments("}");
    if (bad_.empty()) {
      CloseMade(false);
    } else {
      CloseBad(bad_);
    }
  }

  void BeginCall(absl::string_view raw) {
    const std::string name = Name(raw);
    state_ = State::kInvoke;
    bad_.clear();
    first_ = true;
    seen_.clear();
    schema_.reset();
    const v1::Tool* tool = offered_.Find(name);
    if (candidate() && tool == nullptr) return Reject();
    if (tool != nullptr) schema_ = ParseJsonText(tool->input_schema());
    Open(name, tool);
    Raw(raw);
    if (name.empty()) bad_ = "the call names no tool";
    EmitArguments("{");
  }

  void EndCall() {
    EmitArguments("}");
    if (bad_.empty()) {
      CloseMade(true);
    } else {
      CloseBad(absl::StrCat(bad_, "; write the whole call again"));
    }
    if (candidate()) Accept();
  }

  void BeginValue(absl::string_view raw) {
    const std::string name = Name(raw);
    if (name.empty()) bad_ = "a parameter has no name";
    state_ = State::kValue;
    types_ = schema_ ? TypesOfProperty(*schema_, name) : AllowedTypes();
    if (tags_.typed) {
      const std::optional<std::string> text = Attribute(raw, "string");
      if (text == "true") {
        types_ = AllowedTypes();
        types_.string = true;
      } else if (text == "false") {
        types_.string = false;
      }
    }
    seen_.insert(name);
    value_.clear();
    pending_.clear();
    begins_ = true;
    at_line_ = false;
    std::string head = first_ ? "" : ",";
    AppendJsonString(name, head);
    head += ':';
    if (types_.only_string()) head += '"';
    first_ = false;
    EmitArguments(head);
  }

  void Value(absl::string_view text) {
    Raw(text);
    if (text.empty()) return;
    at_line_ = text.back() == '\n';
    if (tags_.newlines && begins_ && text[0] == '\n') text.remove_prefix(1);
    if (text.empty()) {
      begins_ = false;
      return;
    }
    begins_ = false;
    if (!types_.only_string() || tags_.cdata) {
      absl::StrAppend(&value_, text);
      return;
    }
    std::string piece;
    AppendJsonEscaped(std::exchange(pending_, ""), piece);
    if (tags_.newlines && text.back() == '\n') {
      pending_ = "\n";
      text.remove_suffix(1);
    }
    AppendJsonEscaped(text, piece);
    if (!piece.empty()) EmitArguments(piece);
  }

  void EndValue() {
    if (absl::StrContains(
            absl::string_view(closer_).substr(std::min(closer_.size(), parameter_close_.size())),
            parameter_close_)) {
      Repair("doubled_marker");
    }
    Raw(closer_);
    closer_.clear();
    if (types_.only_string() && !tags_.cdata) {
      EmitArguments("\"");
      return;
    }
    if (tags_.newlines && absl::EndsWith(value_, "\n")) value_.pop_back();
    absl::string_view value = value_;
    if (tags_.cdata && absl::StartsWith(value, "<![CDATA[") && absl::EndsWith(value, "]]>")) {
      value = value.substr(9, value.size() - 12);
    }
    if (types_.only_string()) {
      std::string piece;
      AppendJsonEscaped(value, piece);
      EmitArguments(piece + "\"");
      return;
    }
    bool repaired = false;
    // A list or an object as Python writes it.
    if (!types_.string && (types_.array || types_.object) && !ParseJsonText(value)) {
      if (const std::string literal = ReadLiteral(value); !literal.empty()) {
        EmitArguments(literal);
        Repair("python_literal");
        return;
      }
    }
    EmitArguments(DecodeValue(types_, value, repaired));
    if (repaired) Repair("python_literal");
  }

  const TagNames& tags_;
  const bool pairs_;
  std::string call_open_, call_close_, parameter_open_, parameter_close_, key_open_, key_close_,
      separator_;
  State state_ = State::kInvoke;
  std::string bad_;
  bool first_ = true;
  std::set<std::string> seen_;
  std::optional<JsonText> schema_;
  AllowedTypes types_;
  bool begins_ = true;    // nothing of the value was read
  bool at_line_ = false;  // its last character ended a line
  std::string value_;
  std::string pending_;  // a newline that may be the last
  std::string closer_;   // a closing tag and blanks, until it is known to be one
};

}  // namespace

std::unique_ptr<OutputParser> MakeTagCallParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<TagCallParser>(offered, sink);
}

}  // namespace toolrack
