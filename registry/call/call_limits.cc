#include "registry/call/call_limits.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/call/steps.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

using Ending = Breakers::Ending;

uint64_t OrDefault(uint64_t value, uint64_t fallback) { return value > 0 ? value : fallback; }

BreakerOptions ToOptions(const v1::BreakerConfig& config) {
  BreakerOptions options;
  options.disabled = config.disabled();
  if (config.failures() > 0) options.failures = config.failures();
  const absl::Duration open_for = ToDuration(config.open_for());
  if (open_for > absl::ZeroDuration()) options.open_for = open_for;
  return options;
}

std::string KeyOf(const Backend& backend) {
  return absl::StrCat("b:", backend.kind(), ":", backend.principal(), ":", backend.id());
}
std::string ToolKey(absl::string_view tool) { return absl::StrCat("t:", tool); }
std::string SessionKey(absl::string_view session) { return absl::StrCat("s:", session); }

std::string NameOf(const Backend& backend) {
  return absl::StrCat(backend.kind(), ":", backend.id());
}

}  // namespace

CallLimits::CallLimits(const Clock* clock, const v1::LimitsConfig& limits,
                       const v1::BreakerConfig& breaker)
    : rate_{limits.max_calls_per_minute(), limits.call_burst()},
      max_per_session_(OrDefault(limits.max_calls_per_session(), 1000)),
      max_per_backend_(limits.max_calls_per_backend()),
      max_queue_(OrDefault(limits.max_queue_per_tool(), 1024)),
      queue_timeout_(limits.has_queue_timeout() ? ToDuration(limits.queue_timeout())
                                                : absl::Seconds(30)),
      rates_(clock),
      breakers_(clock, ToOptions(breaker)) {}

absl::Status CallLimits::Refusal(absl::string_view principal, const Principal* own,
                                 absl::Duration wait) const {
  if (wait == absl::ZeroDuration()) return absl::OkStatus();
  const Rate& rate = RateOf(own);
  return RateExceeded(
      &rate == &rate_ ? "limits.max_calls_per_minute" : "principals.max_calls_per_minute",
      rate.per_minute, absl::StrCat("the caller ", principal), wait);
}

absl::Status CallLimits::TakeRate(absl::string_view principal, const Principal* own) {
  return Refusal(principal, own, rates_.Take(principal, RateOf(own)));
}

absl::Status CallLimits::CheckRate(absl::string_view principal, const Principal* own) const {
  return Refusal(principal, own, rates_.Look(principal, RateOf(own)));
}

absl::Status CallLimits::EnterSession(absl::string_view session, Gates::Place& place) {
  std::string key = SessionKey(session);
  const Gates::Ticket ticket = gates_->Enter(key, max_per_session_, 0, [] { return false; });
  if (ticket.answer != Gates::Answer::kIn) {
    return TooManyAtOnce("limits.max_calls_per_session", max_per_session_, "this session");
  }
  place = Gates::Place(gates_.get(), std::move(key));
  return absl::OkStatus();
}

absl::Status CallLimits::CheckSession(absl::string_view session) const {
  if (gates_->Look(SessionKey(session)).inside < max_per_session_) return absl::OkStatus();
  return TooManyAtOnce("limits.max_calls_per_session", max_per_session_, "this session");
}

GateSpec CallLimits::GateOf(const v1::Tool& tool) const {
  if (tool.max_concurrency() == 0) return {};
  return {ToolKey(tool.name()), "max_concurrency", tool.max_concurrency(), max_queue_,
          absl::StrCat("the tool ", tool.name())};
}

GateSpec CallLimits::GateOf(const Backend& backend) const {
  if (max_per_backend_ == 0) return {};
  return {KeyOf(backend), "limits.max_calls_per_backend", max_per_backend_, max_queue_,
          absl::StrCat("the backend ", NameOf(backend))};
}

absl::Status CallLimits::AdmitTool(absl::string_view tool, bool& probe) {
  if (breakers_.size() == 0) return absl::OkStatus();
  const Breakers::Verdict verdict = breakers_.Admit(ToolKey(tool), nullptr);
  probe = verdict.probe;
  return verdict.allowed ? absl::OkStatus() : CircuitOpen(tool, "", verdict.retry_after);
}

absl::Status CallLimits::AdmitBackend(absl::string_view tool, const Backend& backend, bool& probe) {
  if (breakers_.size() == 0) return absl::OkStatus();
  const Breakers::Verdict verdict = breakers_.Admit(KeyOf(backend), &backend);
  probe = verdict.probe;
  return verdict.allowed ? absl::OkStatus()
                         : CircuitOpen(tool, NameOf(backend), verdict.retry_after);
}

absl::Status CallLimits::CheckTool(absl::string_view tool) const {
  if (breakers_.size() == 0) return absl::OkStatus();
  const Breakers::Verdict verdict = breakers_.Look(ToolKey(tool), nullptr);
  return verdict.allowed ? absl::OkStatus() : CircuitOpen(tool, "", verdict.retry_after);
}

absl::Status CallLimits::CheckBackend(absl::string_view tool, const Backend& backend) const {
  if (breakers_.size() == 0) return absl::OkStatus();
  const Breakers::Verdict verdict = breakers_.Look(KeyOf(backend), &backend);
  return verdict.allowed ? absl::OkStatus()
                         : CircuitOpen(tool, NameOf(backend), verdict.retry_after);
}

void CallLimits::Report(absl::string_view tool, const Backend& backend, bool tool_probe,
                        bool backend_probe, const absl::Status& outcome,
                        const v1::ToolResult* result) {
  Ending of_tool = Ending::kSucceeded, of_backend = Ending::kSucceeded;
  const void* event = nullptr;
  if (!outcome.ok() && IsBackendFailure(outcome)) {
    switch (ReasonOf(outcome)) {
      case v1::ERROR_REASON_BACKEND_UNAVAILABLE:
        of_tool = Ending::kUndecided;
        of_backend = Ending::kFailed;
        break;
      case v1::ERROR_REASON_OUTCOME_UNKNOWN:
        // A tool that takes its worker down with it: each worker counts once, however many calls
        // it had.
        of_tool = of_backend = Ending::kFailed;
        event = &backend;
        break;
      default:
        of_tool = of_backend = Ending::kUndecided;
    }
  } else if (outcome.code() == absl::StatusCode::kInternal ||
             (result != nullptr && result->is_error() &&
              result->error().reason() == ReasonName(v1::ERROR_REASON_TOOL_INTERNAL))) {
    of_tool = Ending::kFailed;
  }
  const bool failed = of_tool == Ending::kFailed || of_backend == Ending::kFailed;
  if (!failed && breakers_.size() == 0) return;
  breakers_.Report(ToolKey(tool), nullptr, tool_probe, of_tool, event);
  breakers_.Report(KeyOf(backend), &backend, backend_probe, of_backend, event);
}

void CallLimits::AbandonTool(absl::string_view tool) {
  breakers_.Report(ToolKey(tool), nullptr, true, Ending::kUndecided);
}

void CallLimits::AbandonBackend(const Backend& backend) {
  breakers_.Report(KeyOf(backend), &backend, true, Ending::kUndecided);
}

}  // namespace toolrack
