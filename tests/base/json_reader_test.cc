// The fast reader against nlohmann's own parser.
#include "registry/base/json_reader.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

bool Reads(const std::string& text, Json& value) { return ReadGoodJson(text, JsonLimits(), value); }

// Equal in value and in the type of every number.
void ExpectSame(const Json& ours, const Json& theirs, const std::string& text) {
  ASSERT_EQ(ours.type(), theirs.type()) << text;
  if (ours.is_structured()) {
    ASSERT_EQ(ours.size(), theirs.size()) << text;
    auto theirs_at = theirs.begin();
    for (auto at = ours.begin(); at != ours.end(); ++at, ++theirs_at) {
      if (ours.is_object()) {
        EXPECT_EQ(at.key(), theirs_at.key()) << text;
      }
      ExpectSame(*at, *theirs_at, text);
    }
  } else {
    EXPECT_EQ(ours, theirs) << text;
  }
}

class Texts {
 public:
  explicit Texts(uint32_t seed) : random_(seed) {}

  std::string Value(int depth) {
    switch (Below(depth > 0 ? 9 : 7)) {
      case 0:
        return Pick({"true", "false", "null"});
      case 1:
        return absl::StrCat(static_cast<int64_t>(random_()) - (int64_t{1} << 31));
      case 2:
        return Pick({"0", "-0", "0.0", "1e3", "-1.5E-7", "1E+2", "18446744073709551615",
                     "18446744073709551616", "-9223372036854775808", "-9223372036854775809",
                     "9007199254740993", "0.1", "1e-400", "1e308", "123456789012345678901234567890",
                     "2.2250738585072011e-308", "5e-324"});
      case 7: {
        std::string out = "[";
        for (size_t i = 0, n = Below(4); i < n; ++i) {
          absl::StrAppend(&out, i > 0 ? "," : "", Space(), Value(depth - 1), Space());
        }
        return out + Space() + "]";
      }
      case 8: {
        std::string out = "{";
        for (size_t i = 0, n = Below(4); i < n; ++i) {
          absl::StrAppend(&out, i > 0 ? "," : "", Space(), "\"", Text(), i, "\"", Space(), ":",
                          Space(), Value(depth - 1));
        }
        return out + Space() + "}";
      }
      default:
        return absl::StrCat("\"", Text(), "\"");
    }
  }

  // One byte changed, dropped, doubled, or put in.
  std::string Spoil(std::string text) {
    const char bytes[] = "\"\\{}[],:0-+.eEu1tfn \n\x01\x7f\x80\xc3\xe2\xed\xf0\xff";
    const size_t at = Below(text.size());
    const char byte = bytes[Below(sizeof(bytes) - 1)];
    switch (Below(4)) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, text[at]);
        break;
      default:
        text.insert(at, 1, byte);
    }
    return text;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  std::string Pick(std::vector<std::string> texts) { return texts[Below(texts.size())]; }
  std::string Space() { return Pick({"", "", "", " ", "\t", "\r\n", "  "}); }
  std::string Text() {
    std::string out;
    for (size_t i = 0, n = Below(5); i < n; ++i) {
      out += Pick({"a", "plain text", "\\n", "\\\"", "\\\\", "\\/", "\\b\\f\\r\\t", "\\u0041",
                   "\\u00e9", "\\u20AC", "\\uD83D\\uDE00", "\\u0000", "é", "€", "😀", "\x7f"});
    }
    return out;
  }
  std::mt19937 random_;
};

TEST(JsonReader, GivesTheSameValueAsTheFullParser) {
  Texts texts(1);
  int read = 0;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = texts.Value(5);
    const Json theirs = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    ASSERT_FALSE(theirs.is_discarded()) << text;
    Json ours;
    // 1e-400 is left to the full parser.
    if (!Reads(text, ours)) {
      EXPECT_NE(text.find("e-400"), std::string::npos) << text;
      continue;
    }
    ++read;
    ExpectSame(ours, theirs, text);
  }
  EXPECT_GT(read, 4000);
}

TEST(JsonReader, TakesNothingThatTheFullParserRefuses) {
  Texts texts(2);
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string text = texts.Spoil(texts.Value(4));
    Json ours;
    const bool taken = Reads(text, ours);
    const Json theirs = Json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (theirs.is_discarded()) {
      ++refused;
      EXPECT_FALSE(taken) << text;
    } else if (taken) {
      ExpectSame(ours, theirs, text);
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(JsonReader, RefusesWhatTheDoorRefuses) {
  for (const std::string& text : {std::string(""),
                                  std::string(" "),
                                  std::string("\xEF\xBB\xBF{}"),
                                  std::string("{}\0", 3),
                                  std::string("{\"a\":1,\"a\":2}"),
                                  std::string("[1,]"),
                                  std::string("{,}"),
                                  std::string("{\"a\"}"),
                                  std::string("[1 2]"),
                                  std::string("01"),
                                  std::string("1."),
                                  std::string(".5"),
                                  std::string("+1"),
                                  std::string("-"),
                                  std::string("1e"),
                                  std::string("NaN"),
                                  std::string("tru"),
                                  std::string("1e999"),
                                  std::string("\"\\uD800\""),
                                  std::string("\"\\uDC00\""),
                                  std::string("\"\\uD800\\u0041\""),
                                  std::string("\"\\x\""),
                                  std::string("\"\\u12G4\""),
                                  std::string("\"a"),
                                  std::string("\"\x1f\""),
                                  std::string("\"\xC0\xAF\""),
                                  std::string("\"\xED\xA0\x80\""),
                                  std::string("\"\xC3\\u00a9\""),
                                  std::string("{} {}"),
                                  std::string("]"),
                                  std::string("[}"),
                                  std::string("// no\n1")}) {
    Json value;
    EXPECT_FALSE(Reads(text, value)) << text;
    Json parsed;
    EXPECT_TRUE(std::holds_alternative<JsonFault>(ParseJson(text, JsonLimits(), parsed))) << text;
  }
}

TEST(JsonReader, KeepsToTheLimits) {
  Json value;
  JsonLimits limits;
  limits.max_depth = 2;
  EXPECT_TRUE(ReadGoodJson("[{}]", limits, value));
  EXPECT_FALSE(ReadGoodJson("[{\"a\":[]}]", limits, value));
  limits.max_depth = 64;
  limits.max_nodes = 3;
  EXPECT_TRUE(ReadGoodJson("[1,2]", limits, value));
  EXPECT_FALSE(ReadGoodJson("[1,2,3]", limits, value));
  limits.max_nodes = SIZE_MAX;
  limits.max_bytes = 2;
  EXPECT_TRUE(ReadGoodJson("{}", limits, value));
  EXPECT_FALSE(ReadGoodJson("{ }", limits, value));
}

TEST(JsonReader, ReadsDeepTextsWithoutRecursion) {
  const std::string text = std::string(100000, '[') + std::string(100000, ']');
  JsonLimits limits;
  limits.max_depth = 100000;
  Json value;
  EXPECT_TRUE(ReadGoodJson(text, limits, value));
}

}  // namespace
}  // namespace toolrack
