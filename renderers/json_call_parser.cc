// Calls as JSON: objects, lists or lines of `{"name": …, "arguments": {…}}`, and a header with the
// name and JSON behind it.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "renderers/call_header.h"
#include "renderers/family_engines.h"
#include "renderers/family_parser.h"
#include "renderers/json_text.h"

namespace toolrack {
namespace {

constexpr size_t kMaxHeader = 1024;
constexpr size_t kMaxName = 1024;

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

class JsonCallParser final : public FamilyParser {
 public:
  using FamilyParser::FamilyParser;

 private:
  enum class State {
    kLead,       // before an object, or in a list
    kHeader,     // a name and what stands around it
    kKeyOrEnd,   // behind `{`
    kKey,        // in a key
    kColon,      // behind it
    kValue,      // before a value
    kName,       // in the name
    kArguments,  // read by reader_
    kOther,      // in a value that does not matter
    kAfter,      // behind a value
    kBroken,     // up to the closer
  };

  bool BeginsBare(char c) const override { return c == '{' || c == '[' || format_.begins_header; }
  bool BeginsNext(char c) const override { return c == '{' || c == '['; }

  bool WantsMarkers() const override {
    switch (state_) {
      case State::kLead:
      case State::kHeader:
      case State::kBroken:
        return true;
      default:
        return false;
    }
  }

  void Begin(absl::string_view raw) override {
    state_ = State::kLead;
    lists_ = absl::EndsWith(raw, "[") ? 1 : 0;
    items_ = 0;
    raw_ = std::string(raw);
    header_.clear();
    in_header_ = false;
    Reset();
  }

  void Reset() {
    name_.clear();
    has_name_ = has_arguments_ = wrapped_ = false;
    early_.clear();
    early_repairs_.clear();
    reader_ = nullptr;
    depth_ = 0;
  }

  size_t Body(absl::string_view text) override {
    size_t at = 0;
    while (at < text.size() && in_body() && !rejected()) {
      if (state_ == State::kArguments) {
        at += Arguments(text.substr(at));
        if (state_ == State::kBroken) return at;
        continue;
      }
      if (state_ == State::kBroken) {
        Keep(text.substr(at));
        return text.size();
      }
      const State before = state_;
      if (Step(text[at])) {
        Keep(text.substr(at, 1));
        ++at;
      }
      // What counts as a marker has changed: look at the rest anew.
      if (state_ != before && WantsMarkers() && at > 0) return at;
      if (state_ == State::kBroken) return at;
    }
    return at;
  }

  // For the span of what is not understood.
  void Keep(absl::string_view text) {
    if (open()) {
      Raw(text);
    } else if (raw_.size() < kMaxCandidateSpan) {
      absl::StrAppend(&raw_, text);
    }
  }

  // Gives whether the character was taken.
  bool Step(char c) {
    switch (state_) {
      case State::kLead:
        return Lead(c);
      case State::kHeader:
        if (c == '{') {
          EndHeader();
          return false;
        }
        if (header_.size() >= kMaxHeader) {
          Broken("there is no name before the arguments");
          return false;
        }
        header_ += c;
        // Functionary's way to write text.
        if (c == '\n' && format_.begins_header && absl::StripAsciiWhitespace(header_) == "all") {
          LeaveToText();
          if (candidate()) Accept();
        }
        return true;
      case State::kKeyOrEnd:
        if (IsBlank(c)) return true;
        if (c == ',') return true;
        if (c == '}') {
          EndObject();
          return true;
        }
        return BeginString(c, State::kKey);
      case State::kKey:
        if (!String(c)) return true;
        key_ = Text();
        state_ = State::kColon;
        return true;
      case State::kColon:
        if (IsBlank(c)) return true;
        if (c != ':') {
          Broken("a colon is missing behind a key");
          return false;
        }
        state_ = State::kValue;
        return true;
      case State::kValue:
        return Value(c);
      case State::kName:
        if (!String(c)) return true;
        GotName(Text());
        state_ = State::kAfter;
        return true;
      case State::kOther:
        return Other(c);
      case State::kAfter:
        if (IsBlank(c)) return true;
        if (c == ',') {
          state_ = State::kKeyOrEnd;
          return true;
        }
        if (c == '}') {
          EndObject();
          return true;
        }
        Broken("a comma or a closing brace is missing");
        return false;
      default:
        return true;
    }
  }

