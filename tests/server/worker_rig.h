// A hub with real registry and fake everything else, and workers that the test plays itself.
#ifndef TOOLRACK_TESTS_SERVER_WORKER_RIG_H_
#define TOOLRACK_TESTS_SERVER_WORKER_RIG_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"
#include "registry/session_table.h"
#include "registry/snapshot.h"
#include "server/backends/worker_hub.h"
#include "server/backends/worker_hub_state.h"
#include "server/backends/worker_session.h"
#include "tests/testing/fakes.h"

namespace toolrack {

// The other end of a stream.
class FakeStream : public WorkerTransport {
 public:
  void Write(const v1::WorkerServiceAttachResponse& message) override {
    if (!discard) written.push_back(message);
    if (hold_writes) {
      held = true;
      return;
    }
    session.lock()->OnWriteDone(true);
  }
  void Finish(absl::Status status) override {
    if (!discard) finished = std::move(status);
  }
  void Abort() override { aborted = true; }
  // The write that is held is done.
  void Release(bool ok = true) {
    held = false;
    session.lock()->OnWriteDone(ok);
  }

  std::weak_ptr<WorkerSession> session;
  std::deque<v1::WorkerServiceAttachResponse> written;
  bool hold_writes = false;
  bool discard = false;  // for tests with threads: the session's own locks are all there is
  bool held = false;
  std::optional<absl::Status> finished;
  bool aborted = false;
};

inline v1::Tool WorkerTool(const std::string& name, const std::string& description = "Does it.") {
  v1::Tool tool;
  tool.set_name(name);
  tool.set_description(description);
  tool.set_input_schema(R"({"type":"object"})");
  return tool;
}

// One worker, played by the test.
class Peer {
 public:
  Peer(WorkerHub::State& hub, const std::string& principal)
      : stream(std::make_shared<FakeStream>()), session(hub.MakeSession(principal, stream)) {
    stream->session = session;
    session->Begin();
    hub.Open(session);
  }

  void Send(v1::WorkerServiceAttachRequest request) {
    WorkerMessage message;
    message.request = std::move(request);
    session->OnMessage(message);
  }
  // As bytes, as the stream would read them.
  void SendBytes(const std::string& bytes) {
    WorkerMessage message;
    if (message.request.ParseFromString(bytes)) {
      session->OnMessage(message);
      return;
    }
    const absl::Status status = DecodeLeniently(bytes, message);
    if (status.ok()) {
      session->OnMessage(message);
    } else {
      session->OnViolation(status);
    }
  }
  void Hello(const std::string& name, uint32_t credit = 0) {
    v1::WorkerServiceAttachRequest request;
    request.mutable_hello()->set_worker_name(name);
    request.mutable_hello()->set_protocol_version(1);
    request.mutable_hello()->set_max_in_flight(credit);
    Send(std::move(request));
  }
  void Publish(const std::string& ns, const std::vector<v1::Tool>& tools, uint64_t generation = 1,
               v1::PublishMode mode = v1::PUBLISH_MODE_BEST_EFFORT, bool commit = true) {
    v1::WorkerServiceAttachRequest request;
    v1::WorkerPublish* publish = request.mutable_publish();
    publish->set_namespace_(ns);
    publish->set_generation(generation);
    publish->set_mode(mode);
    publish->set_commit(commit);
    for (const v1::Tool& tool : tools) *publish->add_tools() = tool;
    Send(std::move(request));
  }
  void AnswerText(uint64_t id, const std::string& text) {
    v1::WorkerServiceAttachRequest request;
    v1::WorkerResult* result = request.mutable_results()->add_results();
    result->set_invocation_id(id);
    result->mutable_result()->add_content()->mutable_text()->set_text(text);
    Send(std::move(request));
  }

