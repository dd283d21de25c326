#include "registry/schema/formats.h"

#include <re2/re2.h>

#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "registry/schema/idna.h"
#include "registry/schema/pattern.h"

namespace toolrack {
namespace {

re2::StringPiece Piece(absl::string_view text) { return {text.data(), text.size()}; }

// The number at `at`, of exactly `digits` digits; -1 when there is none.
int DigitsAt(absl::string_view text, size_t at, size_t digits) {
  if (at + digits > text.size()) return -1;
  int value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (!absl::ascii_isdigit(text[i])) return -1;
    value = value * 10 + (text[i] - '0');
  }
  return value;
}

bool IsDate(absl::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const int year = DigitsAt(text, 0, 4), month = DigitsAt(text, 5, 2), day = DigitsAt(text, 8, 2);
  if (year < 0 || month < 1 || month > 12 || day < 1) return false;
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
  return day <= kDays[month - 1] + (month == 2 && leap ? 1 : 0);
}

bool IsTime(absl::string_view text) {
  if (text.size() < 9 || text[2] != ':' || text[5] != ':') return false;
  const int hour = DigitsAt(text, 0, 2), minute = DigitsAt(text, 3, 2),
            second = DigitsAt(text, 6, 2);
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
  text.remove_prefix(8);
  if (text[0] == '.') {
    size_t end = 1;
    while (end < text.size() && absl::ascii_isdigit(text[end])) ++end;
    if (end == 1) return false;
    text.remove_prefix(end);
  }
  int offset = 0;  // in minutes
  if (text != "Z" && text != "z") {
    if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return false;
    const int hours = DigitsAt(text, 1, 2), minutes = DigitsAt(text, 4, 2);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return false;
    offset = (text[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
  }
  // A leap second is the last one of a day in UTC.
  constexpr int kDay = 24 * 60;
  return second < 60 || (hour * 60 + minute - offset + kDay) % kDay == kDay - 1;
}

bool IsDateTime(absl::string_view text) {
  return text.size() > 11 && (text[10] == 'T' || text[10] == 't') && IsDate(text.substr(0, 10)) &&
         IsTime(text.substr(11));
}

bool IsDuration(absl::string_view text) {
  static const RE2 form(
      "P(?:(?:[0-9]+D|[0-9]+M(?:[0-9]+D)?|[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?)"
      "(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?"
      "|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S)|[0-9]+W)");
  return RE2::FullMatch(Piece(text), form);
}

bool IsIpv4(absl::string_view text) {
  static const RE2 form(
      "(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])[.]){3}"
      "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])");
  return RE2::FullMatch(Piece(text), form);
}

// Groups of up to four hex digits between colons; the last may be an IPv4 address, which counts
// for two. -1 when there is something else.
int CountGroups(absl::string_view text, bool ipv4_may_end) {
  if (text.empty()) return 0;
  int count = 0;
  const std::vector<absl::string_view> groups = absl::StrSplit(text, ':');
  for (size_t i = 0; i < groups.size(); ++i) {
    const absl::string_view group = groups[i];
    if (ipv4_may_end && i + 1 == groups.size() && absl::StrContains(group, '.')) {
      return IsIpv4(group) ? count + 2 : -1;
    }
    if (group.empty() || group.size() > 4) return -1;
    for (const char c : group) {
      if (!absl::ascii_isxdigit(c)) return -1;
    }
    ++count;
  }
  return count;
}

bool IsIpv6(absl::string_view text) {
  if (text.size() > 45) return false;
  const size_t gap = text.find("::");
  if (gap == absl::string_view::npos) return CountGroups(text, true) == 8;
  const int before = CountGroups(text.substr(0, gap), false);
  const int after = CountGroups(text.substr(gap + 2), true);
  return before >= 0 && after >= 0 && before + after <= 7;
}

bool IsHostname(absl::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  for (const absl::string_view label : absl::StrSplit(text, '.')) {
    if (label.empty() || label.size() > 63 || label.front() == '-' || label.back() == '-') {
      return false;
    }
    for (const char c : label) {
      if (!absl::ascii_isalnum(c) && c != '-') return false;
    }
    if (absl::StartsWithIgnoreCase(label, "xn--") && !IsInternationalLabel(label)) return false;
  }
  return true;
}

bool IsEmail(absl::string_view text) {
  static const RE2 form(
      R"re(((?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:[.][A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*)|)re"
      R"re((?:"(?:[ !#-\[\]-~]|\\[ -~])*"))@(.+))re");
  std::string local, domain;
  if (!RE2::FullMatch(Piece(text), form, &local, &domain) || local.size() > 64) return false;
  if (domain.front() != '[') return IsHostname(domain);
  if (domain.back() != ']') return false;
  const absl::string_view address = absl::string_view(domain).substr(1, domain.size() - 2);
  if (absl::StartsWithIgnoreCase(address, "IPv6:")) return IsIpv6(address.substr(5));
  return IsIpv4(address);
}

#define UNRESERVED "A-Za-z0-9._~\\-"
#define DELIMITERS "!$&'()*+,;="
#define ESCAPED "%[0-9A-Fa-f]{2}"
#define PATH_CHAR "(?:[" UNRESERVED DELIMITERS ":@]|" ESCAPED ")"

bool IsUri(absl::string_view text) {
  static const RE2 form(
      "[A-Za-z][A-Za-z0-9+.-]*:"
      "(?://"
      "(?:(?:[" UNRESERVED DELIMITERS ":]|" ESCAPED
      ")*@)?"
      "(?:\\[([^\\]]*)\\]|(?:[" UNRESERVED DELIMITERS "]|" ESCAPED
      ")*)"
      "(?::[0-9]*)?"
      "(?:/" PATH_CHAR
      "*)*"
      "|/(?:" PATH_CHAR "+(?:/" PATH_CHAR
      "*)*)?"
      "|" PATH_CHAR "+(?:/" PATH_CHAR
      "*)*"
      "|)"
      "(?:[?](?:" PATH_CHAR "|[/?])*)?(?:#(?:" PATH_CHAR "|[/?])*)?");
  static const RE2 future("[vV][0-9A-Fa-f]+[.][" UNRESERVED DELIMITERS ":]+");
  re2::StringPiece address;
  if (!RE2::FullMatch(Piece(text), form, &address)) return false;
  if (address.data() == nullptr) return true;
  return IsIpv6({address.data(), address.size()}) || RE2::FullMatch(address, future);
}

#undef UNRESERVED
#undef DELIMITERS
#undef ESCAPED
#undef PATH_CHAR

bool IsUuid(absl::string_view text) {
  static const RE2 form("[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}");
  return RE2::FullMatch(Piece(text), form);
}

bool IsJsonPointer(absl::string_view text) {
  static const RE2 form("(?:/(?:[^~/]|~[01])*)*");
  return RE2::FullMatch(Piece(text), form);
}

constexpr Format kFormats[] = {
    {"date", "a date like 2026-01-31", IsDate},
    {"date-time", "a date and time with zone like 2026-01-31T12:00:00Z", IsDateTime},
    {"duration", "an ISO 8601 duration like P1DT2H", IsDuration},
    {"email", "an e-mail address like name@example.org", IsEmail},
    {"hostname", "a host name like www.example.org", IsHostname},
    {"ipv4", "an IPv4 address like 192.0.2.1", IsIpv4},
    {"ipv6", "an IPv6 address like 2001:db8::1", IsIpv6},
    {"json-pointer", "a JSON Pointer like /a/0", IsJsonPointer},
    {"regex", "a regular expression", IsRegex},
    {"time", "a time with zone like 12:00:00Z", IsTime},
    {"uri", "an absolute URI like https://example.org/path", IsUri},
    {"uuid", "a UUID like 123e4567-e89b-12d3-a456-426614174000", IsUuid},
};

}  // namespace

const Format* FindFormat(absl::string_view name) {
  for (const Format& each : kFormats) {
    if (name == each.name) return &each;
  }
  return nullptr;
}

}  // namespace toolrack
