// What the worker tests share: workers that the test plays by hand over a real stream, worker
// processes, calls on the side, and waiting for what the registry says.
#ifndef TOOLRACK_TESTS_INTEGRATION_WORKER_HARNESS_H_
#define TOOLRACK_TESTS_INTEGRATION_WORKER_HARNESS_H_

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "registry/registry.h"
#include "registry/snapshot.h"
#include "tests/testing/server_fixture.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {

inline v1::Tool PlainTool(const std::string& name, const std::string& description = "Does it.") {
  v1::Tool tool;
  tool.set_name(name);
  tool.set_description(description);
  tool.set_input_schema(R"({"type":"object"})");
  return tool;
}

// A worker played by hand. A thread reads; the test takes what came.
class RawWorker {
 public:
  using Request = v1::WorkerServiceAttachRequest;
  using Response = v1::WorkerServiceAttachResponse;

  explicit RawWorker(const TestServer& server)
      : stub_(server.Workers()), stream_(stub_->Attach(&context_)) {
    reader_ = std::thread([this] {
      Response response;
      while (stream_->Read(&response)) {
        absl::MutexLock lock(&mu_);
        came_.push_back(response);
      }
      grpc::Status status = stream_->Finish();
      absl::MutexLock lock(&mu_);
      status_ = FromGrpc(status);
      ended_ = true;
    });
  }
  ~RawWorker() {
    context_.TryCancel();
    reader_.join();
  }

  bool Send(const Request& request) { return stream_->Write(request); }
  void Hello(const std::string& name, uint32_t credit = 0) {
    Request request;
    request.mutable_hello()->set_worker_name(name);
    request.mutable_hello()->set_protocol_version(1);
    request.mutable_hello()->set_max_in_flight(credit);
    Send(request);
  }
  void Publish(const std::string& ns, const std::vector<v1::Tool>& tools, uint64_t generation = 1) {
    Request request;
    v1::WorkerPublish* publish = request.mutable_publish();
    publish->set_namespace_(ns);
    publish->set_generation(generation);
    publish->set_mode(v1::PUBLISH_MODE_BEST_EFFORT);
    publish->set_commit(true);
    for (const v1::Tool& tool : tools) *publish->add_tools() = tool;
    Send(request);
  }
  // Hello and publish, and waits for the answer.
  v1::WorkerPublished Attach(const std::string& name, const std::string& ns,
                             const std::vector<v1::Tool>& tools, uint32_t credit = 0) {
    Hello(name, credit);
    Publish(ns, tools);
    return Take(Response::kPublished).published();
  }
  void AnswerText(uint64_t id, const std::string& text) {
    Request request;
    v1::WorkerResult* result = request.mutable_results()->add_results();
    result->set_invocation_id(id);
    result->mutable_result()->add_content()->mutable_text()->set_text(text);
    Send(request);
  }

  // The next message of this kind; waits for it. An empty one when the stream ended or it hangs.
  Response Take(Response::MessageCase kind) {
    absl::MutexLock lock(&mu_);
    Wanted wanted{this, kind};
    mu_.AwaitWithTimeout(absl::Condition(
                             +[](Wanted* w) { return w->self->HasOrEnded(w->kind); }, &wanted),
                         kHung);
    for (auto at = came_.begin(); at != came_.end(); ++at) {
      if (at->message_case() != kind) continue;
      Response found = std::move(*at);
      came_.erase(at);
      return found;
    }
    return {};
  }
  // The next invocation; waits for it. Id 0 when there is none.
  v1::Invocation TakeInvocation() {
    if (invocations_.empty()) {
      const Response response = Take(Response::kInvocations);
      for (const auto& invocation : response.invocations().invocations())
        invocations_.push_back(invocation);
    }
    if (invocations_.empty()) return {};
    v1::Invocation next = std::move(invocations_.front());
    invocations_.pop_front();
    return next;
  }
  // Messages of this kind that came and were not taken.
  bool Has(Response::MessageCase kind) {
    absl::MutexLock lock(&mu_);
    return HasLocked(kind);
  }
  // How the daemon ended the stream.
  absl::Status WaitForEnd() {
    absl::MutexLock lock(&mu_);
    if (!mu_.AwaitWithTimeout(absl::Condition(&ended_), kHung))
      return absl::UnknownError("the stream does not end");
    return status_;
  }
  void CloseSide() { stream_->WritesDone(); }
  // As if the process died.
  void Break() { context_.TryCancel(); }

 private:
  struct Wanted {
    RawWorker* self;
    Response::MessageCase kind;
  };
  bool HasLocked(Response::MessageCase kind) const {
    for (const Response& response : came_) {
      if (response.message_case() == kind) return true;
    }
    return false;
  }
  bool HasOrEnded(Response::MessageCase kind) const { return ended_ || HasLocked(kind); }

  std::unique_ptr<v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;
  std::deque<v1::Invocation> invocations_;
  absl::Mutex mu_;
  std::deque<Response> came_;
  bool ended_ = false;
  absl::Status status_;
  std::thread reader_;
};

