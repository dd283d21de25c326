// What gpt-oss writes, and what it writes instead. Shapes of the second kind come from public
// reports against openai/harmony, vllm, sglang, ollama and llama.cpp.
#include <gtest/gtest.h>

#include "tests/renderers/parse_rig.h"

namespace toolrack {
namespace {

class HarmonyParserTest : public testing::Test {
 protected:
  HarmonyParserTest() {
    tools_.Add("area", "", R"({"type":"object","properties":{"r":{"type":"integer"}}})");
    tools_.Add("srv__get.time", "", R"({"type":"object"})");
    tools_.Add(std::string(70, 'l'), "", R"({"type":"object"})");
    view_ = tools_.View();
    offered_ = std::make_unique<OfferedTools>(*FindRenderer("harmony"), view_);
  }
  std::string Parse(const std::string& text) { return Events(*offered_, {text}, &repairs_); }
  bool Repaired(const std::string& kind) {
    for (const std::string& repair : repairs_) {
      if (repair.rfind(kind, 0) == 0) return true;
    }
    return false;
  }

  Tools tools_;
  std::vector<const v1::Tool*> view_;
  std::unique_ptr<OfferedTools> offered_;
  std::vector<std::string> repairs_;
};

const char kCall[] = "begin call_0 area/area\na {\\\"r\\\": 1}\nend\n";

TEST_F(HarmonyParserTest, AWholeTurn) {
  EXPECT_EQ(
      Parse("<|channel|>analysis<|message|>Think.<|end|><|start|>assistant<|channel|>commentary "
            "to=functions.area <|constrain|>json<|message|>{\"r\": 1}<|call|>"),
      std::string("r Think.\n") + kCall);
  EXPECT_TRUE(repairs_.empty());
  EXPECT_EQ(Parse("<|channel|>final<|message|>Done.<|return|>"), "t Done.\n");
}

TEST_F(HarmonyParserTest, RecipientBeforeOrBehindTheChannel) {
  for (const char* text :
       {" to=functions.area<|channel|>commentary json<|message|>{\"r\": 1}<|call|>",
        "<|start|>assistant to=functions.area<|channel|>commentary<|message|>{\"r\": 1}<|call|>",
        "assistant to=functions.area<|channel|>commentary<|message|>{\"r\": 1}<|call|>",
        "<|channel|>commentary to=functions.area json<|message|>{\"r\": 1}<|call|>",
        "<|channel|>commentary to=functions.area<|constrain|>json<|message|>{\"r\": 1}<|call|>"}) {
    EXPECT_EQ(Parse(text), kCall) << text;
  }
}

TEST_F(HarmonyParserTest, TheRecipientDecidesNotTheChannel) {
  EXPECT_EQ(Parse("<|channel|>analysis to=functions.area code<|message|>{\"r\": 1}<|call|>"),
            kCall);
  EXPECT_EQ(Parse("<|channel|>comment to=functions.area<|message|>{\"r\": 1}<|call|>"), kCall);
  EXPECT_EQ(Parse("<|channel|>commentary<|message|>I look it up.<|end|>"), "t I look it up.\n");
}

TEST_F(HarmonyParserTest, BareNamesCountWhenTheyAreOffered) {
  EXPECT_EQ(Parse("<|channel|>commentary to=area<|message|>{\"r\": 1}<|call|>"), kCall);
  for (const char* name : {"python", "browser.search", "container.exec", "nobody"}) {
    const std::string text =
        Parse(std::string("<|channel|>commentary to=") + name + "<|message|>{}<|call|>");
    EXPECT_EQ(text.rfind("malformed [{}] there is no recipient ", 0), 0u) << text;
  }
}

TEST_F(HarmonyParserTest, UnknownFunctionsAreCallsWithoutAName) {
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.nope<|message|>{}<|call|>"),
            "begin call_0 /nope\na {}\nend\n");
}

TEST_F(HarmonyParserTest, WireNamesAreMappedBack) {
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.srv__get.time<|message|>{}<|call|>"),
            "begin call_0 srv__get.time/srv__get.time\na {}\nend\n");
  const std::string wire = WireNameFor(*FindDialect("harmony"), std::string(70, 'l'));
  EXPECT_EQ(wire.size(), 64u);
  EXPECT_EQ(Parse("<|channel|>commentary to=functions." + wire + "<|message|>{}<|call|>"),
            "begin call_0 " + std::string(70, 'l') + "/" + wire + "\na {}\nend\n");
}

