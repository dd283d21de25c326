#include "registry/base/utf8.h"

#include <cstdint>
#include <cstring>

namespace toolrack {
namespace {

// Length of the well-formed character at `p`, 0 when there is none; then `bad` is the length of the
// maximal subpart that one U+FFFD stands for (Unicode 15, table 3-7).
size_t CharacterAt(const unsigned char* p, size_t left, size_t* bad) {
  const unsigned char lead = p[0];
  *bad = 1;
  if (lead < 0x80) return 1;
  size_t length;
  unsigned char low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if (i >= left || p[i] < low || p[i] > high) {
      *bad = i;
      return 0;
    }
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace

size_t FirstInvalidUtf8(absl::string_view text) {
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  size_t at = 0;
  while (at < text.size()) {
    // Eight ASCII bytes at a time: nearly all text.
    while (at + 8 <= text.size()) {
      uint64_t word;
      std::memcpy(&word, data + at, 8);
      if (word & 0x8080808080808080u) break;
      at += 8;
    }
    if (at == text.size()) break;
    size_t bad;
    const size_t length = CharacterAt(data + at, text.size() - at, &bad);
    if (length == 0) return at;
    at += length;
  }
  return text.size();
}

std::string ReplaceInvalidUtf8(absl::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t good = FirstInvalidUtf8(text);
    out.append(text.data(), good);
    text.remove_prefix(good);
    if (text.empty()) break;
    size_t bad;
    CharacterAt(reinterpret_cast<const unsigned char*>(text.data()), text.size(), &bad);
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(bad);
  }
  return out;
}

absl::string_view Utf8Prefix(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  while (max_bytes > 0 && IsContinuation(text[max_bytes])) --max_bytes;
  return text.substr(0, max_bytes);
}

absl::string_view Utf8Suffix(absl::string_view text, size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  size_t from = text.size() - max_bytes;
  while (from < text.size() && IsContinuation(text[from])) ++from;
  return text.substr(from);
}

}  // namespace toolrack
