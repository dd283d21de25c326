// The backend of C++ tools in this process.
#ifndef TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_
#define TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/executor.h"
#include "registry/tool.h"

namespace toolrack {

// Holds the instances by bare name. Thread-safe. Whatever a tool does, `done` runs exactly once: an
// exception out of Execute, and a completion dropped without a call, end it as TOOL_INTERNAL; a
// second answer is dropped.
//
// The stop token of a call tells its tool to stop; Cancel has nothing to add to it.
class InProcessBackend : public Backend, public std::enable_shared_from_this<InProcessBackend> {
 public:
  // `principal` owns the tools; for the daemon's own `toolrack`.
  static std::shared_ptr<InProcessBackend> Make(std::string id, std::string principal = "toolrack");

  // False when there is one already.
  bool Add(absl::string_view bare_name, std::shared_ptr<Tool> tool);
  // Calls that run hold the instance until they end.
  void Remove(absl::string_view bare_name);
  // Null when there is none.
  std::shared_ptr<Tool> Find(absl::string_view bare_name) const;

  const std::string& kind() const override { return kind_; }
  const std::string& id() const override { return id_; }
  const std::string& principal() const override { return principal_; }
  uint64_t Start(ToolCall call, ToolDone done) override;
  void Cancel(uint64_t number, StopReason reason) override;
  uint32_t in_flight() const override { return in_flight_.load(std::memory_order_relaxed); }
  bool available() const override { return true; }

 private:
  class Pending;
  InProcessBackend(std::string id, std::string principal);

  const std::string kind_ = "builtin";
  const std::string id_;
  const std::string principal_;
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<uint64_t> last_number_{0};
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, std::shared_ptr<Tool>> tools_ ABSL_GUARDED_BY(mu_);
};

// A tool whose `body` may block: it runs on the executor (outlives the tool's calls). A full
// executor is QUEUE_FULL, not executed. A call that was stopped while it waited is not run.
using BlockingBody = std::function<absl::StatusOr<v1::ToolResult>(ToolCall& call)>;
std::shared_ptr<Tool> MakeBlockingTool(Executor* executor, BlockingBody body);

// A reporter that drops everything, for calls whose caller does not listen.
const std::shared_ptr<CallReporter>& SilentReporter();

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_
