#include "renderers/xml_parser.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/json_text.h"
#include "renderers/marker_machine.h"
#include "renderers/value_codec.h"

namespace toolrack {
namespace {

constexpr size_t kMaxTag = 512;
constexpr size_t kMaxTagName = 64;

enum Tag {
  kCalls,
  kCallsEnd,
  kInvoke,
  kInvokeEnd,
  kParameter,
  kParameterEnd,
  kThink,
  kThinkEnd,
  kFence
};

bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
}
bool IsBlankText(absl::string_view text) { return absl::StripAsciiWhitespace(text).empty(); }

// The value of `name` in a whole opening tag.
std::string NameAttribute(absl::string_view tag) {
  const size_t at = tag.find("name");
  if (at == absl::string_view::npos) return "";
  tag.remove_prefix(at + 4);
  while (!tag.empty() &&
         (absl::ascii_isspace(static_cast<unsigned char>(tag[0])) || tag[0] == '=')) {
    tag.remove_prefix(1);
  }
  if (tag.empty()) return "";
  const char quote = tag[0];
  if (quote == '"' || quote == '\'') {
    const size_t end = tag.find(quote, 1);
    return end == absl::string_view::npos ? "" : std::string(tag.substr(1, end - 1));
  }
  return std::string(absl::StripAsciiWhitespace(tag.substr(0, tag.find_first_of(" />"))));
}

class XmlParser final : public MarkerMachine {
 public:
  using MarkerMachine::MarkerMachine;

 private:
  enum class Where { kText, kThinking, kCalls, kInvoke, kValue, kAfterValue };

  absl::string_view Firsts() const override { return where_ == Where::kText ? "<`" : "<"; }

  Match MatchAt(absl::string_view rest) const override {
    if (rest[0] == '`') return Fence(rest);
    if (fenced_) return {};
    size_t at = 1;
    const bool closing = rest.size() > 1 && rest[1] == '/';
    if (closing) ++at;
    size_t begin = at;
    while (at < rest.size() && IsNameChar(rest[at])) ++at;
    if (at < rest.size() && rest[at] == ':' && at > begin) {
      begin = ++at;
      while (at < rest.size() && IsNameChar(rest[at])) ++at;
    }
    const absl::string_view name = rest.substr(begin, at - begin);
    if (at > kMaxTagName) return {};
    // Every name may still become one of ours behind a prefix.
    if (at == rest.size()) return {Match::Kind::kMore};
    const std::optional<Tag> tag = TagOf(name, closing);
    if (!tag || !Wanted(*tag)) return {};
    const bool attributes = *tag == kInvoke || *tag == kParameter;
    char quote = 0;
    for (; at < rest.size() && at < kMaxTag; ++at) {
      const char c = rest[at];
      if (quote != 0) {
        if (c == quote) quote = 0;
      } else if (c == '>') {
        if (attributes && NameAttribute(rest.substr(0, at + 1)).empty()) return {};
        return {Match::Kind::kYes, *tag, at + 1};
      } else if (attributes && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == '<' || (!attributes && !absl::ascii_isspace(static_cast<unsigned char>(c)))) {
        return {};
      }
    }
    return {at < kMaxTag ? Match::Kind::kMore : Match::Kind::kNo};
  }

  // Three of them where a line begins.
  Match Fence(absl::string_view rest) const {
    if (!line_begins_) return {};
    if (absl::StartsWith(rest, "```")) return {Match::Kind::kYes, kFence, 3};
    return {rest.size() < 3 && absl::StartsWith("```", rest) ? Match::Kind::kMore
                                                             : Match::Kind::kNo};
  }

  static std::optional<Tag> TagOf(absl::string_view name, bool closing) {
    if (name == "function_calls") return closing ? kCallsEnd : kCalls;
    if (name == "invoke") return closing ? kInvokeEnd : kInvoke;
    if (name == "parameter") return closing ? kParameterEnd : kParameter;
    if (name == "thinking") return closing ? kThinkEnd : kThink;
    return std::nullopt;
  }

  // Elsewhere a tag is text.
  bool Wanted(Tag tag) const {
    switch (where_) {
      case Where::kText:
        return tag != kParameter && tag != kThinkEnd;
      case Where::kThinking:
        return tag == kThinkEnd;
      case Where::kCalls:
        return tag == kInvoke || tag == kCallsEnd || tag == kCalls || tag == kInvokeEnd;
      case Where::kInvoke:
      case Where::kAfterValue:
        return tag == kParameter || tag == kInvokeEnd || tag == kCallsEnd || tag == kInvoke ||
               tag == kParameterEnd;
      case Where::kValue:
        return tag == kParameterEnd;
    }
    return false;
  }

  size_t OnText(absl::string_view text) override {
    switch (where_) {
      case Where::kText:
        Visible(text);
        break;
      case Where::kThinking:
        sink_.Reasoning(text);
        break;
      case Where::kCalls: {
        const size_t blank = text.size() - absl::StripLeadingAsciiWhitespace(text).size();
        absl::StrAppend(&blanks_, text.substr(0, blank));
        if (blank == text.size()) break;
        // The block was left open and the answer goes on.
        Repair("missing_closer");
        where_ = Where::kText;
        Visible(std::exchange(blanks_, ""));
        return blank;
      }
      case Where::kInvoke:
        Raw(text);
        if (!IsBlankText(text)) bad_ = "text stands between <invoke> and its parameters";
        break;
      case Where::kValue:
        Value(text);
        break;
      case Where::kAfterValue:
        if (IsBlankText(text)) {
          absl::StrAppend(&closer_, text);
          break;
        }
        // It was no end: the value holds a closing tag.
        where_ = Where::kValue;
        Value(std::exchange(closer_, ""));
        Value(text);
    }
    return text.size();
  }

