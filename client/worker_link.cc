#include "client/worker_link.h"

#include <utility>

#include "client/status.h"

namespace toolrack {
namespace {

constexpr size_t kBatchItems = 64;
constexpr size_t kBatchBytes = 256 << 10;
constexpr size_t kMaxDroppable = 1024;

}  // namespace

WorkerLinkCount::Token::Token(std::shared_ptr<WorkerLinkCount> count) : count_(std::move(count)) {
  absl::MutexLock lock(&count_->mu_);
  ++count_->live_;
}

WorkerLinkCount::Token::~Token() {
  absl::MutexLock lock(&count_->mu_);
  --count_->live_;
}

void WorkerLinkCount::WaitForNone() {
  absl::MutexLock lock(&mu_);
  mu_.Await(absl::Condition(
      +[](int* live) { return *live == 0; }, &live_));
}

void WorkerLink::Open(v1::WorkerService::Stub* stub, const std::string& token) {
  if (!token.empty()) context_.AddMetadata("authorization", "Bearer " + token);
  self_ = shared_from_this();
  stub->async()->Attach(&context_, this);
  AddHold();  // writes come from outside reactions
  StartRead(&read_message_);
  StartCall();
  {
    absl::MutexLock lock(&mu_);
    open_ = true;
  }
  Pump();
}

bool WorkerLink::Send(v1::WorkerServiceAttachRequest message) {
  {
    absl::MutexLock lock(&mu_);
    if (shut_ || closing_) return false;
    control_.push_back(std::move(message));
  }
  Pump();
  return true;
}

bool WorkerLink::SendIfRoom(v1::WorkerServiceAttachRequest message) {
  {
    absl::MutexLock lock(&mu_);
    if (control_.size() >= kMaxDroppable) return false;
  }
  return Send(std::move(message));
}

bool WorkerLink::SendResult(v1::WorkerResult result) {
  {
    absl::MutexLock lock(&mu_);
    if (shut_ || closing_) return false;
    results_.push_back(std::move(result));
  }
  Pump();
  return true;
}

void WorkerLink::Close() {
  {
    absl::MutexLock lock(&mu_);
    closing_ = true;
  }
  Pump();
}

void WorkerLink::Abort() { context_.TryCancel(); }

bool WorkerLink::FillMessage() {
  if (!control_.empty()) {
    writing_message_ = std::move(control_.front());
    control_.pop_front();
    return true;
  }
  if (results_.empty()) return false;
  writing_message_.Clear();
  v1::WorkerResults* batch = writing_message_.mutable_results();
  size_t bytes = 0;
  while (!results_.empty() && static_cast<size_t>(batch->results_size()) < kBatchItems) {
    const size_t next = results_.front().ByteSizeLong();
    if (batch->results_size() > 0 && bytes + next > kBatchBytes) break;
    bytes += next;
    *batch->add_results() = std::move(results_.front());
    results_.pop_front();
  }
  return true;
}

void WorkerLink::Pump() {
  bool write = false;
  {
    absl::MutexLock lock(&mu_);
    if (!open_ || writing_ || shut_) return;
    write = FillMessage();
    if (write) {
      writing_ = true;
    } else if (closing_) {
      shut_ = true;
    } else {
      return;
    }
  }
  if (write) {
    StartWrite(&writing_message_);
  } else {
    StartWritesDone();
    RemoveHold();
  }
}

void WorkerLink::OnWriteDone(bool ok) {
  bool release = false;
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) {
      control_.clear();
      results_.clear();
      release = !shut_;
      shut_ = true;
    }
  }
  if (release) {
    RemoveHold();
  } else if (ok) {
    Pump();
  }
}

void WorkerLink::OnReadDone(bool ok) {
  if (ok) {
    listener_->OnMessage(shared_from_this(), read_message_);
    StartRead(&read_message_);
    return;
  }
  // The daemon ended the stream: nothing that is still here will be read.
  bool release;
  {
    absl::MutexLock lock(&mu_);
    control_.clear();
    results_.clear();
    release = !shut_ && !writing_;
    if (release) shut_ = true;
    closing_ = true;
  }
  if (release) RemoveHold();
}

void WorkerLink::OnDone(const grpc::Status& status) {
  const std::shared_ptr<WorkerLink> self = std::move(self_);
  listener_->OnEnd(self, FromGrpcStatus(status));
}

}  // namespace toolrack
