#include <gtest/gtest.h>

#include "registry/call/pipeline.h"
#include "tests/call/pipeline_fixture.h"

namespace toolrack {
namespace {

class RetryTest : public PipelineTest {
 protected:
  RetryTest() {
    v1::Tool plain = ToolNamed("plain");
    v1::Tool idempotent = ToolNamed("idempotent");
    idempotent.mutable_annotations()->set_idempotent(true);
    v1::Tool read_only = ToolNamed("read_only");
    read_only.mutable_annotations()->set_read_only(true);
    for (const auto& backend : {one_, two_}) {
      rig_.PublishOn(backend, {plain, idempotent, read_only});
    }
    two_->set_extra_load(5);  // the first goes first
  }

  const std::shared_ptr<FakeBackend> one_ = std::make_shared<FakeBackend>("one");
  const std::shared_ptr<FakeBackend> two_ = std::make_shared<FakeBackend>("two");
};

TEST_F(RetryTest, TheLeastBusyReplicaGetsTheCall) {
  Answer a, b;
  rig_.Start(Rig::Request("plain"), a);
  EXPECT_EQ(one_->held(), 1u);
  two_->set_extra_load(0);
  rig_.Start(Rig::Request("plain"), b);
  EXPECT_EQ(two_->held(), 1u);
  EXPECT_EQ(rig_.pipeline.RunningCalls()[1].backend(), "two");
  one_->Take().done(TextResult(""));
  two_->Take().done(TextResult(""));
}

TEST_F(RetryTest, WhatDidNotRunIsTriedOnAnotherReplica) {
  Answer answer;
  rig_.Start(Rig::Request("plain"), answer);
  one_->Take().done(BackendUnavailable("plain", "one"));
  ASSERT_EQ(two_->held(), 1u);
  FakeBackend::Held held = two_->Take();
  EXPECT_EQ(held.call.context.attempt, 2u);
  EXPECT_EQ(held.call.arguments_json, "{}");
  held.done(TextResult("second"));
  EXPECT_EQ(answer.text(), "second");
}

TEST_F(RetryTest, ACallLostInMidAirIsTriedAgainOnlyWhereThatIsSafe) {
  for (const char* name : {"idempotent", "read_only"}) {
    Answer answer;
    rig_.Start(Rig::Request(name), answer);
    one_->Take().done(OutcomeUnknown(name, "one"));
    ASSERT_EQ(two_->held(), 1u);
    two_->Take().done(TextResult("again"));
    EXPECT_EQ(answer.text(), "again");
  }
  Answer plain;
  rig_.Start(Rig::Request("plain"), plain);
  one_->Take().done(OutcomeUnknown("plain", "one"));
  EXPECT_EQ(plain.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(two_->held(), 0u);
}

TEST_F(RetryTest, NeverSaysNotExecutedOnceAnAttemptMayHaveRun) {
  Answer answer;
  rig_.Start(Rig::Request("idempotent"), answer);
  two_->set_start_status(BackendUnavailable("idempotent", "two"));
  FakeBackend::Held held = one_->Take();
  one_->set_start_status(BackendUnavailable("idempotent", "one"));
  held.done(OutcomeUnknown("idempotent", "one"));
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(answer.executed(), "maybe");
  EXPECT_EQ(one_->started() + two_->started(), 3u);
}

TEST_F(RetryTest, EndsAfterMaxAttemptsWithTheLastFault) {
  one_->set_start_status(BackendUnavailable("plain", "one"));
  two_->set_start_status(BackendUnavailable("plain", "two"));
  Answer answer;
  rig_.Start(Rig::Request("plain"), answer);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_EQ(one_->started() + two_->started(), 3u);
  EXPECT_EQ(answer.executed(), "no");
}

TEST_F(RetryTest, AFullQueueIsTriedOnceOnEachReplica) {
  one_->set_start_status(QueueFull("q", 1, "one"));
  two_->set_start_status(QueueFull("q", 1, "two"));
  Answer answer;
  rig_.Start(Rig::Request("plain"), answer);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_EQ(one_->started(), 1u);
  EXPECT_EQ(two_->started(), 1u);
}

TEST_F(RetryTest, IsNotTriedAgainAfterTheStop) {
  Answer answer;
  StopSource stop = rig_.Start(Rig::Request("idempotent"), answer);
  FakeBackend::Held held = one_->Take();
  stop.RequestStop(StopReason::kCaller);
  held.done(OutcomeUnknown("idempotent", "one"));
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(two_->started(), 0u);
}

TEST_F(RetryTest, SaysWhatIsKnownWhenNoReplicaIsLeft) {
  two_->set_available(false);
  Answer answer;
  rig_.Start(Rig::Request("idempotent"), answer);
  one_->set_available(false);
  one_->Take().done(OutcomeUnknown("idempotent", "one"));
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(answer.executed(), "maybe");
}

}  // namespace
}  // namespace toolrack
