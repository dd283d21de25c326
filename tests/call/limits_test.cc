// The limits of a call in the pipeline: rate, places of tool and backend, breakers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "tests/call/rig.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

v1::Tool Narrow(const std::string& name, uint32_t max_concurrency) {
  v1::Tool tool = ToolNamed(name);
  tool.set_max_concurrency(max_concurrency);
  return tool;
}

PipelineOptions WithQueue(uint32_t queue, absl::Duration timeout) {
  PipelineOptions options;
  options.limits.set_max_queue_per_tool(queue);
  options.limits.mutable_queue_timeout()->set_seconds(absl::ToInt64Seconds(timeout));
  return options;
}

void End(Rig& rig, absl::StatusOr<v1::ToolResult> outcome = TextResult("done")) {
  ASSERT_GT(rig.backend->held(), 0u);
  rig.backend->Take().done(std::move(outcome));
}

TEST(ToolLimitTest, SoManyRunSoManyWaitTheRestIsRefused) {
  Rig rig(WithQueue(2, absl::Seconds(30)));
  rig.Publish({Narrow("t", 1), ToolNamed("free")});
  std::deque<Answer> answers(5);
  for (int i = 0; i < 4; ++i) rig.Start(Rig::Request("t"), answers[i]);
  EXPECT_EQ(rig.backend->held(), 1u);
  EXPECT_EQ(answers[3].reason(), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_EQ(answers[3].executed(), "no");
  EXPECT_TRUE(RetryDelayOf(answers[3].status()).has_value());
  EXPECT_EQ(MetadataOf(answers[3].status()).at("limit"), "limits.max_queue_per_tool");
  EXPECT_EQ(MetadataOf(answers[3].status()).at("allowed"), "2");
  EXPECT_EQ(MetadataOf(answers[3].status()).at("scope"), "the tool t");
  rig.Start(Rig::Request("free"), answers[4]);
  EXPECT_EQ(rig.backend->held(), 2u);

  End(rig);
  EXPECT_TRUE(answers[0].has());
  EXPECT_EQ(rig.backend->held(), 2u);
  End(rig);
  End(rig);
  End(rig);
  for (int i : {0, 1, 2, 4}) EXPECT_TRUE(answers[i].status().ok()) << answers[i].status();
  EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
  EXPECT_EQ(rig.timers.armed(), 0u);
}

TEST(ToolLimitTest, WaitsNoLongerThanTheQueueAllows) {
  Rig rig(WithQueue(9, absl::Seconds(30)));
  rig.Publish({Narrow("t", 1)});
  Answer first, second, third;
  rig.Start(Rig::Request("t"), first);
  rig.Start(Rig::Request("t"), second);
  v1::CallToolRequest hasty = Rig::Request("t");
  hasty.mutable_timeout()->set_seconds(10);
  rig.Start(hasty, third);
  rig.timers.Advance(absl::Seconds(10));
  EXPECT_EQ(third.reason(), v1::ERROR_REASON_TIMEOUT);
  EXPECT_EQ(third.executed(), "no");
  EXPECT_FALSE(second.has());
  rig.timers.Advance(absl::Seconds(20));
  EXPECT_EQ(second.reason(), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(second.executed(), "no");
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("limits.queue_timeout"));
  EXPECT_TRUE(RetryDelayOf(second.status()).has_value());
  EXPECT_FALSE(first.has());
  End(rig);
  EXPECT_TRUE(first.status().ok());
}

TEST(ToolLimitTest, WhoLeavesTheQueueDoesNotRun) {
  Rig rig(WithQueue(9, absl::Seconds(30)));
  rig.Publish({Narrow("t", 1)});
  Answer first, second, third;
  rig.Start(Rig::Request("t"), first);
  StopSource stop = rig.Start(Rig::Request("t"), second);
  rig.Start(Rig::Request("t"), third);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(second.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(second.executed(), "no");
  End(rig);
  EXPECT_EQ(rig.backend->held(), 1u);
  End(rig);
  EXPECT_TRUE(third.status().ok());
}

// The tool goes on after its caller left: it still counts.
TEST(ToolLimitTest, ACallerThatLeftMakesNoRoomWhileItsToolRuns) {
  Rig rig(WithQueue(9, absl::Seconds(30)));
  rig.Publish({Narrow("t", 1)});
  Answer first, second;
  StopSource stop = rig.Start(Rig::Request("t"), first);
  rig.Start(Rig::Request("t"), second);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(first.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(rig.backend->held(), 1u);
  End(rig);
  EXPECT_EQ(rig.backend->held(), 1u);
  End(rig);
  EXPECT_TRUE(second.status().ok());
}

// A hung tool may outlive the pipeline.
TEST(ToolLimitTest, AHungToolMayEndAfterThePipeline) {
  auto backend = std::make_shared<FakeBackend>();
  FakeBackend::Held hung;
  {
    Rig rig;
    rig.PublishOn(backend, {Narrow("t", 1)});
    Answer answer;
    rig.Start(Rig::Request("t"), answer).RequestStop(StopReason::kCaller);
    EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
    hung = backend->Take();
  }
  hung.done(TextResult("late"));
}

TEST(BackendLimitTest, BoundsWhatRunsOnOneBackend) {
  PipelineOptions options = WithQueue(1, absl::Seconds(30));
  options.limits.set_max_calls_per_backend(2);
  Rig rig(options);
  rig.Publish({ToolNamed("a"), ToolNamed("b")});
  std::deque<Answer> answers(4);
  for (int i = 0; i < 4; ++i) rig.Start(Rig::Request(i % 2 == 0 ? "a" : "b"), answers[i]);
  EXPECT_EQ(rig.backend->held(), 2u);
  EXPECT_EQ(answers[3].reason(), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_THAT(MetadataOf(answers[3].status()).at("scope"), HasSubstr("backend"));
  for (int i = 0; i < 3; ++i) End(rig);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(answers[i].status().ok());
}

TEST(RateLimitTest, RefusesWhatComesTooFastAndSaysWhenToComeBack) {
  PipelineOptions options;
  options.limits.set_max_calls_per_minute(60);
  options.limits.set_call_burst(2);
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  std::deque<Answer> answers(5);
  const Caller other = {"uid:2", "", {}};
  for (int i = 0; i < 3; ++i) rig.Start(Rig::Request("t"), answers[i]);
  rig.Start(Rig::Request("t"), answers[3], other);
  EXPECT_EQ(answers[2].reason(), v1::ERROR_REASON_RATE);
  EXPECT_EQ(answers[2].executed(), "no");
  EXPECT_EQ(RetryDelayOf(answers[2].status()), absl::Seconds(1));
  EXPECT_EQ(MetadataOf(answers[2].status()).at("limit"), "limits.max_calls_per_minute");
  EXPECT_EQ(MetadataOf(answers[2].status()).at("allowed"), "60");
  EXPECT_EQ(rig.backend->held(), 3u);
  // Asking what would happen takes nothing.
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(ExplainNow(rig.pipeline, Rig::Request("t"), {"uid:1", "", {}}).verdict().reason(),
              "RATE");
  }
  rig.clock.Advance(absl::Seconds(1));
  EXPECT_TRUE(ExplainNow(rig.pipeline, Rig::Request("t"), {"uid:1", "", {}}).verdict().would_run());
  rig.Start(Rig::Request("t"), answers[4]);
  for (int i = 0; i < 4; ++i) End(rig);
  EXPECT_TRUE(answers[4].status().ok());
}

class BreakerTest : public testing::Test {
 protected:
  static PipelineOptions Options() {
    PipelineOptions options;
    options.max_attempts = 1;
    options.breaker.set_failures(3);
    return options;
  }
  Answer Ended(absl::StatusOr<v1::ToolResult> outcome, const std::string& tool = "t") {
    Answer answer;
    rig_.Start(Rig::Request(tool), answer);
    if (rig_.backend->held() > 0) rig_.backend->Take().done(std::move(outcome));
    return answer;
  }
  Rig rig_{Options()};
};

TEST_F(BreakerTest, LeavesAFailingBackendAloneAndTriesItAgain) {
  rig_.Publish({ToolNamed("t"), ToolNamed("u")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ended(ToolNotStarted("t", "b", "no")).reason(), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  }
  const Answer refused = Ended(TextResult("x"), "u");
  EXPECT_EQ(refused.reason(), v1::ERROR_REASON_CIRCUIT_OPEN);
  EXPECT_EQ(refused.executed(), "no");
  EXPECT_EQ(RetryDelayOf(refused.status()), absl::Seconds(10));
  const v1::ExplainCallResponse explained =
      ExplainNow(rig_.pipeline, Rig::Request("u"), {"uid:1", "", {}});
  EXPECT_EQ(explained.verdict().reason(), "CIRCUIT_OPEN");
  EXPECT_EQ(explained.verdict().message(), refused.status().message());

  rig_.clock.Advance(absl::Seconds(10));
  EXPECT_TRUE(
      ExplainNow(rig_.pipeline, Rig::Request("u"), {"uid:1", "", {}}).verdict().would_run());
  Answer probe;
  rig_.Start(Rig::Request("t"), probe);
  EXPECT_EQ(rig_.backend->held(), 1u);
  Answer beside;
  rig_.Start(Rig::Request("u"), beside);
  EXPECT_EQ(beside.reason(), v1::ERROR_REASON_CIRCUIT_OPEN);
  rig_.backend->Take().done(TextResult("x"));
  EXPECT_TRUE(probe.status().ok());
  EXPECT_TRUE(Ended(TextResult("x"), "u").status().ok());
}

TEST_F(BreakerTest, AProbeThatIsCancelledLeavesTheNextOneATry) {
  rig_.Publish({ToolNamed("t")});
  for (int i = 0; i < 3; ++i) Ended(ToolNotStarted("t", "b", "no"));
  rig_.clock.Advance(absl::Seconds(10));
  Answer probe, other;
  StopSource stop = rig_.Start(Rig::Request("t"), probe);
  rig_.Start(Rig::Request("t"), other);
  EXPECT_EQ(other.reason(), v1::ERROR_REASON_CIRCUIT_OPEN);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(probe.reason(), v1::ERROR_REASON_CANCELLED);
  rig_.backend->Take().done(TextResult("late"));
  EXPECT_TRUE(Ended(TextResult("x")).status().ok());
}

TEST_F(BreakerTest, AToolThatBreaksInsideIsLeftAloneAndItsNeighboursAreNot) {
  rig_.Publish({ToolNamed("t"), ToolNamed("u")});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(Ended(ErrorResult(v1::ERROR_REASON_TOOL_INTERNAL, "crash")).status().ok());
  }
  EXPECT_EQ(Ended(TextResult("x")).reason(), v1::ERROR_REASON_CIRCUIT_OPEN);
  EXPECT_TRUE(Ended(TextResult("x"), "u").status().ok());
}

TEST_F(BreakerTest, SlowCallsCancelledOnesAndOrdinaryErrorsAreNoFailures) {
  rig_.Publish({ToolNamed("t")});
  for (int i = 0; i < 20; ++i) {
    Answer late;
    v1::CallToolRequest request = Rig::Request("t");
    request.mutable_timeout()->set_seconds(1);
    rig_.Start(request, late);
    rig_.timers.Advance(absl::Seconds(1));
    EXPECT_EQ(late.reason(), v1::ERROR_REASON_TIMEOUT);
    rig_.backend->Take().done(TextResult("too late"));
    Answer left;
    rig_.Start(Rig::Request("t"), left).RequestStop(StopReason::kCaller);
    rig_.backend->Take().done(absl::InternalError("stopped"));
    EXPECT_TRUE(Ended(ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, "no file")).status().ok());
    EXPECT_TRUE(Ended(absl::InvalidArgumentError("no")).status().ok());
    EXPECT_EQ(Ended(QueueFull("q", 1, "s")).reason(), v1::ERROR_REASON_QUEUE_FULL);
  }
  EXPECT_TRUE(Ended(TextResult("x")).status().ok());
}

TEST_F(BreakerTest, ManyCallsLostWithOneStreamAreOneFailure) {
  rig_.Publish({ToolNamed("t")});
  std::deque<Answer> answers(10);
  for (Answer& answer : answers) rig_.Start(Rig::Request("t"), answer);
  while (rig_.backend->held() > 0) rig_.backend->Take().done(OutcomeUnknown("t", "b"));
  for (const Answer& answer : answers) {
    EXPECT_EQ(answer.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  }
  EXPECT_TRUE(Ended(TextResult("x")).status().ok());
}

TEST_F(BreakerTest, AReplicaTakesOver) {
  auto second = std::make_shared<FakeBackend>("second");
  rig_.Publish({ToolNamed("t"), ToolNamed("u")});
  rig_.PublishOn(second, {ToolNamed("t")});
  for (int i = 0; i < 3; ++i) Ended(ToolNotStarted("u", "b", "no"), "u");
  EXPECT_EQ(Ended(TextResult("x"), "u").reason(), v1::ERROR_REASON_CIRCUIT_OPEN);
  Answer answer;
  rig_.Start(Rig::Request("t"), answer);
  ASSERT_EQ(second->held(), 1u);
  second->Take().done(TextResult("from the second"));
  EXPECT_EQ(answer.text(), "from the second");
}

}  // namespace
}  // namespace toolrack
