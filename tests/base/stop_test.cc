#include "registry/base/stop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace toolrack {
namespace {

TEST(Stop, ADefaultTokenNeverStops) {
  const StopToken token;
  EXPECT_FALSE(token.stop_requested());
  EXPECT_EQ(token.reason(), StopReason::kNone);
}

TEST(Stop, TheFirstReasonWins) {
  StopSource source;
  const StopSource copy = source;
  const StopToken token = source.token();
  EXPECT_FALSE(token.stop_requested());
  EXPECT_TRUE(source.RequestStop(StopReason::kDeadline));
  EXPECT_FALSE(StopSource(copy).RequestStop(StopReason::kCaller));
  EXPECT_TRUE(token.stop_requested());
  EXPECT_EQ(token.reason(), StopReason::kDeadline);
  EXPECT_EQ(copy.token().reason(), StopReason::kDeadline);
}

TEST(Stop, ACallbackSeesTheReason) {
  StopSource source;
  const StopToken token = source.token();
  StopReason seen = StopReason::kNone;
  const std::stop_callback callback(token.std_token(), [&] { seen = token.reason(); });
  source.RequestStop(StopReason::kAdmin);
  EXPECT_EQ(seen, StopReason::kAdmin);
  bool late = false;
  const std::stop_callback after(token.std_token(), [&late] { late = true; });
  EXPECT_TRUE(late);
}

TEST(Stop, OneOfManyRacersWins) {
  for (int round = 0; round < 200; ++round) {
    StopSource source;
    std::atomic<int> won{0};
    std::vector<std::thread> threads;
    for (const StopReason reason :
         {StopReason::kCaller, StopReason::kDeadline, StopReason::kShutdown}) {
      threads.emplace_back([&source, &won, reason] {
        if (StopSource(source).RequestStop(reason)) {
          won.fetch_add(1);
          EXPECT_EQ(source.token().reason(), reason);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won.load(), 1);
  }
}

TEST(Stop, ReasonsHaveNames) {
  EXPECT_EQ(std::string(StopReasonName(StopReason::kNone)), "");
  EXPECT_EQ(std::string(StopReasonName(StopReason::kDeadline)), "deadline");
  EXPECT_EQ(std::string(StopReasonName(StopReason::kCaller)), "caller");
  EXPECT_EQ(std::string(StopReasonName(StopReason::kAdmin)), "admin");
  EXPECT_EQ(std::string(StopReasonName(StopReason::kShutdown)), "shutdown");
}

}  // namespace
}  // namespace toolrack
