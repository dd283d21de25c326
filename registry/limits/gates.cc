#include "registry/limits/gates.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace toolrack {

Gates::Place& Gates::Place::operator=(Place&& other) noexcept {
  if (this != &other) {
    if (gates_ != nullptr) gates_->Leave(key_);
    gates_ = std::exchange(other.gates_, nullptr);
    key_ = std::move(other.key_);
  }
  return *this;
}

Gates::Place::~Place() {
  if (gates_ != nullptr) gates_->Leave(key_);
}

Gates::Shard& Gates::ShardOf(absl::string_view key) const {
  return shards_[absl::Hash<absl::string_view>()(key) % kShards];
}

Gates::Ticket Gates::Enter(absl::string_view key, uint64_t allowed, uint64_t max_waiting,
                           Grant grant) {
  Shard& shard = ShardOf(key);
  absl::MutexLock lock(&shard.mu);
  const auto at = shard.gates.find(key);
  if (at == shard.gates.end()) {
    if (allowed == 0) return {Answer::kFull, 0};
    shard.gates[key].inside = 1;
    return {Answer::kIn, 0};
  }
  Gate& gate = at->second;
  if (gate.inside < allowed && gate.waiting.empty()) {
    ++gate.inside;
    return {Answer::kIn, 0};
  }
  if (gate.waiting.size() >= max_waiting) return {Answer::kFull, 0};
  gate.waiting.push_back({++shard.last_number, std::move(grant)});
  return {Answer::kWaiting, shard.last_number};
}

void Gates::Forget(absl::string_view key, uint64_t number) {
  Grant dropped;  // without the lock: it may own anything
  Shard& shard = ShardOf(key);
  absl::MutexLock lock(&shard.mu);
  const auto at = shard.gates.find(key);
  if (at == shard.gates.end()) return;
  std::list<Waiter>& waiting = at->second.waiting;
  const auto waiter = std::find_if(waiting.begin(), waiting.end(),
                                   [number](const Waiter& each) { return each.number == number; });
  if (waiter == waiting.end()) return;
  dropped = std::move(waiter->grant);
  waiting.erase(waiter);
}

void Gates::Leave(absl::string_view key) {
  Shard& shard = ShardOf(key);
  while (true) {
    Grant next;
    {
      absl::MutexLock lock(&shard.mu);
      const auto at = shard.gates.find(key);
      Gate& gate = at->second;
      if (gate.waiting.empty()) {
        if (--gate.inside == 0) shard.gates.erase(at);
        return;
      }
      next = std::move(gate.waiting.front().grant);
      gate.waiting.pop_front();
    }
    // The place goes from hand to hand: `inside` stays.
    if (next()) return;
  }
}

Gates::Load Gates::Look(absl::string_view key) const {
  const Shard& shard = ShardOf(key);
  absl::MutexLock lock(&shard.mu);
  const auto at = shard.gates.find(key);
  if (at == shard.gates.end()) return {};
  return {at->second.inside, at->second.waiting.size()};
}

size_t Gates::size() const {
  size_t size = 0;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    size += shard.gates.size();
  }
  return size;
}

}  // namespace toolrack
