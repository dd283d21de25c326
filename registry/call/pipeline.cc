#include "registry/call/pipeline.h"

#include <exception>
#include <optional>
#include <stop_token>
#include <utility>

#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/task.h"
#include "registry/call/call_counters.h"
#include "registry/call/call_table.h"
#include "registry/call/explain.h"
#include "registry/call/result_shape.h"
#include "registry/call/steps.h"
#include "registry/in_process_backend.h"
#include "registry/outcome.h"

namespace toolrack {
namespace {

// Plain text is only looked through, JSON is parsed: it is moved off the caller's thread much
// earlier.
constexpr size_t kInlineTextBytes = 256 << 10;

uint64_t OrDefault(uint64_t value, uint64_t fallback) { return value > 0 ? value : fallback; }

// One call, from Start to its answer.
struct Call : RunningCall {
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
  size_t argument_bytes = 0;
};

// What the wait for a backend ends with; nullopt: the call was stopped.
using Ending = std::optional<absl::StatusOr<v1::ToolResult>>;

// Disarms on every way out.
class ArmedTimer {
 public:
  explicit ArmedTimer(Timers* timers) : timers_(timers) {}
  ~ArmedTimer() {
    if (id_ != 0) timers_->Disarm(id_);
  }
  ArmedTimer(const ArmedTimer&) = delete;
  ArmedTimer& operator=(const ArmedTimer&) = delete;
  void Arm(absl::Duration delay, absl::AnyInvocable<void()> fire) {
    id_ = timers_->Arm(delay, std::move(fire));
  }

 private:
  Timers* timers_;
  TimerId id_ = 0;
};

bool NeedsParsing(const v1::ToolResult& result) {
  if (!result.structured_json().empty() || !result.meta_json().empty()) return true;
  for (const v1::Content& part : result.content()) {
    if (part.has_json()) return true;
  }
  return false;
}

}  // namespace

struct CallPipeline::State {
  State(Parts p, PipelineOptions o)
      : parts(p),
        options(std::move(o)),
        table({OrDefault(options.limits.max_calls_in_flight(), 10000),
               OrDefault(options.limits.max_calls_per_principal(), 10000)}) {
    argument_limits.max_bytes = OrDefault(options.limits.max_arguments_bytes(), 1 << 20);
    argument_limits.max_depth = OrDefault(options.limits.max_json_depth(), 64);
    result_limits.cap_bytes = OrDefault(options.results.cap_bytes(), 64 << 10);
    result_limits.max_result_bytes = OrDefault(options.results.max_result_bytes(), 16 << 20);
    result_limits.max_json_depth = argument_limits.max_depth;
    default_timeout = ToDuration(options.limits.default_call_timeout());
    if (default_timeout <= absl::ZeroDuration()) default_timeout = absl::Minutes(5);
    if (options.max_attempts == 0) options.max_attempts = 3;
  }

  Detached Run(std::unique_ptr<Call> owned);
  Task<absl::StatusOr<v1::ToolResult>> Steps(Call& call);
  Task<absl::Status> Hop(Call& call);
  Task<absl::StatusOr<v1::ToolResult>> Attempt(Call& call);
  absl::Status Find(Call& call) const;
  absl::Status Route(Call& call, std::vector<const Backend*>& tried);
  ToolCall MakeToolCall(const Call& call) const;
  absl::Duration TimeLeft(const Call& call) const;
  absl::Status Stopped(const Call& call) const;
  void Finish(std::unique_ptr<Call> owned, absl::StatusOr<v1::ToolResult> outcome);
  void Record(const Call& call, const absl::StatusOr<v1::ToolResult>& outcome,
              absl::Duration duration);

