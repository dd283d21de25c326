#include "renderers/family_parser.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

constexpr size_t kMaxCandidate = 64 << 10;
constexpr size_t kMaxGarbage = 64 << 10;
constexpr size_t kMaxBetween = 1024;

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

void AddFirst(absl::string_view text, std::string& firsts) {
  if (firsts.find(text[0]) == std::string::npos) firsts += text[0];
}

}  // namespace

FamilyParser::FamilyParser(const OfferedTools& offered, OutputSink& sink)
    : FamilyParserBase(sink), MarkerMachine(offered, holding_), format_(*offered.dialect().calls) {
  const auto add = [this](const std::vector<absl::string_view>& texts, int role) {
    for (const absl::string_view text : texts) literals_.push_back({text, role});
  };
  add(format_.section_open, kSectionOpen);
  add(format_.section_close, kSectionClose);
  add(format_.open, kOpen);
  add(format_.close, kClose);
  add(format_.think_open, kThinkOpen);
  add(format_.think_close, kThinkClose);
  add(format_.noise, kNoise);
  add(format_.fillers, kFiller);
  // The longest first: one may begin another.
  std::stable_sort(literals_.begin(), literals_.end(), [](const Literal& a, const Literal& b) {
    return a.text.size() > b.text.size();
  });
  for (const Literal& literal : literals_) AddFirst(literal.text, firsts_);
  if (format_.begins_thinking) where_ = Where::kThinking;
}

absl::string_view FamilyParser::Firsts() const {
  if (where_ == Where::kBody && !WantsMarkers()) return "";
  const absl::string_view own = OwnFirsts();
  if (own.empty() || absl::StrContains(firsts_, own)) return firsts_;
  return own;
}

bool FamilyParser::Wants(int role) const {
  switch (where_) {
    case Where::kText:
      return role != kClose || !format_.section_open.empty() || role >= kOwn;
    case Where::kThinking:
      return role == kThinkClose || role == kSectionOpen || role == kOpen ||
             (role == kThinkOpen && !thought_);
    case Where::kBetween:
    case Where::kBody:
      return true;
  }
  return false;
}

MarkerMachine::Match FamilyParser::MatchAt(absl::string_view rest) const {
  // The text before may just have begun what markers do not end.
  if (where_ == Where::kBody && !WantsMarkers()) return {};
  bool more = false;
  for (const Literal& literal : literals_) {
    if (absl::StartsWith(rest, literal.text)) {
      if (!Wants(literal.role)) continue;
      // A longer one may still come of it.
      if (more) return {Match::Kind::kMore};
      return {Match::Kind::kYes, literal.role, literal.text.size()};
    }
    if (rest.size() < literal.text.size() && absl::StartsWith(literal.text, rest) &&
        Wants(literal.role)) {
      more = true;
    }
  }
  if (where_ != Where::kThinking) {
    const Match own = OwnMatch(rest);
    if (own.kind == Match::Kind::kYes && !more) return own;
    if (own.kind != Match::Kind::kNo) more = true;
  }
  return {more ? Match::Kind::kMore : Match::Kind::kNo};
}

size_t FamilyParser::OnText(absl::string_view text) {
  size_t taken = text.size();
  switch (where_) {
    case Where::kText:
      return PlainText(text);
    case Where::kThinking:
      Thought(text);
      return taken;
    case Where::kBetween:
      taken = BetweenText(text);
      break;
    case Where::kBody:
      taken = Body(text);
      break;
  }
  AfterTaking(text.substr(0, taken));
  return taken;
}

void FamilyParser::Thought(absl::string_view text) {
  if (!thought_ && absl::StripAsciiWhitespace(text).empty()) {
    sink_.Reasoning(text);
    return;
  }
  thought_ = true;
  sink_.Reasoning(text);
}

void FamilyParser::Visible(absl::string_view text) {
  if (text.empty()) return;
  if (at_start_ && !absl::StripAsciiWhitespace(text).empty()) at_start_ = false;
  sink_.Text(text);
}

size_t FamilyParser::PlainText(absl::string_view text) {
  if (format_.bare && at_start_) {
    const size_t blank = text.size() - absl::StripLeadingAsciiWhitespace(text).size();
    if (blank < text.size() && BeginsBare(text[blank])) {
      if (blank > 0) Visible(text.substr(0, blank));
      StartCandidate();
      Enter("");
      return blank;
    }
  }
  Visible(text);
  return text.size();
}

void FamilyParser::StartCandidate() {
  if (candidate_on_) return;
  from_thinking_ = where_ == Where::kThinking;
  candidate_on_ = true;
  accepted_ = rejected_ = false;
  candidate_.clear();
  holding_.Hold();
}

void FamilyParser::Accept() { accepted_ = candidate_on_; }

void FamilyParser::AfterTaking(absl::string_view taken) {
  if (!candidate_on_) return;
  absl::StrAppend(&candidate_, taken);
  // What is too long to wait for: as it looks now.
  if (!rejected_ && candidate_.size() > kMaxCandidate) (open() ? accepted_ : rejected_) = true;
  if (rejected_) {
    holding_.Discard();
    Abandon();
    candidate_on_ = rejected_ = in_section_ = expects_close_ = false;
    between_.clear();
    garbage_.clear();
    where_ = from_thinking_ ? Where::kThinking : Where::kText;
    const std::string text = std::move(candidate_);
    candidate_.clear();
    if (from_thinking_) {
      Thought(text);
    } else {
      at_start_ = false;
      Visible(text);
    }
  } else if (accepted_) {
    candidate_on_ = accepted_ = false;
    candidate_.clear();
    if (from_thinking_) Repair("missing_think_closer");
    holding_.Release();
  }
}

