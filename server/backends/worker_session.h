// The protocol of one Attach stream, apart from gRPC: what came, what goes, in which order, and how
// it ends. The contract of the messages is in toolrack/v1/worker_service.proto.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_SESSION_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_SESSION_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/timers.h"
#include "registry/registry.h"
#include "registry/session_table.h"
#include "server/backends/strand.h"
#include "server/backends/worker_backend.h"
#include "server/backends/worker_decode.h"
#include "server/backends/worker_sets.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// What a session writes to. Thread-safe in that each function may be called from any thread; the
// session never calls two of Write and Finish at once.
class WorkerTransport {
 public:
  virtual ~WorkerTransport() = default;
  // One at a time: OnWriteDone follows. The message may change as soon as this returned.
  virtual void Write(const v1::WorkerServiceAttachResponse& message) = 0;
  // Ends the stream: once, not while a write is under way, nothing after it.
  virtual void Finish(absl::Status status) = 0;
  // Breaks the stream off, also when the other side does not read. Finish is still called. Not from
  // the transport's own callbacks.
  virtual void Abort() = 0;
};

// Thread-safe. The transport's events come from any thread; OnMessage one at a time.
class WorkerSession : public SessionWatcher, public std::enable_shared_from_this<WorkerSession> {
 public:
  // What the session needs of the hub. Called without locks held.
  class Owner {
   public:
    virtual ~Owner() = default;
    // A hello with a legal name: session->backend() is there. Not OK: why it is refused.
    virtual absl::Status Admit(const std::shared_ptr<WorkerSession>& session,
                               const std::string& worker_name) = 0;
    // A set was put in place. On the executor.
    virtual void OnPublished(const std::shared_ptr<WorkerSession>& session) = 0;
    // The session is over; its backend takes no more calls. Once, also when it was never admitted.
    virtual void OnOver(const std::shared_ptr<WorkerSession>& session) = 0;
  };

  struct Parts {  // all outlive the session's stream
    Registry* registry;
    Timers* timers;
    Clock* clock;
    Executor* executor;
    std::shared_ptr<StrandGate> gate;
    std::shared_ptr<Owner> owner;
    SessionTable* sessions = nullptr;  // null: there are no sessions
  };
  struct Options {
    std::string principal;
    absl::Duration ping_interval = absl::Seconds(10);
    absl::Duration ping_timeout = absl::Seconds(5);
    uint32_t default_in_flight = 64;
    uint32_t max_in_flight = 10000;
    uint32_t max_queue = 1024;
    WorkerResultLimits results;
    WorkerSets::Limits sets;
    v1::WorkerLimits limits;  // for the welcome; max_in_flight is filled in
  };
  WorkerSession(Parts parts, Options options, std::shared_ptr<WorkerTransport> transport);
  ~WorkerSession() override;

  // Once, before any event: starts watching over the hello.
  void Begin();

  // Events of the transport.
  void OnMessage(WorkerMessage& message);
  void OnViolation(absl::Status violation);
  void OnWriteDone(bool ok);
  void OnReadsDone();  // the worker closed its side, or the stream broke
  void OnBroken();     // the stream broke; also after it ended

  // SessionWatcher: once it has published a session-scoped tool, the worker is told of every
  // session before any call of it.
  void NoteOpened(const std::string& session_id) override;
  void NoteClosed(const std::string& session_id) override;
  void ActOnNotes() override;

  // For the hub.
  // Tells the worker; changes nothing else.
  void SendDrain(std::optional<absl::Duration> grace);
  // No new calls; those that wait end with BackendUnavailable.
  void StopTaking();
  // StopTaking, and the stream ends with REPLACED when the last call was answered.
  void Retire();
  // Ends the stream as soon as what is queued was written.
  void End(absl::Status status);

  // Null before the hello was accepted, set for good after it.
  std::shared_ptr<WorkerBackend> backend() const;
  const std::string& principal() const { return options_.principal; }
  const std::string& worker_id() const { return worker_id_; }
  absl::Duration idle() const;
  bool over() const;
  // A set was put in place, and none is open or being compiled.
  bool settled() const;
  uint64_t ignored() const { return ignored_.load(std::memory_order_relaxed); }
  Strand& strand() { return *strand_; }

 private:
  enum class Phase { kNew, kAttached, kOver };

  void OnHello(const v1::WorkerHello& hello);
  void OnPublish(WorkerMessage& message);
  void OnWithdraw(const v1::WorkerWithdraw& withdraw);
  void OnResults(WorkerMessage& message);
  void OnWorkerLog(v1::WorkerLog& log);
  void OnDraining(const v1::WorkerDraining& draining);
  void Enqueue(WorkerSet set);
  void RunSet(WorkerSet set);
  void WatchSessionsFor(const WorkerSet& set);
  void EndIfRetiredAndIdle();
  void EndNow(absl::Status status, bool flush);
  // Queues a message that is not an invocation, and writes if it can.
  void Send(v1::WorkerServiceAttachResponse message);
  // Writes the next message, or finishes, when nothing is under way.
  void Pump();
  const v1::WorkerServiceAttachResponse* NextMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ArmTick(absl::Duration delay);
  void OnTick();
  void OnHelloDue();

  const Parts parts_;
  const Options options_;
  const std::string worker_id_;
  const std::shared_ptr<WorkerTransport> transport_;
  const std::shared_ptr<Strand> strand_;

  std::atomic<int64_t> last_heard_ns_;
  std::atomic<uint64_t> ignored_{0};  // answers, progress and logs of unknown invocations
  std::atomic<bool> retiring_{false};

  mutable absl::Mutex mu_;
  Phase phase_ ABSL_GUARDED_BY(mu_) = Phase::kNew;
  bool welcomed_ ABSL_GUARDED_BY(mu_) = false;  // nothing goes out before the welcome
  std::shared_ptr<WorkerBackend> backend_ ABSL_GUARDED_BY(mu_);
  WorkerSets sets_ ABSL_GUARDED_BY(mu_);
  size_t jobs_ ABSL_GUARDED_BY(mu_) = 0;
  bool published_ ABSL_GUARDED_BY(mu_) = false;
  bool watches_sessions_ ABSL_GUARDED_BY(mu_) = false;
  std::deque<v1::WorkerServiceAttachResponse> control_ ABSL_GUARDED_BY(mu_);
  size_t control_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  struct SessionNote {
    bool opened;
    std::string session_id;
  };
  std::deque<SessionNote> notes_ ABSL_GUARDED_BY(mu_);
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
  uint64_t ping_nonce_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<absl::Duration> ping_sent_ ABSL_GUARDED_BY(mu_);
  int log_lines_ ABSL_GUARDED_BY(mu_) = 0;  // since the last tick
  // The message being written, kept between writes; owned by whoever set `writing_`.
  v1::WorkerServiceAttachResponse control_message_;
  v1::WorkerServiceAttachResponse invocations_message_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_SESSION_H_
