#include "renderers/harmony_parser.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "registry/base/errors.h"
#include "renderers/marker_machine.h"

namespace toolrack {
namespace {

constexpr size_t kMaxHeader = 1024;
constexpr size_t kMaxSpan = 64 << 10;

enum Token { kStart, kEnd, kMessage, kChannel, kConstrain, kReturn, kCall };
constexpr absl::string_view kTokens[] = {"<|start|>",   "<|end|>",       "<|message|>",
                                         "<|channel|>", "<|constrain|>", "<|return|>",
                                         "<|call|>"};

bool IsBlank(char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); }

// Words of a header; blanks of other scripts count.
std::vector<std::string> Words(absl::string_view text) {
  return absl::StrSplit(
      absl::StrReplaceAll(text, {{"\u00a0", " "}, {"\u202f", " "}, {"\u3000", " "}}),
      absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty());
}

// Whether text outside a message may be, so far, the rest of a header whose `<|start|>` was in the
// prompt: `assistant`, ` to=functions.x`, ` to=functions.x json`.
bool MayBeHeader(absl::string_view text) {
  if (text.size() > kMaxHeader) return false;
  const auto blanks = [&text] {
    while (!text.empty() && IsBlank(text[0])) text.remove_prefix(1);
  };
  const auto word = [&text](absl::string_view wanted) {
    const size_t length = std::min(wanted.size(), text.size());
    if (text.substr(0, length) != wanted.substr(0, length)) return false;
    text.remove_prefix(length);
    return true;
  };
  blanks();
  word("assistant");
  blanks();
  if (text.empty()) return true;
  if (!word("to=")) return false;
  while (!text.empty() && !IsBlank(text[0])) text.remove_prefix(1);
  blanks();
  while (!text.empty() && absl::ascii_isalpha(static_cast<unsigned char>(text[0]))) {
    text.remove_prefix(1);
  }
  return text.empty();
}

struct Header {
  std::string role;
  std::string recipient;
  std::string channel;  // analysis, commentary, final, or empty
  bool doubled = false;
  bool odd_channel = false;
};

// `analysis?`, `––commentary`, `comment`: what was meant.
std::string ChannelOf(absl::string_view word) {
  const auto letter = std::find_if(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalpha(static_cast<unsigned char>(c));
  });
  word.remove_prefix(static_cast<size_t>(letter - word.begin()));
  for (const absl::string_view known : {"analysis", "comment", "final"}) {
    if (absl::StartsWith(word, known))
      return std::string(known == "comment" ? "commentary" : known);
  }
  return "";
}

class HarmonyParser final : public MarkerMachine {
 public:
  using MarkerMachine::MarkerMachine;

 private:
  enum class Where { kLead, kOutside, kHeader, kBody };
  enum class Kind { kNone, kText, kReasoning, kCall, kRefused };

  absl::string_view Firsts() const override { return "<"; }

  Match MatchAt(absl::string_view rest) const override {
    for (size_t id = 0; id < std::size(kTokens); ++id) {
      const absl::string_view token = kTokens[id];
      if (absl::StartsWith(rest, token))
        return {Match::Kind::kYes, static_cast<int>(id), token.size()};
      if (rest.size() < token.size() && absl::StartsWith(token, rest)) return {Match::Kind::kMore};
    }
    return {};
  }

  size_t OnText(absl::string_view text) override {
    const size_t size = text.size();
    switch (where_) {
      case Where::kLead:
        absl::StrAppend(&lead_, text);
        if (!MayBeHeader(lead_)) FlushLead();
        break;
      case Where::kOutside:
        sink_.Text(text);
        break;
      case Where::kHeader:
        // Bit by bit, so that the bound falls on the same byte however the text came.
        while (!text.empty() && where_ == Where::kHeader) {
          const size_t room = kMaxHeader - std::min(kMaxHeader, header_size_);
          const absl::string_view now = text.substr(0, room);
          absl::StrAppend(&Part(), now);
          header_size_ += now.size();
          text.remove_prefix(now.size());
          if (!text.empty()) BeginBody(true);
        }
        if (!text.empty()) Body(text);
        break;
      case Where::kBody:
        Body(text);
    }
    return size;
  }

  void OnMarker(int id, absl::string_view raw) override {
    switch (where_) {
      case Where::kLead:
      case Where::kOutside:
        Outside(id);
        return;
      case Where::kHeader:
        InHeader(id);
        return;
      case Where::kBody:
        InBody(id, raw);
    }
  }

