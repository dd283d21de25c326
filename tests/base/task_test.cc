// The coroutine types, and the forms of co_await that the project uses: each form runs here, so
// that a compiler that breaks one is found out. See the rules in registry/base/task.h.
#include "registry/base/task.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "registry/base/status_macros.h"

namespace toolrack {
namespace {

// Counts its living copies: a value that the compiler destroys twice or never is seen.
class Counted {
 public:
  explicit Counted(int value) : value_(value) { ++living; }
  Counted(const Counted& other) : value_(other.value_) { ++living; }
  Counted(Counted&& other) noexcept : value_(std::exchange(other.value_, -1)) { ++living; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --living; }
  int value() const { return value_; }
  static int living;

 private:
  int value_;
};
int Counted::living = 0;

template <typename T>
Detached RunInto(Task<T> task, std::function<void(T)> done) {
  std::function<void(T)> then = std::move(done);
  T result = co_await std::move(task);
  then(std::move(result));
}

// The result of a task that ends without waiting for anybody.
template <typename T>
T Finish(Task<T> task) {
  std::optional<T> out;
  RunInto<T>(std::move(task), [&out](T value) { out.emplace(std::move(value)); });
  EXPECT_TRUE(out.has_value());
  return std::move(*out);
}

class TaskTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(LiveCoroutineFrames(), 0);
    EXPECT_EQ(Counted::living, 0);
  }
};

Task<Counted> Give(Counted value) {
  const int number = value.value();
  co_return Counted(number + 1);
}
Task<int> GiveInt(int value) {
  const int number = value;
  co_return number;
}
Task<absl::Status> GiveStatus(bool ok) {
  const bool fine = ok;
  co_return fine ? absl::OkStatus() : absl::AbortedError("no");
}
Task<absl::StatusOr<std::string>> GiveText(bool ok) {
  const bool fine = ok;
  if (!fine) co_return absl::AbortedError("no");
  co_return std::string(100, 'x');
}

// Rule 1's three places: after `=`, at the start of a statement, after co_return.
Task<Counted> AfterEquals() {
  Counted first(1);
  Counted second = co_await Give(std::move(first));
  second = co_await Give(second);
  co_return second;
}
Task<int> AtTheStart() {
  Counted guard(5);
  co_await Give(guard);
  co_await GiveInt(1);
  co_return guard.value();
}
Task<Counted> AfterCoReturn() {
  Counted value(7);
  co_return co_await Give(std::move(value));
}
Task<int> InLoopsAndBranches() {
  int sum = 0;
  for (int i = 0; i < 10; ++i) {
    const int more = co_await GiveInt(i);
    if (more % 2 == 0) {
      sum += more;
    } else {
      Counted odd = co_await Give(Counted(more));
      sum += 100 * odd.value();
    }
  }
  co_return sum;
}
Task<absl::StatusOr<std::string>> WithMacros(bool ok) {
  const bool fine = ok;
  absl::Status status = co_await GiveStatus(true);
  TR_CO_RETURN_IF_ERROR(status);
  absl::StatusOr<std::string> text = co_await GiveText(fine);
  TR_CO_ASSIGN_OR_RETURN(std::string got, std::move(text));
  co_return got + "!";
}
Task<std::unique_ptr<Counted>> MoveOnly(std::unique_ptr<Counted> value) {
  std::unique_ptr<Counted> mine = std::move(value);
  co_await GiveInt(0);
  co_return mine;
}
Task<int> NamedClosure(std::function<int(int)> twice) {
  const std::function<int(int)> use = std::move(twice);
  const int value = co_await GiveInt(21);
  co_return use(value);
}

TEST_F(TaskTest, TheFormsInUseWorkAndDestroyEverythingOnce) {
  EXPECT_EQ(Finish(AfterEquals()).value(), 3);
  EXPECT_EQ(Finish(AtTheStart()), 5);
  EXPECT_EQ(Finish(AfterCoReturn()).value(), 8);
  EXPECT_EQ(Finish(InLoopsAndBranches()), 0 + 2 + 4 + 6 + 8 + 100 * (2 + 4 + 6 + 8 + 10));
  EXPECT_EQ(Finish(WithMacros(true))->size(), 101u);
  EXPECT_EQ(Finish(WithMacros(false)).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Finish(MoveOnly(std::make_unique<Counted>(4)))->value(), 4);
  const Counted captured(2);
  EXPECT_EQ(Finish(NamedClosure([captured](int x) { return x * captured.value(); })), 42);
}

TEST_F(TaskTest, ATaskIsLazyAndMayBeDropped) {
  bool ran = false;
  const auto body = [](bool* flag, Counted value) -> Task<int> {
    bool* const set = flag;
    *set = true;
    co_return value.value();
  };
  {
    Task<int> task = body(&ran, Counted(3));
    EXPECT_EQ(LiveCoroutineFrames(), 1);
    EXPECT_EQ(Counted::living, 1);
  }
  EXPECT_FALSE(ran);
}

