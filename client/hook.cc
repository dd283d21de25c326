#include "client/hook.h"

#include <grpcpp/channel.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "client/status.h"
#include "client/worker_answer.h"
#include "registry/base/errors.h"
#include "registry/base/executor.h"
#include "toolrack/v1/hook_service.grpc.pb.h"

namespace toolrack {
namespace {

constexpr uint32_t kProtocolVersion = 1;
constexpr size_t kMaxQueuedEvents = 1 << 20;  // the daemon's own queue is the real bound

// The daemon says that trying again cannot help.
bool IsFinal(const absl::Status& status) {
  switch (ReasonOf(status)) {
    case v1::ERROR_REASON_REPLACED:
    case v1::ERROR_REASON_PROTOCOL_VIOLATION:
    case v1::ERROR_REASON_REQUEST_INVALID:
    case v1::ERROR_REASON_NAME_TAKEN:
      return true;
    default:
      break;
  }
  return status.code() == absl::StatusCode::kPermissionDenied ||
         status.code() == absl::StatusCode::kUnauthenticated ||
         status.code() == absl::StatusCode::kUnimplemented;
}

v1::WorkerToolResult ToBytes(v1::ToolResult result) {
  return std::move(*MakeWorkerResult(0, std::move(result), UINT64_MAX).mutable_result());
}

using Stream =
    grpc::ClientReaderWriter<v1::HookServiceAttachRequest, v1::HookServiceAttachResponse>;

// The writing side of one stream. Events that are still being answered when it ended hold it.
struct Outlet {
  absl::Mutex mu;
  Stream* stream ABSL_GUARDED_BY(mu) = nullptr;  // null when it is over

  void Send(v1::HookVerdict verdict) {
    v1::HookServiceAttachRequest request;
    *request.mutable_verdict() = std::move(verdict);
    absl::MutexLock lock(&mu);
    if (stream != nullptr) stream->Write(request);
  }
};

}  // namespace

v1::HookVerdict PassCall() {
  v1::HookVerdict verdict;
  verdict.mutable_pass();
  return verdict;
}

v1::HookVerdict ReplaceCallArguments(std::string arguments_json) {
  v1::HookVerdict verdict;
  verdict.set_replace_arguments(std::move(arguments_json));
  return verdict;
}

v1::HookVerdict ReplaceCallResult(v1::ToolResult result) {
  v1::HookVerdict verdict;
  *verdict.mutable_replace_result() = ToBytes(std::move(result));
  return verdict;
}

v1::HookVerdict DenyCall(absl::string_view reason) {
  v1::HookVerdict verdict;
  verdict.mutable_deny()->set_reason(std::string(reason));
  return verdict;
}

v1::HookVerdict AnswerCall(v1::ToolResult result) {
  v1::HookVerdict verdict;
  *verdict.mutable_answer() = ToBytes(std::move(result));
  return verdict;
}

struct HookClient::State {
  State(HookOptions o, HookHandler h) : options(std::move(o)), handler(std::move(h)) {}

  void Run();
  absl::Status Attach(bool& attached);
  void OnEvent(const std::shared_ptr<Outlet>& outlet, v1::HookEvent event,
               std::shared_ptr<const v1::Tool> tool);
  bool AttachedOrEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return attached_now || ended; }
  bool Stopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return stopping; }

  const HookOptions options;
  const HookHandler handler;
  std::unique_ptr<v1::HookService::Stub> stub;
  std::unique_ptr<ThreadPool> pool;
  std::thread thread;

  absl::Mutex mu;
  bool stopping ABSL_GUARDED_BY(mu) = false;
  bool attached_now ABSL_GUARDED_BY(mu) = false;
  bool ended ABSL_GUARDED_BY(mu) = false;
  absl::Status end_status ABSL_GUARDED_BY(mu);
  grpc::ClientContext* context ABSL_GUARDED_BY(mu) = nullptr;
};

void HookClient::State::OnEvent(const std::shared_ptr<Outlet>& outlet, v1::HookEvent event,
                                std::shared_ptr<const v1::Tool> tool) {
  pool->Post([this, outlet, event = std::move(event), tool = std::move(tool)] {
    v1::HookVerdict verdict;
    try {
      verdict = handler(event, *tool);
    } catch (const std::exception&) {
      verdict.Clear();  // a verdict that says nothing is a failure of the hook
    }
    if (options.observe_only) return;
    verdict.set_event_id(event.event_id());
    outlet->Send(std::move(verdict));
  });
}

