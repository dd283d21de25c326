// Several threads at once, with the real timers and pools: what TSan is for.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/mutex.h"
#include "registry/base/task.h"
#include "registry/builtin/builtin.h"
#include "registry/call/pipeline.h"
#include "registry/tool_server.h"
#include "registry/typed_tool.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

// Long enough for any machine: it ends only what hangs.
constexpr absl::Duration kHung = absl::Minutes(2);

int ThreadsOfThisProcess() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "Threads:") {
      int threads = 0;
      status >> threads;
      return threads;
    }
  }
  return -1;
}

class CountDown {
 public:
  explicit CountDown(int count) : left_(count) {}
  void Down() {
    absl::MutexLock lock(&mu_);
    --left_;
  }
  bool Wait() {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithTimeout(absl::Condition(
                                    +[](int* left) { return *left <= 0; }, &left_),
                                kHung);
  }

 private:
  absl::Mutex mu_;
  int left_ ABSL_GUARDED_BY(mu_);
};

class RealRig {
 public:
  RealRig()
      : timers(MakeTimers()),
        pool("check", 2, 100000),
        registry(RegistryOptions()),
        results(&Clock::Real(), {}),
        pipeline({&registry, timers.get(), &Clock::Real(), &pool, &results}, {}) {}
  ~RealRig() {
    pipeline.Drain();
    pipeline.StopAll();
    const absl::Time end = absl::Now() + kHung;
    while (pipeline.calls_in_flight() > 0 && absl::Now() < end) std::this_thread::yield();
  }

  std::unique_ptr<Timers> timers;
  ThreadPool pool;
  Registry registry;
  ResultStore results;
  CallPipeline pipeline;
};

const Caller kCaller{"uid:1", "", absl::InfiniteDuration()};

TEST(CallStressTest, ResultAndCancelRaceToExactlyOneAnswer) {
  const int64_t frames = LiveCoroutineFrames();
  {
    RealRig rig;
    auto backend = std::make_shared<FakeBackend>();
    ASSERT_TRUE(rig.registry.Publish(backend, "", {ToolNamed("t")}, v1::PUBLISH_MODE_ATOMIC).ok());
    constexpr int kRounds = 3000;
    std::atomic<int> won_result{0}, won_stop{0};
    StopSource stop;
    std::atomic<int> round{0}, stopped{0};
    std::thread canceller([&] {
      for (int i = 1; i <= kRounds; ++i) {
        while (round.load(std::memory_order_acquire) < i) std::this_thread::yield();
        stop.RequestStop(StopReason::kCaller);
        stopped.store(i, std::memory_order_release);
      }
    });
    for (int i = 1; i <= kRounds; ++i) {
      stop = StopSource();
      std::atomic<int> answers{0};
      rig.pipeline.Start(Rig::Request("t"), kCaller, stop, nullptr,
                         [&](absl::StatusOr<v1::CallToolResponse> value) {
                           (value.ok() ? won_result : won_stop).fetch_add(1);
                           answers.fetch_add(1);
                         });
      FakeBackend::Held held = backend->Take();
      round.store(i, std::memory_order_release);
      for (int spin = i % 64; spin > 0; --spin) std::atomic_signal_fence(std::memory_order_seq_cst);
      held.done(TextResult("r"));
      while (stopped.load(std::memory_order_acquire) < i) std::this_thread::yield();
      ASSERT_EQ(answers.load(), 1);
    }
    canceller.join();
    EXPECT_EQ(won_result.load() + won_stop.load(), kRounds);
    EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
  }
  EXPECT_EQ(LiveCoroutineFrames(), frames);
}

