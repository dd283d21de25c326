// The worker SDK: offers functions of this process as tools of a toolrackd.
//
//   toolrack::WorkerOptions options;
//   options.address = "unix:/run/toolrack/worker.sock";
//   options.name = "my-worker";
//   toolrack::Worker worker(options);
//   worker.AddTool("my-namespace", meta, [](const toolrack::WorkerCall& call) {
//     return toolrack::TextOutcome("hello");
//   });
//   worker.Start();
//   absl::Status end = worker.Wait();
//
// A worker attaches, publishes its tools, answers calls, and attaches again, with jittered back-off
// and for ever, whenever the stream is lost. It gives up only when another process attached under
// its name (REPLACED), or when the daemon says that the worker itself is at fault
// (PROTOCOL_VIOLATION, PERMISSION_DENIED, UNAUTHENTICATED, UNIMPLEMENTED).
#ifndef TOOLRACK_CLIENT_WORKER_H_
#define TOOLRACK_CLIENT_WORKER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/base/stop.h"
#include "toolrack/v1/result.pb.h"
#include "toolrack/v1/tool.pb.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// One call. Thread-safe. May be kept as long as wanted.
class WorkerCall {
 public:
  virtual ~WorkerCall() = default;
  // Who calls what: names, ids, principal, time left when the daemon sent it.
  virtual const v1::Invocation& invocation() const = 0;
  // A JSON object, validated by the daemon, byte for byte as the caller wrote it.
  const std::string& arguments_json() const { return invocation().arguments_json(); }
  // Stops when nobody waits for the answer any more. Answer all the same.
  virtual StopToken stop() const = 0;
  // Told to whoever streams the call. May be dropped when too many wait to be sent.
  virtual void Progress(double progress, double total, absl::string_view message) const = 0;
  // `level`: debug, info, warning or error.
  virtual void Log(absl::string_view level, absl::string_view message) const = 0;
  // The tool's inner state after the call, as JSON text, for hooks. Before the answer.
  virtual void SetState(std::string state_json) const = 0;
};

// The outcome of a call. A result may have is_error set. A status: UNAVAILABLE says that the tool
// was not started (the daemon may give the call to another worker), INVALID_ARGUMENT that it did
// not take the arguments, INTERNAL that it is broken, anything else that it ran and failed; the
// message is for the model.
using WorkerOutcome = absl::StatusOr<v1::ToolResult>;
// Answers by returning. Runs on the worker's own threads, in parallel; may block. An exception
// counts as INTERNAL.
using WorkerHandler = std::function<WorkerOutcome(const WorkerCall& call)>;
// Answers later, from any thread; the first answer counts, and a `done` that is dropped answers
// INTERNAL. Runs on a gRPC thread: must not block.
using WorkerDone = absl::AnyInvocable<void(WorkerOutcome)>;
using AsyncWorkerHandler = std::function<void(std::shared_ptr<const WorkerCall>, WorkerDone done)>;

// A result of one text content.
v1::ToolResult TextOutcome(absl::string_view text);
// A result of one JSON content that is structured_json, too.
v1::ToolResult JsonOutcome(std::string json);

struct WorkerOptions {
  // `unix:/path` of worker.sock (or control.sock).
  std::string address;
  // 1 to 128 of `[A-Za-z0-9_.:/-]`. The same name takes over from its predecessor.
  std::string name;
  // A bearer token of a principal with the scope `register`; empty: the peer's user decides.
  std::string token = {};
  // Calls at once. 0: the daemon's default.
  uint32_t max_in_flight = 0;
  // For WorkerHandler.
  size_t threads = 4;
  v1::PublishMode mode = v1::PUBLISH_MODE_BEST_EFFORT;
  absl::Duration min_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(10);
  // Called on gRPC threads: short, no calls of Stop, Wait or WaitUntilPublished.
  std::function<void(const v1::WorkerPublished&)> on_published;
  std::function<void(const v1::WorkerWelcome&)> on_attached;
  // The stream ended; unless the worker gives up, it attaches again.
  std::function<void(const absl::Status&)> on_detached;
  // The daemon wants this worker out: no new calls will come.
  std::function<void()> on_drain;
};

// Thread-safe.
class Worker {
 public:
  explicit Worker(WorkerOptions options);
  // Stop(0) when it still runs.
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // `meta.name` is the bare name. A second tool of the same namespace and name replaces the first.
  // After Start call Publish to make it known.
  void AddTool(absl::string_view ns, v1::Tool meta, WorkerHandler handler);
  void AddAsyncTool(absl::string_view ns, v1::Tool meta, AsyncWorkerHandler handler);
  // Forgets the tools of a namespace, and takes them back from the daemon.
  void RemoveNamespace(absl::string_view ns);

  // Before Start: who wants to know of the sessions, of which a worker with session-scoped tools is
  // told. Each is opened once, before any call of it, and closed once, perhaps only when the worker
  // has attached again. Called on gRPC threads, one at a time; must not block.
  struct SessionListener {
    std::function<void(const std::string& session_id)> opened;
    std::function<void(const std::string& session_id)> closed;
  };
  void WatchSessions(SessionListener listener);

  // Begins to attach, and returns. INVALID_ARGUMENT for an empty name or address; once.
  absl::Status Start();
  // Publishes a namespace anew.
  void Publish(absl::string_view ns);
  // True once the daemon has answered for every namespace on the stream that is attached now;
  // false when `timeout` is over or the worker has ended.
  bool WaitUntilPublished(absl::Duration timeout);
  // Tells the daemon to send no new calls; those here are finished.
  void Drain(absl::string_view reason);
  // Drains, waits at most `grace` for the calls here, asks the rest to stop, and detaches. Blocks;
  // not from a handler. Idempotent.
  void Stop(absl::Duration grace);
  // Blocks until the worker has ended: OK after Stop, else why it gave up.
  absl::Status Wait();

  // Calls here that are not answered.
  size_t in_flight() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_WORKER_H_
