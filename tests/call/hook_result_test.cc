// Hooks after the call and on errors, and what ExplainCall says of hooks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/base/task.h"
#include "tests/call/hook_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HookResultTest : public testing::Test {
 protected:
  ~HookResultTest() override {
    EXPECT_EQ(rig_.pipeline.calls_in_flight(), 0u);
    EXPECT_EQ(rig_.timers.armed(), 0u);
    EXPECT_EQ(LiveCoroutineFrames(), frames_);
  }
  std::shared_ptr<FakeHook> Add(const std::string& name, v1::HookPoint point, int priority = 0,
                                bool fail_closed = true) {
    HookSpec spec = SpecOf(name, point, priority);
    spec.fail_closed = fail_closed;
    return rig_.Add(spec);
  }
  std::shared_ptr<FakeHook> Post(const std::string& name = "h", int priority = 0,
                                 bool fail_closed = true) {
    return Add(name, v1::HOOK_POINT_POST_CALL, priority, fail_closed);
  }
  std::shared_ptr<FakeHook> OnError(const std::string& name = "h", bool fail_closed = true) {
    return Add(name, v1::HOOK_POINT_ON_ERROR, 0, fail_closed);
  }

  const int64_t frames_ = LiveCoroutineFrames();
  HookRig rig_;
};

TEST_F(HookResultTest, ReplacesTheResultForTheNextAndTheCaller) {
  const auto first = Post("first", 2);
  const auto second = Post("second", 1);
  Answer answer;
  rig_.Start(answer);
  rig_.Finish(TextResult("secret"));
  EXPECT_EQ(first->asked.front().event().result().content(0).text().text(), "secret");
  first->Answer(ReplaceResult(TextResult("[redacted]")));
  EXPECT_EQ(second->asked.front().event().result().content(0).text().text(), "[redacted]");
  second->Answer(PassVerdict());
  EXPECT_EQ(answer.text(), "[redacted]");
  EXPECT_EQ(answer.result().total_bytes(), 10u);
}

TEST_F(HookResultTest, AReplacedResultIsCheckedAgainstTheOutputSchemaAgain) {
  const auto hook = Post();
  for (const std::string structured : {R"({"n":2})", R"({"n":"2"})"}) {
    Answer answer;
    rig_.Start(answer, R"({"n":1})", "declared");
    v1::ToolResult result;
    result.set_structured_json(R"({"n":1})");
    rig_.Finish(result);
    result.set_structured_json(structured);
    hook->Answer(ReplaceResult(result));
    if (structured == R"({"n":2})") {
      EXPECT_FALSE(answer.result().is_error());
      EXPECT_EQ(answer.result().structured_json(), structured);
    } else {
      EXPECT_EQ(answer.result().error().reason(), "OUTPUT_INVALID");
      EXPECT_EQ(answer.result().error().metadata().at("hook"), "h");
    }
  }
}

TEST_F(HookResultTest, WithholdsAResult) {
  const auto first = Post("first", 2);
  const auto second = Post("second", 1);
  Answer answer;
  rig_.Start(answer);
  rig_.Finish(TextResult("secret"));
  first->Answer(Deny("it names a person"));
  ASSERT_TRUE(answer.status().ok());
  EXPECT_TRUE(answer.result().is_error());
  EXPECT_EQ(answer.result().error().reason(), "RESULT_WITHHELD");
  EXPECT_EQ(answer.result().error().metadata().at("hook"), "first");
  EXPECT_EQ(answer.result().error().metadata().at("tool"), "t");
  EXPECT_THAT(answer.text(), HasSubstr("it names a person"));
  EXPECT_THAT(answer.text(), HasSubstr("ran"));
  EXPECT_EQ(answer.result().ShortDebugString().find("secret"), std::string::npos);
  EXPECT_THAT(second->asked, IsEmpty());
}

TEST_F(HookResultTest, AFailingHookAfterTheCallFollowsItsMode) {
  for (const bool fail_closed : {true, false}) {
    for (const int way : {0, 1, 2, 3}) {
      const auto hook = Post("h", 0, fail_closed);
      Answer answer;
      rig_.Start(answer);
      rig_.Finish(TextResult("secret"));
      if (way == 0) rig_.timers.Advance(absl::Seconds(1));
      if (way == 1) hook->Fail("lost its stream");
      if (way == 2) hook->Answer(ReplaceArguments("{}"));
      if (way == 3) hook->Answer(AnswerInstead(TextResult("x")));
      ASSERT_TRUE(answer.status().ok());
      if (fail_closed) {
        EXPECT_EQ(answer.result().error().reason(), "RESULT_WITHHELD");
        EXPECT_EQ(answer.result().ShortDebugString().find("secret"), std::string::npos);
      } else {
        EXPECT_EQ(answer.text(), "secret");
      }
      EXPECT_EQ(rig_.InfoOf("h").failed(), 1u);
    }
  }
}

