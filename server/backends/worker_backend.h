// The tools of one attachment of a worker, and the calls it has.
//
// A call waits in a FIFO queue until the stream takes it (Take), at most `credit` unanswered ones
// at a time; from then on it may have run. Nothing here knows about gRPC or the protocol's other
// messages.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_BACKEND_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/tool.h"
#include "server/backends/worker_result.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// Held by shared_ptr. Thread-safe. No lock is held while a call's `done`, its reporter, or `wake`
// runs.
class WorkerBackend : public Backend, public std::enable_shared_from_this<WorkerBackend> {
 public:
  struct Options {
    std::string worker_name;
    std::string principal;
    uint32_t credit = 64;
    uint32_t max_queue = 1024;
    WorkerResultLimits results;
  };
  // `wake` is called, on the thread that changed something, when Take or TakeCancel may have
  // something to give. `executor` checks answers with much JSON. Both parts outlive all calls.
  WorkerBackend(Options options, Clock* clock, Executor* executor, std::function<void()> wake);
  ~WorkerBackend() override;

  const std::string& kind() const override;
  const std::string& id() const override { return options_.worker_name; }
  const std::string& principal() const override { return options_.principal; }
  uint64_t Start(ToolCall call, ToolDone done) override;
  void Cancel(uint64_t number, StopReason reason) override;
  uint32_t in_flight() const override { return load_.load(std::memory_order_relaxed); }
  bool available() const override { return available_.load(std::memory_order_acquire); }
  // What the worker said last with an answer.
  std::string StateJson(const ToolEntry& tool, const std::string& session_id) const override;
  // Drops the states of its instances.
  void ForgetSession(const std::string& session_id);

  // Moves waiting calls into `out`: as many as the credit allows, at most `max_items`, and at most
  // `max_bytes` unless the first alone is larger. From here on they may have run. True when there
  // was one.
  bool Take(size_t max_items, size_t max_bytes, v1::WorkerInvocations* out);
  // Cancels to be sent for calls that Take gave away, in order. True when there was one.
  bool TakeCancel(v1::WorkerCancel* out);

  // One answer. False: no such call (unknown, or answered before).
  bool Answer(v1::WorkerResult& answer);
  // An answer that could not be read. False as above.
  bool AnswerUnreadable(uint64_t invocation_id);
  // False: no such call.
  bool Progress(v1::WorkerProgress& progress);
  bool Log(v1::WorkerLog& log);

  // No new calls from now on. Waiting calls end with BackendUnavailable; those given away may still
  // be answered.
  void StopTaking();
  // The stream is over: also, calls given away end with OutcomeUnknown. Idempotent.
  void Lose();

  uint32_t running() const;  // given away, not answered
  uint32_t queued() const;
  uint64_t completed() const { return completed_.load(std::memory_order_relaxed); }
  uint32_t credit() const { return options_.credit; }

 private:
  struct Waiting {
    v1::Invocation invocation;
    std::shared_ptr<const ToolEntry> tool;
    std::shared_ptr<CallReporter> reporter;
    ToolDone done;
    absl::Duration deadline = absl::InfiniteDuration();  // on the steady clock
    size_t bytes = 0;
  };
  struct Running {
    std::shared_ptr<const ToolEntry> tool;
    std::string session_id;
    std::shared_ptr<CallReporter> reporter;
    ToolDone done;
  };

  bool TakeRunning(uint64_t id, Running* out);
  void Finish(Running& call, v1::WorkerResult& answer);
  void KeepState(const Running& call, std::string* state_json);
  std::shared_ptr<CallReporter> ReporterOf(uint64_t id);

  const Options options_;
  Clock* const clock_;
  Executor* const executor_;
  const std::function<void()> wake_;

  std::atomic<bool> available_{true};
  std::atomic<uint32_t> load_{0};
  std::atomic<uint64_t> last_id_{0};
  std::atomic<uint64_t> completed_{0};

  mutable absl::Mutex mu_;
  std::map<uint64_t, Waiting> waiting_ ABSL_GUARDED_BY(mu_);  // ids grow: order is FIFO
  absl::flat_hash_map<uint64_t, Running> running_ ABSL_GUARDED_BY(mu_);
  std::deque<std::pair<uint64_t, StopReason>> cancels_ ABSL_GUARDED_BY(mu_);

  // By tool and session; the oldest go when there is too much.
  struct State {
    std::pair<std::string, std::string> key;
    std::string json;
  };
  mutable absl::Mutex states_mu_;
  std::list<State> states_ ABSL_GUARDED_BY(states_mu_);
  absl::flat_hash_map<std::pair<std::string, std::string>, std::list<State>::iterator> state_of_
      ABSL_GUARDED_BY(states_mu_);
  size_t state_bytes_ ABSL_GUARDED_BY(states_mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_BACKEND_H_