  bool Lead(char c) {
    if (IsBlank(c)) return true;
    if (c == '{') {
      Reset();
      state_ = State::kKeyOrEnd;
      return true;
    }
    if (c == '[' && lists_ == 0 && items_ == 0) {
      ++lists_;
      return true;
    }
    if (c == ',' && lists_ > 0) return true;
    if (c == ']' && lists_ > 0) {
      --lists_;
      Done();
      return true;
    }
    if (!format_.headers.empty() && lists_ == 0 && (!candidate() || format_.begins_header)) {
      state_ = State::kHeader;
      return false;
    }
    Broken("no JSON object stands in the call");
    return false;
  }

  void EndHeader() {
    std::string name;
    for (const absl::string_view pattern : format_.headers) {
      if (!MatchCallHeader(pattern, header_, name) || name.empty()) continue;
      in_header_ = true;
      GotName(BareCallName(offered_, name));
      BeginArguments();
      return;
    }
    Broken("what stands before the arguments does not name a tool");
  }

  bool BeginString(char c, State state) {
    if (c != '"' && c != '\'') {
      Broken(absl::StrCat("not JSON at ", ForMessage(std::string(1, c))));
      return false;
    }
    quote_ = c;
    text_.clear();
    escaped_ = false;
    state_ = state;
    return true;
  }
  // Whether `c` ends the string.
  bool String(char c) {
    if (!escaped_ && c == quote_) return true;
    escaped_ = c == '\\' && !escaped_;
    if (text_.size() < kMaxName) text_ += c;
    return false;
  }
  std::string Text() {
    if (quote_ == '\'') Repair("python_literal");
    if (!absl::StrContains(text_, "\\")) return text_;
    const auto value = ParseJsonText(absl::StrCat("\"", text_, "\""));
    return value ? value->text : text_;
  }

  bool IsKey(const std::vector<absl::string_view>& keys) const {
    return std::find(keys.begin(), keys.end(), key_) != keys.end();
  }

  bool Value(char c) {
    if (IsBlank(c)) return true;
    if (format_.name_is_key && !has_name_) {
      GotName(key_);
      BeginArguments();
      return false;
    }
    if (IsKey(format_.name_keys) && !has_name_) {
      if (c == '"' || c == '\'') return BeginString(c, State::kName);
      Broken("the name is no text");
      return false;
    }
    if (IsKey(format_.argument_keys) && !has_arguments_) {
      BeginArguments();
      return false;
    }
    // An object around name and arguments.
    if (key_ == "function" && c == '{' && !wrapped_ && !has_name_) {
      wrapped_ = true;
      state_ = State::kKeyOrEnd;
      return true;
    }
    depth_ = 0;
    in_text_ = false;
    state_ = State::kOther;
    return Other(c);
  }

  bool Other(char c) {
    if (in_text_) {
      if (!String(c)) return true;
      in_text_ = false;
      if (depth_ == 0) state_ = State::kAfter;
      return true;
    }
    if (c == '"' || c == '\'') {
      quote_ = c;
      escaped_ = false;
      text_.clear();
      in_text_ = true;
      return true;
    }
    if (c == '{' || c == '[') ++depth_;
    if (c == '}' || c == ']') {
      if (depth_ == 0) {
        state_ = State::kAfter;
        return false;
      }
      if (--depth_ == 0) state_ = State::kAfter;
      return true;
    }
    if (c == ',' && depth_ == 0) {
      state_ = State::kAfter;
      return false;
    }
    if (c == '<' && depth_ == 0) {
      Broken("not JSON at <");
      return false;
    }
    return true;
  }

  void GotName(std::string name) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(name);
    if (trimmed.size() != name.size()) Repair("name_trimmed");
    name_ = std::string(trimmed);
    has_name_ = !name_.empty();
    if (!has_name_) return Broken("the name is empty");
    if (candidate() && offered_.Find(name_) == nullptr) return Reject();
    if (has_arguments_) {
      OpenCall();
      if (!early_.empty()) EmitArguments(early_);
      for (const absl::string_view kind : early_repairs_) Repair(kind);
    }
  }

  void OpenCall() {
    Open(name_, offered_.Find(name_));
    Raw(raw_);
  }

  void BeginArguments() {
    if (rejected()) return;
    has_arguments_ = true;
    if (has_name_) OpenCall();
    reader_ = std::make_unique<ArgumentsReader>(ArgumentsReader::Extent::kOneValue);
    state_ = State::kArguments;
  }

