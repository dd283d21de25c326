#include "registry/call/idempotency.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "registry/base/errors.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

using What = IdempotencyKeys::Answer::What;

v1::CallToolResponse Response(const std::string& text) {
  v1::CallToolResponse response;
  response.mutable_result()->add_content()->mutable_text()->set_text(text);
  return response;
}

class IdempotencyTest : public testing::Test {
 protected:
  static v1::LimitsConfig Limits() {
    v1::LimitsConfig limits;
    limits.set_max_idempotency_keys(4);
    limits.mutable_idempotency_ttl()->set_seconds(60);
    return limits;
  }
  IdempotencyKeys::Answer Enter(const std::string& key, const std::string& print = "p",
                                const std::string& who = "uid:1") {
    return keys_.Enter(who, "t", key, print,
                       [this](IdempotencyKeys::OutcomePtr outcome) { woken_ = outcome; });
  }
  FakeClock clock_;
  IdempotencyKeys keys_{&clock_, Limits()};
  IdempotencyKeys::OutcomePtr woken_;
};

TEST_F(IdempotencyTest, TheSecondGetsTheFirstOnesOutcome) {
  EXPECT_EQ(Enter("k").what, What::kFirst);
  EXPECT_EQ(Enter("k").what, What::kWait);
  EXPECT_EQ(Enter("k", "p", "uid:2").what, What::kFirst);
  keys_.End("uid:1", "k", Response("one"));
  ASSERT_NE(woken_, nullptr);
  EXPECT_EQ((*woken_)->result().content(0).text().text(), "one");
  const IdempotencyKeys::Answer known = Enter("k");
  EXPECT_EQ(known.what, What::kKnown);
  EXPECT_EQ((*known.outcome)->result().content(0).text().text(), "one");
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Enter("k").what, What::kFirst);
}

TEST_F(IdempotencyTest, OtherArgumentsAreRefused) {
  EXPECT_EQ(Enter("k").what, What::kFirst);
  for (int i = 0; i < 2; ++i) {
    const IdempotencyKeys::Answer refused = Enter("k", "other");
    EXPECT_EQ(refused.what, What::kRefused);
    EXPECT_EQ(ReasonOf(refused.fault), v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED);
    EXPECT_EQ(refused.fault.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(ReasonOf(keys_.Check("uid:1", "t", "k", "other")),
              v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED);
    if (i == 0) keys_.End("uid:1", "k", Response("one"));
  }
  EXPECT_TRUE(keys_.Check("uid:1", "t", "k", "p").ok());
}

TEST_F(IdempotencyTest, WhatDidNotRunIsForgotten) {
  EXPECT_EQ(Enter("k").what, What::kFirst);
  EXPECT_EQ(Enter("k").what, What::kWait);
  keys_.End("uid:1", "k", Draining("daemon"));
  ASSERT_NE(woken_, nullptr);
  EXPECT_EQ(ReasonOf(woken_->status()), v1::ERROR_REASON_DRAINING);
  EXPECT_EQ(Enter("k", "other").what, What::kFirst);
  keys_.End("uid:1", "k", OutcomeUnknown("t", "b"));
  EXPECT_EQ(Enter("k", "other").what, What::kKnown);
}

TEST_F(IdempotencyTest, WhoForgetsIsNotWoken) {
  EXPECT_EQ(Enter("k").what, What::kFirst);
  const IdempotencyKeys::Answer waiting = Enter("k");
  keys_.Forget("uid:1", "k", waiting.waiter);
  keys_.Forget("uid:1", "no", 1);
  keys_.End("uid:1", "k", Response("one"));
  EXPECT_EQ(woken_, nullptr);
}

TEST_F(IdempotencyTest, IsBoundedByRefusalNotByForgetting) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(Enter(std::to_string(i)).what, What::kFirst);
  const IdempotencyKeys::Answer full = Enter("5");
  EXPECT_EQ(ReasonOf(full.fault), v1::ERROR_REASON_QUEUE_FULL);
  keys_.End("uid:1", "0", Response("one"));
  EXPECT_EQ(Enter("5").what, What::kRefused);
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Enter("5").what, What::kFirst);
  EXPECT_EQ(keys_.size(), 4u);
}

TEST_F(IdempotencyTest, ALongOutcomeIsAFactWithoutItsText) {
  EXPECT_EQ(Enter("k").what, What::kFirst);
  keys_.End("uid:1", "k", Response(std::string(9 << 20, 'x')));
  const IdempotencyKeys::Answer known = Enter("k");
  EXPECT_EQ(known.what, What::kRefused);
  EXPECT_EQ(ReasonOf(known.fault), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_FALSE(SurelyNotExecuted(known.fault));
}

TEST(IdempotencyBytesTest, TheOldestOutcomesGoFirst) {
  FakeClock clock;
  IdempotencyKeys keys(&clock, v1::LimitsConfig());
  for (int i = 0; i < 12; ++i) {
    keys.Enter("u", "t", std::to_string(i), "p", nullptr);
    keys.End("u", std::to_string(i), Response(std::string(7 << 20, 'x')));
  }
  EXPECT_EQ(keys.Enter("u", "t", "0", "p", nullptr).what, What::kRefused);
  EXPECT_EQ(keys.Enter("u", "t", "11", "p", nullptr).what, What::kKnown);
  EXPECT_EQ(keys.size(), 12u);
}

TEST(FingerprintTest, IsTheSameForTheSameCallOnly) {
  v1::CallToolRequest a;
  a.set_name("t");
  a.set_arguments_json("{}");
  v1::CallToolRequest b = a;
  b.set_call_id("other");
  b.set_idempotency_key("k");
  EXPECT_EQ(FingerprintOf(a), FingerprintOf(b));
  b.set_arguments_json("{ }");
  EXPECT_NE(FingerprintOf(a), FingerprintOf(b));
  b = a;
  b.set_session_id("s");
  EXPECT_NE(FingerprintOf(a), FingerprintOf(b));
  b = a;
  b.set_input_text("{}");
  EXPECT_NE(FingerprintOf(a), FingerprintOf(b));
  v1::CallToolRequest c = a, d = a;
  for (const char* key : {"x", "y", "z"}) {
    (*c.mutable_arguments()->mutable_fields())[key].set_number_value(1);
  }
  for (const char* key : {"z", "y", "x"}) {
    (*d.mutable_arguments()->mutable_fields())[key].set_number_value(1);
  }
  EXPECT_EQ(FingerprintOf(c), FingerprintOf(d));
}

}  // namespace
}  // namespace toolrack
