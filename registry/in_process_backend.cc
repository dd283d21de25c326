#include "registry/in_process_backend.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
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
  Pending(std::shared_ptr<InProcessBackend> backend, ToolDone done)
      : backend_(std::move(backend)), done_(std::move(done)) {
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

 private:
  std::shared_ptr<InProcessBackend> backend_;
  ToolDone done_;
  std::atomic<bool> ended_{false};
};

std::shared_ptr<InProcessBackend> InProcessBackend::Make(std::string id, std::string principal) {
  return std::shared_ptr<InProcessBackend>(
      new InProcessBackend(std::move(id), std::move(principal)));
}

InProcessBackend::InProcessBackend(std::string id, std::string principal)
    : id_(std::move(id)), principal_(std::move(principal)) {}

bool InProcessBackend::Add(absl::string_view bare_name, std::shared_ptr<Tool> tool) {
  absl::MutexLock lock(&mu_);
  return tools_.emplace(bare_name, std::move(tool)).second;
}

void InProcessBackend::Remove(absl::string_view bare_name) {
  std::shared_ptr<Tool> dropped;  // destroyed without the lock
  absl::MutexLock lock(&mu_);
  const auto at = tools_.find(bare_name);
  if (at == tools_.end()) return;
  dropped = std::move(at->second);
  tools_.erase(at);
}

std::shared_ptr<Tool> InProcessBackend::Find(absl::string_view bare_name) const {
  absl::ReaderMutexLock lock(&mu_);
  const auto at = tools_.find(bare_name);
  return at == tools_.end() ? nullptr : at->second;
}

uint64_t InProcessBackend::Start(ToolCall call, ToolDone done) {
  const std::shared_ptr<Tool> tool = Find(call.tool->definition->bare_name);
  if (tool == nullptr) {
    // Unregistered since the caller's snapshot was taken.
    done(BackendUnavailable(call.tool->name(), id_));
    return 0;
  }
  auto pending = std::make_shared<Pending>(shared_from_this(), std::move(done));
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
