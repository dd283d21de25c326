// CallPipeline, apart from the calls themselves (pipeline.cc): its settings, what it counts and
// remembers, and what an administrator sees.
#include <utility>

#include "registry/base/random.h"
#include "registry/call/pipeline_state.h"

namespace toolrack {
namespace {

uint64_t OrDefault(uint64_t value, uint64_t fallback) { return value > 0 ? value : fallback; }

}  // namespace

CallPipeline::State::State(Parts p, PipelineOptions o)
    : parts(p),
      options(std::move(o)),
      table({OrDefault(options.limits.max_calls_in_flight(), 10000),
             OrDefault(options.limits.max_calls_per_principal(), 10000)}),
      limits(parts.clock, options.limits, options.breaker),
      idempotency(parts.clock, options.limits),
      cache(parts.clock, options.results),
      scrubber(std::make_shared<const Scrubber>(options.results)) {
  argument_limits.max_bytes = OrDefault(options.limits.max_arguments_bytes(), 1 << 20);
  argument_limits.max_depth = OrDefault(options.limits.max_json_depth(), 64);
  result_limits.cap_bytes = OrDefault(options.results.cap_bytes(), 64 << 10);
  result_limits.max_result_bytes = OrDefault(options.results.max_result_bytes(), 16 << 20);
  result_limits.max_json_depth = argument_limits.max_depth;
  default_timeout = ToDuration(options.limits.default_call_timeout());
  if (default_timeout <= absl::ZeroDuration()) default_timeout = absl::Minutes(5);
  if (options.max_attempts == 0) options.max_attempts = 3;
}

void CallPipeline::State::Record(const PipelineCall& call, const absl::Status& status,
                                 absl::Duration duration) {
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (!status.ok()) {
    reason = ReasonOf(status);
    counters.CountReason(reason);
  } else if (call.response.result().is_error()) {
    counters.CountToolError();
  } else {
    counters.CountOk();
  }
  if (call.session) {
    call.session->Count(!status.ok()                        ? Session::Ended::kFailed
                        : call.response.result().is_error() ? Session::Ended::kToolError
                                                            : Session::Ended::kOk,
                        call.argument_bytes,
                        status.ok() ? call.response.result().total_bytes() : 0);
  }
  const bool ended_by_stop =
      reason == v1::ERROR_REASON_TIMEOUT || reason == v1::ERROR_REASON_CANCELLED;
  if (!status.ok() && !ended_by_stop && SurelyNotExecuted(status)) {
    v1::Refusal refusal;
    refusal.set_call_id(call.call_id);
    refusal.set_tool(ForMessage(call.tool, 200));
    refusal.set_principal(call.principal);
    refusal.set_reason(std::string(ReasonName(reason)));
    refusal.set_message(std::string(status.message()));
    SetTimestamp(parts.clock->WallNow(), *refusal.mutable_time());
    refusals.Add(std::move(refusal));
  }
  if (!options.on_call) return;
  CallRecord record;
  record.time = parts.clock->WallNow();
  record.call_id = call.call_id;
  record.tool = call.tool;
  record.principal = call.principal;
  record.session_id = call.session_id;
  if (call.backend != nullptr) record.backend = call.backend->id();
  record.outcome = !status.ok() ? std::string(ReasonName(reason))
                                : (call.response.result().is_error() ? "tool_error" : "ok");
  record.duration = duration;
  record.argument_bytes = call.argument_bytes;
  if (status.ok()) record.result_bytes = call.response.result().total_bytes();
  record.attempts = call.attempts;
  record.cached = status.ok() && call.response.cached();
  if (call.entry != nullptr) record.tool_digest = call.entry->definition->tool.digest();
  record.batch_id = call.request.batch_id();
  record.approval_id = call.request.approval_id();
  record.traceparent = call.caller.traceparent;
  record.hook = call.answered_by;
  if (options.digest_arguments) {
    record.arguments_sha256 = call.refused_sha256.empty() && call.arguments.value != nullptr
                                  ? Sha256Hex(call.arguments.text)
                                  : call.refused_sha256;
  }
  options.on_call(record);
}

std::vector<v1::CallInfo> CallPipeline::RunningCalls() const {
  const absl::Duration now = state_->parts.clock->SteadyNow();
  std::vector<v1::CallInfo> out;
  for (CallTable::Row& row : state_->table.Rows()) {
    v1::CallInfo info;
    info.set_call_id(std::move(row.call_id));
    info.set_tool(ForMessage(row.tool, 200));
    info.set_principal(std::move(row.principal));
    info.set_session_id(ForMessage(row.session_id, 200));
    info.set_state(row.backend.empty() ? "queued" : "running");
    info.set_backend(std::move(row.backend));
    // Pages are sorted by it: the same call must have the same time in each.
    SetTimestamp(state_->wall_at_zero + row.start, *info.mutable_start_time());
    SetDuration(now - row.start, *info.mutable_age());
    out.push_back(std::move(info));
  }
  return out;
}

std::vector<v1::Refusal> CallPipeline::LastRefusals() const { return state_->refusals.Newest(); }

uint32_t CallPipeline::CancelCall(absl::string_view call_id) {
  return state_->table.Stop(&call_id, StopReason::kAdmin);
}

void CallPipeline::Drain() { state_->table.Drain(); }

void CallPipeline::StopAll() { state_->table.Stop(nullptr, StopReason::kShutdown); }

uint64_t CallPipeline::calls_in_flight() const { return state_->table.in_flight(); }

bool CallPipeline::idle() const {
  return state_->table.in_flight() == 0 && state_->explaining.load() == 0;
}

std::map<std::string, uint64_t> CallPipeline::Counters() const {
  return state_->counters.ByOutcome();
}

}  // namespace toolrack
