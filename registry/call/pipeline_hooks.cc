// The hooks of a call: what they are told, how long they are waited for, and what becomes of their
// verdicts.
//
// Whatever a hook says, a tool gets only arguments that were validated after the last change, and a
// hook that must agree and does not is a refusal.
#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"
#include "registry/call/armed_timer.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline_state.h"
#include "registry/call/result_shape.h"
#include "registry/call/steps.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

using Action = HookVerdict::Action;

// nullopt: the call was stopped.
using Heard = std::optional<absl::StatusOr<HookVerdict>>;

constexpr size_t kMaxReasonBytes = 1000;

// What stands there when a hook does not let a result out.
v1::ToolResult Withheld(const PipelineCall& call, const HookSpec& spec, absl::string_view why) {
  const std::string reason = ForMessage(why, kMaxReasonBytes);
  return ErrorResult(
      v1::ERROR_REASON_RESULT_WITHHELD,
      absl::StrCat(!call.answered_by.empty() ? "" : absl::StrCat("The tool ", call.tool, " ran. "),
                   "Its result was withheld by the hook ", spec.name, reason.empty() ? "" : ": ",
                   reason, reason.empty() ? "." : ""),
      {{"tool", call.tool}, {"hook", spec.name}, {"hook_reason", reason}});
}

absl::Status Misplaced(Action action, const char* point) {
  return absl::InvalidArgumentError(absl::StrCat("gave the verdict ", HookActionName(action),
                                                 ", which does not belong to ", point));
}

}  // namespace

bool CallPipeline::State::Hooked(const PipelineCall& call) const {
  return parts.hooks != nullptr && parts.hooks->MayConcern(*call.entry->definition);
}

HookQuestion CallPipeline::State::MakeQuestion(const PipelineCall& call, v1::HookPoint point,
                                               const absl::Status& status) const {
  auto event = std::make_shared<v1::HookEvent>();
  const v1::Tool& tool = call.entry->definition->tool;
  event->set_point(point);
  event->mutable_call()->set_call_id(ReplaceInvalidUtf8(call.call_id));
  event->mutable_call()->set_arguments_json(call.arguments.text);
  event->mutable_call()->set_batch_id(call.request.batch_id());
  event->mutable_call()->set_call_index(call.request.call_index());
  event->mutable_call()->set_traceparent(call.caller.traceparent);
  event->set_tool_name(tool.name());
  event->set_digest(tool.digest());
  event->set_session(call.session_id);
  event->set_principal(call.principal);
  event->set_dry_run(call.dry_run);
  if (!status.ok()) {
    v1::HookError& error = *event->mutable_error();
    error.set_code(static_cast<int32_t>(status.code()));
    error.set_reason(std::string(ReasonName(ReasonOf(status))));
    error.set_message(ReplaceInvalidUtf8(status.message()));
    for (const auto& [key, value] : MetadataOf(status)) (*error.mutable_metadata())[key] = value;
  } else if (point != v1::HOOK_POINT_PRE_CALL) {
    *event->mutable_result() = call.response.result();
  }
  // Of the instance that the call used, or will most likely use.
  std::shared_ptr<Backend> backend = call.backend;
  if (backend == nullptr) {
    absl::StatusOr<std::shared_ptr<Backend>> likely =
        ChooseBackend(*call.entry, {}, call.session_of());
    if (likely.ok()) backend = *std::move(likely);
  }
  if (backend != nullptr) {
    std::string state = backend->StateJson(*call.entry, call.session_id);
    if (!state.empty() && IsUtf8(state)) event->set_tool_state_json(std::move(state));
  }
  return {std::move(event), call.entry};
}

// Waits for the verdict, the hook's time, the end of the call's time, or the stop.
Task<absl::StatusOr<HookVerdict>> CallPipeline::State::Ask(PipelineCall& call, HookSeat& seat,
                                                           HookQuestion question) {
  Completion<Heard> heard;
  ArmedTimer timer(parts.timers);
  if (call.stop.token().stop_requested()) co_return Stopped(call);
  const absl::Duration left = TimeLeft(call);
  if (left <= absl::ZeroDuration()) {
    call.stop.RequestStop(StopReason::kDeadline);
    co_return Stopped(call);
  }
  if (!call.dry_run) seat.CountAsked();
  auto done = [heard](absl::StatusOr<HookVerdict>&& verdict) { heard.Set(std::move(verdict)); };
  const uint64_t number = seat.hook().Ask(std::move(question), std::move(done));
  const bool answered = heard.is_set();
  if (!answered) {
    const absl::Duration patience = seat.spec().timeout;
    auto fire = [heard, running = &call, patience, ends_call = left <= patience] {
      if (ends_call) {
        StopSource stop = running->stop;
        stop.RequestStop(StopReason::kDeadline);
      } else {
        heard.Set(absl::DeadlineExceededError(
            absl::StrCat("gave no verdict within ", absl::FormatDuration(patience))));
      }
    };
    timer.Arm(std::min(left, patience), std::move(fire));
  }
  auto stop = [heard] { heard.Set(std::nullopt); };
  std::stop_callback on_stop(answered ? std::stop_token() : call.stop.token().std_token(), stop);
  Heard verdict = co_await heard;
  if (!call.dry_run) seat.CountEnded();
  if (number != 0 && !(verdict.has_value() && verdict->ok())) seat.hook().Forget(number);
  if (!verdict.has_value()) co_return Stopped(call);
  co_return *std::move(verdict);
}

