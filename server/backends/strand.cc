#include "server/backends/strand.h"

#include <utility>

namespace toolrack {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(20);

}  // namespace

void StrandGate::Close() {
  absl::MutexLock lock(&mu_);
  closed_ = true;
  mu_.Await(absl::Condition(
      +[](int* running) { return *running == 0; }, &running_));
}

bool StrandGate::Enter() {
  absl::MutexLock lock(&mu_);
  if (closed_) return false;
  ++running_;
  return true;
}

void StrandGate::Leave() {
  absl::MutexLock lock(&mu_);
  --running_;
}

void Strand::Post(absl::AnyInvocable<void()> work) {
  {
    absl::MutexLock lock(&mu_);
    queue_.push_back(std::move(work));
    if (scheduled_) return;
    scheduled_ = true;
  }
  Schedule();
}

void Strand::Clear() {
  std::deque<absl::AnyInvocable<void()>> dropped;  // outside the lock
  absl::MutexLock lock(&mu_);
  dropped.swap(queue_);
}

void Strand::Schedule() {
  // Inside the gate, as executor and timers may be gone once it is closed.
  if (!gate_->Enter()) {
    Clear();
    return;
  }
  if (!executor_->Post([self = shared_from_this()] { self->RunOne(); })) {
    timers_->Arm(kRetry, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->Schedule();
    });
  }
  gate_->Leave();
}

void Strand::RunOne() {
  if (!gate_->Enter()) {
    Clear();
    return;
  }
  absl::AnyInvocable<void()> work;
  {
    absl::MutexLock lock(&mu_);
    if (queue_.empty()) {
      scheduled_ = false;
      gate_->Leave();
      return;
    }
    work = std::move(queue_.front());
    queue_.pop_front();
  }
  work();
  work = nullptr;
  bool more;
  {
    absl::MutexLock lock(&mu_);
    more = !queue_.empty();
    scheduled_ = more;
  }
  gate_->Leave();
  // One piece at a time, so that strands take turns on the executor.
  if (more) Schedule();
}

}  // namespace toolrack