Task<int> Throws(int depth) {
  Counted local(depth);
  if (depth == 0) throw std::runtime_error("deep");
  const int below = co_await Throws(depth - 1);
  co_return below + local.value();
}
Task<std::string> Catches() {
  std::string caught;
  try {
    co_await Throws(20);
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  const int after = co_await GiveInt(1);
  co_return caught + std::to_string(after);
}

TEST_F(TaskTest, AnExceptionPassesThroughEveryFrameToTheAwaitThatCatchesIt) {
  EXPECT_EQ(Finish(Catches()), "deep1");
}

Detached WaitFor(Completion<Counted> completion, std::function<void(int)> done) {
  const std::function<void(int)> then = std::move(done);
  Counted value = co_await completion;
  then(value.value());
}

TEST_F(TaskTest, ACompletionMayComeBeforeTheWaitOrAfterIt) {
  int got = 0;
  const Completion<Counted> before;
  EXPECT_FALSE(before.is_set());
  EXPECT_TRUE(before.Set(Counted(1)));
  EXPECT_TRUE(before.is_set());
  WaitFor(before, [&got](int value) { got = value; });
  EXPECT_EQ(got, 1);
  const Completion<Counted> after;
  WaitFor(after, [&got](int value) { got = value; });
  EXPECT_EQ(got, 1);
  EXPECT_EQ(LiveCoroutineFrames(), 1);
  EXPECT_TRUE(after.Set(Counted(2)));
  EXPECT_EQ(got, 2);
}

TEST_F(TaskTest, TheFirstToCompleteWins) {
  int got = 0;
  const Completion<Counted> completion;
  WaitFor(completion, [&got](int value) { got = value; });
  EXPECT_TRUE(completion.Set(Counted(1)));
  EXPECT_FALSE(completion.Set(Counted(2)));
  EXPECT_EQ(got, 1);
}

TEST_F(TaskTest, ALatePartyMayHoldACompletionWhoseWaiterIsGone) {
  auto late = std::make_unique<Completion<Counted>>();
  WaitFor(*late, [](int) {});
  EXPECT_TRUE(late->Set(Counted(1)));
  EXPECT_EQ(LiveCoroutineFrames(), 0);
  EXPECT_FALSE(late->Set(Counted(2)));
  late.reset();
}

TEST_F(TaskTest, TwoSettersAndOneWaiterRaceAndExactlyOneWins) {
  for (int round = 0; round < 2000; ++round) {
    const Completion<int> completion;
    std::atomic<int> winners{0};
    std::atomic<int> got{0};
    absl::Notification resumed;
    std::atomic<bool> go{false};
    const auto set = [&, completion](int value) {
      while (!go.load()) std::this_thread::yield();
      if (completion.Set(value)) winners.fetch_add(1);
    };
    std::thread first(set, 1), second(set, 2);
    go = true;
    [](Completion<int> wait, std::atomic<int>* to, absl::Notification* done) -> Detached {
      std::atomic<int>* const out = to;
      const int value = co_await wait;
      out->store(value);
      done->Notify();
    }(completion, &got, &resumed);
    resumed.WaitForNotification();
    first.join();
    second.join();
    ASSERT_EQ(winners.load(), 1);
    ASSERT_TRUE(got.load() == 1 || got.load() == 2);
  }
}

// A queue of waiters, each of which wakes the next when it runs: recursion would overflow.
TEST_F(TaskTest, AHundredThousandChainedResumesDoNotRecurse) {
  constexpr size_t kWaiters = 100000;
  std::vector<Completion<int>> chain(kWaiters + 1);
  std::atomic<size_t> ran{0};
  for (size_t i = 0; i < kWaiters; ++i) {
    [](Completion<int> mine, Completion<int> next, std::atomic<size_t>* count) -> Detached {
      std::atomic<size_t>* const counter = count;
      const int value = co_await mine;
      counter->fetch_add(1);
      next.Set(value);
    }(chain[i], chain[i + 1], &ran);
  }
  EXPECT_EQ(LiveCoroutineFrames(), static_cast<int64_t>(kWaiters));
  chain[0].Set(1);
  EXPECT_EQ(ran.load(), kWaiters);
  EXPECT_TRUE(chain[kWaiters].is_set());
}

TEST_F(TaskTest, ResumesFromWithinAResumeRunInTheirOrder) {
  std::vector<int> order;
  const Completion<int> outer, inner;
  [](Completion<int> wait, Completion<int> wake, std::vector<int>* log) -> Detached {
    std::vector<int>* const to = log;
    co_await wait;
    to->push_back(1);
    wake.Set(0);  // queued, not run inside
    to->push_back(2);
  }(outer, inner, &order);
  [](Completion<int> wait, std::vector<int>* log) -> Detached {
    std::vector<int>* const to = log;
    co_await wait;
    to->push_back(3);
  }(inner, &order);
  outer.Set(0);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

}  // namespace
}  // namespace toolrack
