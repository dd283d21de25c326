// How many at once: gates by key, with a bounded queue in front of each.
#ifndef TOOLRACK_REGISTRY_LIMITS_GATES_H_
#define TOOLRACK_REGISTRY_LIMITS_GATES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"

namespace toolrack {

// A gate is there as long as somebody is in it or waits for it: memory is bounded by those who
// come. Who waits is let in first come, first served. Thread-safe.
class Gates {
 public:
  // A place in one gate, given back when it goes. Move-only. Letting the next one in runs its grant
  // on this thread: hold no lock that it wants.
  class Place {
   public:
    Place() = default;
    // For a waiter that was let in.
    Place(Gates* gates, std::string key) : gates_(gates), key_(std::move(key)) {}
    Place(Place&& other) noexcept
        : gates_(std::exchange(other.gates_, nullptr)), key_(std::move(other.key_)) {}
    Place& operator=(Place&& other) noexcept;
    ~Place();
    explicit operator bool() const { return gates_ != nullptr; }

   private:
    Gates* gates_ = nullptr;
    std::string key_;
  };

  // It is the waiter's turn: whether it still wants in. False: the place goes to the next one.
  // Called at most once, without locks held.
  using Grant = absl::AnyInvocable<bool()>;

  enum class Answer { kIn, kWaiting, kFull };
  struct Ticket {
    Answer answer = Answer::kFull;
    uint64_t number = 0;  // of a waiter
  };
  // kIn: a place of `allowed` was free, and is the caller's: make a Place of it. kWaiting: `grant`
  // will be called, unless Forget comes first. kFull: `max_waiting` wait already.
  Ticket Enter(absl::string_view key, uint64_t allowed, uint64_t max_waiting, Grant grant);
  // The waiter does not want in any more. Nothing when it was let in meanwhile.
  void Forget(absl::string_view key, uint64_t number);

  struct Load {
    uint64_t inside = 0;
    uint64_t waiting = 0;
  };
  Load Look(absl::string_view key) const;
  // Gates that are there now.
  size_t size() const;

 private:
  struct Waiter {
    uint64_t number;
    Grant grant;
  };
  struct Gate {
    uint64_t inside = 0;
    std::list<Waiter> waiting;
  };
  static constexpr size_t kShards = 16;
  struct alignas(64) Shard {
    mutable absl::Mutex mu;
    absl::flat_hash_map<std::string, Gate> gates ABSL_GUARDED_BY(mu);
    uint64_t last_number ABSL_GUARDED_BY(mu) = 0;
  };
  Shard& ShardOf(absl::string_view key) const;
  void Leave(absl::string_view key);

  mutable std::array<Shard, kShards> shards_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_LIMITS_GATES_H_
