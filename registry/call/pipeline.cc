#include "registry/call/pipeline.h"

#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/task.h"
#include "registry/call/armed_timer.h"
#include "registry/call/pipeline_state.h"
#include "registry/call/steps.h"
#include "registry/in_process_backend.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

// Plain text is only looked through, JSON is parsed: it is moved off the caller's thread earlier.
constexpr size_t kInlineTextBytes = 32 << 10;

// What the wait for a backend ends with; nullopt: the call was stopped.
using Ending = std::optional<absl::StatusOr<v1::ToolResult>>;

bool NeedsParsing(const v1::ToolResult& result) {
  if (!result.structured_json().empty() || !result.meta_json().empty()) return true;
  for (const v1::Content& part : result.content()) {
    if (part.has_json()) return true;
  }
  return false;
}

}  // namespace

// The straight line. OK: the tool ran, and call.response has its result. Else what ended the call.
Task<absl::Status> CallPipeline::State::Steps(PipelineCall& call) {
  absl::Status fault;

  // 1. Admission.
  const Principal* const own = PrincipalOf(call);
  fault = table.Enter(call, own == nullptr ? 0 : own->max_calls);
  if (!fault.ok()) co_return fault;
  call.entered = true;
  if (options.may_call) fault = options.may_call();
  if (!fault.ok()) co_return fault;
  fault = limits.TakeRate(call.principal, own);
  if (!fault.ok()) co_return fault;

  // 2. Request, session and look-up.
  fault = CheckRequest(call.request);
  if (!fault.ok()) co_return fault;
  if (!call.session_id.empty()) {
    fault = EnterSession(call);
    if (!fault.ok()) co_return fault;
    fault = limits.EnterSession(call.session_id, call.session_place);
    if (!fault.ok()) co_return fault;
  }
  if (parts.unwrapper != nullptr && parts.unwrapper->MayWrap(call.tool)) {
    fault = co_await Unwrap(call);
    if (!fault.ok()) co_return fault;
  }
  if (!call.request.idempotency_key().empty()) {
    fault = co_await Lead(call);
    if (!fault.ok() || call.known_outcome) co_return fault;
  }
  fault = Find(call);
  if (!fault.ok()) co_return fault;
  if (call.entry == nullptr) {
    // Looking for near names takes time with many tools. Without a thread for it, no names.
    fault = co_await Hop(call);
    if (ReasonOf(fault) == v1::ERROR_REASON_QUEUE_FULL) co_return ToolNotFound(call.tool, {});
    if (!fault.ok()) co_return fault;
    co_return NotFoundWithNearest(*parts.registry, call.tool, VisibilityOf(call));
  }
  const v1::Tool& tool = call.entry->definition->tool;
  call.timeout = TimeoutOf(call.request, tool, default_timeout);

  // 3. Arguments: read, validate, mend when asked to.
  call.argument_bytes = InputBytes(call.request);
  if (call.argument_bytes > options.inline_argument_bytes) {
    fault = co_await Hop(call);
    if (!fault.ok()) co_return fault;
  }
  const bool coerce = call.request.has_coerce() ? call.request.coerce() : options.coerce;
  absl::StatusOr<ArgumentInput> input = TakeInput(call.tool, call.request);
  if (!input.ok()) co_return input.status();
  const std::string sent = options.digest_arguments ? input->text : "";
  fault = AcceptArguments(call, *std::move(input), coerce);
  if (!fault.ok()) {
    if (options.digest_arguments) call.refused_sha256 = Sha256Hex(sent);
    co_return fault;
  }
  for (v1::Repair& each : call.arguments.repairs) *call.response.add_repairs() = std::move(each);

  // 4. Hooks before the call; they may answer in the tool's place.
  if (Hooked(call)) {
    fault = co_await PreHooks(call);
    if (!fault.ok()) co_return fault;
  }

  // 5. Approval of the final arguments; a result that may be given again.
  const bool answered = !call.answered_by.empty();
  std::string cache_key;
  bool cached = false;
  if (!answered) {
    fault = Approve(call);
    if (!fault.ok()) co_return fault;
    cached = FromCache(call, cache_key);
  }

  // 6. Breaker and place of the tool.
  const bool runs = !answered && !cached;
  if (runs) fault = limits.AdmitTool(call.tool, call.tool_probe);
  if (!fault.ok()) co_return fault;
  if (runs && tool.max_concurrency() > 0) {
    fault = co_await EnterTool(call);
    if (!fault.ok()) co_return fault;
  }

  // 7. Route and execute; again where that is safe.
  absl::Status outcome;
  absl::Status lost;  // an attempt that may have run: no later one can make that undone
  std::vector<const Backend*> tried;
  while (runs) {
    fault = Route(call, tried);
    if (fault.ok() && limits.LimitsBackends()) fault = co_await EnterBackend(call);
    if (!fault.ok()) {
      if (call.attempts == 0) outcome = fault;
      break;
    }
    outcome = co_await Attempt(call);
    Report(call, outcome);
    if (outcome.ok() || call.attempts >= options.max_attempts) break;
    if (call.stop.token().stop_requested() || !MayRetry(outcome, tool)) break;
    if (!SurelyNotExecuted(outcome)) lost = outcome;
    tried.push_back(call.backend.get());
    // Asking a full backend again at once would only make it fuller.
    if (ReasonOf(outcome) == v1::ERROR_REASON_QUEUE_FULL && !HasFresh(*call.entry, tried)) break;
  }
  // The tool has ended, or its backend goes on holding them: nobody waits for hooks with them.
  call.places = nullptr;
  v1::ToolResult& result = *call.response.mutable_result();
  if (!outcome.ok()) {
    if (!lost.ok() && SurelyNotExecuted(outcome)) co_return lost;
    if (IsBackendFailure(outcome)) co_return outcome;
    result = ResultFromStatus(outcome);
  }

  // 8. The result: checked, kept for the next one, shown to hooks, scrubbed, cut to the cap.
  if (IsLong(result)) {
    fault = co_await HopForResult(call);
    if (!fault.ok()) co_return fault;
  }
  if (!cached) CheckResult(*call.entry, result_limits, result);
  if (runs && !cache_key.empty()) KeepInCache(call, cache_key);
  if (Hooked(call)) {
    BlameForOutput(call.answered_by, result);
    fault = co_await PostHooks(call);
    if (!fault.ok()) co_return fault;
    if (result.is_error()) {
      absl::Status none;
      fault = co_await ErrorHooks(call, std::move(none));
      if (!fault.ok()) co_return fault;
    }
  }
  CapAndKeep(call);
  co_return absl::OkStatus();
}

