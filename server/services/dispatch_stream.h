// One DispatchStream.
#ifndef TOOLRACK_SERVER_SERVICES_DISPATCH_STREAM_H_
#define TOOLRACK_SERVER_SERVICES_DISPATCH_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/stop.h"
#include "server/rpc/method_stats.h"
#include "server/services/core.h"
#include "server/services/dispatch_run.h"

namespace toolrack {

// Reads a message, has it parsed on the executor, and reads the next one when little enough waits
// to be written: a slow reader slows the writer down. What running calls tell is bounded: a newer
// progress takes the place of an unread one of the same call, and when much waits lines of logs are
// left out, and counted in a log line. When the caller leaves, all calls are stopped, and the
// stream ends when they have. Kept alive by gRPC and by its run.
class DispatchStream final
    : public grpc::ServerBidiReactor<v1::DispatchStreamRequest, v1::DispatchStreamResponse>,
      public std::enable_shared_from_this<DispatchStream> {
 public:
  // No more is read while so much waits to be written.
  static constexpr size_t kMaxWaitingBytes = 256 << 10;
  static constexpr size_t kMaxWaitingEvents = 1024;

  // `who`: of Admission; a refusal ends the stream.
  static DispatchStream* Begin(const Core* core, RetryLedger* retries,
                               grpc::CallbackServerContext* context, MethodStats* stats,
                               absl::StatusOr<std::string> who);

 private:
  DispatchStream(const Core* core, RetryLedger* retries, grpc::CallbackServerContext* context,
                 MethodStats* stats, std::string who);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override { self_.reset(); }

  // On the executor.
  void Handle(bool more);
  absl::Status Open();
  // Any thread.
  void Push(v1::DispatchStreamResponse event);
  void End(absl::Status status);
  // Writes, reads or ends, as is its turn.
  void Go();
  bool Crowded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return bytes_ > kMaxWaitingBytes || queue_.size() > kMaxWaitingEvents;
  }

  const Core& core_;
  RetryLedger& retries_;
  grpc::CallbackServerContext* const context_;
  MethodStats* const stats_;
  const std::string who_;
  std::shared_ptr<DispatchStream> self_;
  StopSource stop_;
  // One step of reading at a time.
  v1::DispatchStreamRequest in_;
  std::shared_ptr<DispatchRun> run_;

  v1::DispatchStreamResponse out_;  // being written
  absl::Mutex mu_;
  std::deque<v1::DispatchStreamResponse> queue_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t left_out_ ABSL_GUARDED_BY(mu_) = 0;
  std::string left_out_of_ ABSL_GUARDED_BY(mu_);
  bool may_read_ ABSL_GUARDED_BY(mu_) = false;  // a message was dealt with, the next may come
  bool writing_ ABSL_GUARDED_BY(mu_) = false;
  bool broken_ ABSL_GUARDED_BY(mu_) = false;  // nobody reads any more
  bool over_ ABSL_GUARDED_BY(mu_) = false;    // nothing more is queued
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_SERVICES_DISPATCH_STREAM_H_
