#include "registry/policy/approvals.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "registry/base/errors.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

class ApprovalsTest : public testing::Test {
 protected:
  static v1::PolicyConfig Config() {
    v1::PolicyConfig config;
    config.mutable_approval_ttl()->set_seconds(60);
    config.set_max_approvals(8);
    return config;
  }
  static ApprovalSubject Subject(absl::string_view arguments = "{}",
                                 absl::string_view principal = "uid:1",
                                 absl::string_view tool = "rm", absl::string_view digest = "d1") {
    return {principal, tool, digest, arguments, "rule", v1::RISK_LEVEL_DANGEROUS};
  }
  std::string Ask(const ApprovalSubject& subject) {
    const absl::Status status = approvals_.Take(subject, "");
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_APPROVAL_REQUIRED) << status;
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(SurelyNotExecuted(status));
    return MetadataOf(status)["approval_id"];
  }
  v1::ErrorReason Take(const ApprovalSubject& subject, const std::string& id) {
    return ReasonOf(approvals_.Take(subject, id));
  }

  FakeClock clock_;
  Approvals approvals_{&clock_, Config()};
};

TEST_F(ApprovalsTest, RunsOnceWhenGranted) {
  const std::string id = Ask(Subject());
  EXPECT_EQ(Ask(Subject()), id);  // the same call, the same question
  EXPECT_EQ(Take(Subject(), id), v1::ERROR_REASON_APPROVAL_REQUIRED);
  const std::vector<v1::Approval> list = approvals_.List();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].approval_id(), id);
  EXPECT_EQ(list[0].tool(), "rm");
  EXPECT_EQ(list[0].principal(), "uid:1");
  EXPECT_EQ(list[0].arguments_json(), "{}");
  EXPECT_EQ(list[0].state(), v1::APPROVAL_STATE_PENDING);
  EXPECT_EQ(list[0].expire_time().seconds() - list[0].create_time().seconds(), 60);

  const absl::StatusOr<v1::Approval> granted = approvals_.Decide(id, true, "uid:0", "fine");
  ASSERT_TRUE(granted.ok()) << granted.status();
  EXPECT_EQ(granted->decided_by(), "uid:0");
  EXPECT_TRUE(approvals_.Decide(id, true, "uid:0", "").ok());
  EXPECT_FALSE(approvals_.Decide(id, false, "uid:0", "").ok());
  EXPECT_TRUE(approvals_.Check(Subject(), id).ok());
  EXPECT_TRUE(approvals_.Take(Subject(), id).ok());
  EXPECT_EQ(Take(Subject(), id), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_NE(Ask(Subject()), id);
}

TEST_F(ApprovalsTest, IsBoundToPrincipalToolDefinitionAndArguments) {
  const std::string id = Ask(Subject());
  ASSERT_TRUE(approvals_.Decide(id, true, "a", "").ok());
  EXPECT_EQ(Take(Subject("{\"x\":1}"), id), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(Take(Subject("{} "), id), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(Take(Subject("{}", "uid:1", "mv"), id), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(Take(Subject("{}", "uid:1", "rm", "d2"), id), v1::ERROR_REASON_REQUEST_INVALID);
  // Others do not learn that it is there.
  EXPECT_EQ(Take(Subject("{}", "uid:2"), id), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_EQ(Take(Subject(), "nonsense"), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_TRUE(approvals_.Take(Subject(), id).ok());
}

TEST_F(ApprovalsTest, ARefusalSaysSoAndWhy) {
  const std::string id = Ask(Subject());
  ASSERT_TRUE(approvals_.Decide(id, false, "uid:0", "not on a Friday").ok());
  const absl::Status status = approvals_.Take(Subject(), id);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_NE(status.message().find("not on a Friday"), absl::string_view::npos) << status;
  EXPECT_NE(Ask(Subject()), id);
}

TEST_F(ApprovalsTest, Expires) {
  const std::string id = Ask(Subject());
  const std::string granted = Ask(Subject("{\"a\":1}"));
  ASSERT_TRUE(approvals_.Decide(granted, true, "a", "").ok());
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(approvals_.List().size(), 0u);
  EXPECT_EQ(ReasonOf(approvals_.Check(Subject(), id)), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_EQ(Take(Subject(), id), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_EQ(Take(Subject("{\"a\":1}"), granted), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_EQ(ReasonOf(approvals_.Decide(id, true, "a", "").status()),
            v1::ERROR_REASON_APPROVAL_EXPIRED);
}

TEST_F(ApprovalsTest, WhatWasNotRunMayBeUsedAgain) {
  const std::string id = Ask(Subject());
  ASSERT_TRUE(approvals_.Decide(id, true, "a", "").ok());
  ASSERT_TRUE(approvals_.Take(Subject(), id).ok());
  approvals_.GiveBack(id);
  approvals_.GiveBack("nonsense");
  EXPECT_TRUE(approvals_.Take(Subject(), id).ok());
  EXPECT_EQ(Take(Subject(), id), v1::ERROR_REASON_APPROVAL_EXPIRED);
}

TEST_F(ApprovalsTest, LookingChangesNothing) {
  EXPECT_EQ(ReasonOf(approvals_.Check(Subject(), "")), v1::ERROR_REASON_APPROVAL_REQUIRED);
  EXPECT_EQ(approvals_.size(), 0u);
}

TEST_F(ApprovalsTest, IsBounded) {
  for (int i = 0; i < 2; ++i) Ask(Subject(std::to_string(i)));
  EXPECT_EQ(Take(Subject("third"), ""), v1::ERROR_REASON_QUEUE_FULL);
  for (int who = 2; who < 5; ++who) {
    for (int i = 0; i < 2; ++i) Ask(Subject(std::to_string(i), "uid:" + std::to_string(who)));
  }
  EXPECT_EQ(Take(Subject("x", "uid:9"), ""), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_EQ(approvals_.size(), 8u);
  clock_.Advance(absl::Minutes(2));
  Ask(Subject("x", "uid:9"));
  EXPECT_EQ(approvals_.size(), 1u);
}

TEST_F(ApprovalsTest, ShowsLongArgumentsCutAtACharacter) {
  std::string arguments = "{\"a\":\"";
  while (arguments.size() < 10000) arguments += "ä";
  Ask(Subject(arguments));
  const v1::Approval shown = approvals_.List()[0];
  EXPECT_LE(shown.arguments_json().size(), 4096u);
  EXPECT_GE(shown.arguments_json().size(), 4095u);
  EXPECT_EQ(shown.arguments_bytes(), arguments.size());
}

// Many at once with one granted id: exactly one runs.
TEST_F(ApprovalsTest, ExactlyOneOfManyAtOnce) {
  for (int round = 0; round < 200; ++round) {
    const std::string arguments = std::to_string(round);
    const std::string id = Ask(Subject(arguments));
    std::atomic<int> ran{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] { ran += approvals_.Take(Subject(arguments), id).ok() ? 1 : 0; });
    }
    ASSERT_TRUE(approvals_.Decide(id, true, "a", "").ok());
    for (std::thread& thread : threads) thread.join();
    ran += approvals_.Take(Subject(arguments), id).ok() ? 1 : 0;
    EXPECT_EQ(ran.load(), 1);
    clock_.Advance(absl::Minutes(1));
  }
}

}  // namespace
}  // namespace toolrack
