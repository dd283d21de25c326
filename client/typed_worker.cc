#include "client/typed_worker.h"

#include <exception>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/json.h"

namespace toolrack {
namespace {

// What the tool tells goes to the daemon. Early content has no message of its own on the stream.
class CallTeller : public CallReporter {
 public:
  explicit CallTeller(std::shared_ptr<const WorkerCall> call) : call_(std::move(call)) {}
  void OnProgress(v1::Progress progress) override {
    call_->Progress(progress.progress(), progress.total(), progress.message());
  }
  void OnLog(v1::LogLine line) override { call_->Log(line.level(), line.message()); }
  void OnContent(v1::Content) override {}

 private:
  const std::shared_ptr<const WorkerCall> call_;
};

absl::Duration RemainingOf(const v1::Invocation& invocation) {
  if (!invocation.has_remaining()) return absl::InfiniteDuration();
  return absl::Seconds(invocation.remaining().seconds()) +
         absl::Nanoseconds(invocation.remaining().nanos());
}

// The instances of one tool. Thread-safe.
class Instances {
 public:
  Instances(ToolFactory factory, std::shared_ptr<Tool> shared)
      : factory_(std::move(factory)), shared_(std::move(shared)) {}

  void Open(const std::string& session_id) {
    std::shared_ptr<Tool> made;
    try {
      made = factory_().second;
    } catch (const std::exception&) {
      made = nullptr;  // calls of this session say so
    }
    absl::MutexLock lock(&mu_);
    of_session_[session_id] = std::move(made);
  }
  void Close(const std::string& session_id) {
    std::shared_ptr<Tool> dropped;  // destroyed without the lock
    absl::MutexLock lock(&mu_);
    const auto at = of_session_.find(session_id);
    if (at == of_session_.end()) return;
    dropped = std::move(at->second);
    of_session_.erase(at);
  }
  // Null: there is none for this session.
  std::shared_ptr<Tool> Find(const std::string& session_id) const {
    absl::MutexLock lock(&mu_);
    if (session_id.empty()) return shared_;
    const auto at = of_session_.find(session_id);
    return at == of_session_.end() ? nullptr : at->second;
  }
  const std::shared_ptr<Tool>& shared() const { return shared_; }

 private:
  const ToolFactory factory_;
  const std::shared_ptr<Tool> shared_;
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<Tool>> of_session_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

void AddTypedTool(Worker& worker, absl::string_view ns, const ToolFactory& factory) {
  auto [meta, shared] = factory();
  const auto instances = std::make_shared<Instances>(factory, std::move(shared));
  const bool per_session = meta.scope() == v1::TOOL_SCOPE_SESSION;
  if (per_session) {
    worker.WatchSessions({[instances](const std::string& id) { instances->Open(id); },
                          [instances](const std::string& id) { instances->Close(id); }});
  }
  const auto handler = [instances, per_session](std::shared_ptr<const WorkerCall> call,
                                                WorkerDone done) {
    const v1::Invocation& invocation = call->invocation();
    const std::shared_ptr<Tool> tool =
        per_session ? instances->Find(invocation.session_id()) : instances->shared();
    if (tool == nullptr) {
      done(absl::InternalError("The tool has no instance in this session."));
      return;
    }
    // The daemon has held the text to its limits.
    JsonLimits limits;
    limits.max_bytes = SIZE_MAX;
    absl::StatusOr<Json> arguments = ParseJsonOrStatus(call->arguments_json(), limits);
    if (!arguments.ok()) {
      done(arguments.status());
      return;
    }
    ToolCall typed;
    typed.arguments_json = call->arguments_json();
    typed.arguments = std::make_shared<const Json>(*std::move(arguments));
    typed.context.call_id = invocation.call_id();
    typed.context.batch_id = invocation.batch_id();
    typed.context.call_index = invocation.call_index();
    typed.context.session_id = invocation.session_id();
    typed.context.principal = invocation.principal();
    typed.context.traceparent = invocation.traceparent();
    typed.context.attempt = invocation.attempt();
    typed.context.remaining = RemainingOf(invocation);
    typed.stop = call->stop();
    typed.reporter = std::make_shared<CallTeller>(call);
    auto answer = [tool, call, done = std::move(done)](WorkerOutcome outcome) mutable {
      call->SetState(tool->StateJson());
      done(std::move(outcome));
    };
    tool->Execute(std::move(typed), std::move(answer));
  };
  worker.AddAsyncTool(ns, std::move(meta), handler);
}

}  // namespace toolrack
