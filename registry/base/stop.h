// A stop signal with a reason: the first reason wins.
#ifndef TOOLRACK_REGISTRY_BASE_STOP_H_
#define TOOLRACK_REGISTRY_BASE_STOP_H_

#include <atomic>
#include <memory>
#include <stop_token>
#include <utility>

namespace toolrack {

enum class StopReason { kNone, kDeadline, kCaller, kAdmin, kShutdown };

// "deadline", "caller", "admin", "shutdown" or "".
const char* StopReasonName(StopReason reason);

// The receiving side. Cheap to copy, thread-safe. A default one never stops.
class StopToken {
 public:
  StopToken() = default;
  bool stop_requested() const { return token_.stop_requested(); }
  // kNone until stop_requested().
  StopReason reason() const {
    return reason_ == nullptr ? StopReason::kNone : reason_->load(std::memory_order_acquire);
  }
  // For std::stop_callback: it runs on the thread that requests the stop (or at once, in its
  // constructor), and its destructor waits while it runs on another thread: hold no lock in either
  // that the other side wants.
  const std::stop_token& std_token() const { return token_; }

 private:
  friend class StopSource;
  StopToken(std::stop_token token, std::shared_ptr<std::atomic<StopReason>> reason)
      : token_(std::move(token)), reason_(std::move(reason)) {}
  std::stop_token token_;
  std::shared_ptr<std::atomic<StopReason>> reason_;
};

// The sending side. Copies share one state; thread-safe.
class StopSource {
 public:
  StopSource() : reason_(std::make_shared<std::atomic<StopReason>>(StopReason::kNone)) {}
  StopToken token() const { return StopToken(source_.get_token(), reason_); }
  // True for the first request only. Runs the callbacks on this thread.
  bool RequestStop(StopReason reason) {
    StopReason none = StopReason::kNone;
    if (!reason_->compare_exchange_strong(none, reason, std::memory_order_acq_rel)) return false;
    return source_.request_stop();
  }

 private:
  std::stop_source source_;
  std::shared_ptr<std::atomic<StopReason>> reason_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_STOP_H_