// Checking it takes so long that it is moved off the calling thread.
bool CallPipeline::State::IsLong(const v1::ToolResult& result) const {
  return ResultTextBytes(result) >
         (NeedsParsing(result) ? options.inline_argument_bytes : kInlineTextBytes);
}

// The tool has run: a full executor must not lose its result, so it is checked here then.
Task<absl::Status> CallPipeline::State::HopForResult(PipelineCall& call) {
  absl::Status fault = co_await Hop(call);
  if (ReasonOf(fault) == v1::ERROR_REASON_QUEUE_FULL) co_return absl::OkStatus();
  co_return fault;
}

absl::Status CallPipeline::State::AcceptArguments(PipelineCall& call, ArgumentInput input,
                                                  bool coerce) const {
  absl::StatusOr<Arguments> arguments =
      ReadArguments(call.entry->definition->tool, std::move(input), argument_limits, coerce);
  if (!arguments.ok()) return arguments.status();
  call.arguments = *std::move(arguments);
  return InSession(ValidateArguments(*call.entry, coerce, call.arguments), *call.entry,
                   call.session_of());
}

// Goes on on the executor's thread. TIMEOUT or CANCELLED when the call was stopped first,
// QUEUE_FULL when the executor takes no more.
Task<absl::Status> CallPipeline::State::Hop(PipelineCall& call) {
  Completion<bool> arrived;
  auto arrive = [arrived] { arrived.Set(true); };
  if (!parts.executor->Post(arrive)) {
    co_return QueueFull("executor.max_queue", parts.executor->max_queue(), "the checking threads");
  }
  auto stop = [arrived] { arrived.Set(false); };
  std::stop_callback on_stop(call.stop.token().std_token(), stop);
  const bool here = co_await arrived;
  if (!here) co_return Stopped(call);
  co_return absl::OkStatus();
}

