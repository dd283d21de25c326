// One Attach stream, seen from the worker: reads one message at a time, writes what queued up.
#ifndef TOOLRACK_CLIENT_WORKER_LINK_H_
#define TOOLRACK_CLIENT_WORKER_LINK_H_

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "toolrack/v1/worker_service.grpc.pb.h"

namespace toolrack {

// Counts links, so that the channel can be destroyed after the last one, and not on one of gRPC's
// own threads, which deadlocks in 1.51.
class WorkerLinkCount {
 public:
  class Token {
   public:
    explicit Token(std::shared_ptr<WorkerLinkCount> count);
    ~Token();
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

   private:
    const std::shared_ptr<WorkerLinkCount> count_;
  };
  void WaitForNone();

 private:
  absl::Mutex mu_;
  int live_ ABSL_GUARDED_BY(mu_) = 0;
};

// Held by shared_ptr; keeps itself alive from Open until gRPC is done with it. Thread-safe.
class WorkerLink : public grpc::ClientBidiReactor<v1::WorkerServiceAttachRequest,
                                                  v1::WorkerServiceAttachResponse>,
                   public std::enable_shared_from_this<WorkerLink> {
 public:
  // What the stream brings. Called on gRPC threads, one at a time, without locks held.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void OnMessage(const std::shared_ptr<WorkerLink>& link,
                           v1::WorkerServiceAttachResponse& message) = 0;
    // Last.
    virtual void OnEnd(const std::shared_ptr<WorkerLink>& link, absl::Status status) = 0;
  };

  WorkerLink(std::shared_ptr<Listener> listener, std::shared_ptr<WorkerLinkCount> count)
      : token_(std::move(count)), listener_(std::move(listener)) {}

  // Starts the stream; `stub` outlives it. Whatever was sent before is written then; Close and
  // Abort may come before it, too.
  // `token`: sent as `authorization: Bearer …`, unless empty.
  void Open(v1::WorkerService::Stub* stub, const std::string& token);
  // Queues a message. False: the stream is over.
  bool Send(v1::WorkerServiceAttachRequest message);
  // The same, but dropped when much waits already.
  bool SendIfRoom(v1::WorkerServiceAttachRequest message);
  // Queues an answer; answers are sent in batches.
  bool SendResult(v1::WorkerResult result);
  // Closes the worker's side once all that is queued was written.
  void Close();
  // Breaks off.
  void Abort();

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  // Starts the next write when none is under way.
  void Pump();
  // Fills `writing_message_`. False: nothing waits.
  bool FillMessage() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const WorkerLinkCount::Token token_;  // first: goes last
  const std::shared_ptr<Listener> listener_;
  std::shared_ptr<WorkerLink> self_;
  grpc::ClientContext context_;
  v1::WorkerServiceAttachResponse read_message_;
  v1::WorkerServiceAttachRequest writing_message_;

  absl::Mutex mu_;
  std::deque<v1::WorkerServiceAttachRequest> control_ ABSL_GUARDED_BY(mu_);
  std::deque<v1::WorkerResult> results_ ABSL_GUARDED_BY(mu_);
  bool open_ ABSL_GUARDED_BY(mu_) = false;
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool closing_ ABSL_GUARDED_BY(mu_) = false;
  // No write may be started any more; the hold is given back.
  bool shut_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_WORKER_LINK_H_
