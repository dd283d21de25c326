// The watch streams that are open.
#ifndef TOOLRACK_SERVER_SERVICES_WATCH_SET_H_
#define TOOLRACK_SERVER_SERVICES_WATCH_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace toolrack {

// Something that can be told to end. Thread-safe.
class Endable {
 public:
  virtual ~Endable() = default;
  virtual void End(absl::Status status) = 0;
};

// Counts them, bounds them, ends them. Thread-safe.
class WatchSet {
 public:
  explicit WatchSet(size_t max) : max_(max) {}
  // CONCURRENCY when there are `max` already, DRAINING after EndAll.
  absl::Status Add(uint64_t id, std::weak_ptr<Endable> stream);
  void Remove(uint64_t id);
  // Ends all with this status; no more are taken.
  void EndAll(const absl::Status& status);
  size_t size() const;

 private:
  const size_t max_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, std::weak_ptr<Endable>> streams_ ABSL_GUARDED_BY(mu_);
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_WATCH_SET_H_
