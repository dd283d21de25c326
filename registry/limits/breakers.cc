#include "registry/limits/breakers.h"

#include <algorithm>

namespace toolrack {
namespace {

// A closed breaker whose last failure is this old may be forgotten when there are too many.
constexpr absl::Duration kOld = absl::Minutes(1);
// Looking for those takes long: not for each new key.
constexpr absl::Duration kSweepPause = absl::Seconds(1);
// While the probe is under way nobody knows how long it takes.
constexpr absl::Duration kProbeWait = absl::Seconds(1);

}  // namespace

Breakers::Breakers(const Clock* clock, BreakerOptions options) : clock_(clock), options_(options) {}

Breakers::Verdict Breakers::VerdictOf(const Breaker& breaker, absl::Duration now) const {
  if (!breaker.open) return {};
  if (now < breaker.open_until) return {false, false, breaker.open_until - now};
  if (breaker.probing) return {false, false, kProbeWait};
  return {true, true, absl::ZeroDuration()};
}

Breakers::Verdict Breakers::Admit(absl::string_view key, const void* object) {
  if (size() == 0) return {};
  absl::MutexLock lock(&mu_);
  const auto at = breakers_.find(key);
  if (at == breakers_.end() || at->second.object != object) return {};
  const Verdict verdict = VerdictOf(at->second, clock_->SteadyNow());
  if (verdict.probe) at->second.probing = true;
  return verdict;
}

Breakers::Verdict Breakers::Look(absl::string_view key, const void* object) const {
  if (size() == 0) return {};
  absl::MutexLock lock(&mu_);
  const auto at = breakers_.find(key);
  if (at == breakers_.end() || at->second.object != object) return {};
  return VerdictOf(at->second, clock_->SteadyNow());
}

void Breakers::Report(absl::string_view key, const void* object, bool probe, Ending ending,
                      const void* event) {
  if (options_.disabled) return;
  if (ending != Ending::kFailed && size() == 0) return;
  const absl::Duration now = clock_->SteadyNow();
  absl::MutexLock lock(&mu_);
  auto at = breakers_.find(key);
  if (ending != Ending::kFailed) {
    if (at == breakers_.end() || at->second.object != object) return;
    Breaker& breaker = at->second;
    if (ending == Ending::kSucceeded && (probe || !breaker.open)) {
      breakers_.erase(at);
      size_.store(breakers_.size(), std::memory_order_relaxed);
    } else if (probe) {
      breaker.probing = false;  // the next one tries
    }
    return;
  }
  if (at == breakers_.end()) {
    if (breakers_.size() >= kMaxKeys && now >= next_sweep_) {
      next_sweep_ = now + kSweepPause;
      absl::erase_if(breakers_, [now](const auto& each) {
        return !each.second.open && each.second.touched + kOld < now;
      });
    }
    if (breakers_.size() < kMaxKeys) at = breakers_.try_emplace(std::string(key)).first;
    size_.store(breakers_.size(), std::memory_order_relaxed);
    if (at == breakers_.end()) return;
    at->second.object = object;
  } else if (at->second.object != object) {
    at->second = Breaker();
    at->second.object = object;
  }
  Breaker& breaker = at->second;
  breaker.touched = now;
  if (breaker.open) {
    if (!probe) return;  // admitted before it opened
    breaker.probing = false;
    breaker.open_for = std::min(breaker.open_for * 2, std::max(kLongest, options_.open_for));
    breaker.open_until = now + breaker.open_for;
    return;
  }
  if (event != nullptr && event == breaker.last_event) return;
  breaker.last_event = event;
  if (++breaker.failures < options_.failures) return;
  breaker.open = true;
  breaker.open_for = options_.open_for;
  breaker.open_until = now + breaker.open_for;
}

}  // namespace toolrack
