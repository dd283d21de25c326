#include "server/backends/worker_backend.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/log.h"
#include "registry/base/proto_time.h"
#include "registry/base/utf8.h"
#include "registry/snapshot.h"

namespace toolrack {
namespace {

// An invocation's fields apart from the arguments, roughly, on the wire.
constexpr size_t kInvocationOverhead = 256;
// More JSON than this in an answer is not parsed on a callback thread: it takes over 100 µs.
constexpr size_t kInlineJsonBytes = 8 << 10;
// A tool's state for hooks: one, and all of a worker.
constexpr size_t kMaxStateBytes = 64 << 10;
constexpr size_t kMaxStatesBytes = 1 << 20;

absl::Status Stopped(absl::string_view tool, StopReason reason) {
  if (reason == StopReason::kDeadline)
    return CallTimeout(tool, absl::ZeroDuration(), Executed::kNo);
  return CallCancelled(tool, StopReasonName(reason), Executed::kNo);
}

std::string LevelOf(absl::string_view level) {
  for (absl::string_view known : {"debug", "info", "warning", "error"}) {
    if (level == known) return std::string(known);
  }
  return "info";
}

}  // namespace

WorkerBackend::WorkerBackend(Options options, Clock* clock, Executor* executor,
                             std::function<void()> wake)
    : options_(std::move(options)), clock_(clock), executor_(executor), wake_(std::move(wake)) {}

WorkerBackend::~WorkerBackend() { Lose(); }

const std::string& WorkerBackend::kind() const {
  static const auto* const kind = new std::string("worker");
  return *kind;
}

uint64_t WorkerBackend::Start(ToolCall call, ToolDone done) {
  const uint64_t id = last_id_.fetch_add(1, std::memory_order_relaxed) + 1;
  Waiting waiting;
  const ToolDefinition& definition = *call.tool->definition;
  v1::Invocation& invocation = waiting.invocation;
  invocation.set_invocation_id(id);
  invocation.set_tool(definition.tool.name());
  invocation.set_namespace_(definition.tool.namespace_());
  invocation.set_name(definition.bare_name);
  waiting.bytes = call.arguments_json.size() + kInvocationOverhead;
  invocation.set_arguments_json(std::move(call.arguments_json));
  invocation.set_session_id(std::move(call.context.session_id));
  invocation.set_call_id(std::move(call.context.call_id));
  invocation.set_batch_id(std::move(call.context.batch_id));
  invocation.set_call_index(call.context.call_index);
  invocation.set_principal(std::move(call.context.principal));
  invocation.set_traceparent(std::move(call.context.traceparent));
  invocation.set_attempt(call.context.attempt);
  if (call.context.remaining != absl::InfiniteDuration())
    waiting.deadline = clock_->SteadyNow() + call.context.remaining;
  waiting.tool = std::move(call.tool);
  waiting.reporter = std::move(call.reporter);
  waiting.done = std::move(done);

  absl::Status refusal;
  {
    absl::MutexLock lock(&mu_);
    if (!available_.load(std::memory_order_relaxed)) {
      refusal = BackendUnavailable(definition.tool.name(), options_.worker_name);
    } else if (waiting_.size() + running_.size() >= size_t{options_.max_queue} + options_.credit) {
      refusal = QueueFull("max_queue_per_worker", options_.max_queue, options_.worker_name);
    } else {
      load_.fetch_add(1, std::memory_order_relaxed);
      waiting_.emplace_hint(waiting_.end(), id, std::move(waiting));
    }
  }
  if (!refusal.ok()) {
    waiting.done(std::move(refusal));
    return 0;
  }
  wake_();
  return id;
}

void WorkerBackend::Cancel(uint64_t number, StopReason reason) {
  std::map<uint64_t, Waiting>::node_type waiting;
  {
    absl::MutexLock lock(&mu_);
    waiting = waiting_.extract(number);
    if (waiting.empty()) {
      if (!running_.contains(number)) return;
      cancels_.emplace_back(number, reason);
    } else {
      load_.fetch_sub(1, std::memory_order_relaxed);
    }
  }
  if (waiting.empty()) {
    wake_();
    return;
  }
  waiting.mapped().done(Stopped(waiting.mapped().invocation.tool(), reason));
}

bool WorkerBackend::Take(size_t max_items, size_t max_bytes, v1::WorkerInvocations* out) {
  const absl::Duration now = clock_->SteadyNow();
  size_t items = 0;
  size_t bytes = 0;
  absl::MutexLock lock(&mu_);
  while (!waiting_.empty() && items < max_items && running_.size() < options_.credit) {
    const auto first = waiting_.begin();
    Waiting& waiting = first->second;
    if (items > 0 && bytes + waiting.bytes > max_bytes) break;
    bytes += waiting.bytes;
    ++items;
    if (waiting.deadline != absl::InfiniteDuration())
      SetDuration(std::max(waiting.deadline - now, absl::ZeroDuration()),
                  *waiting.invocation.mutable_remaining());
    running_.emplace(first->first, Running{std::move(waiting.tool), waiting.invocation.session_id(),
                                           std::move(waiting.reporter), std::move(waiting.done)});
    *out->add_invocations() = std::move(waiting.invocation);
    waiting_.erase(first);
  }
  return items > 0;
}

bool WorkerBackend::TakeCancel(v1::WorkerCancel* out) {
  absl::MutexLock lock(&mu_);
  while (!cancels_.empty()) {
    const auto [id, reason] = cancels_.front();
    cancels_.pop_front();
    if (!running_.contains(id)) continue;  // answered meanwhile
    out->set_invocation_id(id);
    out->set_reason(StopReasonName(reason));
    return true;
  }
  return false;
}

bool WorkerBackend::TakeRunning(uint64_t id, Running* out) {
  absl::MutexLock lock(&mu_);
  const auto at = running_.find(id);
  if (at == running_.end()) return false;
  *out = std::move(at->second);
  running_.erase(at);
  load_.fetch_sub(1, std::memory_order_relaxed);
  completed_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

bool WorkerBackend::Answer(v1::WorkerResult& answer) {
  Running call;
  if (!TakeRunning(answer.invocation_id(), &call)) return false;
  if (JsonBytesOf(answer) + answer.state_json().size() <= kInlineJsonBytes) {
    Finish(call, answer);
    return true;
  }
  struct Job {
    Running call;
    v1::WorkerResult answer;
  };
  const auto job = std::make_shared<Job>();
  job->call = std::move(call);
  job->answer = std::move(answer);
  // The call is out of the table, so whoever runs this is the only one to end it.
  if (!executor_->Post([self = shared_from_this(), job] { self->Finish(job->call, job->answer); }))
    Finish(job->call, job->answer);
  return true;
}

void WorkerBackend::Finish(Running& call, v1::WorkerResult& answer) {
  // Before the answer: hooks after the call see what it left.
  if (!answer.state_json().empty()) KeepState(call, answer.mutable_state_json());
  call.done(TakeOutcome(answer, call.tool->name(), options_.worker_name, options_.results));
}

void WorkerBackend::KeepState(const Running& call, std::string* state_json) {
  JsonLimits limits;
  limits.max_bytes = kMaxStateBytes;
  if (const auto state = ParseJsonOrStatus(*state_json, limits); !state.ok()) {
    LogDebug(absl::StrCat("worker ", options_.worker_name, ": the state of ", call.tool->name(),
                          " is dropped: ", state.status().message()));
    return;
  }
  const bool scoped = call.tool->definition->tool.scope() == v1::TOOL_SCOPE_SESSION;
  std::pair<std::string, std::string> key(call.tool->name(), scoped ? call.session_id : "");
  absl::MutexLock lock(&states_mu_);
  const auto before = state_of_.find(key);
  if (before != state_of_.end()) {
    state_bytes_ -= before->second->json.size();
    states_.erase(before->second);
    state_of_.erase(before);
  }
  state_bytes_ += state_json->size();
  states_.push_back({key, std::move(*state_json)});
  state_of_.emplace(std::move(key), std::prev(states_.end()));
  while (state_bytes_ > kMaxStatesBytes) {
    state_bytes_ -= states_.front().json.size();
    state_of_.erase(states_.front().key);
    states_.pop_front();
  }
}

std::string WorkerBackend::StateJson(const ToolEntry& tool, const std::string& session_id) const {
  const bool scoped = tool.definition->tool.scope() == v1::TOOL_SCOPE_SESSION;
  absl::MutexLock lock(&states_mu_);
  const auto at = state_of_.find(std::make_pair(tool.name(), scoped ? session_id : std::string()));
  return at == state_of_.end() ? "" : at->second->json;
}

void WorkerBackend::ForgetSession(const std::string& session_id) {
  absl::MutexLock lock(&states_mu_);
  for (auto at = states_.begin(); at != states_.end();) {
    if (at->key.second != session_id) {
      ++at;
      continue;
    }
    state_bytes_ -= at->json.size();
    state_of_.erase(at->key);
    at = states_.erase(at);
  }
}

bool WorkerBackend::AnswerUnreadable(uint64_t invocation_id) {
  Running call;
  if (!TakeRunning(invocation_id, &call)) return false;
  call.done(ToolInternal(absl::StrCat(
      "The tool ", call.tool->name(),
      " ran, but its result was dropped: its worker sent bytes that are not UTF-8 in a text. Its "
      "author must mend it.")));
  return true;
}

std::shared_ptr<CallReporter> WorkerBackend::ReporterOf(uint64_t id) {
  absl::MutexLock lock(&mu_);
  const auto at = running_.find(id);
  return at == running_.end() ? nullptr : at->second.reporter;
}

bool WorkerBackend::Progress(v1::WorkerProgress& progress) {
  const std::shared_ptr<CallReporter> reporter = ReporterOf(progress.invocation_id());
  if (reporter == nullptr) return false;
  v1::Progress out;
  out.set_progress(progress.progress());
  out.set_total(progress.total());
  out.set_message(ReplaceInvalidUtf8(progress.message()));
  reporter->OnProgress(std::move(out));
  return true;
}

bool WorkerBackend::Log(v1::WorkerLog& log) {
  const std::shared_ptr<CallReporter> reporter = ReporterOf(log.invocation_id());
  if (reporter == nullptr) return false;
  v1::LogLine out;
  out.set_level(LevelOf(log.level()));
  out.set_message(ReplaceInvalidUtf8(log.message()));
  reporter->OnLog(std::move(out));
  return true;
}

void WorkerBackend::StopTaking() {
  std::map<uint64_t, Waiting> dropped;
  {
    absl::MutexLock lock(&mu_);
    available_.store(false, std::memory_order_release);
    dropped.swap(waiting_);
    load_.fetch_sub(static_cast<uint32_t>(dropped.size()), std::memory_order_relaxed);
  }
  for (auto& [id, call] : dropped)
    call.done(BackendUnavailable(call.tool->name(), options_.worker_name));
}

void WorkerBackend::Lose() {
  StopTaking();
  absl::flat_hash_map<uint64_t, Running> lost;
  {
    absl::MutexLock lock(&mu_);
    lost.swap(running_);
    cancels_.clear();
    load_.fetch_sub(static_cast<uint32_t>(lost.size()), std::memory_order_relaxed);
  }
  for (auto& [id, call] : lost) call.done(OutcomeUnknown(call.tool->name(), options_.worker_name));
}

uint32_t WorkerBackend::running() const {
  absl::MutexLock lock(&mu_);
  return static_cast<uint32_t>(running_.size());
}

uint32_t WorkerBackend::queued() const {
  absl::MutexLock lock(&mu_);
  return static_cast<uint32_t>(waiting_.size());
}

}  // namespace toolrack
