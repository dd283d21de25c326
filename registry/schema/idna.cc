#include "registry/schema/idna.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"

namespace toolrack {
namespace {

using CodePoints = std::vector<uint32_t>;

// RFC 3492, section 6.1 and 6.2. `text` is ASCII.
std::optional<CodePoints> DecodePunycode(absl::string_view text) {
  constexpr uint32_t kBase = 36, kMin = 1, kMax = 26, kSkew = 38, kDamp = 700;
  CodePoints out;
  const size_t basic = text.rfind('-');
  if (basic != absl::string_view::npos) {
    for (const char c : text.substr(0, basic)) out.push_back(static_cast<unsigned char>(c));
    text.remove_prefix(basic + 1);
  }
  uint64_t point = 128, place = 0;
  uint32_t bias = 72;
  bool first = true;
  while (!text.empty()) {
    const uint64_t before = place;
    uint64_t weight = 1;
    for (uint32_t k = kBase;; k += kBase) {
      if (text.empty()) return std::nullopt;
      const char c = absl::ascii_tolower(text.front());
      text.remove_prefix(1);
      const uint32_t digit = absl::ascii_isdigit(c)   ? static_cast<uint32_t>(c - '0') + 26
                             : absl::ascii_islower(c) ? static_cast<uint32_t>(c - 'a')
                                                      : kBase;
      if (digit >= kBase) return std::nullopt;
      place += digit * weight;
      if (place > UINT32_MAX) return std::nullopt;
      const uint32_t threshold = k <= bias ? kMin : std::min(k - bias, kMax);
      if (digit < threshold) break;
      weight *= kBase - threshold;
      if (weight > UINT32_MAX) return std::nullopt;
    }
    const uint64_t size = out.size() + 1;
    uint64_t delta = (place - before) / (first ? kDamp : 2);
    first = false;
    delta += delta / size;
    uint32_t k = 0;
    for (; delta > (kBase - kMin) * kMax / 2; k += kBase) delta /= kBase - kMin;
    bias = k + static_cast<uint32_t>((kBase - kMin + 1) * delta / (delta + kSkew));
    point += place / size;
    place %= size;
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    if (point > 0x10FFFF || surrogate) return std::nullopt;
    out.insert(out.begin() + static_cast<std::ptrdiff_t>(place), static_cast<uint32_t>(point));
    ++place;
  }
  return out;
}

std::string ToUtf8(uint32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | (c >> shift & 0x3F)); };
  if (c < 0x80) return {static_cast<char>(c)};
  if (c < 0x800) return {static_cast<char>(0xC0 | c >> 6), tail(0)};
  if (c < 0x10000) return {static_cast<char>(0xE0 | c >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | c >> 18), tail(12), tail(6), tail(0)};
}

bool Matches(uint32_t point, const RE2& one) { return RE2::FullMatch(ToUtf8(point), one); }

// Allowed, whatever stands beside it.
bool IsAllowed(uint32_t point) {
  // The exceptions of RFC 5892, section 2.6, and blocks of letters that are there for the sake of
  // other encodings (section 2.2 would tell them one by one) or are old Hangul (section 2.9).
  static const RE2 exceptions("[\\x{df}\\x{3c2}\\x{6fd}\\x{6fe}\\x{f0b}\\x{3007}]");
  static const RE2 forbidden(
      "[\\x{640}\\x{7fa}\\x{302e}\\x{302f}\\x{3031}-\\x{3035}\\x{303b}"
      "\\x{aa}\\x{b2}\\x{b3}\\x{b5}\\x{b9}\\x{ba}\\x{132}\\x{133}\\x{13f}\\x{140}\\x{149}\\x{17f}"
      "\\x{1c4}-\\x{1cc}\\x{1f1}-\\x{1f3}\\x{2b0}-\\x{2b8}\\x{2e0}-\\x{2e4}\\x{34f}\\x{1100}-\\x{"
      "11ff}"
      "\\x{17b4}\\x{17b5}\\x{180b}-\\x{180f}\\x{2070}-\\x{209f}\\x{20d0}-\\x{214f}\\x{2150}-\\x{"
      "218f}"
      "\\x{2460}-\\x{24ff}\\x{3130}-\\x{318f}\\x{3200}-\\x{33ff}\\x{a960}-\\x{a97f}"
      "\\x{d7b0}-\\x{d7ff}\\x{f900}-\\x{fa0d}\\x{fa10}\\x{fa12}\\x{fa15}-\\x{fa1e}\\x{fa20}\\x{"
      "fa22}"
      "\\x{fa25}\\x{fa26}\\x{fa2a}-\\x{faff}\\x{fb00}-\\x{fdff}\\x{fe00}-\\x{fe1f}\\x{fe70}-\\x{"
      "feff}"
      "\\x{ff00}-\\x{ffef}\\x{1d400}-\\x{1d7ff}\\x{2f800}-\\x{2fa1f}\\x{e0100}-\\x{e01ef}]");
  static const RE2 letters("[\\p{Ll}\\p{Lo}\\p{Lm}\\p{Mn}\\p{Mc}\\p{Nd}-]");
  if (Matches(point, exceptions)) return true;
  return !Matches(point, forbidden) && Matches(point, letters);
}