  const Parts parts;
  // Wall time when the steady clock was 0.
  const absl::Time wall_at_zero = parts.clock->WallNow() - parts.clock->SteadyNow();
  PipelineOptions options;
  ArgumentLimits argument_limits;
  ResultLimits result_limits;
  absl::Duration default_timeout;
  CallTable table;
  CallCounters counters;
  RefusalRing refusals;
};

// The straight line. What ends a call early ends it with a status; what runs gives a result.
Task<absl::StatusOr<v1::ToolResult>> CallPipeline::State::Steps(Call& call) {
  absl::Status fault;

  // 1. Admission.
  fault = table.Enter(call);
  if (!fault.ok()) co_return fault;
  call.entered = true;

  // 2. Request and look-up.
  fault = CheckRequest(call.request);
  if (!fault.ok()) co_return fault;
  fault = Find(call);
  if (!fault.ok()) co_return fault;
  if (call.entry == nullptr) {
    // Looking for near names takes time with many tools. Without a thread for it, no names.
    fault = co_await Hop(call);
    if (ReasonOf(fault) == v1::ERROR_REASON_QUEUE_FULL) co_return ToolNotFound(call.tool, {});
    if (!fault.ok()) co_return fault;
    co_return NotFoundWithNearest(*parts.registry, call.tool);
  }
  const v1::Tool& tool = call.entry->definition->tool;
  call.timeout = TimeoutOf(call.request, tool, default_timeout);

  // 3. Arguments: read, validate.
  call.argument_bytes = InputBytes(call.request);
  if (call.argument_bytes > options.inline_argument_bytes) {
    fault = co_await Hop(call);
    if (!fault.ok()) co_return fault;
  }
  absl::StatusOr<ArgumentInput> input = TakeInput(call.tool, call.request);
  if (!input.ok()) co_return input.status();
  absl::StatusOr<Arguments> arguments = ReadArguments(tool, *std::move(input), argument_limits);
  if (!arguments.ok()) co_return arguments.status();
  call.arguments = *std::move(arguments);
  fault = ValidateArguments(*call.entry, call.arguments);
  if (!fault.ok()) co_return fault;

  // 4. Route and execute; again where that is safe.
  absl::StatusOr<v1::ToolResult> outcome = absl::UnknownError("");
  absl::Status lost;  // an attempt that may have run: no later one can make that undone
  std::vector<const Backend*> tried;
  while (true) {
    fault = Route(call, tried);
    if (!fault.ok()) {
      if (call.attempts == 0) outcome = fault;
      break;
    }
    outcome = co_await Attempt(call);
    if (outcome.ok() || call.attempts >= options.max_attempts) break;
    if (call.stop.token().stop_requested() || !MayRetry(outcome.status(), tool)) break;
    if (!SurelyNotExecuted(outcome.status())) lost = outcome.status();
    tried.push_back(call.backend.get());
    // Asking a full backend again at once would only make it fuller.
    if (ReasonOf(outcome.status()) == v1::ERROR_REASON_QUEUE_FULL &&
        !HasFresh(*call.entry, tried)) {
      break;
    }
  }
  if (!outcome.ok()) {
    if (!lost.ok() && SurelyNotExecuted(outcome.status())) co_return lost;
    if (IsBackendFailure(outcome.status())) co_return outcome.status();
    outcome = ResultFromStatus(outcome.status());
  }

  // 5. The result: checked, then cut to the cap.
  const size_t result_bytes = ResultTextBytes(*outcome);
  if (result_bytes > (NeedsParsing(*outcome) ? options.inline_argument_bytes : kInlineTextBytes)) {
    fault = co_await Hop(call);
    // The tool has run: a full executor must not lose its result, so it is checked here then.
    if (!fault.ok() && ReasonOf(fault) != v1::ERROR_REASON_QUEUE_FULL) co_return fault;
  }
  CheckResult(*call.entry, result_limits, *outcome);
  CapResult(result_limits, call.principal, *parts.results, *outcome);
  co_return outcome;
}

// Goes on on the executor's thread. TIMEOUT or CANCELLED when the call was stopped first,
// QUEUE_FULL when the executor takes no more.
Task<absl::Status> CallPipeline::State::Hop(Call& call) {
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

// Gives the call to call.backend and waits for its end or for the stop, whichever is first.
Task<absl::StatusOr<v1::ToolResult>> CallPipeline::State::Attempt(Call& call) {
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
  auto done = [ended](absl::StatusOr<v1::ToolResult> outcome) { ended.Set(std::move(outcome)); };
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
    const absl::StatusOr<v1::ToolResult>& outcome = *ending_now;
    if (outcome.ok() && !outcome->is_error()) co_return *std::move(ending_now);
    const bool not_run =
        !outcome.ok() && IsBackendFailure(outcome.status()) && SurelyNotExecuted(outcome.status());
    if (not_run) call.executed = before;
    // A tool that heeds the stop may fail before the stop itself gets here: the same to the caller.
    if (call.stop.token().stop_requested()) co_return Stopped(call);
    co_return *std::move(ending_now);
  }
  if (number != 0) call.backend->Cancel(number, call.stop.token().reason());
  co_return Stopped(call);
}

absl::Status CallPipeline::State::Find(Call& call) const {
  FoundTool found = FindTool(*parts.registry, call.tool);
  call.entry = std::move(found.entry);
  call.revision = found.revision;
  if (call.entry == nullptr) return absl::OkStatus();
  return CheckCallable(*call.entry, call.request.expected_digest());
}

absl::Status CallPipeline::State::Route(Call& call, std::vector<const Backend*>& tried) {
  if (!tried.empty()) {
    // The route may be new meanwhile (a worker came back); the definition must not be.
    const FoundTool found = FindTool(*parts.registry, call.tool);
    if (found.entry != nullptr && found.entry->definition == call.entry->definition) {
      call.entry = found.entry;
    }
  }
  absl::StatusOr<std::shared_ptr<Backend>> backend = ChooseBackend(*call.entry, tried);
  if (!backend.ok()) return backend.status();
  table.SetBackend(call, backend->get());
  call.backend = *std::move(backend);
  return absl::OkStatus();
}

ToolCall CallPipeline::State::MakeToolCall(const Call& call) const {
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

absl::Duration CallPipeline::State::TimeLeft(const Call& call) const {
  return call.start + call.timeout - parts.clock->SteadyNow();
}

absl::Status CallPipeline::State::Stopped(const Call& call) const {
  const StopReason reason = call.stop.token().reason();
  if (reason == StopReason::kDeadline) {
    return CallTimeout(call.tool, std::min(call.timeout, call.caller.deadline), call.executed);
  }
  return CallCancelled(call.tool, StopReasonName(reason), call.executed);
}

Detached CallPipeline::State::Run(std::unique_ptr<Call> owned) {
  absl::StatusOr<v1::ToolResult> outcome = absl::UnknownError("");
  try {
    outcome = co_await Steps(*owned);
  } catch (const std::exception& error) {
    outcome = InternalError("the call pipeline", error.what());
  } catch (...) {
    outcome = InternalError("the call pipeline", "an unknown exception");
  }
  Finish(std::move(owned), std::move(outcome));
}

// Once the call has left the table the pipeline may be gone: `done` runs after that, and touches
// nothing of it.
void CallPipeline::State::Finish(std::unique_ptr<Call> owned,
                                 absl::StatusOr<v1::ToolResult> outcome) {
  Call& call = *owned;
  const absl::Duration duration = parts.clock->SteadyNow() - call.start;
  Record(call, outcome, duration);
  if (call.entered) table.Leave(call);
  if (!outcome.ok()) {
    call.done(outcome.status());
    return;
  }
  v1::CallToolResponse response;
  *response.mutable_result() = *std::move(outcome);
  response.set_call_id(std::move(call.call_id));
  SetDuration(duration, *response.mutable_duration());
  response.set_revision(call.revision);
  call.done(std::move(response));
}

void CallPipeline::State::Record(const Call& call, const absl::StatusOr<v1::ToolResult>& outcome,
                                 absl::Duration duration) {
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
  if (!outcome.ok()) {
    reason = ReasonOf(outcome.status());
    counters.CountReason(reason);
  } else if (outcome->is_error()) {
    counters.CountToolError();
  } else {
    counters.CountOk();
  }
  const bool ended_by_stop =
      reason == v1::ERROR_REASON_TIMEOUT || reason == v1::ERROR_REASON_CANCELLED;
  if (!outcome.ok() && !ended_by_stop && SurelyNotExecuted(outcome.status())) {
    v1::Refusal refusal;
    refusal.set_call_id(call.call_id);
    refusal.set_tool(ForMessage(call.tool, 200));
    refusal.set_principal(call.principal);
    refusal.set_reason(std::string(ReasonName(reason)));
    refusal.set_message(std::string(outcome.status().message()));
    SetTimestamp(parts.clock->WallNow(), *refusal.mutable_time());
    refusals.Add(std::move(refusal));
  }
  if (!options.on_call) return;
  CallRecord record;
  record.call_id = call.call_id;
  record.tool = call.tool;
  record.principal = call.principal;
  record.session_id = call.session_id;
  if (call.backend != nullptr) record.backend = call.backend->id();
  record.outcome =
      !outcome.ok() ? std::string(ReasonName(reason)) : (outcome->is_error() ? "tool_error" : "ok");
  record.duration = duration;
  record.argument_bytes = call.argument_bytes;
  if (outcome.ok()) record.result_bytes = outcome->total_bytes();
  record.attempts = call.attempts;
  options.on_call(record);
}

CallPipeline::CallPipeline(Parts parts, PipelineOptions options)
    : state_(std::make_unique<State>(parts, std::move(options))) {}

CallPipeline::~CallPipeline() = default;

void CallPipeline::Start(v1::CallToolRequest request, Caller caller, StopSource stop,
                         std::shared_ptr<CallReporter> reporter, Done done) {
  auto call = std::make_unique<Call>();
  call->start = state_->parts.clock->SteadyNow();
  call->call_id = request.call_id().empty() ? QuickId() : request.call_id();
  call->tool = request.name();
  call->principal = caller.principal;
  call->session_id = request.session_id();
  call->stop = std::move(stop);
  call->request = std::move(request);
  call->caller = std::move(caller);
  call->reporter = reporter == nullptr ? SilentReporter() : std::move(reporter);
  call->done = std::move(done);
  state_->Run(std::move(call));
}

v1::ExplainCallResponse CallPipeline::Explain(const v1::CallToolRequest& request,
                                              const Caller& caller) const {
  return ExplainSteps(*state_->parts.registry, state_->table, state_->argument_limits, request,
                      caller.principal);
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

std::map<std::string, uint64_t> CallPipeline::Counters() const {
  return state_->counters.ByOutcome();
}

}  // namespace toolrack
