// What keeps failing is left alone for a while: circuit breakers by key.
#ifndef TOOLRACK_REGISTRY_LIMITS_BREAKERS_H_
#define TOOLRACK_REGISTRY_LIMITS_BREAKERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"

namespace toolrack {

struct BreakerOptions {
  bool disabled = false;
  // Failures in a row that open it.
  uint32_t failures = 5;
  // How long it stays open; doubled each time that the probe fails, up to kLongest.
  absl::Duration open_for = absl::Seconds(10);
};

// Closed: calls pass, failures in a row are counted. Open: calls are refused until its time is
// over. Half-open then: one call passes as a probe, the others are refused; its success closes,
// its failure opens again.
//
// A key without failures costs nothing: nothing is remembered of it, and while nothing fails no
// lock is taken. At most kMaxKeys are remembered; what fails beyond those is not broken off.
// Thread-safe.
class Breakers {
 public:
  static constexpr size_t kMaxKeys = 10000;
  static constexpr absl::Duration kLongest = absl::Minutes(5);

  Breakers(const Clock* clock, BreakerOptions options);  // outlives this

  struct Verdict {
    bool allowed = true;
    bool probe = false;                                 // this call is the probe: say how it ended
    absl::Duration retry_after = absl::ZeroDuration();  // when not allowed
  };
  // `object`: what stands behind the key just now. Another one than the failures came from starts
  // afresh, so that a restart does not meet its own ghost; null: the key alone counts.
  Verdict Admit(absl::string_view key, const void* object);
  // The same without becoming the probe.
  Verdict Look(absl::string_view key, const void* object) const;

  enum class Ending {
    kSucceeded,
    kFailed,
    kUndecided,  // too late, cancelled, refused for other reasons: a slow call is not a dead
                 // backend
  };
  // How a call that was admitted ended. `event`: failures of one event (a lost stream takes many
  // calls with it) count once; null: each counts.
  void Report(absl::string_view key, const void* object, bool probe, Ending ending,
              const void* event = nullptr);

  // Keys that failed lately.
  size_t size() const { return size_.load(std::memory_order_relaxed); }

 private:
  struct Breaker {
    uint32_t failures = 0;
    const void* object = nullptr;
    const void* last_event = nullptr;
    bool open = false;
    bool probing = false;
    absl::Duration open_until;
    absl::Duration open_for;
    absl::Duration touched;
  };
  Verdict VerdictOf(const Breaker& breaker, absl::Duration now) const;

  const Clock* const clock_;
  const BreakerOptions options_;
  std::atomic<size_t> size_{0};
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, Breaker> breakers_ ABSL_GUARDED_BY(mu_);
  absl::Duration next_sweep_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_LIMITS_BREAKERS_H_