bool IsVirama(uint32_t point) {
  static const RE2 viramas(
      "[\\x{94d}\\x{9cd}\\x{a4d}\\x{acd}\\x{b4d}\\x{bcd}\\x{c4d}\\x{ccd}\\x{d3b}\\x{d3c}\\x{d4d}"
      "\\x{dca}\\x{e3a}\\x{eba}\\x{f84}\\x{1039}\\x{103a}\\x{1714}\\x{1734}\\x{17d2}\\x{1a60}"
      "\\x{1b44}\\x{1baa}\\x{1bab}\\x{1bf2}\\x{1bf3}\\x{2d7f}\\x{a806}\\x{a82c}\\x{a8c4}\\x{a953}"
      "\\x{a9c0}\\x{aaf6}\\x{abed}\\x{10a3f}\\x{11046}\\x{1107f}\\x{110b9}\\x{11133}\\x{11134}"
      "\\x{111c0}\\x{11235}\\x{112ea}\\x{1134d}\\x{11442}\\x{114c2}\\x{115bf}\\x{1163f}\\x{116b6}"
      "\\x{1172b}\\x{11839}]");
  return Matches(point, viramas);
}

// RFC 5892, appendix A.1, for the Arabic script: the letter before joins to its left, the one after
// to its right; marks between do not count.
bool JoinsAround(const CodePoints& label, size_t at) {
  static const RE2 mark("[\\p{Mn}\\p{Me}\\p{Cf}]");
  static const RE2 joining(
      "[\\x{620}\\x{622}-\\x{63f}\\x{641}-\\x{64a}\\x{66e}\\x{66f}\\x{671}-\\x{673}"
      "\\x{675}-\\x{6d3}\\x{6d5}\\x{6ee}\\x{6ef}\\x{6fa}-\\x{6fc}\\x{6ff}"
      "\\x{750}-\\x{77f}\\x{8a0}-\\x{8ac}]");
  static const RE2 right_only(
      "[\\x{622}-\\x{625}\\x{627}\\x{629}\\x{62f}-\\x{632}\\x{648}\\x{671}-\\x{673}\\x{675}-\\x{"
      "677}"
      "\\x{688}-\\x{699}\\x{6c0}\\x{6c3}-\\x{6cb}\\x{6cd}\\x{6cf}\\x{6d2}\\x{6d3}\\x{6d5}\\x{6ee}"
      "\\x{6ef}\\x{759}-\\x{75b}\\x{76b}\\x{76c}\\x{771}\\x{773}\\x{774}\\x{778}\\x{779}\\x{8aa}-"
      "\\x{8ac}]");
  size_t before = at;
  while (before > 0 && Matches(label[before - 1], mark)) --before;
  size_t after = at + 1;
  while (after < label.size() && Matches(label[after], mark)) ++after;
  return before > 0 && after < label.size() && Matches(label[before - 1], joining) &&
         !Matches(label[before - 1], right_only) && Matches(label[after], joining);
}

// The rules of RFC 5892, appendix A. nullopt: there is none for this character.
std::optional<bool> FitsContext(const CodePoints& label, size_t at) {
  static const RE2 greek("\\p{Greek}"), hebrew("\\p{Hebrew}");
  static const RE2 japanese("[\\p{Hiragana}\\p{Katakana}\\p{Han}]");
  const auto any = [&label](uint32_t low, uint32_t high) {
    return std::any_of(label.begin(), label.end(),
                       [=](uint32_t c) { return c >= low && c <= high; });
  };
  const uint32_t c = label[at];
  const bool first = at == 0, last = at + 1 == label.size();
  if (c == 0x200C) return !first && (IsVirama(label[at - 1]) || JoinsAround(label, at));
  if (c == 0x200D) return !first && IsVirama(label[at - 1]);
  if (c == 0xB7) return !first && !last && label[at - 1] == 'l' && label[at + 1] == 'l';
  if (c == 0x375) return !last && Matches(label[at + 1], greek);
  if (c == 0x5F3 || c == 0x5F4) return !first && Matches(label[at - 1], hebrew);
  if (c == 0x30FB) {
    return std::any_of(label.begin(), label.end(),
                       [](uint32_t each) { return each != 0x30FB && Matches(each, japanese); });
  }
  if (c >= 0x660 && c <= 0x669) return !any(0x6F0, 0x6F9);
  if (c >= 0x6F0 && c <= 0x6F9) return !any(0x660, 0x669);
  return std::nullopt;
}

}  // namespace

bool IsInternationalLabel(absl::string_view label) {
  const std::optional<CodePoints> decoded = DecodePunycode(label.substr(4));
  if (!decoded || decoded->empty()) return false;
  const CodePoints& points = *decoded;
  const bool ascii = std::all_of(points.begin(), points.end(), [](uint32_t c) { return c < 128; });
  if (ascii || points.front() == '-' || points.back() == '-') return false;
  if (points.size() >= 4 && points[2] == '-' && points[3] == '-') return false;
  static const RE2 mark("\\p{M}");
  if (Matches(points.front(), mark)) return false;
  for (size_t i = 0; i < points.size(); ++i) {
    const std::optional<bool> fits = FitsContext(points, i);
    if (fits ? !*fits : !IsAllowed(points[i])) return false;
  }
  return true;
}

}  // namespace toolrack
