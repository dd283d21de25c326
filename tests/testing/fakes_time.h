// Fakes for tests: time that stands still. Header only.
#ifndef TOOLRACK_TESTS_TESTING_FAKES_TIME_H_
#define TOOLRACK_TESTS_TESTING_FAKES_TIME_H_

#include <map>
#include <utility>

#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/timers.h"

namespace toolrack {

// Moves only by Advance. Thread-safe.
class FakeClock : public Clock {
 public:
  absl::Time WallNow() const override {
    absl::MutexLock lock(&mu_);
    return wall_ + elapsed_;
  }
  absl::Duration SteadyNow() const override {
    absl::MutexLock lock(&mu_);
    return absl::Hours(1) + elapsed_;
  }
  void Advance(absl::Duration by) {
    absl::MutexLock lock(&mu_);
    elapsed_ += by;
  }

 private:
  mutable absl::Mutex mu_;
  const absl::Time wall_ = absl::FromUnixSeconds(1'700'000'000);
  absl::Duration elapsed_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
};

// Timers on a FakeClock: Advance moves it and fires what is due, in order, on the caller's thread.
// Arm and Disarm are thread-safe; Advance is for one thread. Disarm does not wait for a timer that
// runs on another thread.
class FakeTimers : public Timers {
 public:
  explicit FakeTimers(FakeClock* clock) : clock_(clock) {}

  TimerId Arm(absl::Duration delay, absl::AnyInvocable<void()> fire) override {
    const absl::Duration due = clock_->SteadyNow() + delay;
    absl::MutexLock lock(&mu_);
    const TimerId id = ++last_id_;
    queue_.emplace(std::make_pair(due, id), std::move(fire));
    return id;
  }
  bool Disarm(TimerId id) override {
    absl::AnyInvocable<void()> dropped;
    absl::MutexLock lock(&mu_);
    for (auto at = queue_.begin(); at != queue_.end(); ++at) {
      if (at->first.second != id) continue;
      dropped = std::move(at->second);
      queue_.erase(at);
      return true;
    }
    return false;
  }
  void Advance(absl::Duration by) {
    const absl::Duration until = clock_->SteadyNow() + by;
    while (true) {
      absl::AnyInvocable<void()> fire;
      absl::Duration due;
      {
        absl::MutexLock lock(&mu_);
        if (queue_.empty() || queue_.begin()->first.first > until) break;
        due = queue_.begin()->first.first;
        fire = std::move(queue_.begin()->second);
        queue_.erase(queue_.begin());
      }
      if (due > clock_->SteadyNow()) clock_->Advance(due - clock_->SteadyNow());
      fire();
    }
    if (until > clock_->SteadyNow()) clock_->Advance(until - clock_->SteadyNow());
  }
  size_t armed() const {
    absl::MutexLock lock(&mu_);
    return queue_.size();
  }

 private:
  FakeClock* clock_;
  mutable absl::Mutex mu_;
  std::map<std::pair<absl::Duration, TimerId>, absl::AnyInvocable<void()>> queue_
      ABSL_GUARDED_BY(mu_);
  TimerId last_id_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_FAKES_TIME_H_