TEST_F(HarmonyParserTest, NamesAreCutAtAControlToken) {
  EXPECT_EQ(Parse("<|start|>assistant to=functions.area<|channel|>commentary<|channel|>x"
                  "<|message|>{\"r\": 1}<|call|>"),
            kCall);
  EXPECT_TRUE(Repaired("doubled_channel"));
}

TEST_F(HarmonyParserTest, DoubledRecipientsCollapse) {
  EXPECT_EQ(Parse("<|start|>assistant to=functions.area<|channel|>commentary to=functions.area"
                  "<|message|>{\"r\": 1}<|call|>"),
            kCall);
  EXPECT_TRUE(Repaired("doubled_recipient"));
}

TEST_F(HarmonyParserTest, OtherEndsOfACall) {
  for (const char* end : {"<|return|>", "<|end|>", "", "<|call|><|call|>", "<|call|><|return|>"}) {
    EXPECT_EQ(
        Parse(std::string("<|channel|>commentary to=functions.area<|message|>{\"r\": 1}") + end),
        kCall)
        << end;
  }
}

TEST_F(HarmonyParserTest, StrayAndDoubledTokens) {
  EXPECT_EQ(Parse("<|start|><|start|>assistant<|channel|>final<|message|>Hi<|end|><|return|>"),
            "t Hi\n");
  EXPECT_EQ(Parse("<|channel|>final<|message|>Hi<|message|> you<|return|>"), "t Hi you\n");
  EXPECT_EQ(Parse("<|channel|>analysis<|message|>a<|channel|>final<|message|>b"), "r a\nt b\n");
  EXPECT_TRUE(Repaired("missing_start"));
}

TEST_F(HarmonyParserTest, MissingMessageToken) {
  EXPECT_EQ(Parse("<|channel|>commentary Hello<|end|>"), "t Hello\n");
  EXPECT_TRUE(Repaired("missing_message"));
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.area <|constrain|>json{\"r\": 1}<|call|>"),
            kCall);
}

TEST_F(HarmonyParserTest, BareText) {
  EXPECT_EQ(Parse("Hello there"), "t Hello there\n");
  EXPECT_EQ(Parse("assistant to your needs"), "t assistant to your needs\n");
  EXPECT_EQ(Parse("plain <|chance answer"), "t plain <|chance answer\n");
  EXPECT_EQ(Parse(""), "");
}

TEST_F(HarmonyParserTest, OddChannels) {
  EXPECT_EQ(Parse("<|channel|>––commentary to=functions.area<|message|>{\"r\": 1}<|call|>"), kCall);
  EXPECT_EQ(Parse("<|channel|>commentary?<|message|>x<|end|>"), "t x\n");
  EXPECT_EQ(Parse("<|channel|>?"
                  "?<|message|>x<|end|>"),
            "t x\n");
  EXPECT_EQ(Parse("<|channel|>final <|constrain|>json<|message|>{}<|return|>"), "t {}\n");
}

TEST_F(HarmonyParserTest, ArgumentsThatAreNoJsonAreNotRun) {
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.area<|message|>ls -R<|call|>"),
            "begin call_0 area/area\nend incomplete\nmalformed [ls -R] the arguments are no JSON "
            "object\n");
  EXPECT_EQ(
      Parse("<|channel|>commentary to=functions.area<|message|>{\"r\": 1} {\"r\": 2}<|call|>"),
      "begin call_0 area/area\na {\\\"r\\\": 1}\nend incomplete\n"
      "malformed [{\"r\": 1} {\"r\": 2}] there is more behind the JSON object\n");
}

