#include "registry/limits/gates.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace toolrack {
namespace {

using Answer = Gates::Answer;

Gates::Grant Never() {
  return [] {
    ADD_FAILURE() << "was let in";
    return false;
  };
}

TEST(GatesTest, LetsInSoManyAndQueuesSoMany) {
  Gates gates;
  std::vector<int> order;
  const auto grant = [&order](int number) -> Gates::Grant {
    return [&order, number] {
      order.push_back(number);
      return true;
    };
  };
  EXPECT_EQ(gates.Enter("t", 2, 2, Never()).answer, Answer::kIn);
  Gates::Place one(&gates, "t");
  EXPECT_EQ(gates.Enter("t", 2, 2, Never()).answer, Answer::kIn);
  Gates::Place two(&gates, "t");
  EXPECT_EQ(gates.Enter("t", 2, 2, grant(3)).answer, Answer::kWaiting);
  EXPECT_EQ(gates.Enter("t", 2, 2, grant(4)).answer, Answer::kWaiting);
  EXPECT_EQ(gates.Enter("t", 2, 2, Never()).answer, Answer::kFull);
  EXPECT_EQ(gates.Enter("other", 2, 2, Never()).answer, Answer::kIn);
  Gates::Place other(&gates, "other");
  EXPECT_EQ(gates.Look("t").inside, 2u);
  EXPECT_EQ(gates.Look("t").waiting, 2u);

  one = Gates::Place();
  EXPECT_EQ(order, std::vector<int>({3}));
  two = Gates::Place();
  EXPECT_EQ(order, std::vector<int>({3, 4}));
  EXPECT_EQ(gates.Look("t").inside, 2u);
  { Gates::Place three(&gates, "t"), four(&gates, "t"); }
  other = Gates::Place();
  EXPECT_EQ(gates.size(), 0u);
}

TEST(GatesTest, WhoLeftTheQueueIsPassedOver) {
  Gates gates;
  EXPECT_EQ(gates.Enter("t", 1, 9, Never()).answer, Answer::kIn);
  auto place = std::make_unique<Gates::Place>(&gates, "t");
  const Gates::Ticket forgotten = gates.Enter("t", 1, 9, Never());
  bool asked = false, in = false;
  gates.Enter("t", 1, 9, [&asked] {
    asked = true;
    return false;
  });
  gates.Enter("t", 1, 9, [&in] { return in = true; });
  gates.Forget("t", forgotten.number);
  gates.Forget("t", 12345);
  gates.Forget("nothing", 1);
  place.reset();
  EXPECT_TRUE(asked);
  EXPECT_TRUE(in);
  { Gates::Place last(&gates, "t"); }
  EXPECT_EQ(gates.size(), 0u);
}

// Nobody overtakes the queue, also when a place is free for a moment.
TEST(GatesTest, NobodyOvertakes) {
  Gates gates;
  EXPECT_EQ(gates.Enter("t", 1, 9, Never()).answer, Answer::kIn);
  auto place = std::make_unique<Gates::Place>(&gates, "t");
  bool second = false;
  gates.Enter("t", 1, 9, [&second, &gates] {
    EXPECT_EQ(gates.Enter("t", 2, 9, [] { return true; }).answer, Answer::kIn);
    return second = true;
  });
  place.reset();
  EXPECT_TRUE(second);
  { Gates::Place a(&gates, "t"), b(&gates, "t"); }
  EXPECT_EQ(gates.size(), 0u);
}

// Many threads at one gate: never more than allowed inside, everybody gets in or leaves, nothing
// is left over.
TEST(GatesTest, HoldsUnderManyThreads) {
  constexpr int kThreads = 8, kRounds = 2000;
  constexpr uint64_t kAllowed = 3;
  Gates gates;
  std::atomic<int> inside{0}, most{0}, served{0}, gave_up{0};
  const auto work = [&](int seed) {
    for (int round = 0; round < kRounds; ++round) {
      struct Waiter {
        absl::Mutex mu;
        bool in ABSL_GUARDED_BY(mu) = false;
        bool gone ABSL_GUARDED_BY(mu) = false;
      };
      auto waiter = std::make_shared<Waiter>();
      const Gates::Ticket ticket = gates.Enter("t", kAllowed, 1000, [waiter] {
        absl::MutexLock lock(&waiter->mu);
        if (waiter->gone) return false;
        return waiter->in = true;
      });
      ASSERT_NE(ticket.answer, Answer::kFull);
      if (ticket.answer == Answer::kWaiting) {
        absl::MutexLock lock(&waiter->mu);
        if ((round + seed) % 3 == 0 && !waiter->in) {
          waiter->gone = true;
        } else {
          waiter->mu.Await(absl::Condition(&waiter->in));
        }
        if (waiter->gone) {
          ++gave_up;
        }
      }
      bool gone;
      {
        absl::MutexLock lock(&waiter->mu);
        gone = waiter->gone;
      }
      if (gone) {
        gates.Forget("t", ticket.number);
        continue;
      }
      Gates::Place place(&gates, "t");
      const int now = ++inside;
      int seen = most.load();
      while (now > seen && !most.compare_exchange_weak(seen, now)) {
      }
      ++served;
      --inside;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), static_cast<int>(kAllowed));
  EXPECT_EQ(served.load() + gave_up.load(), kThreads * kRounds);
  EXPECT_EQ(gates.size(), 0u);
}

}  // namespace
}  // namespace toolrack
