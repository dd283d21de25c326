// The backend of C++ tools in this process.
#ifndef TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_
#define TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/executor.h"
#include "registry/session_table.h"
#include "registry/tool.h"

namespace toolrack {

// Makes one more instance of a tool, for a session; a status says why it cannot. May throw.
using InstanceMaker = std::function<absl::StatusOr<std::shared_ptr<Tool>>()>;

// Holds the instances by bare name, and for session-scoped tools one more for each session: made
// when the session opens, or when the tool is added while it is open, gone when it is over. A call
// without a session uses the shared instance. Thread-safe. Whatever a tool does, `done` runs
// exactly once: an exception out of Execute, and a completion dropped without a call, end it as
// TOOL_INTERNAL, as does an instance that could not be made; a second answer is dropped. A call
// holds its instance until it ends.
//
// The stop token of a call tells its tool to stop; Cancel has nothing to add to it.
class InProcessBackend : public Backend,
                         public SessionHost,
                         public std::enable_shared_from_this<InProcessBackend> {
 public:
  // `principal` owns the tools; for the daemon's own `toolrack`. `ns` is the namespace that they
  // are published under.
  static std::shared_ptr<InProcessBackend> Make(std::string id, std::string principal = "toolrack",
                                                std::string ns = "");

  // False when there is one already. With `per_session` the tool is session-scoped; the sessions
  // that are open get their instances now.
  bool Add(absl::string_view bare_name, std::shared_ptr<Tool> tool,
           InstanceMaker per_session = nullptr);
  // Takes all its instances away.
  void Remove(absl::string_view bare_name);
  // The shared instance; null when there is none.
  std::shared_ptr<Tool> Find(absl::string_view bare_name) const;

  const std::string& kind() const override { return kind_; }
  const std::string& id() const override { return id_; }
  const std::string& principal() const override { return principal_; }
  uint64_t Start(ToolCall call, ToolDone done) override;
  void Cancel(uint64_t number, StopReason reason) override;
  uint32_t in_flight() const override { return in_flight_.load(std::memory_order_relaxed); }
  bool available() const override { return true; }
  std::string StateJson(const ToolEntry& tool, const std::string& session_id) const override;

  // SessionHost.
  void OpenSession(const std::string& session_id) override;
  void CloseSession(const std::string& session_id) override;
  void DescribeSession(const std::string& session_id, v1::Session& out) const override;

 private:
  class Pending;
  struct Slot {
    std::shared_ptr<Tool> shared;
    std::shared_ptr<const InstanceMaker> maker;  // null: not session-scoped
  };
  struct Instance {
    // Whose it is: another one when the tool was replaced meanwhile.
    std::shared_ptr<const InstanceMaker> maker;
    absl::StatusOr<std::shared_ptr<Tool>> tool;  // null: being made
  };
  using Instances = absl::flat_hash_map<std::string, Instance>;  // by bare name
  struct Job {
    std::string session_id, bare_name;
    std::shared_ptr<const InstanceMaker> maker;
  };

  InProcessBackend(std::string id, std::string principal, std::string ns);
  void MakeInstances(const std::vector<Job>& jobs);
  // What a call in this session uses.
  absl::StatusOr<std::shared_ptr<Tool>> InstanceFor(const ToolEntry& tool,
                                                    const std::string& session_id) const;

  const std::string kind_ = "builtin";
  const std::string id_;
  const std::string principal_;
  const std::string ns_;
  std::atomic<uint32_t> in_flight_{0};
  std::atomic<uint64_t> last_number_{0};
  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, Slot> tools_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<std::string, Instances> sessions_ ABSL_GUARDED_BY(mu_);
};

// A tool whose `body` may block: it runs on the executor (outlives the tool's calls). A full
// executor is QUEUE_FULL, not executed. A call that was stopped while it waited is not run.
using BlockingBody = std::function<absl::StatusOr<v1::ToolResult>(ToolCall& call)>;
std::shared_ptr<Tool> MakeBlockingTool(Executor* executor, BlockingBody body);

// A reporter that drops everything, for calls whose caller does not listen.
const std::shared_ptr<CallReporter>& SilentReporter();

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_IN_PROCESS_BACKEND_H_
