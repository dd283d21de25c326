#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/errors.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline_state.h"
#include "registry/call/steps.h"

namespace toolrack {
namespace {

class Story {
 public:
  void Pass(const char* name, std::string detail) {
    Add(name, v1::EXPLAIN_OUTCOME_PASS, std::move(detail));
  }
  void Skip(const char* name, std::string detail) {
    Add(name, v1::EXPLAIN_OUTCOME_SKIP, std::move(detail));
  }
  v1::ExplainCallResponse Refuse(const char* name, const absl::Status& status) {
    const std::string message(status.message());
    Add(name, v1::EXPLAIN_OUTCOME_REFUSE, message.substr(0, message.find('\n')));
    v1::CallVerdict& verdict = *response_.mutable_verdict();
    verdict.set_code(static_cast<int32_t>(status.code()));
    verdict.set_reason(std::string(ReasonName(ReasonOf(status))));
    verdict.set_message(message);
    for (const FieldFault& fault : FaultsOf(status)) {
      v1::ArgumentFault& out = *verdict.add_faults();
      out.set_pointer(fault.field);
      out.set_message(fault.description);
    }
    return std::move(response_);
  }
  v1::ExplainCallResponse Run() {
    response_.mutable_verdict()->set_would_run(true);
    return std::move(response_);
  }

 private:
  void Add(const char* name, v1::ExplainOutcome outcome, std::string detail) {
    v1::ExplainStep& step = *response_.add_steps();
    step.set_name(name);
    step.set_outcome(outcome);
    step.set_detail(std::move(detail));
  }

