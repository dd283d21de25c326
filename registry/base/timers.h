// One-shot timers.
#ifndef TOOLRACK_REGISTRY_BASE_TIMERS_H_
#define TOOLRACK_REGISTRY_BASE_TIMERS_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace toolrack {

using TimerId = uint64_t;  // 0 is none

// Thread-safe.
class Timers {
 public:
  virtual ~Timers() = default;
  // Runs `fire` once, on the timer thread, not before `delay` has passed (at once-ish when it is <=
  // 0). `fire` must be short, must not block and must not throw. It may call Arm and Disarm.
  virtual TimerId Arm(absl::Duration delay, absl::AnyInvocable<void()> fire) = 0;
  // True: it will not run any more. False: it ran, is running on this thread, or is unknown; when
  // it was running on another thread, Disarm has waited until it ended. Hold no lock that `fire`
  // may want.
  virtual bool Disarm(TimerId id) = 0;
};

// One thread, asleep until the earliest timer. Arm and Disarm take O(log n). The destructor drops
// what is armed.
std::unique_ptr<Timers> MakeTimers();

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_TIMERS_H_
