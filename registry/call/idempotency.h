// Calls that come twice: the second gets the first one's outcome.
#ifndef TOOLRACK_REGISTRY_CALL_IDEMPOTENCY_H_
#define TOOLRACK_REGISTRY_CALL_IDEMPOTENCY_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// What a request is about, apart from its ids: the same for the same call, however it was sent.
std::string FingerprintOf(const v1::CallToolRequest& request);

// Keys belong to a principal. A key is remembered from the first call until its time is over after
// the outcome; only an outcome of a call that was not executed is forgotten at once, so that the
// key may be used again. Bounded: more keys than `max_keys` are refused rather than forgotten; of
// outcomes over `max_bytes` only the fact is kept. Thread-safe.
class IdempotencyKeys {
 public:
  using Outcome = absl::StatusOr<v1::CallToolResponse>;
  using OutcomePtr = std::shared_ptr<const Outcome>;
  // Called without locks held.
  using Wake = absl::AnyInvocable<void(OutcomePtr)>;

  IdempotencyKeys(const Clock* clock, const v1::LimitsConfig& limits);  // clock outlives this

  struct Answer {
    enum class What {
      kFirst,    // run it, and End it
      kWait,     // the first one is running: `wake` will be called, unless Forget comes first
      kKnown,    // `outcome`
      kRefused,  // `fault`
    };
    What what = What::kFirst;
    OutcomePtr outcome;
    absl::Status fault;
    uint64_t waiter = 0;
  };
  // IDEMPOTENCY_KEY_REUSED for another fingerprint, QUEUE_FULL for too many keys, OUTCOME_UNKNOWN
  // when the outcome was too large to be kept.
  Answer Enter(absl::string_view principal, absl::string_view tool, absl::string_view key,
               absl::string_view fingerprint, Wake wake);
  void Forget(absl::string_view principal, absl::string_view key, uint64_t waiter);
  // By the first one, exactly once.
  void End(absl::string_view principal, absl::string_view key, Outcome outcome);
  // What Enter would refuse, without entering; OK also for what would wait or is known.
  absl::Status Check(absl::string_view principal, absl::string_view tool, absl::string_view key,
                     absl::string_view fingerprint) const;

  size_t size() const;

 private:
  struct Entry {
    std::string fingerprint;
    bool ended = false;
    OutcomePtr outcome;  // null while it runs, or when it was not kept
    size_t bytes = 0;
    absl::Duration expires;
    std::list<std::string>::iterator kept;  // while there is an outcome
    std::vector<std::pair<uint64_t, Wake>> waiting;
  };
  static std::string KeyOf(absl::string_view principal, absl::string_view key);
  OutcomePtr TakeOutcome(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void DropOver(absl::Duration now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock* const clock_;
  const absl::Duration ttl_;
  const size_t max_keys_;
  const size_t max_bytes_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, Entry> entries_ ABSL_GUARDED_BY(mu_);
  std::list<std::string> ended_ ABSL_GUARDED_BY(mu_);  // the first to expire first
  std::list<std::string> kept_ ABSL_GUARDED_BY(mu_);   // those with an outcome, the oldest first
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_waiter_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_IDEMPOTENCY_H_
