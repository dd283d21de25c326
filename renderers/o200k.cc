#include "renderers/o200k.h"

#include <utf8proc.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "renderers/bpe.h"

namespace toolrack {
namespace {

// What the pattern tells apart. A letter without case, or a mark, may stand in both halves of a
// word.
enum Kind : uint8_t { kUpper, kLower, kEither, kMark, kDigit, kSpace, kSign };

Kind KindOf(int32_t point) {
  switch (utf8proc_category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LT:
      return kUpper;
    case UTF8PROC_CATEGORY_LL:
      return kLower;
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return kEither;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
      return kMark;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return kDigit;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return kSpace;
    default:
      return (point >= 9 && point <= 13) || point == 0x85 ? kSpace : kSign;
  }
}

struct Char {
  Kind kind = kSign;
  size_t length = 0;  // 0: the text is over
  char first = 0;
};

Char At(absl::string_view text, size_t at) {
  if (at >= text.size()) return {};
  const char first = text[at];
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0x80) {
    if (absl::ascii_islower(byte)) return {kLower, 1, first};
    if (absl::ascii_isupper(byte)) return {kUpper, 1, first};
    if (absl::ascii_isdigit(byte)) return {kDigit, 1, first};
    return {absl::ascii_isspace(byte) ? kSpace : kSign, 1, first};
  }
  int32_t point = 0;
  const auto length = utf8proc_iterate(
      reinterpret_cast<const uint8_t*>(text.data()) + at,
      static_cast<utf8proc_ssize_t>(std::min<size_t>(4, text.size() - at)), &point);
  if (length <= 0) return {kSign, 1, first};
  return {KindOf(point), static_cast<size_t>(length), first};
}

bool IsBreak(const Char& c) { return c.first == '\r' || c.first == '\n'; }
bool IsUpperHalf(const Char& c) {
  return c.length > 0 && (c.kind == kUpper || c.kind == kEither || c.kind == kMark);
}
bool IsLowerHalf(const Char& c) {
  return c.length > 0 && (c.kind == kLower || c.kind == kEither || c.kind == kMark);
}

// Behind the run of characters that fit, from `at` on.
template <typename Fits>
size_t Run(absl::string_view text, size_t at, Fits fits) {
  for (Char c = At(text, at); c.length > 0 && fits(c); c = At(text, at)) at += c.length;
  return at;
}

// `'s`, `'re` and the like in either case.
size_t Contraction(absl::string_view text, size_t at) {
  const absl::string_view rest = text.substr(at);
  if (rest.size() < 2 || rest[0] != '\'') return at;
  // The long s folds to an s.
  if (absl::StartsWith(rest.substr(1), "\xC5\xBF")) return at + 3;
  for (const absl::string_view end : {"s", "t", "re", "ve", "m", "ll", "d"}) {
    if (absl::StartsWithIgnoreCase(rest.substr(1), end)) return at + 1 + end.size();
  }
  return at;
}

// Upper half, then at least one of the lower half; 0: no match from here.
size_t CasedWord(absl::string_view text, size_t at) {
  size_t split = std::string::npos;  // behind the last character of the run that fits both halves
  size_t end = at;
  for (Char c = At(text, end); IsUpperHalf(c); c = At(text, end)) {
    end += c.length;
    if (IsLowerHalf(c)) split = end;
  }
  if (IsLowerHalf(At(text, end))) return Run(text, end, IsLowerHalf);
  return split == std::string::npos ? 0 : split;
}

// At least one of the upper half, then the lower half.
size_t UpperWord(absl::string_view text, size_t at) {
  const size_t end = Run(text, at, IsUpperHalf);
  return end == at ? 0 : Run(text, end, IsLowerHalf);
}

size_t Word(absl::string_view text) {
  const Char lead = At(text, 0);
  // A blank or sign may stand in front; so may a mark, which is also part of words.
  const bool prefix =
      (lead.kind == kSpace || lead.kind == kSign || lead.kind == kMark) && !IsBreak(lead);
  for (const auto word : {CasedWord, UpperWord}) {
    for (const size_t from : {prefix ? lead.length : 0, size_t{0}}) {
      if (const size_t end = word(text, from); end > 0) return Contraction(text, end);
      if (from == 0) break;
    }
  }
  return 0;
}

size_t Signs(absl::string_view text) {
  const size_t from = text[0] == ' ' ? 1 : 0;
  const size_t end =
      Run(text, from, [](const Char& c) { return c.kind == kSign || c.kind == kMark; });
  if (end == from) return 0;
  return Run(text, end, [](const Char& c) { return IsBreak(c) || c.first == '/'; });
}

size_t Blanks(absl::string_view text) {
  size_t end = 0, last = 0, broken = 0;
  for (Char c = At(text, 0); c.length > 0 && c.kind == kSpace; c = At(text, end)) {
    last = end;
    end += c.length;
    if (IsBreak(c)) broken = end;
  }
  if (broken > 0) return broken;
  // The last blank belongs to what follows, if anything does.
  return end < text.size() && last > 0 ? last : end;
}

class Counter final : public TokenCounter {
 public:
  explicit Counter(std::unique_ptr<const RankTable> ranks) : ranks_(std::move(ranks)) {}

