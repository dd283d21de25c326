#include "registry/in_process_backend.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/name.h"
#include "registry/snapshot.h"

namespace toolrack {
namespace {

absl::Status ThrownError(absl::string_view what) {
  return absl::InternalError(
      absl::StrCat("The tool ran into a fault of its own: ", ForMessage(what, 500)));
}

}  // namespace

// The right to end one call, shared by the tool and by Start.
class InProcessBackend::Pending {
 public:
  Pending(std::shared_ptr<InProcessBackend> backend, std::shared_ptr<Tool> tool, ToolDone done)
      : backend_(std::move(backend)), tool_(std::move(tool)), done_(std::move(done)) {
    backend_->in_flight_.fetch_add(1, std::memory_order_relaxed);
  }
  ~Pending() {
    if (!ended()) End(absl::InternalError("The tool dropped the call without an answer."));
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;

  void End(absl::StatusOr<v1::ToolResult>&& outcome) {
    if (ended_.exchange(true, std::memory_order_acq_rel)) return;
    backend_->in_flight_.fetch_sub(1, std::memory_order_relaxed);
    ToolDone done = std::move(done_);
    done(std::move(outcome));
  }
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  Tool* tool() const { return tool_.get(); }

 private:
  std::shared_ptr<InProcessBackend> backend_;
  const std::shared_ptr<Tool> tool_;
  ToolDone done_;
  std::atomic<bool> ended_{false};
};

std::shared_ptr<InProcessBackend> InProcessBackend::Make(std::string id, std::string principal,
                                                         std::string ns) {
  return std::shared_ptr<InProcessBackend>(
      new InProcessBackend(std::move(id), std::move(principal), std::move(ns)));
}

InProcessBackend::InProcessBackend(std::string id, std::string principal, std::string ns)
    : id_(std::move(id)), principal_(std::move(principal)), ns_(std::move(ns)) {}

bool InProcessBackend::Add(absl::string_view bare_name, std::shared_ptr<Tool> tool,
                           InstanceMaker per_session) {
  Slot slot;
  slot.shared = std::move(tool);
  if (per_session) slot.maker = std::make_shared<const InstanceMaker>(std::move(per_session));
  std::vector<Job> jobs;
  {
    absl::MutexLock lock(&mu_);
    const auto [at, added] = tools_.emplace(bare_name, std::move(slot));
    if (!added) return false;
    if (at->second.maker != nullptr) {
      for (auto& [session_id, instances] : sessions_) {
        instances.insert_or_assign(at->first, Instance{at->second.maker, nullptr});
        jobs.push_back({session_id, at->first, at->second.maker});
      }
    }
  }
  MakeInstances(jobs);
  return true;
}

void InProcessBackend::Remove(absl::string_view bare_name) {
  Slot dropped;  // destroyed without the lock, like the rest
  std::vector<Instance> instances;
  absl::MutexLock lock(&mu_);
  const auto at = tools_.find(bare_name);
  if (at == tools_.end()) return;
  dropped = std::move(at->second);
  tools_.erase(at);
  if (dropped.maker == nullptr) return;
  for (auto& [session_id, of_session] : sessions_) {
    const auto instance = of_session.find(bare_name);
    if (instance == of_session.end()) continue;
    instances.push_back(std::move(instance->second));
    of_session.erase(instance);
  }
}

std::shared_ptr<Tool> InProcessBackend::Find(absl::string_view bare_name) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto at = tools_.find(bare_name);
  return at == tools_.end() ? nullptr : at->second.shared;
}

void InProcessBackend::OpenSession(const std::string& session_id) {
  std::vector<Job> jobs;
  {
    absl::MutexLock lock(&mu_);
    Instances& instances = sessions_[session_id];
    for (const auto& [name, slot] : tools_) {
      if (slot.maker == nullptr) continue;
      instances.emplace(name, Instance{slot.maker, nullptr});
      jobs.push_back({session_id, name, slot.maker});
    }
  }
  MakeInstances(jobs);
}

void InProcessBackend::MakeInstances(const std::vector<Job>& jobs) {
  for (const Job& job : jobs) {
    absl::StatusOr<std::shared_ptr<Tool>> made = nullptr;
    try {
      made = (*job.maker)();
    } catch (const std::exception& error) {
      made = absl::InternalError(error.what());
    } catch (...) {
      made = absl::InternalError("an exception of unknown type");
    }
    if (made.ok() && *made == nullptr) made = absl::InternalError("the factory gave no instance");
    absl::MutexLock lock(&mu_);
    const auto session = sessions_.find(job.session_id);
    if (session == sessions_.end()) continue;
    const auto at = session->second.find(job.bare_name);
    if (at != session->second.end() && at->second.maker == job.maker) {
      std::swap(at->second.tool, made);
    }
  }
}

void InProcessBackend::CloseSession(const std::string& session_id) {
  Instances dropped;  // destroyed without the lock
  absl::MutexLock lock(&mu_);
  const auto at = sessions_.find(session_id);
  if (at == sessions_.end()) return;
  dropped.swap(at->second);
  sessions_.erase(at);
}

void InProcessBackend::DescribeSession(const std::string& session_id, v1::Session& out) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto at = sessions_.find(session_id);
  if (at == sessions_.end()) return;
  for (const auto& [name, instance] : at->second) {
    if (instance.tool.ok()) out.add_instances(CanonicalName(ns_, name));
  }
}

