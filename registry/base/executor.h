// Where work runs that must not run on a gRPC callback thread: anything that blocks, and CPU work
// over 100 µs.
#ifndef TOOLRACK_REGISTRY_BASE_EXECUTOR_H_
#define TOOLRACK_REGISTRY_BASE_EXECUTOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"

namespace toolrack {

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` later on some thread. False when the queue is full or the executor is shut down:
  // `work` was dropped and will not run. Work must not throw.
  virtual bool Post(absl::AnyInvocable<void()> work) = 0;
  // The most that may wait: for messages about a full queue.
  virtual size_t max_queue() const { return SIZE_MAX; }
};

// A fixed number of threads with one bounded FIFO queue. The destructor runs what is queued, then
// joins.
class ThreadPool : public Executor {
 public:
  // `name` (at most 12 bytes) shows in the thread names.
  ThreadPool(const char* name, size_t threads, size_t max_queue);
  ~ThreadPool() override;
  bool Post(absl::AnyInvocable<void()> work) override;
  size_t max_queue() const override;
  // Takes no more work, runs what is queued, joins. Idempotent; not from one of its own threads.
  void Shutdown();
  // Work waiting, not running.
  size_t queued() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_EXECUTOR_H_
