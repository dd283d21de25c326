#include "registry/base/timers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "registry/base/clock.h"

namespace toolrack {
namespace {

TEST(Timers, FireOnceAndNotTooEarly) {
  auto timers = MakeTimers();
  const absl::Duration before = Clock::Real().SteadyNow();
  absl::Notification fired;
  timers->Arm(absl::Milliseconds(20), [&fired] { fired.Notify(); });  // twice would crash
  fired.WaitForNotification();
  EXPECT_GE(Clock::Real().SteadyNow() - before, absl::Milliseconds(20));
}

TEST(Timers, FireInTheOrderOfTheirTimes) {
  auto timers = MakeTimers();
  std::vector<int> order;
  absl::Notification blocked, go, last;
  // Holds the timer thread, so that all of the others are armed before any is due.
  timers->Arm(absl::ZeroDuration(), [&] {
    blocked.Notify();
    go.WaitForNotification();
  });
  blocked.WaitForNotification();
  timers->Arm(absl::Milliseconds(3), [&] { order.push_back(3); });
  timers->Arm(absl::Milliseconds(1), [&] { order.push_back(1); });
  timers->Arm(absl::Milliseconds(2), [&] { order.push_back(2); });
  timers->Arm(-absl::Seconds(5), [&] { order.push_back(0); });
  timers->Arm(absl::Milliseconds(4), [&] { last.Notify(); });
  go.Notify();
  last.WaitForNotification();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Timers, AnEarlierTimerOvertakesALongSleep) {
  auto timers = MakeTimers();
  absl::Notification fired;
  timers->Arm(absl::InfiniteDuration(), [] { FAIL(); });
  timers->Arm(absl::Hours(1), [] { FAIL(); });
  timers->Arm(absl::Milliseconds(1), [&] { fired.Notify(); });
  fired.WaitForNotification();
}

TEST(Timers, DisarmTellsWhetherItCameInTime) {
  auto timers = MakeTimers();
  auto token = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = token;
  const TimerId id = timers->Arm(absl::Hours(1), [token = std::move(token)] { FAIL(); });
  EXPECT_NE(id, 0u);
  EXPECT_TRUE(timers->Disarm(id));
  EXPECT_TRUE(watch.expired()) << "what the timer held is gone at once";
  EXPECT_FALSE(timers->Disarm(id));
  EXPECT_FALSE(timers->Disarm(0));
  EXPECT_FALSE(timers->Disarm(12345));
}

TEST(Timers, DisarmWaitsForARunningTimer) {
  auto timers = MakeTimers();
  absl::Notification running, go;
  std::atomic<bool> ended{false};
  const TimerId id = timers->Arm(absl::ZeroDuration(), [&] {
    running.Notify();
    go.WaitForNotification();
    ended = true;
  });
  running.WaitForNotification();
  std::thread helper([&go] { go.Notify(); });
  EXPECT_FALSE(timers->Disarm(id));
  EXPECT_TRUE(ended.load());
  helper.join();
}

TEST(Timers, ATimerMayDisarmItselfAndArmOthers) {
  auto timers = MakeTimers();
  absl::Notification done;
  std::atomic<TimerId> own{0};
  absl::Notification known;
  own = timers->Arm(absl::ZeroDuration(), [&] {
    known.WaitForNotification();
    EXPECT_FALSE(timers->Disarm(own));
    timers->Arm(absl::ZeroDuration(), [&done] { done.Notify(); });
  });
  known.Notify();
  done.WaitForNotification();
}

TEST(Timers, DestructionDropsWhatIsArmed) {
  auto token = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = token;
  auto timers = MakeTimers();
  timers->Arm(absl::Hours(1), [token = std::move(token)] { FAIL(); });
  timers.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Timers, EachOfManyEndsExactlyOneWay) {
  auto timers = MakeTimers();
  std::atomic<int> fired{0};
  std::atomic<int> disarmed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const TimerId id =
            timers->Arm(absl::Microseconds(i % 50), [&fired] { fired.fetch_add(1); });
        if (timers->Disarm(id)) disarmed.fetch_add(1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  absl::Notification done;
  timers->Arm(absl::Milliseconds(1), [&done] { done.Notify(); });
  done.WaitForNotification();
  EXPECT_EQ(fired.load() + disarmed.load(), 6000);
}

}  // namespace
}  // namespace toolrack