// A hook sees the whole result; what is cut and kept is what the hook let out.
TEST_F(HookResultTest, SeesTheWholeResultAndWhatItLetsOutIsCut) {
  const auto hook = Post();
  Answer answer;
  rig_.Start(answer);
  rig_.Finish(TextResult(std::string(100 << 10, 'x')));
  rig_.executor.RunAll();
  ASSERT_THAT(hook->asked, SizeIs(1));
  EXPECT_EQ(hook->asked.front().event().result().content(0).text().text().size(), 100u << 10);
  hook->Answer(ReplaceResult(TextResult(std::string(200 << 10, 'y'))));
  rig_.executor.RunAll();
  EXPECT_TRUE(answer.result().truncated());
  EXPECT_EQ(answer.result().total_bytes(), 200u << 10);
  v1::ReadResultRequest read;
  read.set_handle(answer.result().result_handle());
  const auto kept = rig_.results.Read(read, "uid:1");
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->data().find('x'), std::string::npos);
}

TEST_F(HookResultTest, AStoppedCallIsNotHeldByAHookAfterIt) {
  const auto hook = Post();
  Answer answer;
  StopSource stop = rig_.Start(answer);
  rig_.Finish();
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(answer.executed(), "maybe");
  EXPECT_THAT(hook->forgotten, SizeIs(1));
}

TEST_F(HookResultTest, HearsOfAFailureByStatusAndMayAnswerInstead) {
  const auto hook = OnError();
  for (const bool answers : {true, false}) {
    Answer answer;
    rig_.Start(answer);
    rig_.backend->Take().done(OutcomeUnknown("t", "fake"));
    ASSERT_THAT(hook->asked, SizeIs(1));
    const v1::HookEvent event = hook->asked.front().event();
    EXPECT_EQ(event.point(), v1::HOOK_POINT_ON_ERROR);
    EXPECT_EQ(event.error().reason(), "OUTCOME_UNKNOWN");
    EXPECT_EQ(event.error().metadata().at("executed"), "maybe");
    EXPECT_FALSE(event.has_result());
    if (answers) {
      hook->Answer(AnswerInstead(TextResult("yesterday's")));
      EXPECT_EQ(answer.text(), "yesterday's");
    } else {
      hook->Answer(PassVerdict());
      EXPECT_EQ(answer.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
    }
  }
}

TEST_F(HookResultTest, HearsOfAResultThatIsAnError) {
  const auto hook = OnError();
  const auto failed = ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, "stack trace");
  const std::vector<HookVerdict> verdicts = {PassVerdict(), ReplaceResult(TextResult("mended")),
                                             AnswerInstead(TextResult("other")), Deny("ugly")};
  const std::vector<std::string> texts = {"stack trace", "mended", "other", ""};
  for (size_t i = 0; i < verdicts.size(); ++i) {
    Answer answer;
    rig_.Start(answer);
    rig_.Finish(failed);
    EXPECT_TRUE(hook->asked.front().event().result().is_error());
    hook->Answer(verdicts[i]);
    ASSERT_TRUE(answer.status().ok());
    if (i < 3) {
      EXPECT_EQ(answer.text(), texts[i]);
    } else {
      EXPECT_EQ(answer.result().error().reason(), "RESULT_WITHHELD");
    }
  }
  Answer fine;
  rig_.Start(fine);
  rig_.Finish();
  EXPECT_EQ(fine.text(), "done");
  EXPECT_THAT(hook->asked, IsEmpty());
}

