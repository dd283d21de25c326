// The inside of Worker: tools, calls, and the way back after a lost stream.
#ifndef TOOLRACK_CLIENT_WORKER_STATE_H_
#define TOOLRACK_CLIENT_WORKER_STATE_H_

#include <grpcpp/channel.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/random/random.h"
#include "absl/synchronization/mutex.h"
#include "client/worker.h"
#include "client/worker_link.h"
#include "registry/base/executor.h"
#include "registry/base/timers.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {

class RunningWorkerCall;

struct Worker::State : public WorkerLink::Listener,
                       public std::enable_shared_from_this<Worker::State> {
 public:
  explicit State(WorkerOptions options);

  void AddTool(absl::string_view ns, v1::Tool meta, WorkerHandler sync, AsyncWorkerHandler async);
  void RemoveNamespace(absl::string_view ns);
  void WatchSessions(SessionListener listener);
  absl::Status Start();
  void Publish(absl::string_view ns);
  bool WaitUntilPublished(absl::Duration timeout);
  void Drain(absl::string_view reason);
  void Stop(absl::Duration grace);
  absl::Status Wait();
  size_t in_flight() const;
  // Joins every thread and drops the channel: once, on the owner's thread, after Stop.
  void Release();

  // WorkerLink::Listener.
  void OnMessage(const std::shared_ptr<WorkerLink>& link,
                 v1::WorkerServiceAttachResponse& message) override;
  void OnEnd(const std::shared_ptr<WorkerLink>& link, absl::Status status) override;

  // A call's answer; only the first counts.
  void Answer(const RunningWorkerCall& call, WorkerOutcome outcome);

 private:
  friend class RunningWorkerCall;
  struct Tool {
    v1::Tool meta;
    WorkerHandler sync;
    AsyncWorkerHandler async;
  };
  using Namespace = std::map<std::string, std::shared_ptr<const Tool>>;
  // How far a namespace is on the stream that is attached now.
  struct Publication {
    uint64_t generation = 0;
    bool answered = false;
  };

  void Connect();
  void OnWelcome(const std::shared_ptr<WorkerLink>& link, const v1::WorkerWelcome& welcome);
  void OnInvocations(const std::shared_ptr<WorkerLink>& link, v1::WorkerInvocations& invocations);
  void RunCall(std::shared_ptr<RunningWorkerCall> call, std::shared_ptr<const Tool> tool);
  void OnCancel(const v1::WorkerCancel& cancel);
  void OnPublished(const v1::WorkerPublished& published);
  void OnSessionOpened(const std::string& session_id);
  void OnSessionsClosed(const std::vector<std::string>& session_ids);
  void SendSet(const std::shared_ptr<WorkerLink>& link, const std::string& ns);
  bool Published() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ended_; }
  bool Idle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return calls_.empty() || ended_; }
  bool PublishedOrEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return ended_ || Published(); }

  const WorkerOptions options_;
  const std::shared_ptr<WorkerLinkCount> links_ = std::make_shared<WorkerLinkCount>();
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::WorkerService::Stub> stub_;
  std::unique_ptr<Timers> timers_;
  std::unique_ptr<ThreadPool> pool_;

  mutable absl::Mutex mu_;
  absl::BitGen random_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Namespace> tools_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Publication> publications_ ABSL_GUARDED_BY(mu_);
  uint64_t generation_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<SessionListener> session_listeners_ ABSL_GUARDED_BY(mu_);
  std::set<std::string> sessions_ ABSL_GUARDED_BY(mu_);
  // Known from before this attachment; those still here when all sets are in place are over.
  std::set<std::string> unconfirmed_ ABSL_GUARDED_BY(mu_);
  std::shared_ptr<WorkerLink> link_ ABSL_GUARDED_BY(mu_);
  bool attached_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t max_message_bytes_ ABSL_GUARDED_BY(mu_) = 4 << 20;
  absl::Duration backoff_ ABSL_GUARDED_BY(mu_) = absl::ZeroDuration();
  absl::flat_hash_map<uint64_t, std::shared_ptr<RunningWorkerCall>> calls_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status end_status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_WORKER_STATE_H_
