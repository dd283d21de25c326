// The hub's inside, for the stream and for tests: who is attached, who takes over from whom, whose
// grace runs.
#ifndef TOOLRACK_SERVER_BACKENDS_WORKER_HUB_STATE_H_
#define TOOLRACK_SERVER_BACKENDS_WORKER_HUB_STATE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "server/backends/strand.h"
#include "server/backends/worker_hub.h"
#include "server/backends/worker_session.h"

namespace toolrack {

// Held by shared_ptr: sessions that outlive the hub still point here. Thread-safe; no lock is held
// while a session or the registry is called.
struct WorkerHub::State : public WorkerSession::Owner,
                          public std::enable_shared_from_this<WorkerHub::State> {
 public:
  State(Parts parts, WorkerHubOptions options);

  // A session for a new stream. Call its Begin, then Open.
  std::shared_ptr<WorkerSession> MakeSession(std::string principal,
                                             std::shared_ptr<WorkerTransport> transport);
  // Puts it in the hub's care, or ends it, when the daemon is draining.
  void Open(const std::shared_ptr<WorkerSession>& session);

  // WorkerSession::Owner.
  absl::Status Admit(const std::shared_ptr<WorkerSession>& session,
                     const std::string& worker_name) override;
  void OnPublished(const std::shared_ptr<WorkerSession>& session) override;
  void OnOver(const std::shared_ptr<WorkerSession>& session) override;

  // For WorkerHub.
  std::vector<v1::WorkerInfo> List() const;
  size_t attached() const;
  absl::Status DrainWorker(absl::string_view worker_name, absl::Duration grace);
  void Drain(absl::Duration grace);
  void Shutdown();
  // No registry, executor, timers or clock are touched after this.
  void Close();

 private:
  // One stream that said hello, from then until its tools are gone.
  struct Attachment {
    std::shared_ptr<WorkerSession> session;
    std::string name;
    absl::Time since;
    enum { kAttached, kSuperseded, kLost } state = kAttached;
  };

  void SettleTakeOver(const std::shared_ptr<WorkerSession>& old,
                      const std::shared_ptr<WorkerSession>& successor, absl::Duration left);
  void ArmSettle(const std::shared_ptr<WorkerSession>& old,
                 const std::shared_ptr<WorkerSession>& successor, absl::Duration left);
  void BeginGrace(const std::shared_ptr<WorkerSession>& session);
  void Forget(const WorkerSession* session);
  bool HasTools(const WorkerSession& session) const;
  // Sessions of the same worker (name and principal), apart from this one.
  std::vector<std::pair<std::shared_ptr<WorkerSession>, bool /*lost*/>> Siblings(
      const WorkerSession& session) const;
  v1::WorkerInfo Describe(const Attachment& attachment) const;

  const Parts parts_;
  const WorkerHubOptions options_;
  const std::shared_ptr<StrandGate> gate_ = std::make_shared<StrandGate>();
  absl::Duration worker_grace_;
  WorkerSession::Options session_options_;

  mutable absl::Mutex mu_;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  bool shut_ ABSL_GUARDED_BY(mu_) = false;
  // Every stream that is not over, hello or not.
  absl::flat_hash_map<const WorkerSession*, std::weak_ptr<WorkerSession>> open_
      ABSL_GUARDED_BY(mu_);
  std::vector<Attachment> attachments_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_BACKENDS_WORKER_HUB_STATE_H_