  v1::ExplainCallResponse response_;
};

std::string BackendName(const Backend& backend) {
  return absl::StrCat(backend.kind(), ":", backend.id());
}

std::string FitText(const Arguments& arguments) {
  std::string text = "the arguments fit the input schema";
  for (size_t i = 0; i < arguments.repairs.size(); ++i) {
    const v1::Repair& repair = arguments.repairs[i];
    absl::StrAppend(&text, i == 0 ? ", once mended: " : ", ", repair.pointer(), " ", repair.kind());
  }
  return text;
}

absl::Status CheckGate(const CallLimits& limits, const GateSpec& gate) {
  if (!gate.limits()) return absl::OkStatus();
  const Gates::Load load = limits.gates()->Look(gate.key);
  const bool full = load.inside >= gate.allowed && load.waiting >= gate.max_waiting;
  return full ? QueueFull("limits.max_queue_per_tool", gate.max_waiting, gate.scope)
              : absl::OkStatus();
}

std::string LoadOf(const CallLimits& limits, const GateSpec& gate) {
  if (!gate.limits()) return "no limit of its own";
  const Gates::Load load = limits.gates()->Look(gate.key);
  return absl::StrCat(load.inside, " of ", gate.allowed, " running, ", load.waiting, " waiting",
                      load.inside >= gate.allowed ? ": it would wait" : "");
}

// As CallPipeline::State::Route, without becoming a breaker's probe.
absl::StatusOr<std::shared_ptr<Backend>> ChooseClosedBackend(const CallLimits& limits,
                                                             const ToolEntry& entry,
                                                             const Session* session,
                                                             std::vector<const Backend*>& tried) {
  while (true) {
    absl::StatusOr<std::shared_ptr<Backend>> backend = ChooseBackend(entry, tried, session);
    if (!backend.ok()) return backend;
    const absl::Status open = limits.CheckBackend(entry.name(), **backend);
    if (open.ok()) return backend;
    tried.push_back(backend->get());
    if (IsPinned(entry, session) || !HasFresh(entry, tried)) return open;
  }
}

// "redactor (pre_call, post_call; priority 5, fail_closed)".
std::string HookText(const HookSeat& seat) {
  const HookSpec& spec = seat.spec();
  std::vector<std::string> points;
  if (seat.at(v1::HOOK_POINT_PRE_CALL)) points.push_back("pre_call");
  if (seat.at(v1::HOOK_POINT_POST_CALL)) points.push_back("post_call");
  if (seat.at(v1::HOOK_POINT_ON_ERROR)) points.push_back("on_error");
  return absl::StrCat(spec.name, " (", absl::StrJoin(points, ", "), "; priority ", spec.priority,
                      ", ",
                      spec.observe_only  ? "observes"
                      : spec.fail_closed ? "fail_closed"
                                         : "fail_open",
                      ")");
}

}  // namespace

// The checks of Steps, told one by one; uses the functions of steps.h in the same order.
Task<v1::ExplainCallResponse> CallPipeline::State::ExplainSteps(PipelineCall& call) {
  Story story;
  v1::CallToolRequest& request = call.request;
  const std::string& principal = call.principal;
  const Principal* const own = PrincipalOf(call);
  absl::Status fault = table.Check(principal, own == nullptr ? 0 : own->max_calls);
  if (fault.ok()) fault = limits.CheckRate(principal, own);
  if (!fault.ok()) co_return story.Refuse("limits", fault);
  story.Pass("limits", absl::StrCat(table.in_flight(), " calls in flight"));

  const Registry& registry = *parts.registry;
  fault = CheckRequest(request);
  if (!fault.ok()) co_return story.Refuse("request", fault);
  if (request.session_id().empty()) {
    story.Skip("session", "none: shared instances are used");
  } else {
    absl::StatusOr<std::shared_ptr<Session>> open =
        SessionNotFound(request.session_id(), SessionEnd::kUnknown);
    if (parts.sessions != nullptr) open = parts.sessions->Peek(request.session_id(), principal);
    if (!open.ok()) co_return story.Refuse("session", open.status());
    call.peeked = *std::move(open);
    fault = limits.CheckSession(request.session_id());
    if (!fault.ok()) co_return story.Refuse("session", fault);
    story.Pass("session",
               absl::StrCat("open, pinned to revision ", call.peeked->pinned_revision()));
  }
  if (parts.unwrapper != nullptr && parts.unwrapper->MayWrap(call.tool)) {
    fault = parts.unwrapper->Unwrap(principal, request);
    if (!fault.ok()) co_return story.Refuse("unwrap", fault);
    if (request.name() != call.tool) {
      story.Pass("unwrap", absl::StrCat("a call of ", ForMessage(request.name(), 200),
                                        " by way of ", call.tool));
      call.tool = request.name();
    }
  }
  if (!request.idempotency_key().empty()) {
    fault = idempotency.Check(principal, request.name(), request.idempotency_key(),
                              FingerprintOf(request));
  }
  if (!fault.ok()) co_return story.Refuse("lookup", fault);
  const FoundTool found = FindTool(registry, request.name());
  if (found.entry == nullptr) {
    co_return story.Refuse("lookup",
                           NotFoundWithNearest(registry, request.name(), VisibilityOf(call)));
  }
  call.entry = found.entry;
  const ToolEntry& entry = *call.entry;
  const v1::Tool& tool = entry.definition->tool;
  const bool ruled = parts.policy != nullptr && !parts.policy->open();
  PolicyDecision decision;
  if (ruled) decision = parts.policy->Decide(principal, *entry.definition);
  if (decision.action == PolicyAction::kDeny) {
    co_return story.Refuse("permission", PolicyDenied(entry.name(), decision.rule));
  }
  fault = CheckCallable(entry, request.expected_digest());
  if (!fault.ok()) co_return story.Refuse("lookup", fault);
  call.timeout = TimeoutOf(request, tool, default_timeout);
  story.Pass("lookup", absl::StrCat("revision ", found.revision, ", digest ", tool.digest()));
  if (ruled) {
    story.Pass("permission", absl::StrCat(decision.rule.empty() ? "reserved tool" : decision.rule,
                                          " lets ", principal, " call it"));
  } else {
    story.Skip("permission", "no rules: every caller may call every tool");
  }

  absl::StatusOr<ArgumentInput> input = TakeInput(entry.name(), request);
  if (!input.ok()) co_return story.Refuse("arguments", input.status());
  const bool coerce = request.has_coerce() ? request.coerce() : options.coerce;
  absl::StatusOr<Arguments> arguments =
      ReadArguments(tool, *std::move(input), argument_limits, coerce);
  if (!arguments.ok()) co_return story.Refuse("arguments", arguments.status());
  call.arguments = *std::move(arguments);
  story.Pass("arguments",
             absl::StrCat("one JSON object of ", call.arguments.text.size(), " bytes"));
  fault = ValidateArguments(entry, coerce, call.arguments);
  if (!fault.ok()) {
    co_return story.Refuse("validation", InSession(std::move(fault), entry, call.session_of()));
  }
  story.Pass("validation", FitText(call.arguments));
  HookSet::Seats seats;
  if (Hooked(call)) seats = parts.hooks->For(*entry.definition);
  if (seats.empty()) story.Skip("hooks", "none attached");
  for (const std::shared_ptr<HookSeat>& seat : seats) {
    const HookSpec& spec = seat->spec();
    const std::string text = HookText(*seat);
    if (spec.observe_only || !seat->at(v1::HOOK_POINT_PRE_CALL)) {
      story.Skip("hooks", text);
      continue;
    }
    if (!call.answered_by.empty()) {
      story.Skip("hooks", absl::StrCat(text, ": not asked before the call, as another answered"));
      continue;
    }
    if (!spec.dry_run) {
      story.Skip("hooks", absl::StrCat(text, ": would be asked; it takes no dry runs"));
      continue;
    }
    HookQuestion question = MakeQuestion(call, v1::HOOK_POINT_PRE_CALL, absl::OkStatus());
    absl::StatusOr<HookVerdict> verdict = co_await Ask(call, *seat, std::move(question));
    std::string said;
    fault = co_await Act(call, *seat, std::move(verdict), said);
    if (!fault.ok()) co_return story.Refuse("hooks", fault);
    story.Pass("hooks", absl::StrCat(text, ": ", said));
  }
  if (!call.answered_by.empty()) co_return story.Run();
  if (decision.action == PolicyAction::kAsk) {
    fault = parts.approvals->Check(
        {principal, entry.name(), tool.digest(), call.arguments.text, decision.rule, tool.risk()},
        request.approval_id());
    if (!fault.ok()) co_return story.Refuse("approval", fault);
    story.Pass("approval", "granted, and used up by the call");
  } else {
    story.Skip("approval", "none asked for");
  }
  if (cache.TtlOf(tool, entry.definition->settings.cache_ttl) > absl::ZeroDuration() &&
      cache.Has(ResultCache::KeyOf(principal, tool, call.arguments.text))) {
    story.Pass("cache", "an earlier result would be given again");
    co_return story.Run();
  }

  fault = limits.CheckTool(entry.name());
  if (fault.ok()) fault = CheckGate(limits, limits.GateOf(tool));
  if (!fault.ok()) co_return story.Refuse("capacity", fault);
  story.Pass("capacity", LoadOf(limits, limits.GateOf(tool)));

  std::vector<const Backend*> tried;
  const absl::StatusOr<std::shared_ptr<Backend>> backend =
      ChooseClosedBackend(limits, entry, call.session_of(), tried);
  if (!backend.ok()) co_return story.Refuse("route", backend.status());
  const GateSpec gate = limits.GateOf(**backend);
  fault = CheckGate(limits, gate);
  if (!fault.ok()) co_return story.Refuse("route", fault);
  story.Pass("route", absl::StrCat(BackendName(**backend), ", one of ", entry.backends.size(),
                                   " that serve it, ", (*backend)->in_flight(), " in flight"));
  co_return story.Run();
}

Detached CallPipeline::State::RunExplain(std::unique_ptr<PipelineCall> owned, ExplainDone done) {
  absl::StatusOr<v1::ExplainCallResponse> response;
  try {
    response = co_await ExplainSteps(*owned);
  } catch (const std::exception& error) {
    response = InternalError("ExplainCall", error.what());
  } catch (...) {
    response = InternalError("ExplainCall", "an unknown exception");
  }
  owned.reset();
  // The pipeline may be gone after this.
  explaining.fetch_sub(1);
  done(std::move(response));
}

void CallPipeline::Explain(v1::CallToolRequest request, Caller caller, StopSource stop,
                           ExplainDone done) {
  std::unique_ptr<PipelineCall> call =
      state_->MakeCall(std::move(request), std::move(caller), std::move(stop));
  call->dry_run = true;
  state_->explaining.fetch_add(1);
  state_->RunExplain(std::move(call), std::move(done));
}

}  // namespace toolrack
