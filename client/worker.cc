#include "client/worker.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/worker_answer.h"
#include "client/worker_state.h"
#include "registry/base/errors.h"

namespace toolrack {
namespace {

constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kMaxQueuedCalls = 1 << 20;  // the daemon's credit is the real bound

// The daemon says that trying again cannot help.
bool IsFinal(const absl::Status& status) {
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_REPLACED:
    case v1::ERROR_REASON_PROTOCOL_VIOLATION:
      return true;
    default:
      break;
  }
  return status.code() == absl::StatusCode::kPermissionDenied ||
         status.code() == absl::StatusCode::kUnauthenticated ||
         status.code() == absl::StatusCode::kUnimplemented;
}

}  // namespace

// One invocation, from the stream to its answer.
class RunningWorkerCall : public WorkerCall {
 public:
  RunningWorkerCall(v1::Invocation invocation, std::weak_ptr<WorkerLink> link)
      : invocation_(std::move(invocation)), link_(std::move(link)) {}

  const v1::Invocation& invocation() const override { return invocation_; }
  StopToken stop() const override { return stop_.token(); }
  void Progress(double progress, double total, absl::string_view message) const override {
    v1::WorkerServiceAttachRequest request;
    v1::WorkerProgress* out = request.mutable_progress();
    out->set_invocation_id(invocation_.invocation_id());
    out->set_progress(progress);
    out->set_total(total);
    out->set_message(std::string(message));
    if (const auto link = link_.lock(); link && !answered_) link->SendIfRoom(std::move(request));
  }
  void Log(absl::string_view level, absl::string_view message) const override {
    v1::WorkerServiceAttachRequest request;
    v1::WorkerLog* out = request.mutable_log();
    out->set_invocation_id(invocation_.invocation_id());
    out->set_level(std::string(level));
    out->set_message(std::string(message));
    if (const auto link = link_.lock(); link && !answered_) link->SendIfRoom(std::move(request));
  }

  void SetState(std::string state_json) const override {
    absl::MutexLock lock(&state_mu_);
    state_json_ = std::move(state_json);
  }
  std::string TakeState() const {
    absl::MutexLock lock(&state_mu_);
    return std::move(state_json_);
  }

  void RequestStop(StopReason reason) { stop_.RequestStop(reason); }
  // True for the first answer.
  bool Claim() const { return !answered_.exchange(true); }
  std::shared_ptr<WorkerLink> link() const { return link_.lock(); }

 private:
  const v1::Invocation invocation_;
  const std::weak_ptr<WorkerLink> link_;
  StopSource stop_;
  mutable std::atomic<bool> answered_{false};
  mutable absl::Mutex state_mu_;
  mutable std::string state_json_ ABSL_GUARDED_BY(state_mu_);
};

namespace {

// The `done` of an asynchronous handler. Dropped unused, it answers INTERNAL.
class WorkerAnswer {
 public:
  explicit WorkerAnswer(std::function<void(WorkerOutcome)> answer) : answer_(std::move(answer)) {}
  WorkerAnswer(WorkerAnswer&& other) noexcept : answer_(std::exchange(other.answer_, nullptr)) {}
  WorkerAnswer& operator=(WorkerAnswer&&) = delete;
  ~WorkerAnswer() {
    if (answer_) answer_(absl::InternalError("the tool gave no answer"));
  }
  void operator()(WorkerOutcome outcome) {
    if (answer_) std::exchange(answer_, nullptr)(std::move(outcome));
  }

 private:
  std::function<void(WorkerOutcome)> answer_;
};

}  // namespace

Worker::State::State(WorkerOptions options) : options_(std::move(options)) {}

void Worker::State::AddTool(absl::string_view ns, v1::Tool meta, WorkerHandler sync,
                            AsyncWorkerHandler async) {
  auto tool = std::make_shared<Tool>();
  const std::string name = meta.name();
  tool->meta = std::move(meta);
  tool->sync = std::move(sync);
  tool->async = std::move(async);
  absl::MutexLock lock(&mu_);
  tools_[std::string(ns)][name] = std::move(tool);
}

void Worker::State::RemoveNamespace(absl::string_view ns) {
  std::shared_ptr<WorkerLink> link;
  {
    absl::MutexLock lock(&mu_);
    if (tools_.erase(std::string(ns)) == 0) return;
    publications_.erase(std::string(ns));
    if (attached_) link = link_;
  }
  if (link == nullptr) return;
  v1::WorkerServiceAttachRequest request;
  request.mutable_withdraw()->set_namespace_(std::string(ns));
  link->Send(std::move(request));
}

