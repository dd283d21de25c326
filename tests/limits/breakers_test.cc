#include "registry/limits/breakers.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

using Ending = Breakers::Ending;

class BreakersTest : public testing::Test {
 protected:
  void Fail(const char* key, int times, const void* object = nullptr) {
    for (int i = 0; i < times; ++i) breakers_.Report(key, object, false, Ending::kFailed);
  }

  FakeClock clock_;
  Breakers breakers_{&clock_, {false, 3, absl::Seconds(10)}};
};

TEST_F(BreakersTest, OpensAfterFailuresInARow) {
  Fail("b", 2);
  EXPECT_TRUE(breakers_.Admit("b", nullptr).allowed);
  breakers_.Report("b", nullptr, false, Ending::kSucceeded);
  EXPECT_EQ(breakers_.size(), 0u);
  Fail("b", 3);
  clock_.Advance(absl::Seconds(4));
  const Breakers::Verdict verdict = breakers_.Admit("b", nullptr);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.retry_after, absl::Seconds(6));
  EXPECT_TRUE(breakers_.Admit("other", nullptr).allowed);
}

TEST_F(BreakersTest, ASlowCallIsNotADeadBackend) {
  for (int i = 0; i < 100; ++i) breakers_.Report("b", nullptr, false, Ending::kUndecided);
  EXPECT_TRUE(breakers_.Admit("b", nullptr).allowed);
  Fail("b", 2);
  breakers_.Report("b", nullptr, false, Ending::kUndecided);
  EXPECT_TRUE(breakers_.Admit("b", nullptr).allowed);
  Fail("b", 1);
  EXPECT_FALSE(breakers_.Admit("b", nullptr).allowed);
}

TEST_F(BreakersTest, HalfOpenLetsOneProbeThrough) {
  Fail("b", 3);
  clock_.Advance(absl::Seconds(10));
  EXPECT_TRUE(breakers_.Look("b", nullptr).allowed);
  EXPECT_TRUE(breakers_.Look("b", nullptr).allowed);
  const Breakers::Verdict probe = breakers_.Admit("b", nullptr);
  EXPECT_TRUE(probe.allowed);
  EXPECT_TRUE(probe.probe);
  EXPECT_FALSE(breakers_.Admit("b", nullptr).allowed);
  EXPECT_GT(breakers_.Admit("b", nullptr).retry_after, absl::ZeroDuration());

  // A probe that says nothing leaves the next one a try.
  breakers_.Report("b", nullptr, true, Ending::kUndecided);
  EXPECT_TRUE(breakers_.Admit("b", nullptr).probe);
  // A failing one opens for twice as long.
  breakers_.Report("b", nullptr, true, Ending::kFailed);
  clock_.Advance(absl::Seconds(19));
  EXPECT_EQ(breakers_.Admit("b", nullptr).retry_after, absl::Seconds(1));
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(breakers_.Admit("b", nullptr).probe);
  breakers_.Report("b", nullptr, true, Ending::kSucceeded);
  EXPECT_EQ(breakers_.size(), 0u);
  EXPECT_TRUE(breakers_.Admit("b", nullptr).allowed);
}

TEST_F(BreakersTest, CallsFromBeforeItOpenedDecideNothing) {
  Fail("b", 3);
  breakers_.Report("b", nullptr, false, Ending::kSucceeded);
  breakers_.Report("b", nullptr, false, Ending::kFailed);
  EXPECT_EQ(breakers_.Admit("b", nullptr).retry_after, absl::Seconds(10));
}

TEST_F(BreakersTest, StaysOpenForFiveMinutesAtMost) {
  Fail("b", 3);
  absl::Duration longest;
  for (int i = 0; i < 20; ++i) {
    longest = std::max(longest, breakers_.Admit("b", nullptr).retry_after);
    clock_.Advance(breakers_.Admit("b", nullptr).retry_after);
    ASSERT_TRUE(breakers_.Admit("b", nullptr).probe);
    breakers_.Report("b", nullptr, true, Ending::kFailed);
  }
  EXPECT_EQ(longest, Breakers::kLongest);
}

TEST_F(BreakersTest, ANewObjectStartsAfresh) {
  const int old_stream = 0, new_stream = 0;
  Fail("b", 3, &old_stream);
  EXPECT_FALSE(breakers_.Admit("b", &old_stream).allowed);
  EXPECT_TRUE(breakers_.Admit("b", &new_stream).allowed);
  Fail("b", 2, &new_stream);
  EXPECT_TRUE(breakers_.Admit("b", &new_stream).allowed);
  Fail("b", 1, &new_stream);
  EXPECT_FALSE(breakers_.Admit("b", &new_stream).allowed);
}

TEST_F(BreakersTest, AStreamLostWithManyCallsIsOneFailure) {
  const int stream = 0, next_stream = 0;
  for (int i = 0; i < 50; ++i) {
    breakers_.Report("t", nullptr, false, Ending::kFailed, &stream);
  }
  EXPECT_TRUE(breakers_.Admit("t", nullptr).allowed);
  breakers_.Report("t", nullptr, false, Ending::kFailed, &next_stream);
  breakers_.Report("t", nullptr, false, Ending::kFailed, &stream);
  EXPECT_FALSE(breakers_.Admit("t", nullptr).allowed);
}

TEST_F(BreakersTest, RemembersABoundedNumberOfKeys) {
  for (size_t i = 0; i < 2 * Breakers::kMaxKeys; ++i) Fail(std::to_string(i).c_str(), 1);
  EXPECT_EQ(breakers_.size(), Breakers::kMaxKeys);
  clock_.Advance(absl::Minutes(2));
  Fail("new", 3);
  EXPECT_FALSE(breakers_.Admit("new", nullptr).allowed);
  EXPECT_EQ(breakers_.size(), 1u);
}

TEST(BreakersOffTest, DisabledNeverOpens) {
  FakeClock clock;
  Breakers breakers(&clock, {true, 1, absl::Seconds(10)});
  for (int i = 0; i < 10; ++i) breakers.Report("b", nullptr, false, Ending::kFailed);
  EXPECT_TRUE(breakers.Admit("b", nullptr).allowed);
  EXPECT_EQ(breakers.size(), 0u);
}

TEST(BreakersThreadTest, OneProbeAmongManyThreads) {
  FakeClock clock;
  Breakers breakers(&clock, {false, 1, absl::Seconds(1)});
  breakers.Report("b", nullptr, false, Ending::kFailed);
  clock.Advance(absl::Seconds(1));
  std::atomic<int> probes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) probes += breakers.Admit("b", nullptr).allowed ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(probes.load(), 1);
}

}  // namespace
}  // namespace toolrack
