#include "registry/limits/rate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

TEST(RateTest, GivesTheBurstAtOnceAndThenTheRate) {
  FakeClock clock;
  RateLimiter limiter(&clock);
  const Rate rate{60, 3};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.Take("a", rate), absl::ZeroDuration());
  EXPECT_EQ(limiter.Take("a", rate), absl::Seconds(1));
  EXPECT_EQ(limiter.Take("b", rate), absl::ZeroDuration());
  clock.Advance(absl::Milliseconds(400));
  EXPECT_EQ(limiter.Look("a", rate), absl::Milliseconds(600));
  EXPECT_EQ(limiter.Look("a", rate), absl::Milliseconds(600));
  clock.Advance(absl::Milliseconds(600));
  EXPECT_EQ(limiter.Take("a", rate), absl::ZeroDuration());
  EXPECT_EQ(limiter.Take("a", rate), absl::Seconds(1));
}

TEST(RateTest, ARateOfNothingIsNoLimit) {
  FakeClock clock;
  RateLimiter limiter(&clock);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(limiter.Take("a", Rate()), absl::ZeroDuration());
  EXPECT_EQ(limiter.size(), 0u);
}

TEST(RateTest, TheBurstIsWhatTenSecondsGiveWhenNotSaid) {
  EXPECT_EQ((Rate{600, 0}).BurstOrDefault(), 100u);
  EXPECT_EQ((Rate{3, 0}).BurstOrDefault(), 1u);
  EXPECT_EQ((Rate{3, 7}).BurstOrDefault(), 7u);
}

TEST(RateTest, RemembersABoundedNumberOfKeys) {
  FakeClock clock;
  RateLimiter limiter(&clock);
  const Rate rate{60, 1};
  for (size_t i = 0; i < 3 * RateLimiter::kMaxKeys; ++i) {
    limiter.Take("key" + std::to_string(i), rate);
  }
  EXPECT_LE(limiter.size(), RateLimiter::kMaxKeys);
  // Strangers share a bucket then, which is as strict.
  EXPECT_GT(limiter.Take("yet another", rate), absl::ZeroDuration());
  // Full buckets make room.
  clock.Advance(absl::Minutes(1));
  EXPECT_EQ(limiter.Take("a new one", rate), absl::ZeroDuration());
  EXPECT_LT(limiter.size(), RateLimiter::kMaxKeys);
}

// Whatever is asked when, no stretch of time gives more than the burst and what it refilled.
RC_GTEST_PROP(RateProperty, NeverExceeds, ()) {
  FakeClock clock;
  RateLimiter limiter(&clock);
  const Rate rate{*rc::gen::inRange<uint32_t>(1, 100000), *rc::gen::inRange<uint32_t>(1, 50)};
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3000));
  std::vector<absl::Duration> given;
  for (const int step : steps) {
    clock.Advance(absl::Milliseconds(step));
    for (int i = 0; i < 3; ++i) {
      const absl::Duration look = limiter.Look("k", rate);
      const absl::Duration wait = limiter.Take("k", rate);
      RC_ASSERT(look == wait);
      if (wait == absl::ZeroDuration()) given.push_back(clock.SteadyNow());
    }
  }
  for (size_t from = 0; from < given.size(); ++from) {
    for (size_t to = from; to < given.size(); ++to) {
      const double minutes = absl::ToDoubleMinutes(given[to] - given[from]);
      RC_ASSERT(static_cast<double>(to - from + 1) <=
                rate.burst + minutes * rate.per_minute + 1e-6);
    }
  }
}

// What is refused says when it will be given, to the nanosecond.
RC_GTEST_PROP(RateProperty, TheWaitIsRight, ()) {
  FakeClock clock;
  RateLimiter limiter(&clock);
  const Rate rate{*rc::gen::inRange<uint32_t>(1, 10000), *rc::gen::inRange<uint32_t>(1, 5)};
  absl::Duration wait;
  while ((wait = limiter.Take("k", rate)) == absl::ZeroDuration()) {
  }
  clock.Advance(wait - absl::Nanoseconds(1));
  RC_ASSERT(limiter.Take("k", rate) > absl::ZeroDuration());
  clock.Advance(absl::Nanoseconds(1));
  RC_ASSERT(limiter.Take("k", rate) == absl::ZeroDuration());
}

}  // namespace
}  // namespace toolrack