TEST(CallStressTest, DeadlinesAndResultsRaceToExactlyOneAnswer) {
  RealRig rig;
  ToolServer server(&rig.registry, "toolrackd", "");
  ToolRegistrar registrar = *server.TakeRegistrar();
  ASSERT_TRUE(registrar
                  .RegisterAll(BuiltinTools({&Clock::Real(), rig.timers.get(), &rig.pool},
                                            v1::BuiltinConfig()))
                  .ok());
  constexpr int kCalls = 2000;
  CountDown down(kCalls);
  std::atomic<int> ok{0}, timeout{0}, other{0};
  for (int i = 0; i < kCalls; ++i) {
    v1::CallToolRequest request = Rig::Request("sleep", R"({"seconds":0.002,"steps":2})");
    request.mutable_timeout()->set_nanos(1'500'000 + (i % 10) * 100'000);
    rig.pipeline.Start(std::move(request), kCaller, StopSource(), nullptr,
                       [&](absl::StatusOr<v1::CallToolResponse> value) {
                         if (value.ok()) {
                           ok.fetch_add(1);
                         } else if (ReasonOf(value.status()) == v1::ERROR_REASON_TIMEOUT) {
                           timeout.fetch_add(1);
                         } else {
                           other.fetch_add(1);
                         }
                         down.Down();
                       });
  }
  ASSERT_TRUE(down.Wait());
  EXPECT_EQ(ok.load() + timeout.load(), kCalls);
  EXPECT_EQ(other.load(), 0);
}

TEST(CallStressTest, TenThousandSleepingCallsNeedNoThread) {
  const int64_t frames = LiveCoroutineFrames();
  {
    RealRig rig;
    ToolServer server(&rig.registry, "toolrackd", "");
    ToolRegistrar registrar = *server.TakeRegistrar();
    ASSERT_TRUE(registrar
                    .RegisterAll(BuiltinTools({&Clock::Real(), rig.timers.get(), &rig.pool},
                                              v1::BuiltinConfig()))
                    .ok());
    constexpr int kCalls = 10000;
    const int threads = ThreadsOfThisProcess();
    CountDown down(kCalls);
    std::atomic<int> cancelled{0};
    for (int i = 0; i < kCalls; ++i) {
      rig.pipeline.Start(Rig::Request("sleep", R"({"seconds":3600})"), kCaller, StopSource(),
                         nullptr, [&](absl::StatusOr<v1::CallToolResponse> value) {
                           if (ReasonOf(value.status()) == v1::ERROR_REASON_CANCELLED) {
                             cancelled.fetch_add(1);
                           }
                           down.Down();
                         });
    }
    EXPECT_EQ(rig.pipeline.calls_in_flight(), uint64_t{kCalls});
    EXPECT_EQ(ThreadsOfThisProcess(), threads);
    absl::StatusOr<v1::CallToolResponse> refused = absl::UnknownError("");
    rig.pipeline.Start(Rig::Request("echo", R"({"text":"x"})"), kCaller, StopSource(), nullptr,
                       [&](auto value) { refused = value; });
    EXPECT_EQ(ReasonOf(refused.status()), v1::ERROR_REASON_CONCURRENCY);
    rig.pipeline.StopAll();
    ASSERT_TRUE(down.Wait());
    EXPECT_EQ(cancelled.load(), kCalls);
    EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
  }
  EXPECT_EQ(LiveCoroutineFrames(), frames);
}

// Everything at once from several threads: quick calls, long arguments, large results, unknown
// names, cancels, lists, publishes.
TEST(CallStressTest, ManyThreadsGetEveryAnswerOnce) {
  const int64_t frames = LiveCoroutineFrames();
  {
    RealRig rig;
    ToolServer server(&rig.registry, "toolrackd", "");
    ToolRegistrar registrar = *server.TakeRegistrar();
    ASSERT_TRUE(registrar
                    .RegisterAll(BuiltinTools({&Clock::Real(), rig.timers.get(), &rig.pool},
                                              v1::BuiltinConfig()))
                    .ok());
    constexpr int kThreads = 4, kEach = 500;
    CountDown down(kThreads * kEach);
    std::atomic<int> bad{0};
    const std::string large = "{\"text\":\"" + std::string(100'000, 'x') + "\"}";
    std::vector<std::thread> callers;
    for (int t = 0; t < kThreads; ++t) {
      callers.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          v1::CallToolRequest request;
          std::string want = "ok";
          switch ((i + t) % 5) {
            case 0:
              request = Rig::Request("echo", R"({"text":"x"})");
              break;
            case 1:
              request = i % 25 == 1 ? Rig::Request("echo", large)
                                    : Rig::Request("calculator", R"({"expression":"1+1"})");
              break;
            case 2:
              request = Rig::Request("nothing");
              want = "TOOL_NOT_FOUND";
              break;
            case 3:
              request = Rig::Request("sleep", R"({"seconds":3000})");
              request.set_call_id("cancel-me");
              want = "CANCELLED";
              break;
            default:
              request = Rig::Request("current_time");
          }
          rig.pipeline.Start(
              std::move(request), {"uid:" + std::to_string(t), "", kHung}, StopSource(), nullptr,
              [&, want](absl::StatusOr<v1::CallToolResponse> value) {
                const std::string got =
                    value.ok() ? "ok" : std::string(ReasonName(ReasonOf(value.status())));
                if (got != want) bad.fetch_add(1);
                down.Down();
              });
          if (i % 50 == 0) {
            rig.pipeline.RunningCalls();
            rig.pipeline.Counters();
            rig.pipeline.LastRefusals();
          }
        }
      });
    }
    std::atomic<bool> over{false};
    std::thread canceller([&] {
      while (!over.load()) {
        rig.pipeline.CancelCall("cancel-me");
        std::this_thread::yield();
      }
    });
    for (std::thread& caller : callers) caller.join();
    const bool all = down.Wait();
    over.store(true);
    canceller.join();
    ASSERT_TRUE(all);
    EXPECT_EQ(bad.load(), 0);
  }
  EXPECT_EQ(LiveCoroutineFrames(), frames);
}

}  // namespace
}  // namespace toolrack
