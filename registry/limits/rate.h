// How often: token buckets by key.
#ifndef TOOLRACK_REGISTRY_LIMITS_RATE_H_
#define TOOLRACK_REGISTRY_LIMITS_RATE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"

namespace toolrack {

// A bucket of `burst` tokens that fills by `per_minute` tokens a minute.
struct Rate {
  uint32_t per_minute = 0;  // 0: no limit
  uint32_t burst = 0;       // 0: what ten seconds give, at least 1

  uint32_t BurstOrDefault() const;
};

// One bucket for each key. In any stretch of time T at most `burst + T * per_minute` tokens of one
// key are given. A bucket that is full again is forgotten; at most kMaxKeys are remembered, and
// keys beyond those share the buckets of strangers, so that memory stays bounded.
//
// Thread-safe. A bucket is one number, the time at which it will be full (the generic cell rate
// algorithm of ITU-T I.371, in its virtual scheduling form).
class RateLimiter {
 public:
  static constexpr size_t kMaxKeys = 16384;

  explicit RateLimiter(const Clock* clock) : clock_(clock) {}  // outlives this

  // Takes a token: 0 when there was one, else how long until there is one.
  absl::Duration Take(absl::string_view key, const Rate& rate);
  // The same without taking.
  absl::Duration Look(absl::string_view key, const Rate& rate) const;
  // Keys remembered now.
  size_t size() const;

 private:
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    mutable absl::Mutex mu;
    absl::flat_hash_map<std::string, absl::Duration> full_at ABSL_GUARDED_BY(mu);
    absl::Duration next_sweep ABSL_GUARDED_BY(mu);
  };

  const Clock* const clock_;
  std::array<Shard, kShards> shards_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_LIMITS_RATE_H_
