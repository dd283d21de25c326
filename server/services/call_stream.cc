#include "server/services/call_stream.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace toolrack {

void CallStream::Push(v1::CallToolStreamResponse event) {
  {
    absl::MutexLock lock(&events_mu_);
    if (outcome_.has_value()) return;
    if (event.has_progress() && !events_.empty() && events_.back().has_progress()) {
      bytes_ -= events_.back().ByteSizeLong();
      events_.pop_back();
    }
    const size_t bytes = event.ByteSizeLong();
    if (events_.size() >= kMaxEvents || bytes_ + bytes > kMaxBytes) {
      ++left_out_;
      return;
    }
    bytes_ += bytes;
    events_.push_back(std::move(event));
  }
  Wake();
}

void CallStream::OnProgress(v1::Progress progress) {
  v1::CallToolStreamResponse event;
  *event.mutable_progress() = std::move(progress);
  Push(std::move(event));
}

void CallStream::OnLog(v1::LogLine line) {
  v1::CallToolStreamResponse event;
  *event.mutable_log() = std::move(line);
  Push(std::move(event));
}

void CallStream::OnContent(v1::Content content) {
  v1::CallToolStreamResponse event;
  *event.mutable_content() = std::move(content);
  Push(std::move(event));
}

void CallStream::Done(absl::StatusOr<v1::CallToolResponse> outcome) {
  {
    absl::MutexLock lock(&events_mu_);
    outcome_.emplace(std::move(outcome));
  }
  Wake();
}

ServerStream<v1::CallToolStreamResponse>::Step CallStream::Next(v1::CallToolStreamResponse& out,
                                                                absl::Status& status) {
  absl::MutexLock lock(&events_mu_);
  if (!events_.empty()) {
    out = std::move(events_.front());
    events_.pop_front();
    bytes_ -= out.ByteSizeLong();
    return Step::kWrite;
  }
  if (left_out_ > 0) {
    out.mutable_log()->set_level("warning");
    out.mutable_log()->set_message(absl::StrCat(
        left_out_, " events were left out here: they came faster than they were read."));
    left_out_ = 0;
    return Step::kWrite;
  }
  if (!outcome_.has_value()) return Step::kWait;
  if (answered_ || !outcome_->ok()) {
    status = outcome_->status();
    return Step::kEnd;
  }
  answered_ = true;
  out.mutable_response()->Swap(&**outcome_);
  return Step::kWrite;
}

}  // namespace toolrack
