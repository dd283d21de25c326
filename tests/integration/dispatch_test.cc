// Dispatch through real stubs: what a model wrote, and what it is told.
#include <gmock/gmock.h>

#include <future>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "tests/integration/dispatch_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// --- how each family writes a call

struct Family {
  const char* renderer;
  bool json;
};

std::string Call(const Family& family, const std::string& id, const std::string& name,
                 const std::string& arguments) {
  const std::string renderer = family.renderer;
  if (renderer == "claude_deferred") {
    return absl::StrCat(
        "<function_calls>\n<invoke name=\"", name, "\">\n<parameter name=\"",
        arguments.substr(2, arguments.find('"', 2) - 2), "\">",
        arguments.substr(arguments.find(':') + 2, arguments.rfind('"') - arguments.find(':') - 2),
        "</parameter>\n</invoke>\n</function_calls>");
  }
  if (renderer == "harmony_deferred") {
    return absl::StrCat("<|channel|>commentary to=functions.", name,
                        " <|constrain|>json<|message|>", arguments, "<|call|>");
  }
  if (renderer == "anthropic_deferred") {
    return absl::StrCat(R"([{"type":"tool_use","id":")", id, R"(","name":")", name, R"(","input":)",
                        arguments, "}]");
  }
  if (renderer == "openai_responses_deferred") {
    if (name == "__tool_search") {
      return absl::StrCat(R"([{"type":"tool_search_call","execution":"client","call_id":")", id,
                          R"(","arguments":)", arguments, "}]");
    }
    return absl::StrCat(R"([{"type":"function_call","call_id":")", id, R"(","name":")", name,
                        R"(","arguments":")", absl::CEscape(arguments), "\"}]");
  }
  if (renderer == "gemini_deferred") {
    return absl::StrCat(R"({"parts":[{"functionCall":{"name":")", name, R"(","args":)", arguments,
                        "}}]}");
  }
  return absl::StrCat(R"({"role":"assistant","tool_calls":[{"id":")", id,
                      R"(","type":"function","function":{"name":")", name, R"(","arguments":")",
                      absl::CEscape(arguments), "\"}}]}");
}

class Conversation : public DispatchTest, public testing::WithParamInterface<Family> {
 protected:
  v1::DispatchResponse Say(const std::string& session, const std::string& output) {
    return Dispatch(GetParam().json ? Json(session, output) : Text(session, output));
  }
};

TEST_P(Conversation, SearchLoadBadCallMendedCallAnswer) {
  const Family family = GetParam();
  const std::string session = Open(family.renderer);

  const auto found =
      Say(session, Call(family, "s1", "__tool_search", R"({"query":"square root"})"));
  ASSERT_EQ(found.outcomes_size(), 1) << found.ShortDebugString();
  EXPECT_EQ(found.outcomes(0).tool(), "__tool_search");
  EXPECT_THAT(found.loaded_tools(), testing::Contains("calculator"));
  EXPECT_FALSE(found.done());
  EXPECT_THAT(Appended(found), HasSubstr("calculator"));

  const auto bad = Say(session, Call(family, "c1", "calculator", R"({"formula":"6*7"})"));
  EXPECT_THAT(Outcomes(bad), ElementsAre("ARGUMENTS_INVALID"));
  EXPECT_THAT(Appended(bad), HasSubstr("expression"));
  EXPECT_EQ(bad.retry().attempt(), 1u);
  EXPECT_EQ(bad.retry().left(), 2u);

  const auto unknown = Say(session, Call(family, "c2", "calculatr", R"({"expression":"6*7"})"));
  EXPECT_THAT(Outcomes(unknown), ElementsAre("TOOL_NOT_FOUND"));
  EXPECT_THAT(Appended(unknown), HasSubstr("calculator"));

  const auto good = Say(session, Call(family, "c3", "calculator", R"({"expression":"6*7"})"));
  ASSERT_EQ(good.outcomes_size(), 1);
  ASSERT_TRUE(good.outcomes(0).has_result()) << good.ShortDebugString();
  EXPECT_EQ(good.outcomes(0).tool(), "calculator");
  EXPECT_THAT(Appended(good), HasSubstr("42"));
  EXPECT_EQ(good.retry().attempt(), 2u);

  const auto answer = family.json
                          ? Say(session, R"({"role":"assistant","content":"It is 42."})")
                          : Say(session, std::string(family.renderer) == "harmony_deferred"
                                             ? "<|channel|>final<|message|>It is 42.<|return|>"
                                             : "It is 42.");
  EXPECT_TRUE(answer.done());
  EXPECT_EQ(answer.text(), "It is 42.");
  EXPECT_EQ(answer.messages_size(), 0);
  EXPECT_EQ(answer.retry().attempt(), 0u);
}