void CallPipeline::State::CountVerdict(const PipelineCall& call, HookSeat& seat,
                                       const absl::StatusOr<HookVerdict>& verdict) const {
  if (call.dry_run) return;
  if (verdict.ok()) {
    seat.CountVerdict(verdict->action);
  } else {
    seat.CountFailed();
  }
}

// Permission and validation after a replacement, as of the caller's own arguments: the policy may
// be another one since, and approval is asked for what will really run (Approve comes later).
Task<absl::Status> CallPipeline::State::TakeArgumentsOf(PipelineCall& call, const HookSpec& spec,
                                                        std::string text) {
  absl::Status fault;
  if (text.size() > options.inline_argument_bytes) {
    fault = co_await Hop(call);
    if (!fault.ok()) co_return fault;
  }
  fault = Allow(call);
  if (!fault.ok()) co_return fault;
  ArgumentInput input;
  input.text = std::move(text);
  fault = AcceptArguments(call, std::move(input), /*coerce=*/false);
  if (!fault.ok()) co_return BlameHook(fault, spec.name);
  co_return absl::OkStatus();
}

// What becomes of a verdict before the call. OK: go on, or, with call.answered_by set, the result
// is there. `said` is for ExplainCall.
Task<absl::Status> CallPipeline::State::Act(PipelineCall& call, HookSeat& seat,
                                            absl::StatusOr<HookVerdict> verdict,
                                            std::string& said) {
  const HookSpec& spec = seat.spec();
  if (!verdict.ok() && call.stop.token().stop_requested()) co_return verdict.status();
  if (verdict.ok() && verdict->action == Action::kReplaceResult) {
    verdict = Misplaced(verdict->action, "pre_call");
  }
  CountVerdict(call, seat, verdict);
  if (!verdict.ok()) {
    if (spec.fail_closed) {
      co_return HookUnavailable(call.tool, spec.name, verdict.status().message());
    }
    said = absl::StrCat("passed over, it ", verdict.status().message());
    co_return absl::OkStatus();
  }
  said = HookActionName(verdict->action);
  if (verdict->action == Action::kDeny) {
    co_return HookDenied(call.tool, spec.name, verdict->reason);
  }
  if (verdict->action == Action::kReplaceArguments) {
    std::string text = std::move(verdict->arguments);
    absl::Status fault = co_await TakeArgumentsOf(call, spec, std::move(text));
    co_return fault;
  }
  if (verdict->action == Action::kAnswer) {
    *call.response.mutable_result() = std::move(verdict->result);
    call.answered_by = spec.name;
  }
  co_return absl::OkStatus();
}

Task<absl::Status> CallPipeline::State::PreHooks(PipelineCall& call) {
  const HookSet::Seats seats = parts.hooks->For(*call.entry->definition);
  HookQuestion question;
  std::string said;
  for (const std::shared_ptr<HookSeat>& seat : seats) {
    if (!seat->at(v1::HOOK_POINT_PRE_CALL)) continue;
    // Anew after each change.
    if (question.event == nullptr ||
        question.event->call().arguments_json() != call.arguments.text) {
      question = MakeQuestion(call, v1::HOOK_POINT_PRE_CALL, absl::OkStatus());
    }
    if (seat->spec().observe_only) {
      seat->CountTold();
      seat->hook().Tell(question);
      continue;
    }
    absl::StatusOr<HookVerdict> verdict = co_await Ask(call, *seat, question);
    absl::Status fault = co_await Act(call, *seat, std::move(verdict), said);
    if (!fault.ok()) co_return fault;
    if (!call.answered_by.empty()) break;
  }
  co_return absl::OkStatus();
}

// A hook's result in the place of what was there: checked like the tool's own.
Task<absl::Status> CallPipeline::State::TakeResultOf(PipelineCall& call, const HookSpec& spec,
                                                     v1::ToolResult given) {
  absl::Status fault;
  v1::ToolResult& result = *call.response.mutable_result();
  result = std::move(given);
  if (IsLong(result)) {
    fault = co_await HopForResult(call);
    if (!fault.ok()) co_return fault;
  }
  CheckResult(*call.entry, result_limits, result);
  BlameForOutput(spec.name, result);
  co_return absl::OkStatus();
}