  void OnEnd() override {
    if (where_ == Where::kLead && !absl::StripAsciiWhitespace(lead_).empty() &&
        absl::StripAsciiWhitespace(lead_) != "assistant") {
      FlushLead();
    }
    if (where_ == Where::kHeader) EndHeaderless(false);
    if (where_ == Where::kBody) EndBody(false);
  }

  // --- between messages

  void FlushLead() {
    where_ = Where::kOutside;
    last_ = Kind::kNone;
    sink_.Text(lead_);
    lead_.clear();
  }
  void GoOutside() {
    where_ = Where::kLead;
    lead_.clear();
  }

  void Outside(int id) {
    const bool header = where_ == Where::kLead;
    switch (id) {
      case kStart:
      case kChannel:
      case kMessage:
      case kConstrain: {
        // Text that might have been a header was none when a message starts behind it.
        if (header && id == kStart && !absl::StripAsciiWhitespace(lead_).empty()) FlushLead();
        BeginHeader();
        if (id != kStart && header) Part() = lead_;
        lead_.clear();
        if (id == kChannel) part_ = 1;
        if (id == kConstrain) part_ = 2;
        if (id == kMessage) BeginBody(false);
        return;
      }
      default:
        // One stop token too many.
        if (where_ == Where::kLead && !absl::StripAsciiWhitespace(lead_).empty()) FlushLead();
        if (messages_ > 0 || id != kReturn) Repair("stray_token");
        GoOutside();
    }
  }

  // --- header

  void BeginHeader() {
    where_ = Where::kHeader;
    for (std::string& part : parts_) part.clear();
    part_ = 0;
    header_size_ = 0;
  }
  std::string& Part() { return parts_[part_]; }
  // Of the header of a call that is not open yet: strict reading tells it once the call is.
  void HeaderRepair(absl::string_view kind) { strict() ? void(fault_ = kind) : Repair(kind); }

  void InHeader(int id) {
    switch (id) {
      case kStart:
        HeaderRepair("doubled_start");
        BeginHeader();
        return;
      case kChannel:
        if (part_ == 1) HeaderRepair("doubled_channel");
        part_ = 1;
        parts_[1] += ' ';
        return;
      case kConstrain:
        part_ = 2;
        return;
      case kMessage:
        BeginBody(false);
        return;
      default:
        EndHeaderless(true);
    }
  }

  // A message that ended, or the output did, before `<|message|>`.
  void EndHeaderless(bool whole) {
    const bool empty =
        Words(absl::StrCat(parts_[0], parts_[1], parts_[2])).size() <=
        (absl::StartsWith(absl::StripAsciiWhitespace(parts_[0]), "assistant") ? 1 : 0);
    const Header header = ReadHeader();
    if (empty || (!whole && header.recipient.empty() && Rest().empty())) {
      if (!fault_.empty()) Repair(std::exchange(fault_, ""));
      GoOutside();
      return;
    }
    if (!whole && !header.recipient.empty() && Rest().empty()) {
      Malformed(absl::StrCat(parts_[0], "<|channel|>", parts_[1]),
                "the output ends inside the header of a call; write the whole call again");
      fault_ = "";
      GoOutside();
      return;
    }
    BeginBody(true);
    EndBody(whole);
  }

  // What stands in the header behind channel, recipient and content type.
  std::string Rest() const {
    const std::string all = absl::StrCat(parts_[1], parts_[2]);
    const size_t brace = all.find('{');
    if (brace != std::string::npos) return all.substr(brace);
    std::vector<std::string> words = Words(parts_[1]);
    std::string rest(absl::StripLeadingAsciiWhitespace(parts_[1]));
    if (!words.empty() && !ChannelOf(words[0]).empty()) rest.erase(0, words[0].size());
    if (absl::StrContains(rest, "to=")) return "";
    return std::string(absl::StripLeadingAsciiWhitespace(rest));
  }

  Header ReadHeader() const {
    Header header;
    const auto recipient = [&header](absl::string_view word) {
      if (!header.recipient.empty()) header.doubled = true;
      const bool take = header.recipient.empty();
      if (take) header.recipient = std::string(word);
    };
    const std::vector<std::string> role = Words(parts_[0]);
    for (size_t i = 0; i < role.size(); ++i) {
      if (absl::StartsWith(role[i], "to=")) {
        recipient(absl::string_view(role[i]).substr(3));
      } else if (i == 0) {
        header.role = role[0];
      }
    }
    for (const std::string& word : Words(absl::StrCat(parts_[1], " ", parts_[2]))) {
      if (absl::StartsWith(word, "to=")) {
        recipient(absl::string_view(word).substr(3));
      } else if (header.channel.empty()) {
        header.channel = ChannelOf(word);
        header.odd_channel = header.channel != word && word != "json" && word != "code";
      }
    }
    // `tool.name` as a role: a call whose recipient stands in the wrong place.
    if (header.recipient.empty() && !header.role.empty() && header.role != "assistant" &&
        FindTool(header.role) != nullptr) {
      header.recipient = header.role;
    }
    return header;
  }

