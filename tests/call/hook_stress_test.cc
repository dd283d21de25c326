// Hooks that come, go and answer on other threads, while calls run on several: what TSan is for.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "registry/base/task.h"
#include "registry/call/hook_set.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

constexpr absl::Duration kHung = absl::Minutes(2);

// The thread on which hooks answer.
class Answerer {
 public:
  Answerer() : thread_([this] { Run(); }) {}
  ~Answerer() {
    {
      absl::MutexLock lock(&mu_);
      stopping_ = true;
    }
    thread_.join();
  }
  void Post(HookDone done) {
    absl::MutexLock lock(&mu_);
    waiting_.push_back(std::move(done));
  }

 private:
  bool Ready() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return stopping_ || !waiting_.empty(); }
  void Run() {
    for (int number = 0;; ++number) {
      HookDone done;
      {
        absl::MutexLock lock(&mu_);
        mu_.Await(absl::Condition(this, &Answerer::Ready));
        if (waiting_.empty()) return;
        done = std::move(waiting_.front());
        waiting_.pop_front();
      }
      switch (number % 5) {
        case 0:
          done(ReplaceArguments(R"({"n":2})"));
          break;
        case 1:
          done(Deny("no"));
          break;
        case 2:
          break;  // never: its time runs out
        default:
          done(PassVerdict());
          break;
      }
    }
  }

  absl::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<HookDone> waiting_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;
};

class ThreadedHook : public Hook {
 public:
  ThreadedHook(HookSpec spec, Answerer* answerer) : spec_(std::move(spec)), answerer_(answerer) {}
  const HookSpec& spec() const override { return spec_; }
  uint64_t Ask(HookQuestion, HookDone done) override {
    answerer_->Post(std::move(done));
    return 1;
  }
  void Forget(uint64_t) override {}
  void Tell(HookQuestion) override { told_.fetch_add(1); }

 private:
  const HookSpec spec_;
  Answerer* const answerer_;
  std::atomic<int> told_{0};
};

TEST(HookStressTest, EveryCallEndsOnceWhileHooksComeAndGo) {
  const int64_t frames = LiveCoroutineFrames();
  {
    std::unique_ptr<Timers> timers = MakeTimers();
    ThreadPool pool("check", 2, 100000);
    Registry registry{RegistryOptions()};
    ResultStore results(&Clock::Real(), {});
    HookSet hooks(&Clock::Real(), {});
    Answerer answerer;
    const auto backend = std::make_shared<FakeBackend>();
    backend->set_start_status(absl::AbortedError("the tool's own"));
    ASSERT_TRUE(registry
                    .Publish(backend, "", {ToolNamed("t", R"({"type":"object","required":["n"]})")},
                             v1::PUBLISH_MODE_ATOMIC)
                    .ok());
    CallPipeline pipeline(
        {&registry, timers.get(), &Clock::Real(), &pool, &results, nullptr, &hooks}, {});
    std::atomic<bool> calling{true};
    std::atomic<int> started{0}, ended{0}, wrong{0};
    std::thread changing([&] {
      for (int round = 0; calling.load(); ++round) {
        std::vector<std::shared_ptr<ThreadedHook>> in_place;
        for (int i = 0; i < 3; ++i) {
          HookSpec spec;
          spec.name = "h" + std::to_string(i);
          spec.points = {v1::HOOK_POINT_PRE_CALL, v1::HOOK_POINT_POST_CALL,
                         v1::HOOK_POINT_ON_ERROR};
          spec.priority = i * (round % 2 == 0 ? 1 : -1);
          spec.observe_only = i == 2;
          spec.fail_closed = round % 3 == 0;
          spec.timeout = absl::Milliseconds(20);
          in_place.push_back(std::make_shared<ThreadedHook>(spec, &answerer));
          if (!hooks.Add(in_place.back()).ok()) ++wrong;
        }
        hooks.List();
        for (const auto& hook : in_place) hooks.Remove(hook.get());
      }
    });
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t) {
      callers.emplace_back([&] {
        for (int i = 0; i < 300; ++i) {
          StopSource stop;
          started.fetch_add(1);
          pipeline.Start(Rig::Request("t", R"({"n":1})"), {"uid:1", "", absl::InfiniteDuration()},
                         stop, nullptr,
                         [&ended](absl::StatusOr<v1::CallToolResponse>) { ended.fetch_add(1); });
          if (i % 5 == 0) stop.RequestStop(StopReason::kCaller);
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    const absl::Time end = absl::Now() + kHung;
    while (ended.load() < started.load() && absl::Now() < end) std::this_thread::yield();
    EXPECT_TRUE(pipeline.idle());
    calling.store(false);
    changing.join();
    EXPECT_EQ(ended.load(), started.load());
    EXPECT_EQ(wrong.load(), 0);
    EXPECT_EQ(hooks.size(), 0u);
  }
  EXPECT_EQ(LiveCoroutineFrames(), frames);
}

}  // namespace
}  // namespace toolrack