// Gives the call to call.backend and waits for its end or for the stop, whichever is first. OK:
// call.response has the result.
Task<absl::Status> CallPipeline::State::Attempt(PipelineCall& call) {
  Completion<Ending> ended;
  ArmedTimer timer(parts.timers);
  if (call.stop.token().stop_requested()) co_return Stopped(call);
  const absl::Duration left = TimeLeft(call);
  if (left <= absl::ZeroDuration()) {
    call.stop.RequestStop(StopReason::kDeadline);
    co_return Stopped(call);
  }
  ++call.attempts;
  const Executed before = std::exchange(call.executed, Executed::kMaybe);
  ToolCall tool_call = MakeToolCall(call);
  tool_call.context.remaining = std::min(left, call.caller.deadline);
  auto end = [ended](absl::StatusOr<v1::ToolResult>&& outcome) { ended.Set(std::move(outcome)); };
  ToolDone done = std::move(end);
  if (call.places != nullptr) done = KeepingPlaces(std::move(done), call.places);
  const uint64_t number = call.backend->Start(std::move(tool_call), std::move(done));

  // Most in-process tools have ended by now and need neither timer nor stop. The transport keeps
  // its own deadline; ours is only needed when it is the shorter one.
  const bool ending = ended.is_set();
  if (!ending && left < call.caller.deadline) {
    // Disarm waits for it: the call is there as long as it runs. The copy is for the end of
    // RequestStop, when the call may be gone.
    auto fire = [running = &call] {
      StopSource stop = running->stop;
      stop.RequestStop(StopReason::kDeadline);
    };
    timer.Arm(left, fire);
  }
  auto stop = [ended] { ended.Set(std::nullopt); };
  std::stop_callback on_stop(ending ? std::stop_token() : call.stop.token().std_token(), stop);
  Ending ending_now = co_await ended;
  if (ending_now.has_value()) {
    absl::StatusOr<v1::ToolResult>& outcome = *ending_now;
    const bool not_run =
        !outcome.ok() && IsBackendFailure(outcome.status()) && SurelyNotExecuted(outcome.status());
    if (not_run) call.executed = before;
    // A tool that heeds the stop may fail before the stop itself gets here: the same to the caller.
    const bool failed = !outcome.ok() || outcome->is_error();
    if (failed && call.stop.token().stop_requested()) co_return Stopped(call);
    if (!outcome.ok()) co_return outcome.status();
    *call.response.mutable_result() = *std::move(outcome);
    co_return absl::OkStatus();
  }
  if (number != 0) call.backend->Cancel(number, call.stop.token().reason());
  co_return Stopped(call);
}

absl::Status CallPipeline::State::EnterSession(PipelineCall& call) const {
  if (parts.sessions == nullptr) return SessionNotFound(call.session_id, SessionEnd::kUnknown);
  absl::StatusOr<SessionLease> lease = parts.sessions->Enter(call.session_id, call.principal);
  if (!lease.ok()) return lease.status();
  call.session = *std::move(lease);
  return absl::OkStatus();
}

absl::Status CallPipeline::State::Find(PipelineCall& call) const {
  FoundTool found = FindTool(*parts.registry, call.tool);
  call.entry = std::move(found.entry);
  call.revision = found.revision;
  if (call.entry == nullptr) return absl::OkStatus();
  // Before the tool's state: whom it is denied learns nothing of it.
  const absl::Status denied = Allow(call);
  if (!denied.ok()) return denied;
  return CheckCallable(*call.entry, call.request.expected_digest());
}

absl::Status CallPipeline::State::Route(PipelineCall& call, std::vector<const Backend*>& tried) {
  if (!tried.empty()) {
    // The route may be new meanwhile (a worker came back); the definition must not be.
    const FoundTool found = FindTool(*parts.registry, call.tool);
    if (found.entry != nullptr && found.entry->definition == call.entry->definition) {
      call.entry = found.entry;
    }
  }
  while (true) {
    absl::StatusOr<std::shared_ptr<Backend>> backend =
        ChooseBackend(*call.entry, tried, call.session.get());
    if (!backend.ok()) return backend.status();
    const absl::Status open = limits.AdmitBackend(call.tool, **backend, call.backend_probe);
    if (open.ok()) {
      table.SetBackend(call, backend->get());
      call.backend = *std::move(backend);
      return absl::OkStatus();
    }
    tried.push_back(backend->get());
    if (IsPinned(*call.entry, call.session.get()) || !HasFresh(*call.entry, tried)) return open;
  }
}

