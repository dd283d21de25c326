// Strict reading: what would be mended is malformed instead, and what is written well reads the
// same.
#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "renderers/provider_json.h"
#include "tests/renderers/parse_rig.h"

namespace toolrack {
namespace {

class StrictParseTest : public testing::Test {
 protected:
  StrictParseTest() {
    tools_.Add("go", "",
               R"({"type":"object","properties":{"s":{"type":"string"},"b":{"type":"boolean"}}})");
    view_ = tools_.View();
  }
  v1::ParseOutputResponse Read(const std::string& renderer, const std::string& text, bool strict) {
    return ParseText(OfferedTools(*FindRenderer(renderer), view_), text, {strict});
  }
  // Lenient reading mends it into a call; strict reading says why it is none.
  void ExpectMended(const std::string& renderer, const std::string& text, const std::string& kind) {
    const auto lenient = Read(renderer, text, false);
    bool called = false;
    for (const auto& event : lenient.events()) called = called || event.call().complete();
    EXPECT_TRUE(called) << text;
    bool mended = kind.empty();
    for (const auto& repair : lenient.repairs()) mended = mended || repair.kind() == kind;
    EXPECT_TRUE(mended) << text;
    const auto strict = Read(renderer, text, true);
    bool malformed = false;
    for (const auto& event : strict.events()) {
      EXPECT_FALSE(event.call().complete()) << text << strict.DebugString();
      malformed = malformed || (event.has_malformed() &&
                                absl::StrContains(event.malformed().reason(), "strict reading") &&
                                absl::StrContains(event.malformed().reason(), kind));
    }
    EXPECT_TRUE(malformed) << text << strict.DebugString();
    EXPECT_EQ(strict.repairs_size(), 0);
  }
  // Both read the same call.
  void ExpectSame(const std::string& renderer, const std::string& text) {
    const auto strict = Read(renderer, text, true);
    EXPECT_EQ(strict.SerializeAsString(), Read(renderer, text, false).SerializeAsString()) << text;
    ASSERT_EQ(strict.events_size(), 1) << strict.DebugString();
    EXPECT_TRUE(strict.events(0).call().complete());
  }

  Tools tools_;
  std::vector<const v1::Tool*> view_;
};

TEST_F(StrictParseTest, Claude) {
  ExpectSame("claude",
             "<function_calls>\n<invoke name=\"go\">\n<parameter name=\"s\">x</parameter>\n"
             "</invoke>\n</function_calls>");
  ExpectMended("claude", "<invoke name=\"go\"><parameter name=\"s\">x</parameter></invoke>",
               "missing_opener");
  ExpectMended("claude",
               "<function_calls><invoke name=\"go\"><parameter name=\"b\">True</parameter></invoke>"
               "</function_calls>",
               "python_literal");
  ExpectMended("claude",
               "<function_calls><invoke name=\"go\"><parameter name=\"s\">x</parameter>"
               "</function_calls>",
               "missing_closer");
  ExpectMended("claude",
               "<function_calls><invoke name=\"go\"><parameter name=\"s\">\xFF</parameter></invoke>"
               "</function_calls>",
               "invalid_utf8");
}

TEST_F(StrictParseTest, Harmony) {
  ExpectSame("harmony",
             "<|channel|>commentary to=functions.go <|constrain|>json<|message|>{\"s\": "
             "\"x\"}<|call|>");
  ExpectSame("harmony",
             "<|start|>assistant to=functions.go<|channel|>commentary "
             "<|constrain|>json<|message|>{\"s\": \"x\"}");
  const std::string good = "<|channel|>commentary to=functions.go<|message|>";
  ExpectMended("harmony", good + "{'s': 'x'}<|call|>", "python_literal");
  ExpectMended("harmony", good + "{\"s\": \"x\",}<|call|>", "trailing_comma");
  ExpectMended("harmony", good + "{\"s\": \"x\"}<|return|>", "");
  ExpectMended("harmony", "<|channel|>commentary to=go<|message|>{}<|call|>", "");
  ExpectMended("harmony", "<|channel|>analysis to=functions.go<|message|>{}<|call|>", "");
  ExpectMended("harmony",
               "<|start|><|start|>assistant<|channel|>commentary "
               "to=functions.go<|message|>{}<|call|>",
               "doubled_start");
  ExpectMended("harmony",
               "<|channel|>commentary to=functions.go to=functions.go<|message|>{}<|call|>",
               "doubled_recipient");
  ExpectMended("harmony",
               "<|channel|>final<|message|>Hi<|channel|>commentary "
               "to=functions.go<|message|>{}<|call|>",
               "missing_start");
}

TEST_F(StrictParseTest, ProviderJson) {
  const OfferedTools offered(*FindRenderer("openai_chat"), view_);
  const std::string good =
      R"([{"id":"c","type":"function","function":{"name":"go","arguments":"{\"s\": \"x\"}"}}])";
  EXPECT_TRUE(ParseProviderJson(offered, good, {true}).events(0).call().complete());
  const std::string odd =
      R"([{"id":"c","type":"function","function":{"name":"go","arguments":"{'s': True}"}}])";
  EXPECT_TRUE(ParseProviderJson(offered, odd).events(0).call().complete());
  const auto strict = ParseProviderJson(offered, odd, {true});
  ASSERT_EQ(strict.events_size(), 1);
  EXPECT_TRUE(absl::StrContains(strict.events(0).malformed().reason(), "python_literal"));
  EXPECT_EQ(strict.events(0).malformed().name(), "go");
  EXPECT_EQ(strict.repairs_size(), 0);
}

TEST_F(StrictParseTest, TextOfNoKnownMarkupStaysText) {
  const auto text = Read("openai_chat", "plain", true);
  ASSERT_EQ(text.events_size(), 1);
  EXPECT_EQ(text.events(0).text(), "plain");
  EXPECT_TRUE(Read("openai_chat", "a\xFF", true).events(1).has_malformed());
}

}  // namespace
}  // namespace toolrack
