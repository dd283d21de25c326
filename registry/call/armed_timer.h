// A timer that ends with its scope.
#ifndef TOOLRACK_REGISTRY_CALL_ARMED_TIMER_H_
#define TOOLRACK_REGISTRY_CALL_ARMED_TIMER_H_

#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "registry/base/timers.h"

namespace toolrack {

// Disarms on every way out. For one thread.
class ArmedTimer {
 public:
  explicit ArmedTimer(Timers* timers) : timers_(timers) {}  // outlives this
  ~ArmedTimer() {
    if (id_ != 0) timers_->Disarm(id_);
  }
  ArmedTimer(const ArmedTimer&) = delete;
  ArmedTimer& operator=(const ArmedTimer&) = delete;
  // Once.
  void Arm(absl::Duration delay, absl::AnyInvocable<void()> fire) {
    id_ = timers_->Arm(delay, std::move(fire));
  }

 private:
  Timers* timers_;
  TimerId id_ = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_ARMED_TIMER_H_