absl::StatusOr<std::shared_ptr<Tool>> InProcessBackend::InstanceFor(
    const ToolEntry& tool, const std::string& session_id) const {
  const std::string& name = tool.definition->bare_name;
  absl::ReaderMutexLock lock(&mu_);
  const auto slot = tools_.find(name);
  // Unregistered since the caller's snapshot was taken.
  if (slot == tools_.end()) return BackendUnavailable(tool.name(), id_);
  if (session_id.empty() || slot->second.maker == nullptr) return slot->second.shared;
  const auto session = sessions_.find(session_id);
  // Over since the call was admitted.
  if (session == sessions_.end()) return SessionNotFound(session_id, SessionEnd::kClosed);
  const auto instance = session->second.find(name);
  if (instance == session->second.end()) return BackendUnavailable(tool.name(), id_);
  if (!instance->second.tool.ok()) {
    return absl::InternalError(
        absl::StrCat("The tool has no instance in this session, its factory failed: ",
                     ForMessage(instance->second.tool.status().message(), 500)));
  }
  if (*instance->second.tool == nullptr) return BackendUnavailable(tool.name(), id_);
  return *instance->second.tool;
}

std::string InProcessBackend::StateJson(const ToolEntry& tool,
                                        const std::string& session_id) const {
  const absl::StatusOr<std::shared_ptr<Tool>> instance = InstanceFor(tool, session_id);
  return instance.ok() ? (*instance)->StateJson() : "";
}

uint64_t InProcessBackend::Start(ToolCall call, ToolDone done) {
  absl::StatusOr<std::shared_ptr<Tool>> found = InstanceFor(*call.tool, call.context.session_id);
  if (!found.ok()) {
    done(found.status());
    return 0;
  }
  auto pending = std::make_shared<Pending>(shared_from_this(), *std::move(found), std::move(done));
  Tool* const tool = pending->tool();
  try {
    tool->Execute(std::move(call), [pending](absl::StatusOr<v1::ToolResult>&& outcome) {
      pending->End(std::move(outcome));
    });
  } catch (const std::exception& error) {
    pending->End(ThrownError(error.what()));
  } catch (...) {
    pending->End(ThrownError("an exception of unknown type"));
  }
  if (pending->ended()) return 0;
  return last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
}

void InProcessBackend::Cancel(uint64_t, StopReason) {}

namespace {

class BlockingTool : public Tool {
 public:
  BlockingTool(Executor* executor, BlockingBody body)
      : executor_(executor), body_(std::make_shared<const BlockingBody>(std::move(body))) {}

  void Execute(ToolCall call, ToolDone done) override {
    auto work = std::make_shared<Work>(Work{body_, std::move(call), std::move(done)});
    if (executor_->Post([work] { Run(*work); })) return;
    work->done(QueueFull("executor.max_queue", executor_->max_queue(), "the tools that block"));
  }

 private:
  struct Work {
    std::shared_ptr<const BlockingBody> body;  // the tool may be unregistered while this waits
    ToolCall call;
    ToolDone done;
  };

  static void Run(Work& work) {
    if (work.call.stop.stop_requested()) {
      work.done(CallCancelled(work.call.tool->name(), StopReasonName(work.call.stop.reason()),
                              Executed::kNo));
      return;
    }
    absl::StatusOr<v1::ToolResult> outcome = absl::UnknownError("");
    try {
      outcome = (*work.body)(work.call);
    } catch (const std::exception& error) {
      outcome = ThrownError(error.what());
    } catch (...) {
      outcome = ThrownError("an exception of unknown type");
    }
    work.done(std::move(outcome));
  }

  Executor* executor_;
  std::shared_ptr<const BlockingBody> body_;
};

}  // namespace

const std::shared_ptr<CallReporter>& SilentReporter() {
  class Silence : public CallReporter {
   public:
    void OnProgress(v1::Progress) override {}
    void OnLog(v1::LogLine) override {}
    void OnContent(v1::Content) override {}
  };
  static const auto* silence = new std::shared_ptr<CallReporter>(std::make_shared<Silence>());
  return *silence;
}

std::shared_ptr<Tool> MakeBlockingTool(Executor* executor, BlockingBody body) {
  return std::make_shared<BlockingTool>(executor, std::move(body));
}

}  // namespace toolrack