absl::Status Worker::State::Start() {
  if (options_.address.empty() || options_.name.empty())
    return absl::InvalidArgumentError("a worker needs an address and a name");
  {
    absl::MutexLock lock(&mu_);
    if (started_) return absl::FailedPreconditionError("the worker was started before");
    started_ = true;
  }
  grpc::ChannelArguments arguments;
  // The worker has a back-off of its own; gRPC's would come on top of it.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 200);
  // A connection of its own: several workers of one process must not share a fate.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  channel_ =
      grpc::CreateCustomChannel(options_.address, grpc::InsecureChannelCredentials(), arguments);
  stub_ = v1::WorkerService::NewStub(channel_);
  timers_ = MakeTimers();
  pool_ = std::make_unique<ThreadPool>("worker", std::max<size_t>(options_.threads, 1),
                                       kMaxQueuedCalls);
  Connect();
  return absl::OkStatus();
}

void Worker::State::Connect() {
  auto link = std::make_shared<WorkerLink>(shared_from_this(), links_);
  {
    absl::MutexLock lock(&mu_);
    if (stopping_ || ended_) {
      ended_ = true;
      return;
    }
    link_ = link;
    attached_ = false;
    publications_.clear();
  }
  v1::WorkerServiceAttachRequest request;
  request.mutable_hello()->set_worker_name(options_.name);
  request.mutable_hello()->set_protocol_version(1);
  request.mutable_hello()->set_max_in_flight(options_.max_in_flight);
  link->Open(stub_.get(), options_.token);
  link->Send(std::move(request));
}

void Worker::State::OnMessage(const std::shared_ptr<WorkerLink>& link,
                              v1::WorkerServiceAttachResponse& message) {
  switch (message.message_case()) {
    case v1::WorkerServiceAttachResponse::kWelcome:
      OnWelcome(link, message.welcome());
      return;
    case v1::WorkerServiceAttachResponse::kPublished:
      return OnPublished(message.published());
    case v1::WorkerServiceAttachResponse::kInvocations:
      OnInvocations(link, *message.mutable_invocations());
      return;
    case v1::WorkerServiceAttachResponse::kCancel:
      OnCancel(message.cancel());
      return;
    case v1::WorkerServiceAttachResponse::kPing: {
      v1::WorkerServiceAttachRequest pong;
      pong.mutable_pong()->set_nonce(message.ping().nonce());
      link->Send(std::move(pong));
      return;
    }
    case v1::WorkerServiceAttachResponse::kDrain:
      if (options_.on_drain) options_.on_drain();
      return;
    case v1::WorkerServiceAttachResponse::kSessionOpened:
      return OnSessionOpened(message.session_opened().session_id());
    case v1::WorkerServiceAttachResponse::kSessionClosed:
      return OnSessionsClosed({message.session_closed().session_id()});
    case v1::WorkerServiceAttachResponse::MESSAGE_NOT_SET:
      return;
  }
}

void Worker::State::OnWelcome(const std::shared_ptr<WorkerLink>& link,
                              const v1::WorkerWelcome& welcome) {
  std::vector<std::string> namespaces;
  {
    absl::MutexLock lock(&mu_);
    attached_ = true;
    unconfirmed_ = sessions_;
    backoff_ = absl::ZeroDuration();
    if (welcome.limits().max_message_bytes() > 0)
      max_message_bytes_ = welcome.limits().max_message_bytes();
    for (const auto& [ns, tools] : tools_) namespaces.push_back(ns);
  }
  if (options_.on_attached) options_.on_attached(welcome);
  for (const std::string& ns : namespaces) SendSet(link, ns);
}

void Worker::State::SendSet(const std::shared_ptr<WorkerLink>& link, const std::string& ns) {
  std::vector<v1::WorkerServiceAttachRequest> chunks(1);
  {
    absl::MutexLock lock(&mu_);
    const auto tools = tools_.find(ns);
    if (tools == tools_.end()) return;
    const uint64_t generation = ++generation_;
    publications_[ns] = Publication{generation, false};
    const auto begin = [&](v1::WorkerPublish* chunk) {
      chunk->set_namespace_(ns);
      chunk->set_generation(generation);
      chunk->set_mode(options_.mode);
    };
    begin(chunks.back().mutable_publish());
    size_t bytes = 0;
    for (const auto& [name, tool] : tools->second) {
      const size_t next = tool->meta.ByteSizeLong();
      if (bytes > 0 && bytes + next > kChunkBytes) {
        begin(chunks.emplace_back().mutable_publish());
        bytes = 0;
      }
      bytes += next;
      *chunks.back().mutable_publish()->add_tools() = tool->meta;
    }
    chunks.back().mutable_publish()->set_commit(true);
  }
  for (v1::WorkerServiceAttachRequest& chunk : chunks) link->Send(std::move(chunk));
}