  void OnMarker(int id, absl::string_view raw) override {
    switch (where_) {
      case Where::kText:
        InText(id, raw);
        return;
      case Where::kThinking:
        where_ = Where::kText;
        line_begins_ = true;
        return;
      case Where::kCalls:
        InCalls(id, raw);
        return;
      case Where::kInvoke:
        InInvoke(id, raw);
        return;
      case Where::kValue:
        closer_ = std::string(raw);
        where_ = Where::kAfterValue;
        return;
      case Where::kAfterValue:
        if (id == kParameterEnd) {
          // The first of two: part of the value.
          Value(std::exchange(closer_, std::string(raw)));
          return;
        }
        EndValue();
        where_ = Where::kInvoke;
        InInvoke(id, raw);
    }
  }

  void OnEnd() override {
    if (where_ == Where::kAfterValue) EndValue();
    if (where_ == Where::kValue && types_.only_string()) EmitArguments("\"");
    if (open()) {
      EmitArguments("}");
      if (!bad_.empty()) {
        CloseBad(bad_);
      } else {
        CloseMade(false);
      }
    }
  }

  void Visible(absl::string_view text) {
    for (const char c : text) {
      if (c == '\n') {
        line_begins_ = true;
      } else if (c != ' ') {
        line_begins_ = false;
      }
    }
    sink_.Text(text);
  }

  void InText(int id, absl::string_view raw) {
    switch (id) {
      case kFence:
        fenced_ = !fenced_;
        line_begins_ = false;
        sink_.Text(raw);
        return;
      case kCalls:
        where_ = Where::kCalls;
        return;
      case kInvoke:
        // Without its block: a call only if it is one of ours.
        Begin(raw);
        Repair("missing_opener");
        if (offered_.Find(NameAttribute(raw)) == nullptr) {
          bad_ = "<invoke> stands outside <function_calls> and names no known tool";
        }
        return;
      case kThink:
        where_ = Where::kThinking;
        return;
      default:
        Repair("stray_closer");
    }
  }

  void InCalls(int id, absl::string_view raw) {
    blanks_.clear();
    if (id == kInvoke) {
      Begin(raw);
    } else if (id == kCallsEnd) {
      where_ = Where::kText;
      line_begins_ = true;
    } else {
      Repair("doubled_marker");
    }
  }

  void Begin(absl::string_view raw) {
    const std::string name = NameAttribute(raw);
    block_ = where_ == Where::kCalls;
    where_ = Where::kInvoke;
    bad_.clear();
    first_ = true;
    schema_.reset();
    const v1::Tool* tool = offered_.Find(name);
    if (tool != nullptr) schema_ = ParseJsonText(tool->input_schema());
    Open(name, tool);
    Raw(raw);
    EmitArguments("{");
  }

  void InInvoke(int id, absl::string_view raw) {
    Raw(raw);
    switch (id) {
      case kParameter:
        BeginValue(NameAttribute(raw));
        return;
      case kParameterEnd:
        Repair("stray_closer");
        return;
      case kInvokeEnd:
        EndInvoke();
        where_ = block_ ? Where::kCalls : Where::kText;
        return;
      default:
        Repair("missing_closer");
        EndInvoke();
        where_ = Where::kCalls;
        InCalls(id, raw);
    }
  }

  void EndInvoke() {
    EmitArguments("}");
    if (bad_.empty()) {
      CloseMade(true);
    } else {
      CloseBad(absl::StrCat(bad_, "; write the whole <function_calls> block again"));
    }
  }

  void BeginValue(const std::string& name) {
    where_ = Where::kValue;
    types_ = schema_ ? TypesOfProperty(*schema_, name) : AllowedTypes();
    value_.clear();
    std::string head = first_ ? "" : ",";
    AppendJsonString(name, head);
    head += ':';
    if (types_.only_string()) head += '"';
    first_ = false;
    EmitArguments(head);
  }

  void Value(absl::string_view text) {
    Raw(text);
    if (!types_.only_string()) {
      absl::StrAppend(&value_, text);
      return;
    }
    std::string piece;
    AppendJsonEscaped(text, piece);
    if (!piece.empty()) EmitArguments(piece);
  }

  void EndValue() {
    Raw(closer_);
    closer_.clear();
    if (types_.only_string()) {
      EmitArguments("\"");
      return;
    }
    bool repaired = false;
    EmitArguments(DecodeValue(types_, value_, repaired));
    if (repaired) Repair("python_literal");
  }

  Where where_ = Where::kText;
  bool fenced_ = false;
  bool line_begins_ = true;
  std::string blanks_;  // between the calls of a block
  bool block_ = false;  // the invoke stands in a block
  bool first_ = true;
  std::string bad_;
  std::optional<JsonText> schema_;
  AllowedTypes types_;
  std::string value_;
  std::string closer_;  // a closing tag and blanks, until it is known to be one
};

}  // namespace

std::unique_ptr<OutputParser> MakeXmlParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<XmlParser>(offered, sink);
}

}  // namespace toolrack
