// One call, from admission to answer.
//
// Asynchronous from end to end: no thread waits while a tool runs. The straight line is in
// pipeline.cc; each step is a function of its own.
#ifndef TOOLRACK_REGISTRY_CALL_PIPELINE_H_
#define TOOLRACK_REGISTRY_CALL_PIPELINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/executor.h"
#include "registry/base/stop.h"
#include "registry/base/timers.h"
#include "registry/call/hook_set.h"
#include "registry/call/result_store.h"
#include "registry/policy/approvals.h"
#include "registry/policy/policy.h"
#include "registry/policy/principals.h"
#include "registry/registry.h"
#include "registry/session_table.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Who calls, and under which conditions.
struct Caller {
  std::string principal;
  std::string traceparent;
  // The transport's own limit. It is enforced by the transport; tools are told.
  absl::Duration deadline = absl::InfiniteDuration();
};

// What the logs get of each ended call. No argument values.
struct CallRecord {
  absl::Time time;  // of its end
  std::string call_id, tool, principal, session_id, backend;
  std::string outcome;  // "ok", "tool_error" or an ErrorReason without prefix
  absl::Duration duration;
  size_t argument_bytes = 0, result_bytes = 0;
  uint32_t attempts = 0;  // 0: no backend was asked
  bool cached = false;    // the result was an earlier call's
  // Empty when there is none.
  std::string tool_digest, batch_id, approval_id, traceparent;
  std::string hook;  // that answered in the tool's place
  // Hex, of the arguments' text as the tool gets it; of refused ones, as it was sent. Empty unless
  // PipelineOptions.digest_arguments.
  std::string arguments_sha256;
};

// Knows which calls are really calls of another tool. Thread-safe.
class CallUnwrapper {
 public:
  virtual ~CallUnwrapper() = default;
  // Whether Unwrap might change a request of this name. Short.
  virtual bool MayWrap(absl::string_view name) const = 0;
  // Makes a request that calls a tool by way of another one the inner tool's own, name and
  // arguments; leaves any other as it is. Linear in the arguments. The pipeline answers with the
  // error, if there is one.
  virtual absl::Status Unwrap(absl::string_view principal, v1::CallToolRequest& request) const = 0;
};

struct PipelineOptions {
  v1::LimitsConfig limits;  // 0 is the default, here and below
  v1::ResultsConfig results;
  v1::BreakerConfig breaker;
  uint32_t max_attempts =
      3;  // of a call that was not executed, or whose tool is idempotent or read-only
  // Mends arguments by the schema when the request does not say (Schema::Mend).
  bool coerce = false;
  // Parsing and validating arguments longer than this is moved off the calling thread.
  size_t inline_argument_bytes = 8 << 10;
  std::function<void(const CallRecord&)> on_call;  // may be empty; short, thread-safe
  bool digest_arguments = false;
  // A reason to take no call just now, else OK; may be empty. Short, thread-safe.
  std::function<absl::Status()> may_call;
};

// Thread-safe. Outlives all its calls: Drain, then wait for idle(), before destroying it.
class CallPipeline {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::CallToolResponse>)>;

  // All outlive this.
  struct Parts {
    Registry* registry;
    Timers* timers;
    Clock* clock;
    Executor* executor;
    ResultStore* results;
    SessionTable* sessions = nullptr;  // null: there are no sessions
    HookSet* hooks = nullptr;          // null: there are no hooks
    // Null: nobody is known, everything is allowed.
    const Principals* principals = nullptr;
    const Policy* policy = nullptr;
    Approvals* approvals = nullptr;            // there when `policy` is
    const CallUnwrapper* unwrapper = nullptr;  // null: each call is of the tool that it names
  };
  CallPipeline(Parts parts, PipelineOptions options);
  ~CallPipeline();

  // Starts a call. `done` runs exactly once, on any thread, possibly before Start returns; within
  // `stop` being requested it runs at once, whatever the tool does. `reporter` may be null.
  //
  // `stop`: the caller's own source; the pipeline requests it itself for deadlines and CancelCall.
  void Start(v1::CallToolRequest request, Caller caller, StopSource stop,
             std::shared_ptr<CallReporter> reporter, Done done);

  // What Start would do, without doing it: nothing is counted or changed, and of the hooks only
  // those are asked that take dry runs. Reads and validates on this thread: call it off the gRPC
  // threads. `done` runs exactly once, possibly before this returns.
  using ExplainDone = absl::AnyInvocable<void(absl::StatusOr<v1::ExplainCallResponse>)>;
  void Explain(v1::CallToolRequest request, Caller caller, StopSource stop, ExplainDone done);

  // The running calls, oldest first, and the last refusals, newest first. Times relative to now.
  std::vector<v1::CallInfo> RunningCalls() const;
  std::vector<v1::Refusal> LastRefusals() const;
  // Stops every running call of this id. The number of them.
  uint32_t CancelCall(absl::string_view call_id);

  // New calls are refused with DRAINING from now on.
  void Drain();
  // Stops every running call, reason kShutdown.
  void StopAll();
  uint64_t calls_in_flight() const;
  // No call and no Explain is under way.
  bool idle() const;
  // Ended calls by outcome, as in GetStatusResponse.calls.
  std::map<std::string, uint64_t> Counters() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_PIPELINE_H_
