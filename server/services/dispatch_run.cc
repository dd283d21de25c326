#include "server/services/dispatch_run.h"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "registry/base/status_macros.h"
#include "renderers/meta_tools.h"
#include "renderers/provider_json.h"
#include "renderers/reply.h"
#include "server/services/dispatch_feedback.h"
#include "server/services/dispatch_meta.h"

namespace toolrack {
namespace {

constexpr size_t kMaxTurnId = 128;

// Models that know namespaces put tools without one here (OpenAI, Responses API; Harmony).
constexpr absl::string_view kDefaultNamespace = "functions";

}  // namespace

// Tells what a call tells, with its id.
class DispatchRun::Reporter final : public CallReporter {
 public:
  Reporter(std::shared_ptr<DispatchRun> run, std::string call_id)
      : run_(std::move(run)), call_id_(std::move(call_id)) {}
  void OnProgress(v1::Progress progress) override {
    v1::DispatchStreamResponse event = Event();
    *event.mutable_progress()->mutable_progress() = std::move(progress);
    run_->emit_(std::move(event));
  }
  void OnLog(v1::LogLine line) override {
    v1::DispatchStreamResponse event = Event();
    *event.mutable_progress()->mutable_log() = std::move(line);
    run_->emit_(std::move(event));
  }
  // The outcome has it.
  void OnContent(v1::Content) override {}