TEST_F(HookResultTest, AFailingErrorHookNeverHidesTheFailure) {
  const auto hook = OnError();
  Answer status, result, misplaced;
  rig_.Start(status);
  rig_.backend->Take().done(OutcomeUnknown("t", "fake"));
  hook->Fail("lost its stream");
  EXPECT_EQ(status.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  rig_.Start(misplaced);
  rig_.backend->Take().done(OutcomeUnknown("t", "fake"));
  hook->Answer(Deny("no"));
  EXPECT_EQ(misplaced.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  rig_.Start(result);
  rig_.Finish(ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, "secret"));
  hook->Fail("lost its stream");
  EXPECT_EQ(result.result().error().reason(), "RESULT_WITHHELD");
  EXPECT_EQ(rig_.InfoOf("h").failed(), 3u);
}

TEST_F(HookResultTest, HearsOfRefusalsOfItsTool) {
  const auto hook = OnError();
  Answer invalid, unknown;
  rig_.Start(invalid, R"({"n":"x"})");
  EXPECT_EQ(hook->asked.front().event().error().reason(), "ARGUMENTS_INVALID");
  hook->Answer(PassVerdict());
  EXPECT_EQ(invalid.reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  rig_.Start(unknown, "{}", "nobody");
  rig_.executor.RunAll();
  EXPECT_EQ(unknown.reason(), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_THAT(hook->asked, IsEmpty());
}

// Whoever left is not waiting: the hook is told, and asked nothing.
TEST_F(HookResultTest, IsOnlyToldOfStoppedCalls) {
  const auto hook = OnError();
  Answer answer;
  StopSource stop = rig_.Start(answer);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_THAT(hook->asked, IsEmpty());
  ASSERT_THAT(hook->told, SizeIs(1));
  EXPECT_EQ(hook->told[0].event->error().reason(), "CANCELLED");
  rig_.Finish();
}

std::vector<std::string> HookSteps(const v1::ExplainCallResponse& response) {
  std::vector<std::string> out;
  for (const v1::ExplainStep& step : response.steps()) {
    if (step.name() == "hooks") out.push_back(step.detail());
  }
  return out;
}

TEST_F(HookResultTest, ExplainListsHooksAndAsksThoseThatTakeDryRuns) {
  HookSpec asked = SpecOf("asked", v1::HOOK_POINT_PRE_CALL, 3);
  asked.dry_run = true;
  std::vector<bool> dry;
  HookVerdict verdict = ReplaceArguments(R"({"n":2})");
  ASSERT_TRUE(rig_.hooks
                  .Add(MakeHook(asked,
                                [&](const v1::HookEvent& event, const v1::Tool&) {
                                  dry.push_back(event.dry_run());
                                  return verdict;
                                }))
                  .ok());
  const auto listed = Add("listed", v1::HOOK_POINT_PRE_CALL, 2);
  const auto post = Post("post", 1);
  HookSpec observer = SpecOf("observer");
  observer.observe_only = true;
  const auto watching = rig_.Add(observer);
  const auto request = Rig::Request("t", R"({"n":1})");
  v1::ExplainCallResponse response = rig_.Explain(request);
  EXPECT_TRUE(response.verdict().would_run());
  EXPECT_THAT(HookSteps(response),
              ElementsAre("asked (pre_call; priority 3, fail_closed): replace_arguments",
                          "listed (pre_call; priority 2, fail_closed): would be asked; it takes no "
                          "dry runs",
                          "post (post_call; priority 1, fail_closed)",
                          "observer (pre_call; priority 0, observes)"));
  EXPECT_THAT(dry, ElementsAre(true));

  verdict = ReplaceArguments(R"({"n":"x"})");
  response = rig_.Explain(request);
  EXPECT_FALSE(response.verdict().would_run());
  EXPECT_EQ(response.verdict().reason(), "ARGUMENTS_INVALID");
  verdict = Deny("no");
  response = rig_.Explain(request);
  EXPECT_EQ(response.verdict().reason(), "HOOK_DENIED");
  verdict = AnswerInstead(TextResult("x"));
  response = rig_.Explain(request);
  EXPECT_TRUE(response.verdict().would_run());

  // Nothing was counted, told or run.
  EXPECT_EQ(rig_.InfoOf("asked").events(), 0u);
  EXPECT_TRUE(rig_.InfoOf("asked").verdicts().empty());
  EXPECT_THAT(listed->asked, IsEmpty());
  EXPECT_THAT(post->asked, IsEmpty());
  EXPECT_THAT(watching->told, IsEmpty());
  EXPECT_EQ(rig_.backend->started(), 0u);
  EXPECT_TRUE(rig_.pipeline.Counters().empty());
  EXPECT_TRUE(rig_.pipeline.LastRefusals().empty());
}

TEST_F(HookResultTest, ExplainWaitsForADryRunAsLongAsTheHookMayTake) {
  HookSpec spec = SpecOf("h");
  spec.dry_run = true;
  const auto hook = rig_.Add(spec);
  std::optional<v1::ExplainCallResponse> response;
  const auto explain = [&] {
    rig_.pipeline.Explain(
        Rig::Request("t", R"({"n":1})"), {"uid:1", "", absl::InfiniteDuration()}, StopSource(),
        [&](absl::StatusOr<v1::ExplainCallResponse> given) { response = *std::move(given); });
  };
  explain();
  EXPECT_FALSE(response.has_value());
  EXPECT_FALSE(rig_.pipeline.idle());
  hook->Answer(PassVerdict());
  ASSERT_TRUE(response.has_value());
  EXPECT_TRUE(response->verdict().would_run());
  EXPECT_TRUE(rig_.pipeline.idle());
  explain();
  rig_.timers.Advance(absl::Seconds(1));
  EXPECT_EQ(response->verdict().reason(), "HOOK_UNAVAILABLE");
}

}  // namespace
}  // namespace toolrack
