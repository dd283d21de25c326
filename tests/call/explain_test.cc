#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/call/rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;

constexpr char kSchema[] =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";

std::vector<std::string> StepNames(const v1::ExplainCallResponse& response) {
  std::vector<std::string> names;
  for (const v1::ExplainStep& step : response.steps()) {
    const char mark = step.outcome() == v1::EXPLAIN_OUTCOME_PASS
                          ? '+'
                          : (step.outcome() == v1::EXPLAIN_OUTCOME_SKIP ? '.' : '!');
    names.push_back(mark + step.name());
  }
  return names;
}

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() {
    rig_.Publish(
        {ToolNamed("t", kSchema), ToolNamed("off"), ToolNamed("bad", R"({"type":"string"})")});
    EXPECT_TRUE(rig_.registry.SetToolEnabled("off", false).ok());
  }
  v1::ExplainCallResponse Explain(const v1::CallToolRequest& request) {
    return ExplainNow(rig_.pipeline, request, {"uid:1", "", absl::InfiniteDuration()});
  }

  Rig rig_;
};

TEST_F(ExplainTest, TellsEveryStepOfACallThatWouldRun) {
  const v1::ExplainCallResponse response = Explain(Rig::Request("t", R"({"n":1})"));
  EXPECT_THAT(StepNames(response),
              ElementsAre("+limits", ".session", "+lookup", ".permission", "+arguments",
                          "+validation", ".hooks", ".approval", "+capacity", "+route"));
  EXPECT_TRUE(response.verdict().would_run());
  EXPECT_EQ(response.verdict().code(), 0);
  EXPECT_EQ(response.verdict().reason(), "");
}

TEST_F(ExplainTest, EndsAtTheFirstRefusalWithItsFaults) {
  const v1::ExplainCallResponse response = Explain(Rig::Request("t", R"({"n":"x"})"));
  EXPECT_THAT(StepNames(response), ElementsAre("+limits", ".session", "+lookup", ".permission",
                                               "+arguments", "!validation"));
  EXPECT_FALSE(response.verdict().would_run());
  EXPECT_EQ(response.verdict().code(), 3);
  EXPECT_EQ(response.verdict().reason(), "ARGUMENTS_INVALID");
  ASSERT_EQ(response.verdict().faults_size(), 1);
  EXPECT_EQ(response.verdict().faults(0).pointer(), "/n");
}

// Whatever the request, Explain says what Start then does, and changes nothing.
TEST_F(ExplainTest, SaysWhatStartDoes) {
  std::vector<v1::CallToolRequest> requests;
  for (const char* name : {"t", "off", "bad", "missing", ""}) {
    for (const std::string arguments :
         {"", "null", "{}", R"({"n":1})", R"({"n":1.5})", "[1]", "{", R"({"n":1,"n":2})"}) {
      requests.push_back(Rig::Request(name, arguments));
    }
  }
  requests.push_back(Rig::Request("t", "{\"n\":\"" + std::string(2 << 20, 'x') + "\"}"));
  requests.push_back(Rig::Request("t", R"({"n":1})"));
  requests.back().set_session_id("s");
  requests.push_back(Rig::Request("t", R"({"n":1})"));
  requests.back().set_expected_digest("d");
  requests.push_back(Rig::Request("t"));
  requests.back().set_input_text("text");
  requests.push_back(Rig::Request("t"));
  (*requests.back().mutable_arguments()->mutable_fields())["n"].set_number_value(1);
  for (const bool available : {true, false}) {
    rig_.backend->set_available(available);
    for (const v1::CallToolRequest& request : requests) {
      SCOPED_TRACE(request.ShortDebugString().substr(0, 200));
      const auto counters = rig_.pipeline.Counters();
      const size_t refusals = rig_.pipeline.LastRefusals().size();
      const v1::ExplainCallResponse explained = Explain(request);
      EXPECT_EQ(rig_.pipeline.Counters(), counters);
      EXPECT_EQ(rig_.pipeline.LastRefusals().size(), refusals);
      EXPECT_EQ(rig_.pipeline.calls_in_flight(), 0u);
      Answer answer;
      rig_.Start(request, answer);
      rig_.executor.RunAll();
      EXPECT_EQ(explained.verdict().would_run(), rig_.backend->held() == 1);
      if (rig_.backend->held() == 1) rig_.backend->Take().done(TextResult(""));
      EXPECT_EQ(explained.verdict().code(), static_cast<int>(answer.status().code()));
      EXPECT_EQ(explained.verdict().message(), answer.status().message());
      if (!answer.status().ok()) {
        EXPECT_EQ(explained.verdict().reason(), ReasonName(answer.reason()));
      }
    }
  }
}

// The verdict on arguments depends on the schema and the arguments, on nothing else: not on how
// busy the rack is, who calls, what was called before, or how many other tools there are.
TEST_F(ExplainTest, VerdictsDependOnSchemaAndArgumentsAlone) {
  const std::vector<std::string> arguments = {"",
                                              "{}",
                                              R"({"n":1})",
                                              R"({"n":1.0})",
                                              R"({"n":1e400})",
                                              R"({"n":"1"})",
                                              R"({"n":null})",
                                              R"({"m":1})",
                                              R"({"n":9223372036854775808})"};
  std::vector<std::string> before;
  for (const std::string& each : arguments) {
    before.push_back(Explain(Rig::Request("t", each)).verdict().SerializeAsString());
  }
  std::vector<v1::Tool> more = {ToolNamed("t", kSchema)};
  for (int i = 0; i < 50; ++i) more.push_back(ToolNamed("other" + std::to_string(i), kSchema));
  rig_.Publish(more);
  std::vector<Answer> running(20);
  for (Answer& answer : running) rig_.Start(Rig::Request("other3", R"({"n":1})"), answer);
  for (size_t i = 0; i < arguments.size(); ++i) {
    v1::CallToolRequest request = Rig::Request("t", arguments[i]);
    request.set_call_id("x");
    request.set_call_index(9);
    EXPECT_EQ(ExplainNow(rig_.pipeline, request, {"uid:99", "trace", absl::Seconds(1)})
                  .verdict()
                  .SerializeAsString(),
              before[i])
        << arguments[i];
  }
  while (rig_.backend->held() > 0) rig_.backend->Take().done(TextResult(""));
}

TEST(ExplainLimitsTest, SaysThatALimitIsReached) {
  PipelineOptions options;
  options.limits.set_max_calls_in_flight(1);
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  Answer answer;
  rig.Start(Rig::Request("t"), answer);
  const v1::ExplainCallResponse response =
      ExplainNow(rig.pipeline, Rig::Request("t"), {"uid:1", "", absl::InfiniteDuration()});
  EXPECT_THAT(StepNames(response), ElementsAre("!limits"));
  EXPECT_EQ(response.verdict().reason(), "CONCURRENCY");
  rig.backend->Take().done(TextResult(""));
}

}  // namespace
}  // namespace toolrack
