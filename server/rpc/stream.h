// The door of a server stream: writes what a subclass has, one message at a time.
#ifndef TOOLRACK_SERVER_RPC_STREAM_H_
#define TOOLRACK_SERVER_RPC_STREAM_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <exception>
#include <memory>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "server/rpc/method_stats.h"
#include "server/rpc/status.h"
#include "server/rpc/unary.h"

namespace toolrack {

// Held by shared pointer, so that whoever wakes it may come late. Begin keeps it alive until gRPC
// is done with it. One write is under way at most; Finish comes exactly once and never beside a
// write.
template <typename Response>
class ServerStream : public grpc::ServerWriteReactor<Response>,
                     public std::enable_shared_from_this<ServerStream<Response>> {
 public:
  ServerStream(grpc::CallbackServerContext* context, MethodStats* stats)
      : context_(context), stats_(stats) {
    stats_->Started();
  }
  ~ServerStream() override = default;

  // Once, when everything is set up.
  grpc::ServerWriteReactor<Response>* Begin() {
    self_ = this->shared_from_this();
    Pump();
    return this;
  }

  // There may be something to write, or the end. Any thread, any time (also before Begin), holding
  // no lock that Next wants.
  void Wake() {
    {
      absl::MutexLock lock(&mu_);
      if (ended_) return;
      if (busy_) {
        again_ = true;
        return;
      }
      busy_ = true;
    }
    Pump();
  }

 protected:
  enum class Step { kWrite, kWait, kEnd };
  // What comes next: a message in `out`, nothing yet, or the end with `status`. Never called by two
  // threads at once, not any more after kEnd.
  virtual Step Next(Response& out, absl::Status& status) = 0;
  // The caller left, or its deadline passed. May come beside Next.
  virtual void OnGone(StopReason) {}
  // gRPC is done with it.
  virtual void OnEnded() {}

  grpc::CallbackServerContext* context() { return context_; }

 private:
  void Pump() {
    while (true) {
      absl::Status status;
      Step step = Step::kEnd;
      if (gone_.load(std::memory_order_acquire)) {
        status = CallCancelled(stats_->name(), "caller", Executed::kMaybe);
      } else {
        out_.Clear();
        try {
          step = Next(out_, status);
        } catch (const std::exception& error) {
          status = InternalError(stats_->name(), error.what());
        }
      }
      if (step == Step::kWrite) {
        this->StartWrite(&out_);
        return;
      }
      if (step == Step::kEnd) {
        {
          absl::MutexLock lock(&mu_);
          ended_ = true;
        }
        stats_->Ended(status.code());
        this->Finish(ToGrpcStatus(status));
        return;
      }
      absl::MutexLock lock(&mu_);
      if (!again_) {
        busy_ = false;
        return;
      }
      again_ = false;
    }
  }

  void OnWriteDone(bool ok) override {
    if (!ok) gone_.store(true, std::memory_order_release);
    Pump();
  }
  void OnCancel() override {
    gone_.store(true, std::memory_order_release);
    OnGone(WhyGone(*context_));
    Wake();
  }
  void OnDone() override {
    OnEnded();
    self_.reset();
  }

  grpc::CallbackServerContext* const context_;
  MethodStats* const stats_;
  std::shared_ptr<ServerStream> self_;
  Response out_;
  std::atomic<bool> gone_{false};
  absl::Mutex mu_;
  bool busy_ ABSL_GUARDED_BY(mu_) = true;  // until Begin: nothing is written before
  bool again_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_STREAM_H_
