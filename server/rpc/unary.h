// The door of a unary method: counts, catches, answers. A service says only what is to be done.
#ifndef TOOLRACK_SERVER_RPC_UNARY_H_
#define TOOLRACK_SERVER_RPC_UNARY_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <utility>

#include "absl/status/statusor.h"
#include "registry/base/errors.h"
#include "registry/base/executor.h"
#include "registry/base/stop.h"
#include "server/rpc/method_stats.h"
#include "server/rpc/status.h"

namespace toolrack {

// Why the other side is gone: its deadline passed, or it left. A client whose deadline passes
// resets the stream, and that may get here before our own clock, which started later, says the
// same.
inline StopReason WhyGone(const grpc::CallbackServerContext& context) {
  constexpr std::chrono::milliseconds kSlack(100);
  return context.deadline() <= std::chrono::system_clock::now() + kSlack ? StopReason::kDeadline
                                                                         : StopReason::kCaller;
}

// One unary call. Frees itself. Answer exactly once, from any thread; later answers are a bug that
// is not acted on as long as the method has not returned.
template <typename Response>
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  UnaryCall(grpc::CallbackServerContext* context, Response* response, MethodStats* stats)
      : context_(context), response_(response), stats_(stats) {
    stats_->Started();
  }
  void Answer(absl::StatusOr<Response> answer) {
    if (answered_.exchange(true, std::memory_order_acq_rel)) return;
    stats_->Ended(answer.status().code());
    if (answer.ok()) {
      response_->Swap(&*answer);
      Finish(grpc::Status::OK);
    } else {
      Finish(ToGrpcStatus(answer.status()));
    }
  }
  // `work` gives the answer.
  template <typename Work>
  void AnswerWith(Work&& work) {
    try {
      Answer(std::forward<Work>(work)());
    } catch (const std::exception& error) {
      Answer(InternalError(stats_->name(), error.what()));
    }
  }
  const char* method() const { return stats_->name().c_str(); }

 protected:
  void OnDone() override { delete this; }
  ~UnaryCall() override = default;
  grpc::CallbackServerContext* context() { return context_; }

 private:
  grpc::CallbackServerContext* const context_;
  Response* const response_;
  MethodStats* const stats_;
  std::atomic<bool> answered_{false};
};

// A unary call that wants to know when its caller leaves.
template <typename Response>
class StoppableUnaryCall final : public UnaryCall<Response> {
 public:
  using UnaryCall<Response>::UnaryCall;
  const StopSource& stop() const { return stop_; }

 private:
  void OnCancel() override { stop_.RequestStop(WhyGone(*this->context())); }
  StopSource stop_;
};

// Answers on this thread: for work under 100 µs.
template <typename Response, typename Work>
grpc::ServerUnaryReactor* AnswerHere(grpc::CallbackServerContext* context, Response* response,
                                     MethodStats* stats, Work work) {
  auto* call = new UnaryCall<Response>(context, response, stats);
  call->AnswerWith(work);
  return call;
}

// Answers on the executor; QUEUE_FULL when too much is waiting there.
template <typename Response, typename Work>
grpc::ServerUnaryReactor* AnswerOn(Executor* executor, uint64_t max_pending,
                                   grpc::CallbackServerContext* context, Response* response,
                                   MethodStats* stats, Work work) {
  auto* call = new UnaryCall<Response>(context, response, stats);
  // Whoever left need not be served: the queue empties faster when it is long.
  const bool taken = executor->Post([call, context, work = std::move(work)]() mutable {
    if (context->IsCancelled()) {
      call->Answer(CallCancelled(call->method(), "caller", Executed::kNo));
    } else {
      call->AnswerWith(work);
    }
  });
  if (!taken) {
    call->Answer(QueueFull("limits.max_pending_requests", max_pending, "this daemon"));
  }
  return call;
}

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_RPC_UNARY_H_