  size_t Count(absl::string_view text) const override {
    size_t tokens = 0;
    while (!text.empty()) {
      const size_t length = O200kPiece(text);
      tokens += ranks_->Count(text.substr(0, length));
      text.remove_prefix(length);
    }
    return tokens;
  }
  size_t CountPrompt(absl::string_view text) const override {
    size_t tokens = 0;
    while (!text.empty()) {
      size_t at = 0, special = 0;
      for (; at < text.size(); ++at) {
        at = std::min(text.size(), text.find("<|", at));
        special = O200kSpecial(text.substr(at));
        if (special > 0) break;
      }
      at = std::min(at, text.size());
      tokens += Count(text.substr(0, at)) + (special > 0 ? 1 : 0);
      text.remove_prefix(at + special);
    }
    return tokens;
  }
  absl::string_view method() const override { return "o200k_base"; }

 private:
  const std::unique_ptr<const RankTable> ranks_;
};

}  // namespace

size_t O200kPiece(absl::string_view text) {
  if (const size_t word = Word(text); word > 0) return word;
  if (At(text, 0).kind == kDigit) {
    size_t end = 0;
    for (int i = 0; i < 3 && At(text, end).kind == kDigit && end < text.size(); ++i) {
      end += At(text, end).length;
    }
    return end;
  }
  if (const size_t signs = Signs(text); signs > 0) return signs;
  return std::max<size_t>(Blanks(text), 1);
}

size_t O200kSpecial(absl::string_view text) {
  if (!absl::StartsWith(text, "<|")) return 0;
  const size_t end = text.substr(0, 32).find("|>");
  if (end == absl::string_view::npos) return 0;
  const absl::string_view name = text.substr(2, end - 2);
  for (const absl::string_view known : {"start", "end", "message", "channel", "constrain", "return",
                                        "call", "startoftext", "endoftext", "endofprompt"}) {
    if (name == known) return end + 2;
  }
  const bool reserved = absl::StartsWith(name, "reserved_") && name.size() > 9 &&
                        std::all_of(name.begin() + 9, name.end(), [](char c) {
                          return absl::ascii_isdigit(static_cast<unsigned char>(c));
                        });
  return reserved ? end + 2 : 0;
}

absl::StatusOr<std::unique_ptr<const TokenCounter>> LoadO200k(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": cannot be read: ", std::strerror(errno), " (renderers.o200k_file)"));
  }
  absl::StatusOr<std::unique_ptr<const RankTable>> ranks = RankTable::Parse(text.str());
  if (!ranks.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": ", ranks.status().message(), " (renderers.o200k_file)"));
  }
  return std::make_unique<const Counter>(*std::move(ranks));
}

}  // namespace toolrack
