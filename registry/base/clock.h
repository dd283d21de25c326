// Time by interface, so that tests can hold it still.
#ifndef TOOLRACK_REGISTRY_BASE_CLOCK_H_
#define TOOLRACK_REGISTRY_BASE_CLOCK_H_

#include "absl/time/time.h"

namespace toolrack {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // For people and files; may jump.
  virtual absl::Time WallNow() const = 0;
  // For everything that waits or measures: never goes back. Only differences mean anything.
  virtual absl::Duration SteadyNow() const = 0;

  // The machine's clocks. Lives forever.
  static Clock& Real();
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_CLOCK_H_
