#include "renderers/json_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "absl/strings/str_cat.h"
#include "renderers/markers.h"

namespace toolrack {
namespace {

TEST(JsonTextTest, KeepsOrderAndTheSpellingOfNumbers) {
  const std::string text =
      R"({ "z": 1.0, "a" : [1e2, -0, 18446744073709551616], "é": "\u00e9\/\u001f", "z2": {} })";
  EXPECT_EQ(WriteJson(*ParseJsonText(text)),
            R"({"z":1.0,"a":[1e2,-0,18446744073709551616],"é":"é/\u001f","z2":{}})");
  EXPECT_EQ(WriteJson(*ParseJsonText(text), kSpacedJson),
            R"({"z": 1.0, "a": [1e2, -0, 18446744073709551616], "é": "é/\u001f", "z2": {}})");
}

TEST(JsonTextTest, KnowsWhereAValueStood) {
  const std::string text = R"({"a": {"b": 1.50 } })";
  const JsonText value = *ParseJsonText(text);
  const JsonText* a = value.Find("a");
  EXPECT_EQ(text.substr(a->begin, a->end - a->begin), R"({"b": 1.50 })");
}

TEST(JsonTextTest, TakesNothingElse) {
  for (const char* bad : {"", "{", "[1,]", "{\"a\":1,}", "01", "1.", "nul", "\"\\ud800\"", "\"\n\"",
                          "'a'", "1 2", "\xff", "{a:1}"}) {
    EXPECT_FALSE(ParseJsonText(bad).has_value()) << bad;
  }
  EXPECT_FALSE(ParseJsonText(std::string(200, '[') + std::string(200, ']')).has_value());
}

TEST(JsonTextTest, EscapesAsPythonDoes) {
  std::string out;
  AppendJsonString("\"\\/\b\f\n\r\t\x01\x7f<>&é", out);
  EXPECT_EQ(out, "\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\x7f<>&é\"");
}

const Markers kMarkers{{"<|start|>", "<|end|>"}, {"invoke"}};

TEST(MarkersTest, NothingHappensWhereThereIsNone) {
  std::string text = "a <| b |> c, <start>, < invoke>, <invoked>, invoke>";
  const std::string before = text;
  EXPECT_FALSE(kMarkers.EscapeJson(text));
  EXPECT_FALSE(kMarkers.SplitText(text));
  EXPECT_EQ(text, before);
}

TEST(MarkersTest, AnyPrefixAndBothEndsOfATag) {
  for (const char* tag : {"<invoke", "</invoke>", "<x:invoke name=", "</invoke >"}) {
    EXPECT_TRUE(kMarkers.In(tag)) << tag;
  }
}

RC_GTEST_PROP(MarkersTest, EscapedJsonParsesBackAndHoldsNone, ()) {
  std::string text;
  const int parts = *rc::gen::inRange(0, 8);
  for (int i = 0; i < parts; ++i) {
    text += *rc::gen::element<std::string>("<|start|>", "<|end|>", "<invoke", "</a:invoke>", "<",
                                           "|", "\"", "\\", "\n", "é", "x");
  }
  std::string json;
  AppendJsonString(text, json);
  kMarkers.EscapeJson(json);
  RC_ASSERT(!kMarkers.In(json));
  RC_ASSERT(ParseJsonText(json)->text == text);
  std::string plain = text;
  kMarkers.SplitText(plain);
  RC_ASSERT(!kMarkers.In(plain));
}

}  // namespace
}  // namespace toolrack
