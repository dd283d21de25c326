// The steps of a call that ask who it is, of which tool, and whether it was made before:
// unwrapping, idempotency keys, permission, approval, the result cache.
#include <stop_token>
#include <utility>

#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/call/armed_timer.h"
#include "registry/call/pipeline_state.h"

namespace toolrack {

const Principal* CallPipeline::State::PrincipalOf(const PipelineCall& call) const {
  const Principals* principals = parts.principals;
  return principals == nullptr || principals->empty() ? nullptr : principals->Find(call.principal);
}

ToolVisibility CallPipeline::State::VisibilityOf(const PipelineCall& call) const {
  return parts.policy == nullptr ? ToolVisibility() : parts.policy->VisibilityOf(call.principal);
}

// From here on a call by way of another name is the inner tool's own: limits, rules, hooks and
// counters know no other.
Task<absl::Status> CallPipeline::State::Unwrap(PipelineCall& call) {
  call.argument_bytes = InputBytes(call.request);
  if (call.argument_bytes > options.inline_argument_bytes) {
    absl::Status fault = co_await Hop(call);
    if (!fault.ok()) co_return fault;
  }
  std::string sent;
  if (options.digest_arguments) {
    v1::CallToolRequest copy = call.request;
    absl::StatusOr<ArgumentInput> input = TakeInput(call.tool, copy);
    if (input.ok()) sent = std::move(input->text);
  }
  absl::Status fault = parts.unwrapper->Unwrap(call.principal, call.request);
  if (!fault.ok()) {
    if (options.digest_arguments) call.refused_sha256 = Sha256Hex(sent);
    co_return fault;
  }
  if (call.request.name() != call.tool) table.SetTool(call, call.request.name());
  co_return absl::OkStatus();
}

// OK: this call runs (call.leads), or its outcome is there already (call.known_outcome).
Task<absl::Status> CallPipeline::State::Lead(PipelineCall& call) {
  using Outcome = IdempotencyKeys::OutcomePtr;
  Completion<Outcome> ended;
  auto wake = [ended](Outcome outcome) { ended.Set(std::move(outcome)); };
  const std::string& key = call.request.idempotency_key();
  IdempotencyKeys::Answer answer = idempotency.Enter(call.principal, call.tool, key,
                                                     FingerprintOf(call.request), std::move(wake));
  if (answer.what == IdempotencyKeys::Answer::What::kRefused) co_return answer.fault;
  if (answer.what == IdempotencyKeys::Answer::What::kFirst) {
    call.leads = true;
    co_return absl::OkStatus();
  }
  Outcome outcome = std::move(answer.outcome);
  if (answer.what == IdempotencyKeys::Answer::What::kWait) {
    ArmedTimer timer(parts.timers);
    call.timeout = TimeoutOf(call.request, v1::Tool::default_instance(), default_timeout);
    auto fire = [ended] { ended.Set(nullptr); };
    timer.Arm(TimeLeft(call), fire);
    auto stop = [ended] { ended.Set(nullptr); };
    std::stop_callback on_stop(call.stop.token().std_token(), stop);
    outcome = co_await ended;
  }
  if (outcome == nullptr) {
    idempotency.Forget(call.principal, key, answer.waiter);
    if (!call.stop.token().stop_requested()) call.stop.RequestStop(StopReason::kDeadline);
    // The first one may be running.
    call.executed = Executed::kMaybe;
    co_return Stopped(call);
  }
  if (!outcome->ok()) co_return outcome->status();
  call.known_outcome = true;
  call.response = **outcome;
  call.response.set_cached(true);
  call.revision = call.response.revision();
  co_return absl::OkStatus();
}

absl::Status CallPipeline::State::Allow(const PipelineCall& call) const {
  return parts.policy == nullptr ? absl::OkStatus()
                                 : parts.policy->Check(call.principal, *call.entry->definition);
}

absl::Status CallPipeline::State::Approve(PipelineCall& call) {
  if (parts.policy == nullptr || parts.policy->open()) return absl::OkStatus();
  const ToolDefinition& definition = *call.entry->definition;
  const PolicyDecision decision = parts.policy->Decide(call.principal, definition);
  if (decision.action != PolicyAction::kAsk) return absl::OkStatus();
  absl::Status status =
      parts.approvals->Take({call.principal, call.tool, definition.tool.digest(),
                             call.arguments.text, decision.rule, definition.tool.risk()},
                            call.request.approval_id());
  call.approval_taken = status.ok();
  return status;
}

// Whether call.response has a result that may be given again. Else `key` is where a new one
// belongs; empty: nowhere.
bool CallPipeline::State::FromCache(PipelineCall& call, std::string& key) {
  const ToolDefinition& definition = *call.entry->definition;
  if (cache.TtlOf(definition.tool, definition.settings.cache_ttl) <= absl::ZeroDuration()) {
    return false;
  }
  key = ResultCache::KeyOf(call.principal, definition.tool, call.arguments.text);
  const std::shared_ptr<const v1::ToolResult> result = cache.Find(key);
  if (result == nullptr) return false;
  *call.response.mutable_result() = *result;
  call.response.set_cached(true);
  return true;
}

void CallPipeline::State::KeepInCache(const PipelineCall& call, const std::string& key) {
  const ToolDefinition& definition = *call.entry->definition;
  cache.Put(key, call.response.result(),
            cache.TtlOf(definition.tool, definition.settings.cache_ttl));
}

void CallPipeline::State::CapAndKeep(PipelineCall& call) const {
  v1::ToolResult& result = *call.response.mutable_result();
  scrubber->Scrub(result);
  ResultLimits limits_now = result_limits;
  const uint64_t own_cap = call.entry->definition->settings.result_cap_bytes;
  if (own_cap > 0) limits_now.cap_bytes = own_cap;
  CapResult(limits_now, call.principal, call.session_id, *parts.results, result);
  // What was kept just now for a session that is over meanwhile must not outlive it.
  if (call.session && call.session->over()) parts.results->CloseSession(call.session_id);
}

// An approval is for one run. Nothing was run: it is good for another call.
void CallPipeline::State::GiveApprovalBack(PipelineCall& call, const absl::Status& status) {
  if (!call.approval_taken || status.ok() || !SurelyNotExecuted(status)) return;
  call.approval_taken = false;
  parts.approvals->GiveBack(call.request.approval_id());
}

// What others learn of the end of this call: who waits for its idempotency key, and its approval.
void CallPipeline::State::SettleOutcome(PipelineCall& call, const absl::Status& status) {
  GiveApprovalBack(call, status);
  if (!call.leads) return;
  const std::string& key = call.request.idempotency_key();
  if (status.ok()) {
    idempotency.End(call.principal, key, call.response);
  } else {
    idempotency.End(call.principal, key, status);
  }
}

}  // namespace toolrack