absl::Status HookClient::State::Attach(bool& attached) {
  grpc::ClientContext stream_context;
  if (!options.token.empty()) {
    stream_context.AddMetadata("authorization", "Bearer " + options.token);
  }
  {
    absl::MutexLock lock(&mu);
    if (stopping) return absl::OkStatus();
    context = &stream_context;
  }
  const std::unique_ptr<Stream> stream = stub->Attach(&stream_context);
  v1::HookServiceAttachRequest request;
  v1::HookHello& hello = *request.mutable_hello();
  hello.set_hook_name(options.name);
  hello.set_protocol_version(kProtocolVersion);
  for (const v1::HookPoint point : options.points) hello.add_points(point);
  *hello.mutable_filter() = options.filter;
  hello.set_priority(options.priority);
  if (options.timeout.has_value()) {
    absl::Duration rest = *options.timeout;
    hello.mutable_timeout()->set_seconds(absl::IDivDuration(rest, absl::Seconds(1), &rest));
    hello.mutable_timeout()->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(rest)));
  }
  hello.set_failure_mode(options.failure_mode);
  hello.set_observe_only(options.observe_only);
  hello.set_dry_run(options.dry_run);
  stream->Write(request);

  const auto outlet = std::make_shared<Outlet>();
  {
    absl::MutexLock lock(&outlet->mu);
    outlet->stream = stream.get();
  }
  absl::flat_hash_map<std::string, std::shared_ptr<const v1::Tool>> tools;  // by digest
  v1::HookServiceAttachResponse response;
  while (stream->Read(&response)) {
    if (response.has_welcome()) {
      {
        absl::MutexLock lock(&mu);
        attached_now = true;
      }
      attached = true;
      if (options.on_attached) options.on_attached(response.welcome());
    } else if (response.has_tool()) {
      const std::string digest = response.tool().digest();
      tools[digest] = std::make_shared<const v1::Tool>(std::move(*response.mutable_tool()));
    } else if (response.has_event()) {
      const auto tool = tools.find(response.event().digest());
      if (tool != tools.end()) OnEvent(outlet, std::move(*response.mutable_event()), tool->second);
    }
  }
  {
    absl::MutexLock lock(&outlet->mu);
    outlet->stream = nullptr;
  }
  const absl::Status status = FromGrpcStatus(stream->Finish());
  absl::MutexLock lock(&mu);
  context = nullptr;
  attached_now = false;
  return status;
}

void HookClient::State::Run() {
  absl::BitGen random;
  absl::Duration backoff = options.min_backoff;
  absl::Status status;
  while (true) {
    bool attached = false;
    status = Attach(attached);
    if (attached) backoff = options.min_backoff;
    {
      absl::MutexLock lock(&mu);
      if (stopping || IsFinal(status)) break;
    }
    if (options.on_detached) options.on_detached(status);
    const absl::Duration wait = backoff * absl::Uniform(random, 0.5, 1.0);
    backoff = std::min(backoff * 2, options.max_backoff);
    absl::MutexLock lock(&mu);
    mu.AwaitWithTimeout(absl::Condition(this, &State::Stopping), wait);
  }
  absl::MutexLock lock(&mu);
  ended = true;
  end_status = stopping ? absl::OkStatus() : status;
}

HookClient::HookClient(HookOptions options, HookHandler handler)
    : state_(std::make_unique<State>(std::move(options), std::move(handler))) {}

HookClient::~HookClient() { Stop(); }

absl::Status HookClient::Start() {
  State& state = *state_;
  if (state.options.address.empty() || state.options.name.empty()) {
    return absl::InvalidArgumentError("a hook needs an address and a name");
  }
  if (state.pool != nullptr) return absl::FailedPreconditionError("the hook was started before");
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);  // events carry whole results
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  state.stub = v1::HookService::NewStub(grpc::CreateCustomChannel(
      state.options.address, grpc::InsecureChannelCredentials(), arguments));
  state.pool = std::make_unique<ThreadPool>("hook", std::max<size_t>(1, state.options.threads),
                                            kMaxQueuedEvents);
  state.thread = std::thread([&state] { state.Run(); });
  return absl::OkStatus();
}

bool HookClient::WaitUntilAttached(absl::Duration timeout) {
  absl::MutexLock lock(&state_->mu);
  state_->mu.AwaitWithTimeout(absl::Condition(state_.get(), &State::AttachedOrEnded), timeout);
  return state_->attached_now;
}

void HookClient::Stop() {
  State& state = *state_;
  {
    absl::MutexLock lock(&state.mu);
    state.stopping = true;
    if (state.context != nullptr) state.context->TryCancel();
  }
  if (state.thread.joinable()) state.thread.join();
  if (state.pool != nullptr) state.pool->Shutdown();
}

absl::Status HookClient::Wait() {
  absl::MutexLock lock(&state_->mu);
  state_->mu.Await(absl::Condition(&state_->ended));
  return state_->end_status;
}

}  // namespace toolrack