 private:
  v1::DispatchStreamResponse Event() const {
    v1::DispatchStreamResponse event;
    event.mutable_progress()->set_call_id(call_id_);
    return event;
  }
  const std::shared_ptr<DispatchRun> run_;
  const std::string call_id_;
};

DispatchRun::DispatchRun(const Core& core, RetryLedger& retries, Request request, Caller caller,
                         StopToken stop, Emit emit, Done done)
    : core_(core),
      ledger_(retries),
      request_(std::move(request)),
      caller_(std::move(caller)),
      stop_(std::move(stop)),
      emit_(std::move(emit)),
      done_(std::move(done)),
      batch_id_(RandomId()) {}

absl::StatusOr<std::shared_ptr<DispatchRun>> DispatchRun::Begin(const Core& core,
                                                                RetryLedger& retries,
                                                                Request request, Caller caller,
                                                                StopToken stop, Emit emit,
                                                                Done done) {
  if (request.session_id.empty()) return RequestInvalid("session_id", "", "an open session");
  if (request.turn_id.size() > kMaxTurnId) {
    return RequestInvalid("turn_id", request.turn_id, "at most 128 bytes");
  }
  std::shared_ptr<DispatchRun> run(new DispatchRun(core, retries, std::move(request),
                                                   std::move(caller), std::move(stop),
                                                   std::move(emit), std::move(done)));
  Prompts::Target& target = run->target_;
  TR_ASSIGN_OR_RETURN(target, core.prompts->Find(run->request_.session_id, /*renderer=*/"",
                                                 run->caller_.principal));
  if (run->request_.provider_json) {
    const absl::StatusOr<RendererSpec> json = WithMedium(target.spec, v1::RENDER_MEDIUM_JSON);
    if (json.ok()) target.spec = *json;
  }
  run->retries_ = RetryLimitsOf(target.session->retry_policy(), core.config.dispatcher());
  run->view_ = core.prompts->Offered(target, {});
  run->offered_ = &run->view_->Offered(target.spec);
  run->parser_ = MakeOutputParser(*run->offered_, *run);
  return run;
}

// --- reading

void DispatchRun::Feed(absl::string_view bytes) {
  const uint64_t allowed = core_.config.dispatcher().max_output_bytes();
  const uint64_t room = allowed - std::min<uint64_t>(allowed, bytes_);
  bytes_ += bytes.size();
  if (room > 0) parser_->Feed(bytes.substr(0, room));
}

void DispatchRun::Provide(absl::string_view json) {
  bytes_ += json.size();
  if (bytes_ > core_.config.dispatcher().max_output_bytes()) return;
  const v1::ParseOutputResponse parsed = ParseProviderJson(*offered_, json);
  for (const v1::OutputRepair& repair : parsed.repairs()) *response_.add_repairs() = repair;
  for (const v1::OutputEvent& event : parsed.events()) {
    switch (event.event_case()) {
      case v1::OutputEvent::kText:
        TellText(event.text(), false);
        break;
      case v1::OutputEvent::kReasoning:
        TellText(event.reasoning(), true);
        break;
      case v1::OutputEvent::kCall:
        if (event.call().complete()) {
          AddCall(event.call());
        } else {
          unfinished_ = event.call();
          SettleUnfinished();
        }
        break;
      case v1::OutputEvent::kMalformed:
        AddMalformed(event.malformed());
        break;
      case v1::OutputEvent::EVENT_NOT_SET:
        break;
    }
  }
}

void DispatchRun::Finish() {
  const uint64_t allowed = core_.config.dispatcher().max_output_bytes();
  if (!request_.provider_json) parser_->Finish();
  SettleUnfinished();
  if (bytes_ > allowed) {
    v1::OutputCall none;
    Slot& slot = AddSlot(std::move(none));
    slot.note = true;
    Refuse(slot, MessageTooLarge("dispatcher.max_output_bytes", allowed, bytes_));
  }
  LeaveOne(/*here=*/true);
}

void DispatchRun::TellText(absl::string_view text, bool reasoning) {
  SettleUnfinished();
  (reasoning ? response_.mutable_reasoning() : response_.mutable_text())
      ->append(text.data(), text.size());
  if (!emit_) return;
  v1::DispatchStreamResponse event;
  (reasoning ? event.mutable_reasoning() : event.mutable_text())->assign(text.data(), text.size());
  emit_(std::move(event));
}
void DispatchRun::Text(absl::string_view text) { TellText(text, false); }
void DispatchRun::Reasoning(absl::string_view text) { TellText(text, true); }

void DispatchRun::CallBegin(const v1::OutputCallBegin& begin) {
  SettleUnfinished();
  current_.Clear();
  current_.set_call_id(begin.call_id());
  current_.set_name(begin.name());
  current_.set_wire_name(begin.wire_name());
  current_.set_namespace_(begin.namespace_());
  if (!emit_) return;
  v1::DispatchStreamResponse event;
  *event.mutable_call_begin() = begin;
  emit_(std::move(event));
}

void DispatchRun::Arguments(absl::string_view piece) {
  current_.mutable_arguments_json()->append(piece.data(), piece.size());
  if (!emit_) return;
  v1::DispatchStreamResponse event;
  event.set_arguments_delta(piece.data(), piece.size());
  emit_(std::move(event));
}

void DispatchRun::CallEnd(const v1::OutputCallEnd& end) {
  if (emit_) {
    v1::DispatchStreamResponse event;
    *event.mutable_call_end() = end;
    emit_(std::move(event));
  }
  current_.set_complete(end.complete());
  if (end.complete()) {
    AddCall(std::move(current_));
  } else {
    unfinished_ = std::move(current_);
  }
  current_ = {};
}

void DispatchRun::Malformed(const v1::OutputMalformed& malformed) {
  if (emit_) {
    v1::DispatchStreamResponse event;
    *event.mutable_malformed() = malformed;
    emit_(std::move(event));
  }
  AddMalformed(malformed);
}

void DispatchRun::Repair(const v1::OutputRepair& repair) {
  *response_.add_repairs() = repair;
  if (!emit_) return;
  v1::DispatchStreamResponse event;
  *event.mutable_repair() = repair;
  emit_(std::move(event));
}

void DispatchRun::AddMalformed(const v1::OutputMalformed& malformed) {
  v1::OutputCall call;
  if (unfinished_ && unfinished_->call_id() == malformed.call_id()) {
    call = *std::exchange(unfinished_, std::nullopt);
  } else {
    SettleUnfinished();
    call.set_call_id(malformed.call_id());
    call.set_name(malformed.name());
    call.set_wire_name(malformed.wire_name());
  }
  Slot& slot = AddSlot(std::move(call));
  slot.note = slot.outcome.call().call_id().empty() || slot.outcome.call().wire_name().empty();
  Refuse(slot, OutputMalformed(malformed.reason(), malformed.span()));
}

void DispatchRun::SettleUnfinished() {
  if (!unfinished_) return;
  v1::OutputCall call = *std::exchange(unfinished_, std::nullopt);
  const std::string name = call.wire_name();
  Slot& slot = AddSlot(std::move(call));
  slot.note = name.empty();
  Refuse(slot, OutputUnfinished(name));
}

// --- calling

DispatchRun::Slot& DispatchRun::AddSlot(v1::OutputCall call) {
  absl::MutexLock lock(&mu_);
  ++pending_;
  Slot& slot = slots_.emplace_back();
  *slot.outcome.mutable_call() = std::move(call);
  return slot;
}

// The request of a call. A tool within another namespace than the model names is not that tool.
absl::Status DispatchRun::Prepare(const v1::OutputCall& call, v1::CallToolRequest& request) const {
  const v1::Tool* tool = offered_->Find(call.wire_name());
  const bool elsewhere = !call.namespace_().empty() && call.namespace_() != kDefaultNamespace;
  if (tool != nullptr && elsewhere && !IsMetaTool(tool->name()) &&
      tool->namespace_() != call.namespace_()) {
    return ToolNotFound(absl::StrCat(call.namespace_(), ".", call.wire_name()), {tool->name()});
  }
  request.set_name(call.name().empty() ? call.wire_name() : call.name());
  request.set_arguments_json(call.arguments_json());
  request.set_session_id(request_.session_id);
  request.set_batch_id(batch_id_);
  request.set_call_index(static_cast<uint32_t>(slots_.size() - 1));
  request.set_coerce(!core_.config.dispatcher().no_coerce());
  return absl::OkStatus();
}

// The tool that such a request calls in the end.
std::string DispatchRun::ToolOf(const v1::CallToolRequest& request) const {
  if (!core_.unwrapper->MayWrap(request.name())) return request.name();
  v1::CallToolRequest inner = request;
  const absl::Status fault = core_.unwrapper->Unwrap(caller_.principal, inner);
  return fault.ok() ? inner.name() : request.name();
}

void DispatchRun::AddCall(v1::OutputCall call) {
  SettleUnfinished();
  Slot& slot = AddSlot(std::move(call));
  const uint32_t most = core_.config.dispatcher().max_calls_per_output();
  if (++calls_ > most) {
    return Refuse(slot, TooManyAtOnce("dispatcher.max_calls_per_output", most, "one output"));
  }
  v1::CallToolRequest request;
  absl::Status fault = Prepare(slot.outcome.call(), request);
  slot.outcome.set_tool(ToolOf(request));
  if (!fault.ok()) return Refuse(slot, std::move(fault));
  Start(slot, std::move(request));
}

void DispatchRun::Start(Slot& slot, v1::CallToolRequest request) {
  const std::shared_ptr<DispatchRun> self = shared_from_this();
  // The copies outlive the slot, which may go while this runs.
  slot.on_stop.emplace(stop_.std_token(), std::function<void()>([stop = slot.stop, why = stop_] {
                         StopSource source = stop;
                         source.RequestStop(why.reason());
                       }));
  std::shared_ptr<CallReporter> reporter;
  if (emit_) reporter = std::make_shared<Reporter>(self, slot.outcome.call().call_id());
  core_.pipeline->Start(std::move(request), caller_, slot.stop, std::move(reporter),
                        [self, &slot](absl::StatusOr<v1::CallToolResponse> answer) {
                          self->Ended(slot, std::move(answer));
                        });
}

void DispatchRun::Refuse(Slot& slot, absl::Status status) {
  *slot.outcome.mutable_status() = ToCallStatus(status);
  slot.status = std::move(status);
  if (emit_) {
    v1::DispatchStreamResponse event;
    *event.mutable_outcome() = slot.outcome;
    emit_(std::move(event));
  }
  LeaveOne(/*here=*/true);
}

void DispatchRun::Ended(Slot& slot, absl::StatusOr<v1::CallToolResponse> answer) {
  if (answer.ok()) {
    slot.outcome.mutable_result()->Swap(answer->mutable_result());
    slot.outcome.mutable_repairs()->Swap(answer->mutable_repairs());
  } else {
    *slot.outcome.mutable_status() = ToCallStatus(answer.status());
    slot.status = answer.status();
  }
  if (emit_) {
    v1::DispatchStreamResponse event;
    *event.mutable_outcome() = slot.outcome;
    emit_(std::move(event));
  }
  LeaveOne(/*here=*/false);
}

void DispatchRun::LeaveOne(bool here) {
  {
    absl::MutexLock lock(&mu_);
    if (--pending_ > 0) return;
  }
  // The thread that a call ended on is a worker's or gRPC's.
  const auto answer = [self = shared_from_this()] { self->Answer(); };
  if (here || !core_.executor->Post(answer)) Answer();
}

// --- answering

// Everything has ended: this thread is alone with it.
void DispatchRun::Answer() {
  absl::StatusOr<v1::DispatchResponse> response;
  try {
    response = MakeResponse();
  } catch (const std::exception& error) {
    response = InternalError("the dispatcher", error.what());
  }
  // A tool that does not end may hold this long after.
  target_.session = SessionLease();
  done_(std::move(response));
}

v1::DispatchResponse DispatchRun::MakeResponse() {
  OutputFaults faults;
  for (const Slot& slot : slots_) {
    if (!slot.status.ok()) AddFault(slot.status, faults);
  }
  if (calls_ > core_.config.dispatcher().max_calls_per_output()) faults.other = true;
  if (bytes_ > core_.config.dispatcher().max_output_bytes()) faults.malformed = true;
  response_.set_done(slots_.empty());
  // Nobody gets the answer of what was stopped.
  if (!stop_.stop_requested()) {
    *response_.mutable_retry() =
        ledger_.Note(request_.session_id, request_.turn_id, faults, response_.done(), retries_);
  }
  AddMessages(response_);
  for (Slot& slot : slots_) {
    slot.on_stop.reset();
    *response_.add_outcomes() = std::move(slot.outcome);
  }
  return std::move(response_);
}

void DispatchRun::AddMessages(v1::DispatchResponse& response) {
  std::vector<Reply> replies;
  std::vector<std::string> loaded;
  for (const Slot& slot : slots_) {
    Reply& reply = replies.emplace_back();
    reply.note = slot.note;
    *reply.outcome.mutable_call() = slot.outcome.call();
    if (slot.outcome.has_status()) {
      *reply.outcome.mutable_status() = slot.outcome.status();
      const ToolEntryPtr entry = core_.registry->Peek().Get(slot.outcome.tool());
      reply.outcome.mutable_status()->set_message(
          FeedbackText(slot.status, entry == nullptr ? nullptr : &entry->definition->tool));
      continue;
    }
    *reply.outcome.mutable_result() = slot.outcome.result();
    if (slot.outcome.tool() != kToolSearch && slot.outcome.tool() != kToolDescribe) continue;
    LoadedByMeta by = LoadedBy(slot.outcome.result());
    loaded.insert(loaded.end(), by.newly.begin(), by.newly.end());
    std::vector<std::string> names = std::move(by.newly);
    names.insert(names.end(), by.already.begin(), by.already.end());
    if (names.empty()) continue;
    v1::RenderToolLoadResponse load =
        core_.prompts->Load(target_, {}, names, slot.outcome.call().call_id());
    reply.loaded.assign(load.fragments().begin(), load.fragments().end());
    response.mutable_warnings()->MergeFrom(load.warnings());
  }
  std::sort(loaded.begin(), loaded.end());
  loaded.erase(std::unique(loaded.begin(), loaded.end()), loaded.end());
  for (std::string& name : loaded) response.add_loaded_tools(std::move(name));
  for (v1::OutMessage& message :
       RenderReplies(target_.spec, replies, {}, *response.mutable_warnings())) {
    *response.add_messages() = std::move(message);
  }
}

}  // namespace toolrack
