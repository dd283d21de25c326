// The hooks that are in place, and which of them a tool concerns.
#ifndef TOOLRACK_REGISTRY_CALL_HOOK_SET_H_
#define TOOLRACK_REGISTRY_CALL_HOOK_SET_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/call/hook.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"

namespace toolrack {

// One hook in its place, with what it has done. Thread-safe.
class HookSeat {
 public:
  HookSeat(std::shared_ptr<Hook> hook, absl::Time since);

  Hook& hook() const { return *hook_; }
  const std::shared_ptr<Hook>& shared_hook() const { return hook_; }
  const HookSpec& spec() const { return hook_->spec(); }
  bool at(v1::HookPoint point) const { return points_ >> point & 1; }

  void CountAsked() {
    events_.fetch_add(1, std::memory_order_relaxed);
    in_flight_.fetch_add(1, std::memory_order_relaxed);
  }
  void CountEnded() { in_flight_.fetch_sub(1, std::memory_order_relaxed); }
  void CountTold() { events_.fetch_add(1, std::memory_order_relaxed); }
  void CountVerdict(HookVerdict::Action action) {
    verdicts_[static_cast<size_t>(action)].fetch_add(1, std::memory_order_relaxed);
  }
  void CountFailed() { failed_.fetch_add(1, std::memory_order_relaxed); }
  v1::HookInfo Describe() const;

 private:
  const std::shared_ptr<Hook> hook_;
  const absl::Time since_;
  uint32_t points_ = 0;  // a bit each
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<uint64_t> events_{0}, failed_{0};
  std::array<std::atomic<uint64_t>, 5> verdicts_{};
};

// Thread-safe. Readers of an empty set, and of tools that no hook concerns, take no lock.
class HookSet {
 public:
  using Seats = std::vector<std::shared_ptr<HookSeat>>;

  HookSet(Clock* clock, const v1::HooksConfig& config);  // clock outlives this; 0 is the default

  // Puts it in its place: by priority, the highest first, then by name. The hook of the same name
  // and principal that it takes the place of, or null. NAME_TAKEN when somebody else has the name,
  // CONCURRENCY (hooks.max_hooks), REQUEST_INVALID for a spec outside the rules.
  absl::StatusOr<std::shared_ptr<Hook>> Add(std::shared_ptr<Hook> hook);
  // Nothing when it is not there (any more). Calls that ask it just now go on asking.
  void Remove(const Hook* hook);

  // Whether any hook may concern the tool: false is certain. Two loads.
  bool MayConcern(const ToolDefinition& tool) const {
    const uint64_t version = version_.load(std::memory_order_acquire);
    return version != 0 && tool.unhooked_at.load(std::memory_order_relaxed) != version;
  }
  // Those that concern the tool, in order. Remembers when there are none.
  Seats For(const ToolDefinition& tool) const;

  // In order.
  std::vector<v1::HookInfo> List() const;
  size_t size() const;
  absl::Duration default_timeout() const { return default_timeout_; }
  absl::Duration max_timeout() const { return max_timeout_; }

 private:
  absl::Status Check(const HookSpec& spec) const;
  void Replace(Seats seats) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;
  const absl::Duration default_timeout_;
  const absl::Duration max_timeout_;
  const size_t max_hooks_;
  // 0: no hooks. Else never used before, in any set of this process.
  std::atomic<uint64_t> version_{0};
  mutable absl::Mutex mu_;
  std::shared_ptr<const Seats> seats_ ABSL_GUARDED_BY(mu_) = std::make_shared<const Seats>();
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_HOOK_SET_H_
