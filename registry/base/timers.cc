#include "registry/base/timers.h"

#include <pthread.h>

#include <map>
#include <thread>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/clock.h"

namespace toolrack {
namespace {

class ThreadTimers : public Timers {
 public:
  ThreadTimers() : thread_([this] { Run(); }) {
    pthread_setname_np(thread_.native_handle(), "timers");
  }

  ~ThreadTimers() override {
    {
      absl::MutexLock lock(&mu_);
      stopping_ = true;
      wake_.Signal();
    }
    thread_.join();
  }

  TimerId Arm(absl::Duration delay, absl::AnyInvocable<void()> fire) override {
    const absl::Duration due = Clock::Real().SteadyNow() + delay;
    absl::MutexLock lock(&mu_);
    const TimerId id = ++last_id_;
    queue_.emplace(Key(due, id), std::move(fire));
    dues_.emplace(id, due);
    // Calls arm and disarm their limits all the time: the thread is woken only when it would sleep
    // too long, not whenever a timer is the first.
    if (due < asleep_until_) {
      asleep_until_ = due;
      wake_.Signal();
    }
    return id;
  }

  bool Disarm(TimerId id) override {
    absl::AnyInvocable<void()> dropped;  // destroyed without the lock
    absl::MutexLock lock(&mu_);
    const auto due = dues_.find(id);
    if (due != dues_.end()) {
      const auto at = queue_.find(Key(due->second, id));
      dropped = std::move(at->second);
      queue_.erase(at);
      dues_.erase(due);
      return true;
    }
    if (id != 0 && running_ == id && std::this_thread::get_id() != thread_id_) {
      const Waiting waiting{this, id};
      mu_.Await(absl::Condition(
          +[](const Waiting* w) { return w->self->NotRunning(w->id); }, &waiting));
    }
    return false;
  }

 private:
  using Key = std::pair<absl::Duration, TimerId>;
  struct Waiting {
    ThreadTimers* self;
    TimerId id;
  };

  bool NotRunning(TimerId id) const ABSL_NO_THREAD_SAFETY_ANALYSIS { return running_ != id; }

  void Run() {
    absl::MutexLock lock(&mu_);
    thread_id_ = std::this_thread::get_id();
    while (!stopping_) {
      const auto first = queue_.begin();
      const absl::Duration due =
          first == queue_.end() ? absl::InfiniteDuration() : first->first.first;
      const absl::Duration left = due - Clock::Real().SteadyNow();
      if (left > absl::ZeroDuration()) {
        asleep_until_ = due;
        wake_.WaitWithTimeout(&mu_, left);
        asleep_until_ = -absl::InfiniteDuration();
        continue;
      }
      absl::AnyInvocable<void()> fire = std::move(first->second);
      running_ = first->first.second;
      dues_.erase(running_);
      queue_.erase(first);
      mu_.Unlock();
      fire();
      fire = nullptr;
      mu_.Lock();
      running_ = 0;
    }
  }

  absl::Mutex mu_;
  absl::CondVar wake_;
  std::map<Key, absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<TimerId, absl::Duration> dues_ ABSL_GUARDED_BY(mu_);
  // When the thread wakes by itself; in the past while it is awake.
  absl::Duration asleep_until_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
  TimerId last_id_ ABSL_GUARDED_BY(mu_) = 0;
  TimerId running_ ABSL_GUARDED_BY(mu_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::thread::id thread_id_ ABSL_GUARDED_BY(mu_);
  std::thread thread_;  // last: starts when everything else is there
};

}  // namespace

std::unique_ptr<Timers> MakeTimers() { return std::make_unique<ThreadTimers>(); }

}  // namespace toolrack