void Worker::State::Publish(absl::string_view ns) {
  std::shared_ptr<WorkerLink> link;
  {
    absl::MutexLock lock(&mu_);
    if (!attached_) return;  // the welcome publishes everything
    link = link_;
  }
  SendSet(link, std::string(ns));
}

void Worker::State::OnPublished(const v1::WorkerPublished& published) {
  if (options_.on_published) options_.on_published(published);
  if (published.more()) return;
  std::vector<std::string> over;
  {
    absl::MutexLock lock(&mu_);
    const auto at = publications_.find(published.namespace_());
    if (at != publications_.end() && at->second.generation == published.generation())
      at->second.answered = true;
    // The daemon has named the open ones before it answered.
    if (Published()) over.assign(unconfirmed_.begin(), unconfirmed_.end());
  }
  OnSessionsClosed(over);
}

void Worker::State::OnInvocations(const std::shared_ptr<WorkerLink>& link,
                                  v1::WorkerInvocations& invocations) {
  for (v1::Invocation& invocation : *invocations.mutable_invocations()) {
    auto call = std::make_shared<RunningWorkerCall>(std::move(invocation), link);
    std::shared_ptr<const Tool> tool;
    {
      absl::MutexLock lock(&mu_);
      const auto ns = tools_.find(call->invocation().namespace_());
      if (ns != tools_.end()) {
        const auto at = ns->second.find(call->invocation().name());
        if (at != ns->second.end()) tool = at->second;
      }
      calls_[call->invocation().invocation_id()] = call;
    }
    RunCall(std::move(call), std::move(tool));
  }
}

void Worker::State::RunCall(std::shared_ptr<RunningWorkerCall> call,
                            std::shared_ptr<const Tool> tool) {
  if (tool == nullptr) {
    Answer(*call, absl::UnavailableError("this worker has no such tool"));
    return;
  }
  if (tool->async) {
    WorkerAnswer answer([self = shared_from_this(), call](WorkerOutcome outcome) {
      self->Answer(*call, std::move(outcome));
    });
    try {
      tool->async(call, std::move(answer));
    } catch (const std::exception& e) {
      Answer(*call, absl::InternalError(absl::StrCat("the tool threw: ", e.what())));
    }
    return;
  }
  const bool posted = pool_->Post([self = shared_from_this(), call, tool] {
    WorkerOutcome outcome = absl::UnknownError("");
    try {
      outcome = tool->sync(*call);
    } catch (const std::exception& e) {
      outcome = absl::InternalError(absl::StrCat("the tool threw: ", e.what()));
    } catch (...) {
      outcome = absl::InternalError("the tool threw something that is no exception");
    }
    self->Answer(*call, std::move(outcome));
  });
  if (!posted) Answer(*call, absl::UnavailableError("the worker is stopping"));
}

void Worker::State::Answer(const RunningWorkerCall& call, WorkerOutcome outcome) {
  if (!call.Claim()) return;
  const uint64_t id = call.invocation().invocation_id();
  uint64_t max_bytes;
  {
    absl::MutexLock lock(&mu_);
    max_bytes = max_message_bytes_;
  }
  if (const auto link = call.link()) {
    v1::WorkerResult result = MakeWorkerResult(id, std::move(outcome), max_bytes);
    result.set_state_json(call.TakeState());
    link->SendResult(std::move(result));
  }
  absl::MutexLock lock(&mu_);  // only now: Stop closes the link when no call is left
  const auto at = calls_.find(id);
  if (at != calls_.end() && at->second.get() == &call) calls_.erase(at);
}

void Worker::State::OnCancel(const v1::WorkerCancel& cancel) {
  std::shared_ptr<RunningWorkerCall> call;
  {
    absl::MutexLock lock(&mu_);
    const auto at = calls_.find(cancel.invocation_id());
    if (at != calls_.end()) call = at->second;
  }
  if (call != nullptr) call->RequestStop(StopReasonFromName(cancel.reason()));
}