ToolCall CallPipeline::State::MakeToolCall(const PipelineCall& call) const {
  ToolCall out;
  out.tool = call.entry;
  out.arguments_json = call.arguments.text;
  out.arguments = call.arguments.value;
  out.context.call_id = call.call_id;
  out.context.batch_id = call.request.batch_id();
  out.context.call_index = call.request.call_index();
  out.context.session_id = call.session_id;
  out.context.principal = call.principal;
  out.context.traceparent = call.caller.traceparent;
  out.context.attempt = call.attempts;
  out.stop = call.stop.token();
  out.reporter = call.reporter;
  return out;
}

absl::Duration CallPipeline::State::TimeLeft(const PipelineCall& call) const {
  return call.start + call.timeout - parts.clock->SteadyNow();
}

absl::Status CallPipeline::State::Stopped(const PipelineCall& call) const {
  const StopReason reason = call.stop.token().reason();
  if (reason == StopReason::kDeadline) {
    return CallTimeout(call.tool, std::min(call.timeout, call.caller.deadline), call.executed);
  }
  return CallCancelled(call.tool, StopReasonName(reason), call.executed);
}

Detached CallPipeline::State::Run(std::unique_ptr<PipelineCall> owned) {
  absl::Status status;
  try {
    status = co_await Steps(*owned);
    if (!status.ok() && owned->entry != nullptr && Hooked(*owned)) {
      absl::Status failed = std::move(status);
      // Whatever a hook answers: what was approved did not happen.
      GiveApprovalBack(*owned, failed);
      status = co_await ErrorHooks(*owned, std::move(failed));
      if (status.ok()) CapAndKeep(*owned);
    }
  } catch (const std::exception& error) {
    status = InternalError("the call pipeline", error.what());
  } catch (...) {
    status = InternalError("the call pipeline", "an unknown exception");
  }
  Finish(std::move(owned), std::move(status));
}

// Once the call has left the table the pipeline may be gone: `done` runs after that, and touches
// nothing of it.
void CallPipeline::State::Finish(std::unique_ptr<PipelineCall> owned, absl::Status status) {
  PipelineCall& call = *owned;
  const absl::Duration duration = parts.clock->SteadyNow() - call.start;
  Record(call, status, duration);
  AbandonProbes(call);
  SettleOutcome(call, status);
  call.places = nullptr;
  call.session_place = Gates::Place();
  call.session = SessionLease();
  if (call.entered) table.Leave(call);
  if (!status.ok()) {
    call.done(std::move(status));
    return;
  }
  call.response.set_call_id(std::move(call.call_id));
  SetDuration(duration, *call.response.mutable_duration());
  call.response.set_revision(call.revision);
  call.done(std::move(call.response));
}

CallPipeline::CallPipeline(Parts parts, PipelineOptions options)
    : state_(std::make_unique<State>(parts, std::move(options))) {}

CallPipeline::~CallPipeline() = default;

std::unique_ptr<PipelineCall> CallPipeline::State::MakeCall(v1::CallToolRequest request,
                                                            Caller caller, StopSource stop) const {
  auto call = std::make_unique<PipelineCall>();
  call->start = parts.clock->SteadyNow();
  call->call_id = request.call_id().empty() ? QuickId() : request.call_id();
  call->tool = request.name();
  call->principal = caller.principal;
  call->session_id = request.session_id();
  call->stop = std::move(stop);
  call->request = std::move(request);
  call->caller = std::move(caller);
  return call;
}

void CallPipeline::Start(v1::CallToolRequest request, Caller caller, StopSource stop,
                         std::shared_ptr<CallReporter> reporter, Done done) {
  std::unique_ptr<PipelineCall> call =
      state_->MakeCall(std::move(request), std::move(caller), std::move(stop));
  call->reporter = reporter == nullptr ? SilentReporter()
                                       : ScrubbingReporter(state_->scrubber, std::move(reporter));
  call->done = std::move(done);
  state_->Run(std::move(call));
}

}  // namespace toolrack