  // The oldest message of this kind that was not taken yet; an empty one when there is none.
  v1::WorkerServiceAttachResponse Take(v1::WorkerServiceAttachResponse::MessageCase kind) {
    for (auto at = stream->written.begin(); at != stream->written.end(); ++at) {
      if (at->message_case() != kind) continue;
      v1::WorkerServiceAttachResponse found = std::move(*at);
      stream->written.erase(at);
      return found;
    }
    return {};
  }
  bool Has(v1::WorkerServiceAttachResponse::MessageCase kind) const {
    for (const auto& message : stream->written) {
      if (message.message_case() == kind) return true;
    }
    return false;
  }
  v1::WorkerPublished TakePublished() {
    return Take(v1::WorkerServiceAttachResponse::kPublished).published();
  }
  // All invocations written so far, in order.
  std::vector<v1::Invocation> TakeInvocations() {
    std::vector<v1::Invocation> out;
    while (Has(v1::WorkerServiceAttachResponse::kInvocations)) {
      const auto message = Take(v1::WorkerServiceAttachResponse::kInvocations);
      for (const auto& invocation : message.invocations().invocations()) out.push_back(invocation);
    }
    return out;
  }

  std::shared_ptr<FakeStream> stream;
  std::shared_ptr<WorkerSession> session;
};

// What became of a call.
struct Outcome {
  std::optional<absl::StatusOr<v1::ToolResult>> value;
  int times = 0;
  bool ok() const { return value.has_value() && value->ok(); }
  std::string text() const { return ok() ? value->value().content(0).text().text() : ""; }
  absl::Status status() const {
    return value.has_value() ? value->status() : absl::UnknownError("not ended");
  }
};

class QuietReporter : public CallReporter {
 public:
  void OnProgress(v1::Progress p) override { progress.push_back(std::move(p)); }
  void OnLog(v1::LogLine line) override { lines.push_back(std::move(line)); }
  void OnContent(v1::Content) override {}
  std::vector<v1::Progress> progress;
  std::vector<v1::LogLine> lines;
};

class WorkerRig {
 public:
  explicit WorkerRig(WorkerHubOptions options = {})
      : timers(&clock),
        registry(RegistryOptions{}),
        sessions({&registry, &timers, &clock}, {}),
        hub(std::make_unique<WorkerHub>(
            WorkerHub::Parts{&registry, &timers, &clock, &executor, &sessions},
            std::move(options))) {}

  std::unique_ptr<Peer> Connect(const std::string& principal = "uid:1") {
    return std::make_unique<Peer>(hub->state(), principal);
  }
  // Attached, with these tools in place.
  std::unique_ptr<Peer> Worker(const std::string& name, const std::string& ns,
                               const std::vector<v1::Tool>& tools, uint32_t credit = 0,
                               const std::string& principal = "uid:1") {
    auto peer = Connect(principal);
    peer->Hello(name, credit);
    peer->Publish(ns, tools);
    executor.RunAll();
    return peer;
  }
  ToolEntryPtr Entry(const std::string& name) { return registry.snapshot()->Get(name); }
  v1::ToolState StateOf(const std::string& name) {
    const ToolEntryPtr entry = Entry(name);
    return entry == nullptr ? v1::TOOL_STATE_UNSPECIFIED : entry->state;
  }
  // A call straight to the tool's first backend. The number that Start gave goes to `number`.
  std::shared_ptr<Outcome> Call(const std::string& name, const std::string& arguments = "{}",
                                uint64_t* number = nullptr,
                                absl::Duration remaining = absl::InfiniteDuration()) {
    ToolCall call;
    call.tool = Entry(name);
    call.arguments_json = arguments;
    call.context.remaining = remaining;
    call.reporter = reporter;
    auto outcome = std::make_shared<Outcome>();
    const std::shared_ptr<Backend> backend = call.tool->backends[0];
    const uint64_t id =
        backend->Start(std::move(call), [outcome](absl::StatusOr<v1::ToolResult> result) {
          outcome->value = std::move(result);
          ++outcome->times;
        });
    if (number != nullptr) *number = id;
    return outcome;
  }

  FakeClock clock;
  FakeTimers timers;
  ManualExecutor executor;
  Registry registry;
  SessionTable sessions;
  std::shared_ptr<QuietReporter> reporter = std::make_shared<QuietReporter>();
  std::unique_ptr<WorkerHub> hub;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_SERVER_WORKER_RIG_H_
