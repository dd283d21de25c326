#include "client/cli/text.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "registry/base/utf8.h"

namespace toolrack {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 19> kWide = {{{0x1100, 0x115F},
                                          {0x231A, 0x231B},
                                          {0x23E9, 0x23EC},
                                          {0x2614, 0x2615},
                                          {0x26A1, 0x26A1},
                                          {0x2705, 0x2705},
                                          {0x274C, 0x274C},
                                          {0x2E80, 0x303E},
                                          {0x3041, 0xA4CF},
                                          {0xA960, 0xA97C},
                                          {0xAC00, 0xD7A3},
                                          {0xF900, 0xFAFF},
                                          {0xFE10, 0xFE19},
                                          {0xFE30, 0xFE6F},
                                          {0xFF01, 0xFF60},
                                          {0xFFE0, 0xFFE6},
                                          {0x1F300, 0x1F64F},
                                          {0x1F680, 0x1FAFF},
                                          {0x20000, 0x3FFFD}}};
constexpr std::array<Range, 9> kZero = {{{0x0300, 0x036F},
                                         {0x0483, 0x0489},
                                         {0x0591, 0x05BD},
                                         {0x064B, 0x065F},
                                         {0x1AB0, 0x1AFF},
                                         {0x200B, 0x200D},
                                         {0x20D0, 0x20FF},
                                         {0xFE00, 0xFE0F},
                                         {0xFE20, 0xFE2F}}};
// What would drive a terminal or reorder a line.
constexpr std::array<Range, 7> kControls = {{{0x00, 0x1F},
                                             {0x7F, 0x9F},
                                             {0x061C, 0x061C},
                                             {0x200E, 0x200F},
                                             {0x2028, 0x202E},
                                             {0x2066, 0x2069},
                                             {0xFEFF, 0xFEFF}}};

template <size_t N>
bool In(const std::array<Range, N>& ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](const Range& range) { return range.first <= c && c <= range.last; });
}

// The character at the front of well-formed UTF-8, and its length in bytes.
char32_t Decode(absl::string_view text, size_t& length) {
  const auto byte = [&text](size_t i) -> char32_t {
    return i < text.size() ? static_cast<unsigned char>(text[i]) & 0x3F : 0;
  };
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return length = 1, lead;
  if (lead < 0xE0) return length = 2, (lead & 0x1Fu) << 6 | byte(1);
  if (lead < 0xF0) return length = 3, (lead & 0x0Fu) << 12 | byte(1) << 6 | byte(2);
  return length = 4, (lead & 0x07u) << 18 | byte(1) << 12 | byte(2) << 6 | byte(3);
}

size_t WidthOf(char32_t c) { return In(kZero, c) ? 0 : In(kWide, c) ? 2 : 1; }

}  // namespace

std::string Printable(absl::string_view text, Lines lines) {
  const std::string clean = ReplaceInvalidUtf8(text);
  absl::string_view rest = clean;
  std::string out;
  bool blank = false;
  while (!rest.empty()) {
    size_t length = 0;
    const char32_t c = Decode(rest, length);
    const absl::string_view character = rest.substr(0, length);
    rest.remove_prefix(length);
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      if (lines == Lines::kJoin) {
        blank = !out.empty();
        continue;
      }
      if (c != '\r') {
        out.push_back(static_cast<char>(c));
        continue;
      }
      if (!rest.empty() && rest.front() == '\n') continue;
    }
    if (blank) out.push_back(' ');
    blank = false;
    if (!In(kControls, c)) {
      out.append(character.data(), character.size());
    } else if (c < 0x100) {
      absl::StrAppendFormat(&out, "\\x%02x", static_cast<uint32_t>(c));
    } else {
      absl::StrAppendFormat(&out, "\\u%04x", static_cast<uint32_t>(c));
    }
  }
  return out;
}

size_t DisplayWidth(absl::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    size_t length = 0;
    width += WidthOf(Decode(text, length));
    text.remove_prefix(std::min(length, text.size()));
  }
  return width;
}

std::string CutToWidth(absl::string_view text, size_t width) {
  if (DisplayWidth(text) <= width) return std::string(text);
  if (width == 0) return "";
  std::string out;
  size_t used = 0;
  while (!text.empty()) {
    size_t length = 0;
    used += WidthOf(Decode(text, length));
    if (used > width - 1) break;
    out.append(text.data(), length);
    text.remove_prefix(length);
  }
  return out + "…";
}

std::string DurationText(const google::protobuf::Duration& duration) {
  const int64_t seconds = duration.seconds();
  if (seconds < 60) {
    const int64_t millis = seconds * 1000 + duration.nanos() / 1000000;
    if (millis < 1000) {
      if (millis == 0 && duration.nanos() > 0) {
        return absl::StrCat(duration.nanos() / 1000, "us");
      }
      return absl::StrCat(millis, "ms");
    }
    return absl::StrFormat("%.3gs", static_cast<double>(millis) / 1000);
  }
  const int64_t minutes = seconds / 60;
  if (minutes < 60) return absl::StrCat(minutes, "m", seconds % 60, "s");
  const int64_t hours = minutes / 60;
  if (hours < 24) return absl::StrCat(hours, "h", minutes % 60, "m");
  return absl::StrCat(hours / 24, "d", hours % 24, "h");
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  if (time.seconds() == 0) return "-";
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(time.seconds()),
                          absl::UTCTimeZone());
}

std::string BytesText(uint64_t bytes) {
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* next : {"KiB", "MiB", "GiB", "TiB"}) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return absl::StrFormat(value < 10 ? "%.1f %s" : "%.0f %s", value, unit);
}

}  // namespace toolrack
