// Step 6 of a call: the breakers, and the queues for a place of the tool and of the backend.
#include <memory>
#include <stop_token>
#include <utility>

#include "registry/base/errors.h"
#include "registry/call/armed_timer.h"
#include "registry/call/pipeline_state.h"

namespace toolrack {
namespace {

enum class Turn { kIn, kTime, kStop };

HeldPlaces& PlacesOf(PipelineCall& call, const CallLimits& limits) {
  if (call.places == nullptr) {
    call.places = std::make_shared<HeldPlaces>();
    call.places->gates = limits.gates();
  }
  return *call.places;
}

}  // namespace

// Waits for a place of `gate`, at most limits.queue_timeout and as long as the call may take.
// QUEUE_FULL, CONCURRENCY; TIMEOUT or CANCELLED when the call was stopped.
Task<absl::Status> CallPipeline::State::EnterGate(PipelineCall& call, GateSpec gate,
                                                  Gates::Place& place) {
  Completion<Turn> turn;
  auto grant = [turn] { return turn.Set(Turn::kIn); };
  const Gates::Ticket ticket =
      limits.gates()->Enter(gate.key, gate.allowed, gate.max_waiting, std::move(grant));
  if (ticket.answer == Gates::Answer::kFull) {
    co_return QueueFull("limits.max_queue_per_tool", gate.max_waiting, gate.scope);
  }
  Turn how = Turn::kIn;
  if (ticket.answer == Gates::Answer::kWaiting) {
    ArmedTimer timer(parts.timers);
    auto fire = [turn] { turn.Set(Turn::kTime); };
    timer.Arm(std::min(limits.queue_timeout(), TimeLeft(call)), fire);
    auto stop = [turn] { turn.Set(Turn::kStop); };
    std::stop_callback on_stop(call.stop.token().std_token(), stop);
    how = co_await turn;
  }
  if (how == Turn::kIn) {
    place = Gates::Place(limits.gates().get(), std::move(gate.key));
    co_return absl::OkStatus();
  }
  limits.gates()->Forget(gate.key, ticket.number);
  if (how == Turn::kTime && TimeLeft(call) > absl::ZeroDuration()) {
    co_return WaitedTooLong(gate.limit, gate.allowed, gate.scope, limits.queue_timeout());
  }
  if (how == Turn::kTime) call.stop.RequestStop(StopReason::kDeadline);
  co_return Stopped(call);
}

Task<absl::Status> CallPipeline::State::EnterTool(PipelineCall& call) {
  GateSpec gate = limits.GateOf(call.entry->definition->tool);
  if (!gate.limits()) co_return absl::OkStatus();
  co_return co_await EnterGate(call, std::move(gate), PlacesOf(call, limits).tool);
}

Task<absl::Status> CallPipeline::State::EnterBackend(PipelineCall& call) {
  GateSpec gate = limits.GateOf(*call.backend);
  HeldPlaces& places = PlacesOf(call, limits);
  places.backend = Gates::Place();  // of the attempt before
  co_return co_await EnterGate(call, std::move(gate), places.backend);
}

ToolDone CallPipeline::State::KeepingPlaces(ToolDone done, std::shared_ptr<HeldPlaces> places) {
  return [done = std::move(done),
          places = std::move(places)](absl::StatusOr<v1::ToolResult>&& outcome) mutable {
    // Before the answer: whoever gets it finds the place free.
    places = nullptr;
    done(std::move(outcome));
  };
}

void CallPipeline::State::Report(PipelineCall& call, const absl::Status& outcome) {
  limits.Report(call.tool, *call.backend, std::exchange(call.tool_probe, false),
                std::exchange(call.backend_probe, false), outcome,
                outcome.ok() ? &call.response.result() : nullptr);
}

void CallPipeline::State::AbandonProbes(PipelineCall& call) {
  if (std::exchange(call.tool_probe, false)) limits.AbandonTool(call.tool);
  if (std::exchange(call.backend_probe, false)) limits.AbandonBackend(*call.backend);
}

}  // namespace toolrack