INSTANTIATE_TEST_SUITE_P(
    All, Conversation,
    testing::Values(Family{"claude_deferred", false}, Family{"harmony_deferred", false},
                    Family{"anthropic_deferred", true}, Family{"openai_chat_deferred", true},
                    Family{"openai_responses_deferred", true}, Family{"gemini_deferred", true}),
    [](const auto& info) { return std::string(info.param.renderer); });

// --- Harmony's dispatcher

TEST_F(DispatchTest, HarmonyDispatcherReachesToolsByServerAndName) {
  const std::string session = Open("harmony_dispatcher");
  const auto good = Dispatch(Text(session,
                                  "<|channel|>commentary to=functions.call_mcp "
                                  "<|constrain|>json<|message|>{\"server\":\"\",\"tool\":\"echo\","
                                  "\"args\":{\"text\":\"hi\"}}<|call|>"));
  EXPECT_THAT(Outcomes(good), ElementsAre("ok:hi"));
  EXPECT_EQ(good.outcomes(0).tool(), "echo");
  EXPECT_THAT(Appended(good), HasSubstr("functions.call_mcp to=assistant"));
  const auto bad = Dispatch(Text(session,
                                 "<|channel|>commentary to=functions.call_mcp "
                                 "<|constrain|>json<|message|>{\"server\":\"\",\"tool\":\"echo\","
                                 "\"args\":{\"txt\":\"hi\"}}<|call|>"));
  EXPECT_THAT(Outcomes(bad), ElementsAre("ARGUMENTS_INVALID"));
  EXPECT_EQ(bad.outcomes(0).tool(), "echo");
}

TEST_F(DispatchTest, EveryFamilyKnowsHowToReadACutResultOn) {
  const std::string session = Open("harmony");
  const auto response = Dispatch(Text(session,
                                      "<|channel|>commentary to=functions.__result_read "
                                      "<|constrain|>json<|message|>{\"handle\":\"none\"}<|call|>"));
  ASSERT_EQ(response.outcomes_size(), 1);
  EXPECT_EQ(response.outcomes(0).tool(), "__result_read");
  EXPECT_THAT(Appended(response), HasSubstr("none"));
}

// --- several calls

std::string Uses(const std::vector<std::pair<std::string, std::string>>& calls) {
  std::string out;
  int i = 0;
  for (const auto& [name, input] : calls) {
    absl::StrAppend(&out, out.empty() ? "[" : ",", R"({"type":"tool_use","id":"t)", ++i,
                    R"(","name":")", name, R"(","input":)", input, "}");
  }
  return out + "]";
}

TEST_F(DispatchTest, ParallelCallsKeepTheirOrderAndFailAlone) {
  const std::string session = Open("anthropic");
  TestTools tools(server_->registry(), "slow");
  const auto held = tools.AddHeld("one");
  auto dispatched = std::async(std::launch::async, [&] {
    return Dispatch(Json(session, Uses({{"slow__one", "{}"},
                                        {"echo", R"({"text":"a"})"},
                                        {"slow__one", "{}"},
                                        {"echo", R"({})"},
                                        {"nobody", "{}"}})));
  });
  // All run at once: both are there before either ends.
  ASSERT_TRUE(held->WaitFor(2));
  EXPECT_EQ(held->front().context.batch_id.empty(), false);
  held->AnswerAll("late");
  const v1::DispatchResponse response = dispatched.get();
  EXPECT_THAT(Outcomes(response),
              ElementsAre("ok:late", "ok:a", "ok:late", "ARGUMENTS_INVALID", "TOOL_NOT_FOUND"));
  ASSERT_EQ(response.messages_size(), 1);
  const std::string& json = response.messages(0).json();
  size_t at = 0;
  for (const char* id : {"t1", "t2", "t3", "t4", "t5"}) {
    at = json.find(absl::StrCat("\"tool_use_id\":\"", id), at);
    ASSERT_NE(at, std::string::npos) << id << json;
  }
  // One output is one faulty output, whatever is wrong in it.
  EXPECT_EQ(response.retry().attempt(), 1u);
}

