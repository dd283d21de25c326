#include "registry/limits/rate.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace toolrack {
namespace {

// Keys that found no place of their own share this one of their shard.
constexpr absl::string_view kStrangers = "";
// Looking for full buckets takes long: a flood of new keys must not have it done for each.
constexpr absl::Duration kSweepPause = absl::Seconds(1);

absl::Duration TimeOfOne(const Rate& rate) { return absl::Minutes(1) / rate.per_minute; }

// How long until a bucket that is full at `full_at` has a token.
absl::Duration WaitOf(absl::Duration full_at, absl::Duration now, const Rate& rate) {
  const absl::Duration one = TimeOfOne(rate);
  // Empty is `burst` tokens away from full.
  const absl::Duration after = std::max(full_at, now) + one;
  return std::max(after - (now + one * rate.BurstOrDefault()), absl::ZeroDuration());
}

}  // namespace

uint32_t Rate::BurstOrDefault() const {
  return burst > 0 ? burst : std::max<uint32_t>(1, per_minute / 6);
}

absl::Duration RateLimiter::Take(absl::string_view key, const Rate& rate) {
  if (rate.per_minute == 0) return absl::ZeroDuration();
  const absl::Duration now = clock_->SteadyNow();
  Shard& shard = shards_[absl::Hash<absl::string_view>()(key) % kShards];
  absl::MutexLock lock(&shard.mu);
  auto at = shard.full_at.find(key);
  if (at == shard.full_at.end()) {
    if (shard.full_at.size() >= kMaxKeys / kShards && now >= shard.next_sweep) {
      shard.next_sweep = now + kSweepPause;
      absl::erase_if(shard.full_at, [now](const auto& bucket) { return bucket.second <= now; });
    }
    const bool room = shard.full_at.size() < kMaxKeys / kShards - 1;  // one is the strangers'
    at = shard.full_at.try_emplace(std::string(room ? key : kStrangers), now).first;
  }
  const absl::Duration wait = WaitOf(at->second, now, rate);
  if (wait > absl::ZeroDuration()) return wait;
  at->second = std::max(at->second, now) + TimeOfOne(rate);
  return absl::ZeroDuration();
}

absl::Duration RateLimiter::Look(absl::string_view key, const Rate& rate) const {
  if (rate.per_minute == 0) return absl::ZeroDuration();
  const absl::Duration now = clock_->SteadyNow();
  const Shard& shard = shards_[absl::Hash<absl::string_view>()(key) % kShards];
  absl::MutexLock lock(&shard.mu);
  auto at = shard.full_at.find(key);
  if (at == shard.full_at.end() && shard.full_at.size() >= kMaxKeys / kShards - 1) {
    at = shard.full_at.find(kStrangers);
  }
  return WaitOf(at == shard.full_at.end() ? now : at->second, now, rate);
}

size_t RateLimiter::size() const {
  size_t size = 0;
  for (const Shard& shard : shards_) {
    absl::MutexLock lock(&shard.mu);
    size += shard.full_at.size();
  }
  return size;
}

}  // namespace toolrack