void FamilyParser::LeaveToText() {
  where_ = Where::kText;
  at_start_ = false;
}

void FamilyParser::Enter(absl::string_view raw) {
  unmarked_ = raw.empty() && candidate_on_ && !in_section_;
  where_ = Where::kBody;
  any_call_ = true;
  between_.clear();
  Begin(raw);
}

void FamilyParser::Leave(bool closer) {
  where_ = Where::kBetween;
  expects_close_ = closer && !format_.close.empty();
  between_.clear();
  at_start_ = false;
}

size_t FamilyParser::BetweenText(absl::string_view text) {
  if (!garbage_.empty()) {
    if (garbage_.size() < kMaxGarbage) {
      absl::StrAppend(&garbage_, Utf8Prefix(text, kMaxGarbage - garbage_.size()));
    }
    return text.size();
  }
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (IsBlank(c) || ((c == ',' || c == ';') && any_call_)) {
      if (between_.size() < kMaxBetween) between_ += c;
      continue;
    }
    if (expects_close_ && (c == '}' || c == ']' || c == ')' || c == '`')) {
      if (c != '`') Repair("stray_closer");
      continue;
    }
    if (BeginsNext(c) && (in_section_ || any_call_)) {
      if (!candidate_on_ && unmarked_) {
        StartCandidate();
        candidate_ = std::exchange(between_, "");
      }
      expects_close_ = false;
      Enter("");
      return at;
    }
    if (in_section_ && !any_call_) {
      // No call: what a block holds beside its calls is not understood.
      if (candidate_on_) {
        Reject();
        return at + 1;
      }
      garbage_ = std::exchange(between_, "") + c;
      return at + 1;
    }
    if (in_section_ || expects_close_) MissingCloser();
    in_section_ = expects_close_ = false;
    where_ = Where::kText;
    const std::string blanks = std::exchange(between_, "");
    Visible(blanks);
    return at;
  }
  return text.size();
}

void FamilyParser::MissingCloser() {
  if (!format_.closer_optional) Repair("missing_closer");
}

void FamilyParser::EndGarbage() {
  if (garbage_.empty()) return;
  Malformed(garbage_, "no call stands in this block; write the whole block again");
  garbage_.clear();
}

void FamilyParser::OnMarker(int role, absl::string_view raw) {
  switch (where_) {
    case Where::kText:
      switch (role) {
        case kThinkOpen:
          where_ = Where::kThinking;
          thought_ = false;
          return;
        case kThinkClose:
          Repair("stray_think_closer");
          at_start_ = true;
          return;
        case kNoise:
        case kFiller:
          return;
        case kSectionOpen:
          where_ = Where::kBetween;
          in_section_ = true;
          any_call_ = false;
          return;
        case kOpen:
          if (!format_.section_open.empty()) Repair("missing_opener");
          any_call_ = false;
          Enter(raw);
          return;
        case kSectionClose:
        case kClose:
          Repair("stray_closer");
          return;
        default:
          OwnMarker(role, raw);
          return;
      }
    case Where::kThinking:
      if (role == kThinkOpen) return;
      if (role == kThinkClose) {
        where_ = Where::kText;
        at_start_ = true;
        return;
      }
      // A call within the reasoning that is still open: if it is one, the reasoning was over.
      StartCandidate();
      if (role == kSectionOpen) {
        where_ = Where::kBetween;
        in_section_ = true;
        any_call_ = false;
      } else {
        Enter(raw);
      }
      break;
    case Where::kBetween:
      BetweenMarker(role, raw);
      break;
    case Where::kBody:
      if (role >= kOwn) {
        OwnMarker(role, raw);
      } else {
        BodyMarker(role, raw);
      }
      break;
  }
  AfterTaking(raw);
}

void FamilyParser::BetweenMarker(int role, absl::string_view raw) {
  if (role == kFiller) return;
  const bool missing = expects_close_;
  if (role == kClose) {
    if (!missing) Repair("stray_closer");
    expects_close_ = false;
    if (!in_section_) between_.clear();
    return;
  }
  if (role == kOpen && in_section_ && !any_call_) EndGarbage();
  if (missing && role != kNoise) MissingCloser();
  expects_close_ = false;
  switch (role) {
    case kOpen:
      Enter(raw);
      return;
    case kSectionOpen:
      if (in_section_) Repair("doubled_marker");
      in_section_ = true;
      any_call_ = false;
      return;
    case kSectionClose:
      EndGarbage();
      if (!in_section_) Repair("stray_closer");
      in_section_ = false;
      any_call_ = true;
      between_.clear();
      if (candidate_on_) Accept();
      return;
    case kNoise:
      EndGarbage();
      in_section_ = false;
      between_.clear();
      where_ = Where::kText;
      return;
    case kThinkOpen:
      where_ = Where::kThinking;
      thought_ = false;
      in_section_ = false;
      return;
    case kThinkClose:
      if (candidate_on_) {
        Reject();
      } else {
        Repair("stray_think_closer");
      }
      return;
    default:
      OwnMarker(role, raw);
  }
}

void FamilyParser::OnEnd() {
  if (where_ == Where::kBody) BodyEnds();
  if (where_ == Where::kBetween) {
    if (expects_close_) MissingCloser();
    EndGarbage();
  }
  if (!candidate_on_) return;
  // A candidate that ended with the output: a call if a whole one was read.
  if (accepted_ || (where_ == Where::kBetween && any_call_ && !rejected_)) {
    accepted_ = true;
  } else {
    rejected_ = true;
  }
  AfterTaking("");
}

}  // namespace toolrack