void Worker::State::OnEnd(const std::shared_ptr<WorkerLink>& link, absl::Status status) {
  std::vector<std::shared_ptr<RunningWorkerCall>> orphans;
  bool again = false;
  absl::Duration delay;
  {
    absl::MutexLock lock(&mu_);
    if (link_ != link) return;
    attached_ = false;
    for (auto& [id, call] : calls_) orphans.push_back(std::move(call));
    calls_.clear();
    if (stopping_ || IsFinal(status)) {
      if (!stopping_) end_status_ = status;
    } else {
      again = true;
      backoff_ = std::min(std::max(backoff_ * 2, options_.min_backoff), options_.max_backoff);
      delay = backoff_ * absl::Uniform(random_, 0.5, 1.0);
    }
  }
  for (const auto& call : orphans) call->RequestStop(StopReason::kShutdown);
  if (options_.on_detached) options_.on_detached(status);
  if (again) {
    timers_->Arm(delay, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Connect();
    });
    return;
  }
  absl::MutexLock lock(&mu_);
  ended_ = true;
}

bool Worker::State::Published() const {
  if (!attached_ || publications_.size() < tools_.size()) return false;
  return std::all_of(publications_.begin(), publications_.end(),
                     [](const auto& entry) { return entry.second.answered; });
}

bool Worker::State::WaitUntilPublished(absl::Duration timeout) {
  absl::MutexLock lock(&mu_);
  mu_.AwaitWithTimeout(absl::Condition(this, &State::PublishedOrEnded), timeout);
  return !ended_ && Published();
}

void Worker::State::Drain(absl::string_view reason) {
  std::shared_ptr<WorkerLink> link;
  {
    absl::MutexLock lock(&mu_);
    if (attached_) link = link_;
  }
  if (link == nullptr) return;
  v1::WorkerServiceAttachRequest request;
  request.mutable_draining()->set_reason(std::string(reason));
  link->Send(std::move(request));
}

void Worker::State::Stop(absl::Duration grace) {
  Drain("the worker is stopping");
  std::vector<std::shared_ptr<RunningWorkerCall>> left;
  std::shared_ptr<WorkerLink> link;
  {
    absl::MutexLock lock(&mu_);
    if (!started_ || ended_) {
      ended_ = true;
      return;
    }
    mu_.AwaitWithTimeout(absl::Condition(this, &State::Idle), grace);
    stopping_ = true;
    // Between two attachments no link could end: Connect sees `stopping_`, and so may this.
    if (link_ == nullptr || !attached_) ended_ = true;
    for (const auto& [id, call] : calls_) left.push_back(call);
    link = link_;
  }
  for (const auto& call : left) call->RequestStop(StopReason::kShutdown);
  if (link == nullptr) return;
  if (left.empty()) {
    link->Close();
  } else {
    link->Abort();
  }
  absl::MutexLock lock(&mu_);
  // A daemon that hangs must not hang the worker.
  if (!mu_.AwaitWithTimeout(absl::Condition(this, &State::Ended), absl::Seconds(5))) {
    mu_.Unlock();
    link->Abort();
    mu_.Lock();
    mu_.Await(absl::Condition(this, &State::Ended));
  }
}

absl::Status Worker::State::Wait() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(this, &State::Ended));
  return end_status_;
}

size_t Worker::State::in_flight() const {
  absl::MutexLock lock(&mu_);
  return calls_.size();
}

void Worker::State::Release() {
  std::shared_ptr<WorkerLink> link;
  {
    absl::MutexLock lock(&mu_);
    link = std::move(link_);
  }
  if (link != nullptr) link->Abort();
  link = nullptr;
  timers_ = nullptr;
  if (pool_ != nullptr) pool_->Shutdown();
  links_->WaitForNone();
  stub_ = nullptr;
  channel_ = nullptr;
}

Worker::Worker(WorkerOptions options) : state_(std::make_shared<State>(std::move(options))) {}

Worker::~Worker() {
  state_->Stop(absl::ZeroDuration());
  state_->Release();
}

void Worker::AddTool(absl::string_view ns, v1::Tool meta, WorkerHandler handler) {
  state_->AddTool(ns, std::move(meta), std::move(handler), nullptr);
}
void Worker::AddAsyncTool(absl::string_view ns, v1::Tool meta, AsyncWorkerHandler handler) {
  state_->AddTool(ns, std::move(meta), nullptr, std::move(handler));
}
void Worker::RemoveNamespace(absl::string_view ns) { state_->RemoveNamespace(ns); }
absl::Status Worker::Start() { return state_->Start(); }
void Worker::Publish(absl::string_view ns) { state_->Publish(ns); }
bool Worker::WaitUntilPublished(absl::Duration timeout) {
  return state_->WaitUntilPublished(timeout);
}
void Worker::Drain(absl::string_view reason) { state_->Drain(reason); }
void Worker::Stop(absl::Duration grace) { state_->Stop(grace); }
absl::Status Worker::Wait() { return state_->Wait(); }
size_t Worker::in_flight() const { return state_->in_flight(); }

}  // namespace toolrack