TEST_F(DispatchTest, AMalformedCallAndAGoodOne) {
  const std::string session = Open("openai_chat");
  const auto response = Dispatch(Json(
      session,
      R"({"tool_calls":[{"id":"a","type":"function","function":{"name":"echo","arguments":"<text>"}},)"
      R"({"id":"b","type":"function","function":{"name":"echo","arguments":"{\"text\":\"hi\"}"}}]})"));
  EXPECT_THAT(Outcomes(response), ElementsAre("OUTPUT_MALFORMED", "ok:hi"));
  EXPECT_EQ(response.messages_size(), 2);
  EXPECT_THAT(response.messages(0).json(), HasSubstr(R"("tool_call_id":"a")"));
  EXPECT_THAT(response.messages(0).json(), HasSubstr("Write the call again"));
  EXPECT_FALSE(response.done());
  EXPECT_EQ(response.retry().attempt(), 1u);
}

TEST_F(DispatchTest, WhatIsNoAnswerOfAProviderIsToldAsAMessage) {
  const auto response = Dispatch(Json(Open("anthropic"), "not JSON"));
  EXPECT_THAT(Outcomes(response), ElementsAre("OUTPUT_MALFORMED"));
  EXPECT_THAT(Appended(response), HasSubstr(R"("type":"text")"));
}

TEST_F(DispatchTest, TheNamespaceOfToolsWithoutOneIsNone) {
  const std::string session = Open("openai_responses");
  const auto response =
      Dispatch(Json(session, R"([{"type":"function_call","call_id":"c","name":"echo",)"
                             R"("namespace":"functions","arguments":"{\"text\":\"hi\"}"}])"));
  EXPECT_THAT(Outcomes(response), ElementsAre("ok:hi"));
}

TEST_F(DispatchTest, AWrongNamespaceIsAnotherTool) {
  const std::string session = Open("openai_responses");
  TestTools tools(server_->registry(), "files");
  const auto held = tools.AddHeld("read");
  const auto call = [&](const char* ns) {
    return Json(session,
                absl::StrCat(R"([{"type":"function_call","call_id":"c","name":"files__read",)",
                             R"("namespace":")", ns, R"(","arguments":"{}"}])"));
  };
  const auto wrong = Dispatch(call("mail"));
  EXPECT_THAT(Outcomes(wrong), ElementsAre("TOOL_NOT_FOUND"));
  EXPECT_THAT(Appended(wrong), HasSubstr("files__read"));
  EXPECT_EQ(wrong.outcomes(0).call().namespace_(), "mail");
  auto right = std::async(std::launch::async, [&] { return Dispatch(call("files")); });
  ASSERT_TRUE(held->WaitFor(1));
  held->Answer("text");
  EXPECT_THAT(Outcomes(right.get()), ElementsAre("ok:text"));
}

TEST_F(DispatchTest, TheSameIdTwiceIsTwoCalls) {
  const auto response = Dispatch(Json(
      Open("anthropic"), R"([{"type":"tool_use","id":"t","name":"echo","input":{"text":"a"}},)"
                         R"({"type":"tool_use","id":"t","name":"echo","input":{"text":"b"}}])"));
  EXPECT_THAT(Outcomes(response), ElementsAre("ok:a", "ok:b"));
}

