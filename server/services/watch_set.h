// The watch streams that are open.
#ifndef TOOLRACK_SERVER_SERVICES_WATCH_SET_H_
#define TOOLRACK_SERVER_SERVICES_WATCH_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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
  // The same for those that are there; others may come.
  void EndThose(const absl::Status& status);
  size_t size() const;

 private:
  std::vector<std::shared_ptr<Endable>> Alive() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const size_t max_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<uint64_t, std::weak_ptr<Endable>> streams_ ABSL_GUARDED_BY(mu_);
  absl::Status ended_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_WATCH_SET_H_
