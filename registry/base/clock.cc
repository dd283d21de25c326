#include "registry/base/clock.h"

#include <chrono>

#include "absl/time/clock.h"

namespace toolrack {
namespace {

class RealClock : public Clock {
 public:
  absl::Time WallNow() const override { return absl::Now(); }
  absl::Duration SteadyNow() const override {
    return absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
};

}  // namespace

Clock& Clock::Real() {
  static RealClock* clock = new RealClock;
  return *clock;
}

}  // namespace toolrack