TEST_F(DispatchTest, ArgumentsAreMendedUnlessToldOtherwise) {
  const std::string session = Open("anthropic");
  TestTools tools(server_->registry(), "t");
  v1::Tool definition = BareTool("n");
  definition.set_input_schema(
      R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
  const auto held = std::make_shared<HeldTool>();
  tools.Add(definition, held);
  auto running = std::async(std::launch::async, [&] {
    return Dispatch(Json(session, Uses({{"t__n", R"({"n":"5"})"}})));
  });
  ASSERT_TRUE(held->WaitFor(1));
  EXPECT_EQ(held->front().arguments_json, R"({"n":5})");
  held->Answer("five");
  EXPECT_EQ(running.get().outcomes(0).repairs_size(), 1);
}

v1::Config Strict() {
  v1::Config config;
  config.mutable_dispatcher()->set_no_coerce(true);
  config.mutable_dispatcher()->set_max_calls_per_output(2);
  config.mutable_dispatcher()->set_max_output_bytes(1024);
  config.mutable_dispatcher()->set_max_unknown_tool(1);
  return config;
}
class StrictDispatchTest : public DispatchTest {
 protected:
  StrictDispatchTest() : DispatchTest(Strict()) {}
};

TEST_F(StrictDispatchTest, EachSettingHolds) {
  const std::string session = Open("anthropic");
  EXPECT_THAT(Outcomes(Dispatch(Json(session, Uses({{"sleep", R"({"seconds":"0"})"}})))),
              ElementsAre("ARGUMENTS_INVALID"));
  const auto many = Dispatch(Json(
      session,
      Uses({{"echo", R"({"text":"a"})"}, {"echo", R"({"text":"b"})"}, {"echo", R"({"text":"c"})"}}),
      "many"));
  EXPECT_THAT(Outcomes(many), ElementsAre("ok:a", "ok:b", "CONCURRENCY"));
  EXPECT_EQ(many.retry().attempt(), 1u);
  const auto unknown = Dispatch(Json(session, Uses({{"nobody", "{}"}}), "unknown"));
  EXPECT_TRUE(unknown.retry().exhausted());
  EXPECT_EQ(unknown.retry().spent(), "unknown_tool");
  const auto large = Dispatch(
      Json(session, Uses({{"echo", absl::StrCat(R"({"text":")", std::string(2000, 'x'), "\"}")}}),
           "large"));
  EXPECT_THAT(Outcomes(large), ElementsAre("MESSAGE_TOO_LARGE"));
  EXPECT_THAT(Appended(large), HasSubstr("dispatcher.max_output_bytes"));
  EXPECT_EQ(large.retry().attempt(), 1u);
}

TEST_F(DispatchTest, ThePolicyOfTheSessionComesFirst) {
  v1::RetryPolicy policy;
  policy.set_max_invalid_arguments(1);
  const std::string session = Open("anthropic", policy);
  const auto bad = Json(session, Uses({{"echo", "{}"}}), "a");
  EXPECT_TRUE(Dispatch(bad).retry().exhausted());
  EXPECT_EQ(Dispatch(Json(session, Uses({{"echo", R"({"text":"x"})"}}), "b")).retry().attempt(),
            0u);
  EXPECT_TRUE(Dispatch(Json(session, R"([{"type":"text","text":"Done."}])", "a")).done());
  EXPECT_EQ(Dispatch(bad).retry().attempt(), 1u);
}

TEST_F(DispatchTest, ToolErrorsAreResultsAndNoFaults) {
  const auto response =
      Dispatch(Json(Open("anthropic"), Uses({{"calculator", R"({"expression":"1/"})"}})));
  EXPECT_THAT(Outcomes(response), ElementsAre("error:TOOL_INVALID_ARGUMENT"));
  EXPECT_THAT(Appended(response), HasSubstr(R"("is_error":true)"));
  EXPECT_EQ(response.retry().attempt(), 0u);
}

