// Work in order, one piece at a time, on somebody else's threads.
#ifndef TOOLRACK_SERVER_BACKENDS_STRAND_H_
#define TOOLRACK_SERVER_BACKENDS_STRAND_H_

#include <cstddef>
#include <deque>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"

namespace toolrack {

class Strand;

// Ends the work of several strands at once. Thread-safe.
class StrandGate {
 public:
  // From now on no work begins; returns when none is running and what waited is dropped. Not from a
  // strand.
  void Close();

 private:
  friend class Strand;
  bool Enter();
  void Leave();
  // Strands with work: nobody else would drop it at the end. False when closed.
  bool Add(std::shared_ptr<Strand> strand);
  void Remove(Strand* strand);

  absl::Mutex mu_;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  int running_ ABSL_GUARDED_BY(mu_) = 0;
  absl::flat_hash_map<Strand*, std::shared_ptr<Strand>> busy_ ABSL_GUARDED_BY(mu_);
};

// Thread-safe. Work may hold a reference to the strand. When the executor is full, the work waits
// and is tried again: nothing is dropped before the gate closes.
class Strand : public std::enable_shared_from_this<Strand> {
 public:
  // Both outlive the closing of the gate.
  Strand(Executor* executor, Timers* timers, std::shared_ptr<StrandGate> gate)
      : executor_(executor), timers_(timers), gate_(std::move(gate)) {}

  void Post(absl::AnyInvocable<void()> work);

 private:
  friend class StrandGate;
  // Drops what waits: work may hold what holds the strand.
  void Clear();
  void Schedule();
  void RunOne();

  Executor* const executor_;
  Timers* const timers_;
  const std::shared_ptr<StrandGate> gate_;
  mutable absl::Mutex mu_;
  std::deque<absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
  bool scheduled_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_STRAND_H_