// A call on a thread of its own.
class SideCall {
 public:
  SideCall(const TestServer& server, const std::string& tool, const std::string& arguments = "{}",
           absl::Duration deadline = kHung)
      : stub_(server.Tools()) {
    request_.set_name(tool);
    request_.set_arguments_json(arguments);
    context_.set_deadline(absl::ToChronoTime(absl::Now() + deadline));
    thread_ = std::thread([this] {
      v1::CallToolStreamRequest request;
      request.set_name(request_.name());
      request.set_arguments_json(request_.arguments_json());
      auto reader = stub_->CallToolStream(&context_, request);
      v1::CallToolStreamResponse event;
      while (reader->Read(&event)) {
        absl::MutexLock lock(&mu_);
        if (event.has_progress()) progressed_ = true;
        if (event.has_response()) response_ = event.response();
      }
      const grpc::Status status = reader->Finish();
      absl::MutexLock lock(&mu_);
      status_ = FromGrpc(status);
    });
  }
  ~SideCall() {
    Cancel();
    if (thread_.joinable()) thread_.join();
  }
  void Cancel() { context_.TryCancel(); }
  // The tool has told its first progress.
  bool WaitForProgress() {
    absl::MutexLock lock(&mu_);
    return mu_.AwaitWithTimeout(absl::Condition(&progressed_), kHung);
  }
  absl::Status Status() {
    if (thread_.joinable()) thread_.join();
    return status_;
  }
  std::string Text() {
    if (!Status().ok()) return std::string(status_.message());
    return response_.result().content_size() > 0 ? response_.result().content(0).text().text() : "";
  }
  const v1::CallToolResponse& response() {
    if (thread_.joinable()) thread_.join();
    return response_;
  }

 private:
  std::unique_ptr<v1::ToolService::Stub> stub_;
  v1::CallToolRequest request_;
  grpc::ClientContext context_;
  absl::Mutex mu_;
  bool progressed_ = false;
  v1::CallToolResponse response_;
  absl::Status status_;
  std::thread thread_;
};

// Every change of the registry from here on.
class ChangeLog {
 public:
  explicit ChangeLog(Registry& registry) : registry_(registry) {
    watch_ = registry.Watch(registry.snapshot()->revision(), 1 << 16, [this] {
      absl::MutexLock lock(&mu_);
      woken_ = true;
    });
  }
  // Waits until the tool is in this state; UNSPECIFIED: until it is not there.
  bool WaitFor(const std::string& name, v1::ToolState state) {
    const absl::Time deadline = absl::Now() + kHung;
    while (absl::Now() < deadline) {
      Collect();
      const ToolEntryPtr entry = registry_.snapshot()->Get(name);
      if ((entry == nullptr ? v1::TOOL_STATE_UNSPECIFIED : entry->state) == state) return true;
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithDeadline(absl::Condition(&woken_), deadline);
      woken_ = false;
    }
    return false;
  }
  // The changes so far, by kind.
  size_t Count(RegistryChange::Kind kind) {
    Collect();
    size_t count = 0;
    for (RegistryChange::Kind seen : seen_) count += seen == kind ? 1 : 0;
    return count;
  }
  // Nothing but states changed.
  bool OnlyStates() { return Count(RegistryChange::Kind::kState) == seen_.size(); }

 private:
  void Collect() {
    while (const RegistryChangesPtr changes = watch_->Next()) {
      for (const RegistryChange& change : changes->changes) seen_.push_back(change.kind);
    }
  }

  Registry& registry_;
  absl::Mutex mu_;
  bool woken_ = false;
  std::vector<RegistryChange::Kind> seen_;
  std::unique_ptr<RegistryWatch> watch_;
};

// The example worker as a child process; killed when the object goes.
class WorkerProcess {
 public:
  WorkerProcess(const std::string& address, const std::string& name,
                const std::string& example = "example_worker") {
    const char* folder = std::getenv("TOOLRACK_BIN_DIR");
    const std::string program =
        std::string(folder != nullptr ? folder : TOOLRACK_BIN_DIR) + "/" + example;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    const char* argv[] = {program.c_str(), address.c_str(), name.c_str(), nullptr};
    if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, const_cast<char**>(argv), environ) !=
        0) {
      pid_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~WorkerProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }
  bool started() const { return pid_ > 0; }
  void Signal(int signal) { kill(pid_, signal); }
  // Its exit code; -1 when a signal ended it.
  int WaitForExit() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

// Asks for the only worker until it is as wanted; false when that hangs.
inline bool WaitForWorker(const TestServer& server,
                          const std::function<bool(const v1::WorkerInfo&)>& wanted) {
  const auto admin = server.Admin();
  const absl::Time deadline = absl::Now() + kHung;
  while (absl::Now() < deadline) {
    v1::ListWorkersResponse workers;
    if (!admin->ListWorkers(NewContext().get(), {}, &workers).ok()) return false;
    if (workers.workers_size() == 1 && wanted(workers.workers(0))) return true;
  }
  return false;
}

// A config whose workers are found dead soon.
inline v1::Config QuickConfig() {
  v1::Config config;
  config.mutable_workers()->mutable_ping_interval()->set_nanos(100'000'000);
  config.mutable_workers()->mutable_ping_timeout()->set_nanos(400'000'000);
  return config;
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_INTEGRATION_WORKER_HARNESS_H_
