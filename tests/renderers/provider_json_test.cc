#include "renderers/provider_json.h"

#include <gtest/gtest.h>

#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

class ProviderJsonTest : public testing::Test {
 protected:
  ProviderJsonTest() {
    tools_.Add("srv__go", "", "");
    view_ = tools_.View();
    offered_ = std::make_unique<OfferedTools>(*FindRenderer("openai_responses_deferred"), view_);
  }
  v1::ParseOutputResponse Parse(const std::string& json) {
    return ParseProviderJson(*offered_, json);
  }
  Tools tools_;
  std::vector<const v1::Tool*> view_;
  std::unique_ptr<OfferedTools> offered_;
};

TEST_F(ProviderJsonTest, AnthropicBlocksWithArgumentsByteForByte) {
  const auto out = Parse(
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"Hm"},{"type":"text","text":"I go"},{"type":"tool_use","id":"toolu_1","name":"srv__go","input":{"n": 1.0, "big":18446744073709551616},"caller":{"type":"code_execution_20260120","tool_id":"x"}}],"stop_reason":"tool_use"})");
  ASSERT_EQ(out.events_size(), 3);
  EXPECT_EQ(out.events(0).reasoning(), "Hm");
  EXPECT_EQ(out.events(1).text(), "I go");
  const v1::OutputCall& call = out.events(2).call();
  EXPECT_EQ(call.call_id(), "toolu_1");
  EXPECT_EQ(call.name(), "srv__go");
  EXPECT_EQ(call.arguments_json(), R"({"n": 1.0, "big":18446744073709551616})");
  EXPECT_EQ(call.caller_json(), R"({"type":"code_execution_20260120","tool_id":"x"})");
  EXPECT_TRUE(call.complete());
}

TEST_F(ProviderJsonTest, ChatCompletions) {
  const std::string message =
      R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"srv__go","arguments":"{\"a\": 1}"}},{"id":"c2","type":"function","function":{"name":"nope","arguments":""}}]})";
  for (const std::string& json : {message, R"({"choices":[{"message":)" + message + "}]}"}) {
    const auto out = Parse(json);
    ASSERT_EQ(out.events_size(), 2);
    EXPECT_EQ(out.events(0).call().arguments_json(), R"({"a": 1})");
    EXPECT_EQ(out.events(1).call().name(), "");
    EXPECT_EQ(out.events(1).call().wire_name(), "nope");
    EXPECT_EQ(out.events(1).call().arguments_json(), "{}");
  }
  EXPECT_EQ(Parse(R"({"role":"assistant","content":"Hi"})").events(0).text(), "Hi");
}

TEST_F(ProviderJsonTest, ArgumentsThatAreEncodedTwiceAreMended) {
  const auto out = Parse(
      R"([{"id":"c1","type":"function","function":{"name":"srv__go","arguments":"\"{\\\"a\\\": 1}\""}}])");
  EXPECT_EQ(out.events(0).call().arguments_json(), R"({"a": 1})");
  EXPECT_EQ(out.repairs(0).kind(), "arguments_as_string");
}

TEST_F(ProviderJsonTest, ResponsesItemsKeepNamespaceAndCaller) {
  const auto out = Parse(
      R"({"output":[{"type":"reasoning","summary":[{"type":"summary_text","text":"Hm"}]},{"type":"function_call","call_id":"c1","name":"go","namespace":"srv","arguments":"{}","caller":{"type":"program","caller_id":"p"}},{"type":"custom_tool_call","call_id":"c2","name":"srv__go","input":"plain \"text\""},{"type":"tool_search_call","execution":"client","call_id":"c3","arguments":{"query":"x"}},{"type":"message","content":[{"type":"output_text","text":"Done"}]}]})");
  ASSERT_EQ(out.events_size(), 5) << out.DebugString();
  EXPECT_EQ(out.events(1).call().name(), "srv__go");
  EXPECT_EQ(out.events(1).call().wire_name(), "go");
  EXPECT_EQ(out.events(1).call().namespace_(), "srv");
  EXPECT_EQ(out.events(1).call().caller_json(), R"({"type":"program","caller_id":"p"})");
  EXPECT_EQ(out.events(2).call().arguments_json(), R"({"input":"plain \"text\""})");
  EXPECT_EQ(out.events(3).call().name(), "__tool_search");
  EXPECT_EQ(out.events(4).text(), "Done");
}

TEST_F(ProviderJsonTest, GeminiParts) {
  const auto out = Parse(
      R"({"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true},{"functionCall":{"name":"srv__go","args":{"a":1}}}]}}]})");
  ASSERT_EQ(out.events_size(), 2);
  EXPECT_EQ(out.events(0).reasoning(), "Hm");
  EXPECT_EQ(out.events(1).call().arguments_json(), R"({"a":1})");
}

TEST_F(ProviderJsonTest, WhatIsNoAnswerIsMalformedAndNeverACall) {
  for (const char* json : {"", "{", "12", "{}", R"([{"x":1}])", R"({"choices":[]})"}) {
    const auto out = Parse(json);
    ASSERT_EQ(out.events_size(), 1) << json;
    EXPECT_TRUE(out.events(0).has_malformed()) << json;
  }
  const auto bad =
      Parse(R"([{"id":"c1","type":"function","function":{"name":"srv__go","arguments":"ls -R"}}])");
  ASSERT_EQ(bad.events_size(), 1);
  EXPECT_EQ(bad.events(0).malformed().call_id(), "c1");
  EXPECT_EQ(bad.events(0).malformed().span(), "ls -R");
}

}  // namespace
}  // namespace toolrack