TEST_F(DispatchTest, WhatIsWrongWithTheRequestIsRefused) {
  EXPECT_EQ(ReasonOf(Try(Text("none", "hi")).status()), v1::ERROR_REASON_SESSION_NOT_FOUND);
  EXPECT_EQ(ReasonOf(Try(Text("", "hi")).status()), v1::ERROR_REASON_REQUEST_INVALID);
  v1::OpenSessionRequest bare;
  v1::Session session;
  ASSERT_TRUE(sessions_->OpenSession(NewContext().get(), bare, &session).ok());
  EXPECT_EQ(ReasonOf(Try(Text(session.session_id(), "hi")).status()),
            v1::ERROR_REASON_REQUEST_INVALID);
  const std::string id = Open("anthropic");
  EXPECT_EQ(ReasonOf(Try(Text(id, "hi", std::string(129, 'x'))).status()),
            v1::ERROR_REASON_REQUEST_INVALID);
  v1::DispatchRequest nothing;
  nothing.set_session_id(id);
  EXPECT_EQ(ReasonOf(Try(nothing).status()), v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(DispatchTest, AModelStandsForItsRenderer) {
  v1::OpenSessionRequest request;
  request.set_model("gpt-oss-120b");
  v1::Session session;
  ASSERT_TRUE(sessions_->OpenSession(NewContext().get(), request, &session).ok());
  const auto response = Dispatch(Text(session.session_id(),
                                      "<|channel|>commentary to=functions.echo "
                                      "<|constrain|>json<|message|>{\"text\":\"hi\"}<|call|>"));
  EXPECT_THAT(Outcomes(response), ElementsAre("ok:hi"));
}

TEST_F(DispatchTest, CancellingReachesEveryCall) {
  const std::string session = Open("anthropic");
  TestTools tools(server_->registry(), "slow");
  const auto held = tools.AddHeld("one");
  const auto context = NewContext();
  auto dispatched = std::async(std::launch::async, [&] {
    v1::DispatchResponse response;
    return stub_->Dispatch(
        context.get(), Json(session, Uses({{"slow__one", "{}"}, {"slow__one", "{}"}})), &response);
  });
  ASSERT_TRUE(held->WaitFor(2));
  context->TryCancel();
  EXPECT_EQ(dispatched.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
  held->Answer("left");
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
}

v1::Config Asking() {
  v1::Config config;
  v1::PolicyRule& rule = *config.mutable_policy()->add_rules();
  rule.set_name("ask");
  rule.set_action("ask");
  rule.add_tools("echo");
  return config;
}
class AskingDispatchTest : public DispatchTest {
 protected:
  AskingDispatchTest() : DispatchTest(Asking()) {}
};

TEST_F(AskingDispatchTest, AnApprovalIsAskedForAndSaid) {
  const auto response = Dispatch(Json(Open("anthropic"), Uses({{"echo", R"({"text":"hi"})"}})));
  EXPECT_THAT(Outcomes(response), ElementsAre("APPROVAL_REQUIRED"));
  EXPECT_THAT(Appended(response), HasSubstr("needs an approval"));
  EXPECT_EQ(response.retry().attempt(), 0u);
}

// A call's verdict does not depend on the way it comes.
TEST_F(DispatchTest, TheVerdictIsTheOneOfCallTool) {
  const std::vector<Family> families = {{"anthropic_deferred", true},
                                        {"openai_chat", true},
                                        {"openai_responses_deferred", true},
                                        {"gemini_deferred", true},
                                        {"harmony_deferred", false}};
  const std::vector<std::pair<std::string, std::string>> calls = {
      {"echo", R"({"text":"hi"})"},
      {"echo", "{}"},
      {"echo", R"({"text":5})"},
      {"echo", R"({"text":null})"},
      {"nobody", "{}"},
      {"calculator", R"({"expression":""})"},
      {"__tool_call", R"({"name":"echo","arguments":{"text":"in"}})"},
      {"__tool_call", R"({"name":"__tool_call"})"},
      {"__tool_describe", R"({"names":["echo"]})"}};
  for (const auto& [name, arguments] : calls) {
    v1::CallToolRequest request;
    request.set_name(name);
    request.set_arguments_json(arguments);
    request.set_coerce(true);
    v1::CallToolResponse direct;
    const absl::Status status = FromGrpc(tools_->CallTool(NewContext().get(), request, &direct));
    for (const Family& family : families) {
      const std::string session = Open(family.renderer);
      const std::string output = Call(family, "c", name, arguments);
      const auto response = Dispatch(family.json ? Json(session, output) : Text(session, output));
      ASSERT_EQ(response.outcomes_size(), 1) << family.renderer << " " << output;
      const v1::DispatchOutcome& outcome = response.outcomes(0);
      EXPECT_EQ(outcome.status().code(), static_cast<int>(status.code()))
          << family.renderer << " " << output;
      EXPECT_EQ(outcome.status().message(), status.message());
      if (status.ok()) {
        EXPECT_EQ(outcome.result().is_error(), direct.result().is_error());
        if (name != "__tool_describe") {
          EXPECT_EQ(outcome.result().SerializeAsString(), direct.result().SerializeAsString());
        }
      }
    }
  }
}

}  // namespace
}  // namespace toolrack
