#include "server/backends/strand.h"

#include <utility>

namespace toolrack {
namespace {

constexpr absl::Duration kRetry = absl::Milliseconds(20);

}  // namespace

void StrandGate::Close() {
  absl::flat_hash_map<Strand*, std::shared_ptr<Strand>> busy;
  {
    absl::MutexLock lock(&mu_);
    closed_ = true;
    mu_.Await(absl::Condition(
        +[](int* running) { return *running == 0; }, &running_));
    busy.swap(busy_);
  }
  for (const auto& [key, strand] : busy) strand->Clear();
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

bool StrandGate::Add(std::shared_ptr<Strand> strand) {
  absl::MutexLock lock(&mu_);
  if (closed_) return false;
  Strand* const key = strand.get();
  busy_.insert_or_assign(key, std::move(strand));
  return true;
}

void StrandGate::Remove(Strand* strand) {
  std::shared_ptr<Strand> out;  // let go outside the lock
  absl::MutexLock lock(&mu_);
  const auto at = busy_.find(strand);
  if (at == busy_.end()) return;
  out = std::move(at->second);
  busy_.erase(at);
}

void Strand::Post(absl::AnyInvocable<void()> work) {
  {
    absl::MutexLock lock(&mu_);
    queue_.push_back(std::move(work));
    if (scheduled_) return;
    scheduled_ = true;
  }
  if (gate_->Add(shared_from_this())) {
    Schedule();
  } else {
    Clear();
  }
}

void Strand::Clear() {
  std::deque<absl::AnyInvocable<void()>> dropped;  // outside the lock
  absl::MutexLock lock(&mu_);
  dropped.swap(queue_);
  scheduled_ = false;  // so that what comes later is dropped, too
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
    if (queue_.empty()) {  // cleared meanwhile
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
    if (!more) gate_->Remove(this);
  }
  gate_->Leave();
  // One piece at a time, so that strands take turns on the executor.
  if (more) Schedule();
}

}  // namespace toolrack
