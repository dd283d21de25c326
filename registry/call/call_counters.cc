#include "registry/call/call_counters.h"

#include <utility>

#include "registry/base/errors.h"

namespace toolrack {

void CallCounters::Add(size_t slot) {
  static std::atomic<uint32_t> threads{0};
  thread_local const uint32_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
  stripes_[mine].slots[slot].fetch_add(1, std::memory_order_relaxed);
}

void CallCounters::CountReason(v1::ErrorReason reason) {
  const size_t number = static_cast<size_t>(reason);
  Add(kFirstReason + (number < v1::ErrorReason_ARRAYSIZE ? number : 0));
}

std::map<std::string, uint64_t> CallCounters::ByOutcome() const {
  std::map<std::string, uint64_t> out;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    uint64_t sum = 0;
    for (const Stripe& stripe : stripes_) sum += stripe.slots[slot].load(std::memory_order_relaxed);
    if (sum == 0) continue;
    if (slot == kOk) {
      out["ok"] = sum;
    } else if (slot == kToolError) {
      out["tool_error"] = sum;
    } else {
      out[std::string(ReasonName(static_cast<v1::ErrorReason>(slot - kFirstReason)))] = sum;
    }
  }
  return out;
}

void RefusalRing::Add(v1::Refusal refusal) {
  absl::MutexLock lock(&mu_);
  ring_.push_front(std::move(refusal));
  if (ring_.size() > kSize) ring_.pop_back();
}

std::vector<v1::Refusal> RefusalRing::Newest() const {
  absl::MutexLock lock(&mu_);
  return std::vector<v1::Refusal>(ring_.begin(), ring_.end());
}

}  // namespace toolrack