  static absl::string_view Bare(absl::string_view recipient) {
    if (absl::StartsWith(recipient, "functions.")) recipient.remove_prefix(10);
    return recipient;
  }
  const v1::Tool* FindTool(absl::string_view recipient) const {
    if (const v1::Tool* tool = offered_.Find(Bare(recipient))) return tool;
    return offered_.Find(recipient);
  }

  // --- body

  void BeginBody(bool headless) {
    const std::string rest = headless ? Rest() : "";
    Header header = ReadHeader();
    where_ = Where::kBody;
    ++messages_;
    written_ = false;
    refused_.clear();
    const std::string& to = header.recipient;
    if (to == "assistant" ||
        (!header.role.empty() && header.role != "assistant" && to.empty() &&
         (header.role == "tool" || absl::StartsWith(header.role, "functions.")))) {
      kind_ = Kind::kRefused;
      why_ = "a tool's result is not yours to write; call the tool and wait";
    } else if (to.empty() || to == "user" || to == "all") {
      kind_ = header.channel == "analysis" ? Kind::kReasoning : Kind::kText;
    } else if (FindTool(to) != nullptr || absl::StartsWith(to, "functions.")) {
      kind_ = Kind::kCall;
      Open(Bare(to), FindTool(to));
      if (strict() && Bare(to) == to) Repair("bare_recipient");
      if (strict() && header.channel != "commentary") Repair("other_channel");
    } else {
      kind_ = Kind::kRefused;
      why_ = absl::StrCat("there is no recipient ", ForMessage(to), " here; call functions.NAME");
    }
    if (!fault_.empty()) Repair(std::exchange(fault_, ""));
    if (header.doubled) Repair("doubled_recipient");
    if (header.odd_channel) Repair("odd_channel");
    if (headless) Repair("missing_message");
    if (!rest.empty()) Body(rest);
  }

  void Body(absl::string_view text) {
    switch (kind_) {
      case Kind::kText:
      case Kind::kReasoning: {
        // Two messages that follow each other are two lines.
        if (!written_ && last_ == kind_)
          kind_ == Kind::kText ? sink_.Text("\n") : sink_.Reasoning("\n");
        written_ = true;
        kind_ == Kind::kText ? sink_.Text(text) : sink_.Reasoning(text);
        return;
      }
      case Kind::kCall:
        ReadArguments(text);
        return;
      default:
        if (refused_.size() < kMaxSpan) absl::StrAppend(&refused_, text);
    }
  }

  void InBody(int id, absl::string_view) {
    switch (id) {
      case kMessage:
      case kConstrain:
        Repair("stray_token");
        return;
      case kStart:
        EndBody(true);
        BeginHeader();
        return;
      case kChannel:
        EndBody(true);
        HeaderRepair("missing_start");
        BeginHeader();
        part_ = 1;
        return;
      default:
        if (strict() && kind_ == Kind::kCall && id != kCall) Repair("other_end");
        EndBody(true);
    }
  }

  // `whole`: a token ended it, not the output.
  void EndBody(bool whole) {
    if (kind_ == Kind::kCall) CloseRead(whole);
    if (kind_ == Kind::kRefused) Malformed(refused_, why_);
    if (written_ || kind_ == Kind::kCall || kind_ == Kind::kRefused) last_ = kind_;
    GoOutside();
  }

  Where where_ = Where::kLead;
  std::string lead_;
  std::string parts_[3];  // role, channel, content type
  size_t part_ = 0;
  size_t header_size_ = 0;
  absl::string_view fault_ = "";  // see HeaderRepair
  Kind kind_ = Kind::kNone;
  Kind last_ = Kind::kNone;
  bool written_ = false;  // this message has said something
  size_t messages_ = 0;
  std::string refused_;
  std::string why_;
};

}  // namespace

std::unique_ptr<OutputParser> MakeHarmonyParser(const OfferedTools& offered, OutputSink& sink) {
  return std::make_unique<HarmonyParser>(offered, sink);
}

}  // namespace toolrack