TEST_F(HarmonyParserTest, CutArgumentsAreIncomplete) {
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.area<|message|>{\"r\": "),
            "begin call_0 area/area\na {\\\"r\\\": \nend incomplete\n");
  EXPECT_EQ(Parse("<|channel|>commentary to=functions.area<|message|>{\"r\": <|call|>"),
            "begin call_0 area/area\na {\\\"r\\\": \nend incomplete\n"
            "malformed [{\"r\": ] the arguments end before they are complete\n");
}

TEST_F(HarmonyParserTest, MendedArguments) {
  const struct {
    const char *given, *read, *kind;
  } kCases[] = {
      {"{\"r\": True, 'x': 'it''s'}", "", ""},
      {"{\"r\": True, \"n\": None}", "{\"r\": true, \"n\": null}", "python_literal"},
      {"{'r': 'say \"x\"'}", "{\"r\": \"say \\\"x\\\"\"}", "python_literal"},
      {"{\"r\": [1, 2,], }", "{\"r\": [1, 2] }", "trailing_comma"},
      {"{\"r\": \"a\nb\"}", "{\"r\": \"a\\nb\"}", "raw_control_character"},
      {"{\"r\": \"\\d\"}", "{\"r\": \"\\\\d\"}", "bad_escape"},
      {"{\"r\": 1}]", "{\"r\": 1}", "stray_closer"},
      {"[{\"r\": 1}]", "{\"r\": 1}", "array_unwrapped"},
      {"\"{\\\"r\\\": 1}\"", "{\"r\": 1}", "arguments_as_string"},
      {"", "{}", ""},
      {"null", "{}", ""},
      {"{\"n\": 1.0, \"m\": 12345678901234567890}", "{\"n\": 1.0, \"m\": 12345678901234567890}",
       ""},
  };
  for (const auto& one : kCases) {
    if (*one.kind == 0 && *one.read == 0) continue;
    const auto out =
        ParseText(*offered_, std::string("<|channel|>commentary to=functions.area<|message|>") +
                                 one.given + "<|call|>");
    ASSERT_EQ(out.events_size(), 1) << one.given;
    EXPECT_TRUE(out.events(0).call().complete()) << out.DebugString();
    EXPECT_EQ(out.events(0).call().arguments_json(), one.read);
    if (*one.kind == 0) {
      EXPECT_EQ(out.repairs_size(), 0) << out.DebugString();
    } else {
      ASSERT_GT(out.repairs_size(), 0) << one.given;
      EXPECT_EQ(out.repairs(0).kind(), one.kind);
      EXPECT_EQ(out.repairs(0).call_id(), "call_0");
    }
  }
}

TEST_F(HarmonyParserTest, AToolsResultIsNotTheModels) {
  const std::string text = Parse(
      "<|start|>functions.area to=assistant<|channel|>commentary<|message|>{\"a\": 1}<|end|>");
  EXPECT_EQ(text.rfind("malformed [{\"a\": 1}]", 0), 0u) << text;
}

TEST_F(HarmonyParserTest, TheDispatchersCall) {
  EXPECT_EQ(
      Parse("<|channel|>commentary to=functions.call_mcp<|message|>{\"server\":\"s\"}<|call|>"),
      "begin call_0 __tool_call/call_mcp\na {\\\"server\\\":\\\"s\\\"}\nend\n");
}

TEST_F(HarmonyParserTest, BytesThatAreNoUtf8AreReplacedHoweverTheyCome) {
  const std::string text = "<|channel|>final<|message|>a\xF0\x9F\x98z\xFF\xC3\xA9<|return|>";
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  EXPECT_EQ(Events(*offered_, bytes), Parse(text));
  EXPECT_EQ(ParseText(*offered_, text).events(0).text(), "a\uFFFDz\uFFFDé");
}

}  // namespace
}  // namespace toolrack
