// How calls ended: numbers by outcome, and the last refusals.
#ifndef TOOLRACK_REGISTRY_CALL_CALL_COUNTERS_H_
#define TOOLRACK_REGISTRY_CALL_CALL_COUNTERS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/error.pb.h"

namespace toolrack {

// Thread-safe; counting never waits.
class CallCounters {
 public:
  void CountOk() { Add(kOk); }
  void CountToolError() { Add(kToolError); }
  void CountReason(v1::ErrorReason reason);
  // By outcome: `ok`, `tool_error`, or a reason without prefix; those that happened.
  std::map<std::string, uint64_t> ByOutcome() const;

 private:
  static constexpr size_t kOk = 0;
  static constexpr size_t kToolError = 1;
  static constexpr size_t kFirstReason = 2;
  static constexpr size_t kSlots = kFirstReason + v1::ErrorReason_ARRAYSIZE;
  static constexpr size_t kStripes = 8;
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, kSlots> slots{};
  };
  void Add(size_t slot);

  std::array<Stripe, kStripes> stripes_;
};

// The last 100. Thread-safe.
class RefusalRing {
 public:
  void Add(v1::Refusal refusal);
  // Newest first.
  std::vector<v1::Refusal> Newest() const;

 private:
  static constexpr size_t kSize = 100;
  mutable absl::Mutex mu_;
  std::deque<v1::Refusal> ring_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_CALL_COUNTERS_H_