void CallPipeline::State::BlameForOutput(absl::string_view hook, v1::ToolResult& result) {
  const absl::string_view invalid = ReasonName(v1::ERROR_REASON_OUTPUT_INVALID);
  if (hook.empty() || result.error().reason() != invalid) return;
  (*result.mutable_error()->mutable_metadata())["hook"] = std::string(hook);
}

Task<absl::Status> CallPipeline::State::PostHooks(PipelineCall& call) {
  const HookSet::Seats seats = parts.hooks->For(*call.entry->definition);
  HookQuestion question;
  for (const std::shared_ptr<HookSeat>& seat : seats) {
    const HookSpec& spec = seat->spec();
    if (!seat->at(v1::HOOK_POINT_POST_CALL)) continue;
    if (question.event == nullptr)
      question = MakeQuestion(call, v1::HOOK_POINT_POST_CALL, absl::OkStatus());
    if (spec.observe_only) {
      seat->CountTold();
      seat->hook().Tell(question);
      continue;
    }
    absl::StatusOr<HookVerdict> verdict = co_await Ask(call, *seat, question);
    if (!verdict.ok() && call.stop.token().stop_requested()) co_return verdict.status();
    if (verdict.ok() &&
        (verdict->action == Action::kReplaceArguments || verdict->action == Action::kAnswer)) {
      verdict = Misplaced(verdict->action, "post_call");
    }
    CountVerdict(call, *seat, verdict);
    if (!verdict.ok() && !spec.fail_closed) continue;
    if (!verdict.ok() || verdict->action == Action::kDeny) {
      const std::string why = verdict.ok()
                                  ? verdict->reason
                                  : absl::StrCat("it must agree, but ", verdict.status().message());
      *call.response.mutable_result() = Withheld(call, spec, why);
      break;
    }
    if (verdict->action == Action::kReplaceResult) {
      v1::ToolResult given = std::move(verdict->result);
      absl::Status fault = co_await TakeResultOf(call, spec, std::move(given));
      if (!fault.ok()) co_return fault;
      question = HookQuestion();
    }
  }
  co_return absl::OkStatus();
}

// The call failed: by `status`, or, when that is OK, by a result with is_error. OK: call.response
// has the result, perhaps another one.
Task<absl::Status> CallPipeline::State::ErrorHooks(PipelineCall& call, absl::Status status) {
  const HookSet::Seats seats = parts.hooks->For(*call.entry->definition);
  HookQuestion question;
  const bool by_status = !status.ok();
  // A denial stands, whatever a hook would say.
  const bool denied = absl::IsPermissionDenied(status);
  for (const std::shared_ptr<HookSeat>& seat : seats) {
    const HookSpec& spec = seat->spec();
    if (!seat->at(v1::HOOK_POINT_ON_ERROR)) continue;
    if (question.event == nullptr) question = MakeQuestion(call, v1::HOOK_POINT_ON_ERROR, status);
    // Nobody waits for an answer to a call that was stopped.
    if (spec.observe_only || denied || call.stop.token().stop_requested()) {
      seat->CountTold();
      seat->hook().Tell(question);
      continue;
    }
    absl::StatusOr<HookVerdict> verdict = co_await Ask(call, *seat, question);
    if (!verdict.ok() && call.stop.token().stop_requested()) {
      if (by_status) continue;  // the first failure is the one to tell
      co_return verdict.status();
    }
    if (verdict.ok() && (verdict->action == Action::kReplaceArguments ||
                         (by_status && (verdict->action == Action::kDeny ||
                                        verdict->action == Action::kReplaceResult)))) {
      verdict = Misplaced(verdict->action, "this on_error");
    }
    CountVerdict(call, *seat, verdict);
    if (verdict.ok() && verdict->action == Action::kPass) continue;
    if (!verdict.ok() && (by_status || !spec.fail_closed)) continue;
    if (!verdict.ok() || verdict->action == Action::kDeny) {
      const std::string why = verdict.ok()
                                  ? verdict->reason
                                  : absl::StrCat("it must agree, but ", verdict.status().message());
      *call.response.mutable_result() = Withheld(call, spec, why);
      break;
    }
    v1::ToolResult given = std::move(verdict->result);
    absl::Status fault = co_await TakeResultOf(call, spec, std::move(given));
    if (!fault.ok()) co_return by_status ? status : fault;
    if (by_status) call.answered_by = spec.name;
    status = absl::OkStatus();
    break;
  }
  co_return status;
}

}  // namespace toolrack