  size_t Arguments(absl::string_view text) {
    std::string piece;
    std::vector<absl::string_view> repairs;
    std::string& out = has_name_ ? piece : early_;
    const size_t taken = reader_->Feed(text, out, has_name_ ? repairs : early_repairs_);
    Keep(text.substr(0, taken));
    if (!piece.empty()) EmitArguments(piece);
    for (const absl::string_view kind : repairs) Repair(kind);
    if (reader_->bad()) {
      Broken(reader_->reason());
    } else if (reader_->done()) {
      if (in_header_) {
        CloseMade(true);
        Done();
      } else {
        state_ = State::kAfter;
      }
    }
    return taken;
  }

  void EndObject() {
    if (wrapped_) {
      wrapped_ = false;
      state_ = State::kAfter;
      return;
    }
    if (!has_name_) {
      if (candidate()) return Reject();
      Malformed(raw_, "the call has no name; write {\"name\": …, \"arguments\": {…}}");
    } else if (!has_arguments_) {
      if (candidate()) return Reject();
      OpenCall();
      EmitArguments("{}");
      Repair("missing_arguments");
    }
    if (open()) CloseMade(true);
    ++items_;
    raw_.clear();
    if (lists_ > 0) {
      state_ = State::kLead;
      return;
    }
    Done();
  }

  void Done() {
    Leave(true);
    if (candidate()) Accept();
  }

  // Up to the closer nothing is understood.
  void Broken(absl::string_view reason) {
    if (candidate()) {
      if (open()) Abandon();
      return Reject();
    }
    reason_ = std::string(reason);
    state_ = State::kBroken;
  }

  void EndBroken() {
    const std::string reason = absl::StrCat(reason_, "; write the whole call again");
    if (open()) {
      CloseBad(reason);
    } else {
      Malformed(raw_, reason);
    }
  }

  void BodyMarker(int role, absl::string_view raw) override {
    switch (state_) {
      case State::kHeader:
        if (role == kOpen || role == kNoise || role == kSectionClose || role == kClose) {
          absl::StrAppend(&raw_, raw);
          if (candidate()) return Reject();
          Malformed(raw_, "the call has no arguments; write the whole call again");
          break;
        }
        return;
      case State::kLead:
        // Doubled, or in a section's place.
        if (role == kOpen && items_ == 0 && lists_ == 0) {
          Repair("doubled_marker");
          raw_ = std::string(raw);
          return;
        }
        if (role == kClose || role == kSectionClose || role == kNoise || role == kOpen) {
          if (lists_ > 0 && items_ > 0) Repair("missing_closer");
          if (items_ == 0 && lists_ == 0) {
            if (candidate()) return Reject();
            Malformed(absl::StrCat(raw_, raw), "the call is empty; write the whole call");
          }
          break;
        }
        return;
      case State::kBroken:
        if (role == kThinkOpen || role == kThinkClose) {
          Keep(raw);
          return;
        }
        if (role != kOpen) Keep(raw);
        EndBroken();
        break;
      default:
        Keep(raw);
        return;
    }
    Leave(true);
    BetweenMarker(role, raw);
    if (candidate()) Accept();
  }

  void BodyEnds() override {
    if (candidate()) return Reject();
    if (state_ == State::kBroken) {
      EndBroken();
    } else if (open()) {
      CloseMade(false);
    } else if (state_ == State::kLead) {
      if (items_ > 0) {
        Repair("missing_closer");
      } else {
        Malformed(raw_, "the output ends where a call begins; write the whole call");
      }
    } else {
      Malformed(absl::StrCat(raw_, header_),
                "the output ends before the call is complete; write the whole call again");
    }
  }

  static constexpr size_t kMaxCandidateSpan = 64 << 10;

  State state_ = State::kLead;
  size_t lists_ = 0;  // open brackets around the objects
  size_t items_ = 0;
  std::string raw_;  // of a call that is not open yet
  std::string header_;
  bool in_header_ = false;
  std::string key_, name_, text_, reason_;
  char quote_ = '"';
  bool escaped_ = false;
  bool in_text_ = false;
  size_t depth_ = 0;
  bool has_name_ = false, has_arguments_ = false, wrapped_ = false;
  std::string early_;  // arguments that came before the name
  std::vector<absl::string_view> early_repairs_;
  std::unique_ptr<ArgumentsReader> reader_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeJsonCallParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<JsonCallParser>(offered, sink);
}

}  // namespace toolrack
