#include "registry/pins.h"

#include <utility>

namespace toolrack {

Pins::Pins(PinMode mode, size_t max, std::function<void()> on_change)
    : mode_(mode), max_(max), on_change_(std::move(on_change)) {}

void Pins::Put(absl::string_view name, absl::string_view digest) {
  const auto at = by_name_.find(name);
  if (at != by_name_.end()) {
    at->second->digest = std::string(digest);
    known_.splice(known_.end(), known_, at->second);
    return;
  }
  if (known_.size() >= max_) {
    by_name_.erase(known_.front().name);
    known_.pop_front();
  }
  known_.push_back({std::string(name), std::string(digest)});
  by_name_.emplace(std::string(name), std::prev(known_.end()));
}

Pins::Verdict Pins::Check(absl::string_view name, absl::string_view digest, std::string* before) {
  if (mode_ == PinMode::kOff) return Verdict::kFine;
  Verdict verdict = Verdict::kFine;
  {
    absl::MutexLock lock(&mu_);
    const auto at = by_name_.find(name);
    if (at != by_name_.end() && at->second->digest == digest) {
      known_.splice(known_.end(), known_, at->second);
      return Verdict::kFine;
    }
    if (at != by_name_.end()) {
      verdict = Verdict::kChanged;
      *before = at->second->digest;
      if (mode_ == PinMode::kEnforce) return verdict;
    }
    Put(name, digest);
  }
  if (on_change_) on_change_();
  return verdict;
}

void Pins::Approve(absl::string_view name, absl::string_view digest) {
  {
    absl::MutexLock lock(&mu_);
    Put(name, digest);
  }
  if (on_change_) on_change_();
}

std::vector<Pins::Pin> Pins::List() const {
  absl::MutexLock lock(&mu_);
  return {known_.begin(), known_.end()};
}

void Pins::Load(std::vector<Pin> pins) {
  absl::MutexLock lock(&mu_);
  for (Pin& pin : pins) Put(pin.name, pin.digest);
}

size_t Pins::size() const {
  absl::MutexLock lock(&mu_);
  return known_.size();
}

}  // namespace toolrack
