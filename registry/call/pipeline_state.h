// The inside of CallPipeline: one call, and what all calls share. For registry/call/pipeline*.cc
// only.
#ifndef TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_
#define TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/task.h"
#include "registry/call/call_counters.h"
#include "registry/call/call_limits.h"
#include "registry/call/call_table.h"
#include "registry/call/hook_set.h"
#include "registry/call/idempotency.h"
#include "registry/call/pipeline.h"
#include "registry/call/result_cache.h"
#include "registry/call/result_shape.h"
#include "registry/call/scrub.h"
#include "registry/call/steps.h"

namespace toolrack {

// One call, from Start to its answer.
struct PipelineCall : RunningCall {
  v1::CallToolRequest request;
  Caller caller;
  std::shared_ptr<CallReporter> reporter;
  CallPipeline::Done done;

  bool entered = false;
  SessionLease session;
  std::shared_ptr<Session> peeked;  // ExplainCall's, in the place of `session`
  bool dry_run = false;             // ExplainCall
  uint64_t revision = 0;
  ToolEntryPtr entry;
  Arguments arguments;
  absl::Duration timeout = absl::InfiniteDuration();
  std::shared_ptr<Backend> backend;
  std::string answered_by;  // the hook whose answer response.result is; empty: a tool runs
  Executed executed = Executed::kNo;
  uint32_t attempts = 0;
  Gates::Place session_place;
  std::shared_ptr<HeldPlaces> places;  // null while there are none
  bool leads = false;                  // the first one with its idempotency key
  bool known_outcome = false;          // it was an earlier one's: nothing ran
  bool approval_taken = false;         // and to be given back when nothing ran
  // This call is the one by which a breaker tries; AbandonProbes or Report ends that.
  bool tool_probe = false, backend_probe = false;
  size_t argument_bytes = 0;
  std::string refused_sha256;  // of arguments that were not taken, with digest_arguments
  // Holds the result from the backend's answer on: results are dear to move.
  v1::CallToolResponse response;

  // Null when it has none.
  const Session* session_of() const { return session ? session.get() : peeked.get(); }
};

struct CallPipeline::State {
  State(Parts parts, PipelineOptions options);

  std::unique_ptr<PipelineCall> MakeCall(v1::CallToolRequest request, Caller caller,
                                         StopSource stop) const;
  Detached Run(std::unique_ptr<PipelineCall> owned);
  Task<absl::Status> Steps(PipelineCall& call);
  Task<absl::Status> Hop(PipelineCall& call);
  bool IsLong(const v1::ToolResult& result) const;
  Task<absl::Status> HopForResult(PipelineCall& call);
  Task<absl::Status> Attempt(PipelineCall& call);
  absl::Status AcceptArguments(PipelineCall& call, ArgumentInput input, bool coerce) const;
  // The result as the caller gets it: without credentials, at most as long as the cap allows.
  void CapAndKeep(PipelineCall& call) const;
  const Principal* PrincipalOf(const PipelineCall& call) const;
  Task<absl::Status> Unwrap(PipelineCall& call);
  Task<absl::Status> Lead(PipelineCall& call);
  absl::Status Allow(const PipelineCall& call) const;
  absl::Status Approve(PipelineCall& call);
  bool FromCache(PipelineCall& call, std::string& key);
  void KeepInCache(const PipelineCall& call, const std::string& key);
  void SettleOutcome(PipelineCall& call, const absl::Status& status);
  void GiveApprovalBack(PipelineCall& call, const absl::Status& status);
  ToolVisibility VisibilityOf(const PipelineCall& call) const;
  Task<absl::Status> EnterGate(PipelineCall& call, GateSpec gate, Gates::Place& place);
  Task<absl::Status> EnterTool(PipelineCall& call);
  Task<absl::Status> EnterBackend(PipelineCall& call);
  // `done` that holds the places until it is called: until the tool has really ended.
  static ToolDone KeepingPlaces(ToolDone done, std::shared_ptr<HeldPlaces> places);
  void Report(PipelineCall& call, const absl::Status& outcome);
  void AbandonProbes(PipelineCall& call);
  absl::Status EnterSession(PipelineCall& call) const;
  absl::Status Find(PipelineCall& call) const;
  absl::Status Route(PipelineCall& call, std::vector<const Backend*>& tried);
  ToolCall MakeToolCall(const PipelineCall& call) const;
  absl::Duration TimeLeft(const PipelineCall& call) const;
  absl::Status Stopped(const PipelineCall& call) const;
  void Finish(std::unique_ptr<PipelineCall> owned, absl::Status status);

  // pipeline_hooks.cc. Hooked: false is certain, and costs two loads.
  bool Hooked(const PipelineCall& call) const;
  HookQuestion MakeQuestion(const PipelineCall& call, v1::HookPoint point,
                            const absl::Status& status) const;
  Task<absl::StatusOr<HookVerdict>> Ask(PipelineCall& call, HookSeat& seat, HookQuestion question);
  void CountVerdict(const PipelineCall& call, HookSeat& seat,
                    const absl::StatusOr<HookVerdict>& verdict) const;
  Task<absl::Status> Act(PipelineCall& call, HookSeat& seat, absl::StatusOr<HookVerdict> verdict,
                         std::string& said);
  Task<absl::Status> TakeArgumentsOf(PipelineCall& call, const HookSpec& spec, std::string text);
  Task<absl::Status> TakeResultOf(PipelineCall& call, const HookSpec& spec, v1::ToolResult given);
  // An output that does not fit is the hook's that gave it (empty: the tool's).
  static void BlameForOutput(absl::string_view hook, v1::ToolResult& result);
  Task<absl::Status> PreHooks(PipelineCall& call);
  Task<absl::Status> PostHooks(PipelineCall& call);
  Task<absl::Status> ErrorHooks(PipelineCall& call, absl::Status status);

  // explain.cc.
  Task<v1::ExplainCallResponse> ExplainSteps(PipelineCall& call);
  Detached RunExplain(std::unique_ptr<PipelineCall> owned, ExplainDone done);
  void Record(const PipelineCall& call, const absl::Status& status, absl::Duration duration);

  const Parts parts;
  // Wall time when the steady clock was 0.
  const absl::Time wall_at_zero = parts.clock->WallNow() - parts.clock->SteadyNow();
  PipelineOptions options;
  ArgumentLimits argument_limits;
  ResultLimits result_limits;
  absl::Duration default_timeout;
  CallTable table;
  CallLimits limits;
  IdempotencyKeys idempotency;
  ResultCache cache;
  // Shared with the reporters of tools, which may outlive the pipeline.
  const std::shared_ptr<const Scrubber> scrubber;
  CallCounters counters;
  RefusalRing refusals;
  std::atomic<uint64_t> explaining{0};
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_
