#include "registry/base/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace toolrack {
namespace {

TEST(ThreadPool, RunsEverythingThatItTook) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool("test", 3, 10000);
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(pool.Post([&ran] { ran.fetch_add(1); }));
    }
  }
  EXPECT_EQ(ran.load(), 1000);
}

TEST(ThreadPool, KeepsTheOrderOnOneThread) {
  std::vector<int> order;
  {
    ThreadPool pool("test", 1, 100);
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(pool.Post([&order, i] { order.push_back(i); }));
    }
  }
  ASSERT_EQ(order.size(), 50u);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ThreadPool, RefusesWorkOverItsQueue) {
  ThreadPool pool("test", 1, 2);
  absl::Notification started, go;
  ASSERT_TRUE(pool.Post([&] {
    started.Notify();
    go.WaitForNotification();
  }));
  started.WaitForNotification();
  EXPECT_EQ(pool.queued(), 0u) << "what runs does not wait";
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_TRUE(pool.Post([] {}));
  EXPECT_EQ(pool.queued(), 2u);
  bool ran = false;
  EXPECT_FALSE(pool.Post([&ran] { ran = true; }));
  go.Notify();
  pool.Shutdown();
  EXPECT_FALSE(ran);
}

TEST(ThreadPool, ShutdownRunsTheQueueAndThenRefuses) {
  ThreadPool pool("a name of more than twelve bytes", 2, 100);
  std::atomic<int> ran{0};
  for (int i = 0; i < 20; ++i) pool.Post([&ran] { ran.fetch_add(1); });
  pool.Shutdown();
  EXPECT_EQ(ran.load(), 20);
  EXPECT_FALSE(pool.Post([&ran] { ran.fetch_add(1); }));
  pool.Shutdown();
  EXPECT_EQ(ran.load(), 20);
}

TEST(ThreadPool, RunsOnSeveralThreadsAtOnce) {
  ThreadPool pool("test", 2, 10);
  absl::Notification first, second;
  // Each waits for the other: one thread alone would hang.
  ASSERT_TRUE(pool.Post([&] {
    first.Notify();
    second.WaitForNotification();
  }));
  ASSERT_TRUE(pool.Post([&] {
    second.Notify();
    first.WaitForNotification();
  }));
  pool.Shutdown();
}

TEST(ThreadPool, WorkMayPostMoreWorkAndOwnsWhatItCaptured) {
  auto token = std::make_shared<int>(7);
  const std::weak_ptr<int> watch = token;
  absl::Notification done;
  ThreadPool pool("test", 1, 10);
  ASSERT_TRUE(pool.Post([&pool, &done, token = std::move(token)]() mutable {
    ASSERT_TRUE(pool.Post([&done, token = std::move(token)] { done.Notify(); }));
  }));
  done.WaitForNotification();
  pool.Shutdown();
  EXPECT_TRUE(watch.expired());
}

}  // namespace
}  // namespace toolrack
