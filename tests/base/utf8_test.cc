// UTF-8 against a slow reference that decodes by the book.
#include "registry/base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace toolrack {
namespace {

// The length of the well-formed character at `at` (RFC 3629), 0 when there is none.
size_t ReferenceLength(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const unsigned lead = byte(at);
  size_t length = lead < 0x80       ? 1
                  : lead >> 5 == 6  ? 2
                  : lead >> 4 == 14 ? 3
                  : lead >> 3 == 30 ? 4
                                    : 0;
  if (length == 0 || at + length > text.size()) return 0;
  unsigned point = length == 1 ? lead : lead & (0x7F >> length);
  for (size_t i = 1; i < length; ++i) {
    if (byte(at + i) >> 6 != 2) return 0;
    point = point << 6 | (byte(at + i) & 0x3F);
  }
  const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[length] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return 0;
  return length;
}

size_t ReferenceFirstInvalid(const std::string& text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t length = ReferenceLength(text, at);
    if (length == 0) return at;
    at += length;
  }
  return at;
}

// Bytes that meet at every border of the tables.
std::string RandomText(std::mt19937& random) {
  static const unsigned char kBytes[] = {0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                         0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                         0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFE, 0xFF};
  std::string text;
  for (size_t n = random() % 12; n > 0; --n)
    text.push_back(static_cast<char>(kBytes[random() % sizeof(kBytes)]));
  return text;
}

TEST(Utf8, AgreesWithTheReferenceOnRandomBytes) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    // Behind ASCII of any length: the fast path must hand over at the right byte.
    const std::string text = std::string(random() % 20, 'a') + RandomText(random);
    ASSERT_EQ(FirstInvalidUtf8(text), ReferenceFirstInvalid(text))
        << ::testing::PrintToString(text);
  }
}

TEST(Utf8, AgreesWithTheReferenceOnEveryCodePoint) {
  for (unsigned point = 0; point <= 0x10FFFF; ++point) {
    std::string text;
    if (point < 0x80) {
      text = {static_cast<char>(point)};
    } else if (point < 0x800) {
      text = {static_cast<char>(0xC0 | point >> 6), static_cast<char>(0x80 | (point & 0x3F))};
    } else if (point < 0x10000) {
      text = {static_cast<char>(0xE0 | point >> 12), static_cast<char>(0x80 | (point >> 6 & 0x3F)),
              static_cast<char>(0x80 | (point & 0x3F))};
    } else {
      text = {static_cast<char>(0xF0 | point >> 18), static_cast<char>(0x80 | (point >> 12 & 0x3F)),
              static_cast<char>(0x80 | (point >> 6 & 0x3F)),
              static_cast<char>(0x80 | (point & 0x3F))};
    }
    const bool surrogate = point >= 0xD800 && point < 0xE000;
    ASSERT_EQ(IsUtf8(text), !surrogate) << std::hex << point;
  }
}

TEST(Utf8, ReplacementIsAlwaysUtf8AndLeavesGoodTextAlone) {
  std::mt19937 random(2);
  for (int i = 0; i < 100000; ++i) {
    const std::string text = RandomText(random);
    const std::string clean = ReplaceInvalidUtf8(text);
    ASSERT_TRUE(IsUtf8(clean));
    if (IsUtf8(text)) {
      ASSERT_EQ(clean, text);
    }
    ASSERT_EQ(ReplaceInvalidUtf8(clean), clean);
  }
}

TEST(Utf8, ReplacesMaximalSubpartsAsUnicodeSays) {
  // Unicode 15, tables 3-8 to 3-11.
  const auto r = [](const char* bytes) { return ReplaceInvalidUtf8(bytes); };
  EXPECT_EQ(r("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(r("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA");
  EXPECT_EQ(r("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB");
  EXPECT_EQ(r("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFDA");
}

TEST(Utf8, PrefixAndSuffixNeverSplitACharacter) {
  const std::string text = "aé日😀b";
  for (size_t n = 0; n <= text.size() + 2; ++n) {
    const absl::string_view prefix = Utf8Prefix(text, n), suffix = Utf8Suffix(text, n);
    EXPECT_LE(prefix.size(), n);
    EXPECT_LE(suffix.size(), n);
    EXPECT_TRUE(IsUtf8(prefix)) << n;
    EXPECT_TRUE(IsUtf8(suffix)) << n;
    EXPECT_GE(prefix.size() + 3, std::min(n, text.size())) << "longest";
    EXPECT_GE(suffix.size() + 3, std::min(n, text.size())) << "longest";
    EXPECT_EQ(text.compare(0, prefix.size(), std::string(prefix)), 0);
    EXPECT_EQ(text.substr(text.size() - suffix.size()), std::string(suffix));
  }
}

}  // namespace
}  // namespace toolrack
