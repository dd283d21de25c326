// Calls as literals: a Python list of calls, and Gemma's `call:f{k:v}`.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "registry/base/errors.h"
#include "renderers/family_engines.h"
#include "renderers/family_parser.h"
#include "renderers/json_text.h"
#include "renderers/literal_reader.h"
#include "renderers/value_codec.h"

namespace toolrack {
namespace {

constexpr size_t kMaxName = 512;
constexpr size_t kMaxSpan = 64 << 10;

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }
bool BeginsName(char c) { return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool IsNameChar(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' ||
         c == '/';
}

class LiteralCallParser final : public FamilyParser {
 public:
  LiteralCallParser(const OfferedTools& offered, OutputSink& sink)
      : FamilyParser(offered, sink), brace_(format_.shape == CallShape::kBrace) {}

 private:
  enum class State { kLead, kName, kArguments, kAfterCall, kBroken };

  bool BeginsBare(char c) const override { return c == '[' || BeginsName(c); }
  bool WantsMarkers() const override { return state_ != State::kArguments; }

  void Begin(absl::string_view raw) override {
    state_ = State::kLead;
    list_ = false;
    raw_ = std::string(raw);
    name_.clear();
    calls_ = 0;
  }

  void Keep(absl::string_view text) {
    if (open()) {
      Raw(text);
    } else if (raw_.size() < kMaxSpan) {
      absl::StrAppend(&raw_, text);
    }
  }

  size_t Body(absl::string_view text) override {
    size_t at = 0;
    while (at < text.size() && in_body() && !rejected()) {
      if (state_ == State::kBroken) {
        Keep(text.substr(at));
        return text.size();
      }
      if (state_ == State::kArguments) {
        at += Arguments(text.substr(at));
        // What counts as a marker has changed.
        if (state_ != State::kArguments) return at;
        continue;
      }
      if (Step(text[at])) {
        if (in_body()) Keep(text.substr(at, 1));
        ++at;
      }
      if (state_ == State::kBroken || state_ == State::kArguments) return at;
    }
    return at;
  }

  // Gives whether the character was taken.
  bool Step(char c) {
    if (state_ == State::kName) {
      if (c == '(' || (brace_ && c == '{')) return BeginArguments(c);
      if (IsNameChar(c) || (brace_ && c == ':')) {
        if (name_.size() < kMaxName) name_ += c;
        return true;
      }
      if (IsBlank(c) && !candidate()) return true;
      return Broken("a call must be written as a name and its arguments");
    }
    if (IsBlank(c)) return true;
    if (state_ == State::kAfterCall && (c == ',' || c == ';')) return true;
    if (state_ == State::kAfterCall && c == ']' && list_) {
      list_ = false;
      Done();
      return true;
    }
    if (c == ']' && list_ && calls_ == 0) {
      if (candidate()) {
        Reject();
        return false;
      }
      list_ = false;
      Done();
      return true;
    }
    if (c == '[' && !list_ && calls_ == 0 && !brace_) {
      list_ = true;
      return true;
    }
    if (BeginsName(c)) {
      name_ = c;
      state_ = State::kName;
      return true;
    }
    return Broken("no call stands here");
  }

  bool BeginArguments(char c) {
    absl::string_view name = name_;
    if (brace_ && !absl::ConsumePrefix(&name, "call:")) return Broken("`call:` is missing");
    const v1::Tool* tool = offered_.Find(name);
    if (candidate() && tool == nullptr) {
      Reject();
      return false;
    }
    if (name.empty()) return Broken("the call has no name");
    schema_.reset();
    if (tool != nullptr && format_.unquote) schema_ = ParseJsonText(tool->input_schema());
    Open(name, tool);
    Raw(raw_);
    raw_.clear();
    LiteralReader::Rules rules;
    rules.separator = brace_ ? ':' : '=';
    rules.quote = format_.quote;
    rules.bare_keys = brace_;
    if (schema_) {
      rules.types = [this](const std::string& key) { return TypesOfProperty(*schema_, key); };
    }
    reader_ = std::make_unique<LiteralReader>(std::move(rules), c == '{' ? '}' : ')');
    if (brace_ && c == '(') Repair("wrong_bracket");
    state_ = State::kArguments;
    return true;
  }

  size_t Arguments(absl::string_view text) {
    std::string piece;
    std::vector<absl::string_view> repairs;
    const size_t taken = reader_->Feed(text, piece, repairs);
    Keep(text.substr(0, taken));
    if (!piece.empty()) EmitArguments(piece);
    for (const absl::string_view kind : repairs) Repair(kind);
    if (reader_->bad()) {
      (void)Broken(reader_->reason());
    } else if (reader_->done()) {
      CloseMade(true);
      ++calls_;
      state_ = State::kAfterCall;
      if (brace_) Done();
    }
    return taken;
  }

  void Done() {
    Leave(true);
    if (candidate()) Accept();
  }

  bool Broken(absl::string_view reason) {
    if (candidate()) {
      if (open()) Abandon();
      Reject();
      return false;
    }
    reason_ = std::string(reason);
    state_ = State::kBroken;
    return false;
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
    if (role == kThinkOpen || role == kThinkClose) {
      Keep(raw);
      return;
    }
    if (role == kOpen && state_ == State::kLead && !list_) {
      Repair("doubled_marker");
      raw_ = std::string(raw);
      return;
    }
    if (state_ == State::kBroken) {
      if (role == kClose) Keep(raw);
      EndBroken();
    } else if (state_ == State::kAfterCall) {
      if (list_) Repair("missing_closer");
    } else {
      if (candidate()) return Reject();
      Malformed(absl::StrCat(raw_, raw), "no call stands between the markers; write it again");
    }
    Leave(true);
    BetweenMarker(role, raw);
    if (candidate()) Accept();
  }

  void BodyEnds() override {
    if (candidate()) {
      if (state_ == State::kAfterCall && !list_) return Accept();
      if (open()) Abandon();
      return Reject();
    }
    if (state_ == State::kBroken) return EndBroken();
    if (open()) return CloseMade(false);
    if (state_ == State::kAfterCall) return Repair("missing_closer");
    Malformed(raw_, "the output ends before the call is complete; write the whole call again");
  }

  const bool brace_;
  State state_ = State::kLead;
  bool list_ = false;
  size_t calls_ = 0;
  std::string raw_, name_, reason_;
  std::optional<JsonText> schema_;
  std::unique_ptr<LiteralReader> reader_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeLiteralCallParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<LiteralCallParser>(offered, sink);
}

}  // namespace toolrack
