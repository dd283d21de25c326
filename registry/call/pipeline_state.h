// The inside of CallPipeline: one call, and what all calls share. For registry/call/pipeline*.cc
// only.
#ifndef TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_
#define TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/task.h"
#include "registry/call/call_counters.h"
#include "registry/call/call_limits.h"
#include "registry/call/call_table.h"
#include "registry/call/pipeline.h"
#include "registry/call/result_shape.h"
#include "registry/call/steps.h"

namespace toolrack {

// One call, from Start to its answer.
struct PipelineCall : RunningCall {
  v1::CallToolRequest request;
  Caller caller;
  std::shared_ptr<CallReporter> reporter;
  CallPipeline::Done done;

  bool entered = false;
  uint64_t revision = 0;
  ToolEntryPtr entry;
  Arguments arguments;
  absl::Duration timeout = absl::InfiniteDuration();
  std::shared_ptr<Backend> backend;
  Executed executed = Executed::kNo;
  uint32_t attempts = 0;
  Gates::Place session_place;
  std::shared_ptr<HeldPlaces> places;  // null while there are none
  // This call is the one by which a breaker tries; AbandonProbes or Report ends that.
  bool tool_probe = false, backend_probe = false;
  size_t argument_bytes = 0;
  // Holds the result from the backend's answer on: results are dear to move.
  v1::CallToolResponse response;
};

struct CallPipeline::State {
  State(Parts parts, PipelineOptions options);

  Detached Run(std::unique_ptr<PipelineCall> owned);
  Task<absl::Status> Steps(PipelineCall& call);
  Task<absl::Status> Hop(PipelineCall& call);
  Task<absl::Status> Attempt(PipelineCall& call);
  Task<absl::Status> EnterGate(PipelineCall& call, GateSpec gate, Gates::Place& place);
  Task<absl::Status> EnterTool(PipelineCall& call);
  Task<absl::Status> EnterBackend(PipelineCall& call);
  // `done` that holds the places until it is called: until the tool has really ended.
  static ToolDone KeepingPlaces(ToolDone done, std::shared_ptr<HeldPlaces> places);
  void Report(PipelineCall& call, const absl::Status& outcome);
  void AbandonProbes(PipelineCall& call);
  absl::Status Find(PipelineCall& call) const;
  absl::Status Route(PipelineCall& call, std::vector<const Backend*>& tried);
  ToolCall MakeToolCall(const PipelineCall& call) const;
  absl::Duration TimeLeft(const PipelineCall& call) const;
  absl::Status Stopped(const PipelineCall& call) const;
  void Finish(std::unique_ptr<PipelineCall> owned, absl::Status status);
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
  CallCounters counters;
  RefusalRing refusals;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_PIPELINE_STATE_H_
