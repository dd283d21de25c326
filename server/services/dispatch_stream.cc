#include "server/services/dispatch_stream.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "server/rpc/status.h"
#include "server/rpc/unary.h"
#include "server/services/caller.h"

namespace toolrack {
namespace {

// A text grows up to this before the next event begins.
constexpr size_t kJoin = 64 << 10;

// Adds to the last event when both are parts of one text.
bool Join(v1::DispatchStreamResponse& last, const v1::DispatchStreamResponse& event) {
  if (last.event_case() != event.event_case()) return false;
  std::string* to = nullptr;
  const std::string* from = nullptr;
  switch (event.event_case()) {
    case v1::DispatchStreamResponse::kText:
      to = last.mutable_text();
      from = &event.text();
      break;
    case v1::DispatchStreamResponse::kReasoning:
      to = last.mutable_reasoning();
      from = &event.reasoning();
      break;
    case v1::DispatchStreamResponse::kArgumentsDelta:
      to = last.mutable_arguments_delta();
      from = &event.arguments_delta();
      break;
    default:
      return false;
  }
  if (to->size() > kJoin) return false;
  to->append(*from);
  return true;
}

bool IsProgress(const v1::DispatchStreamResponse& event) {
  return event.has_progress() && event.progress().has_progress();
}

}  // namespace

DispatchStream* DispatchStream::Begin(const Core* core, RetryLedger* retries,
                                      grpc::CallbackServerContext* context, MethodStats* stats,
                                      absl::StatusOr<std::string> who) {
  const bool known = who.ok();
  std::shared_ptr<DispatchStream> stream(
      new DispatchStream(core, retries, context, stats, known ? *who : ""));
  stream->self_ = stream;
  DispatchStream* const raw = stream.get();
  raw->stats_->Started();
  if (!known) {
    raw->End(who.status());
  } else {
    raw->StartRead(&raw->in_);
  }
  return raw;
}

DispatchStream::DispatchStream(const Core* core, RetryLedger* retries,
                               grpc::CallbackServerContext* context, MethodStats* stats,
                               std::string who)
    : core_(*core), retries_(*retries), context_(context), stats_(stats), who_(std::move(who)) {}

void DispatchStream::OnReadDone(bool ok) {
  const auto handle = [self = shared_from_this(), ok] { self->Handle(ok); };
  if (core_.executor->Post(handle)) return;
  stop_.RequestStop(StopReason::kCaller);
  run_ = nullptr;
  End(QueueFull("limits.max_pending_requests", core_.config.limits().max_pending_requests(),
                "this daemon"));
}

absl::Status DispatchStream::Open() {
  TR_ASSIGN_OR_RETURN(
      run_, DispatchRun::Begin(
                core_, retries_, {in_.session_id(), in_.turn_id(), /*provider_json=*/false},
                CallerOf(*context_, who_), stop_.token(),
                [self = shared_from_this()](v1::DispatchStreamResponse event) {
                  self->Push(std::move(event));
                },
                [self = shared_from_this()](absl::StatusOr<v1::DispatchResponse> response) {
                  if (!response.ok()) return self->End(response.status());
                  v1::DispatchStreamResponse last;
                  last.mutable_response()->Swap(&*response);
                  self->Push(std::move(last));
                  self->End(absl::OkStatus());
                }));
  return absl::OkStatus();
}

void DispatchStream::Handle(bool more) {
  try {
    if (run_ == nullptr) {
      const absl::Status opened =
          more ? Open() : RequestInvalid("session_id", "", "a first message with an open session");
      if (!opened.ok()) return End(opened);
    }
    if (more && !stop_.token().stop_requested()) {
      run_->Feed(in_.text());
      in_.Clear();
      {
        absl::MutexLock lock(&mu_);
        may_read_ = true;
      }
      return Go();
    }
    // What the caller left behind is no output: no call comes of how it ends.
    if (context_->IsCancelled()) stop_.RequestStop(WhyGone(*context_));
    // The run holds this by what it was given, and is let go when it is done with.
    const std::shared_ptr<DispatchRun> run = std::move(run_);
    run->Finish();
  } catch (const std::exception& error) {
    stop_.RequestStop(StopReason::kCaller);
    run_ = nullptr;
    End(InternalError(stats_->name(), error.what()));
  }
}

void DispatchStream::Push(v1::DispatchStreamResponse event) {
  {
    absl::MutexLock lock(&mu_);
    if (over_ || broken_) return;
    if (!queue_.empty() && Join(queue_.back(), event)) {
      bytes_ += event.ByteSizeLong();
    } else {
      if (IsProgress(event)) {
        const auto same = std::find_if(
            queue_.begin(), queue_.end(), [&event](const v1::DispatchStreamResponse& waiting) {
              return IsProgress(waiting) &&
                     waiting.progress().call_id() == event.progress().call_id();
            });
        if (same != queue_.end()) {
          *same = std::move(event);
          return;
        }
      }
      if (event.has_progress() && Crowded()) {
        ++left_out_;
        left_out_of_ = event.progress().call_id();
        return;
      }
      bytes_ += event.ByteSizeLong();
      queue_.push_back(std::move(event));
    }
  }
  Go();
}

void DispatchStream::End(absl::Status status) {
  {
    absl::MutexLock lock(&mu_);
    if (over_) return;
    over_ = true;
    status_ = std::move(status);
    if (!status_.ok()) {
      queue_.clear();
      bytes_ = 0;
    }
  }
  Go();
}

void DispatchStream::Go() {
  bool read = false, write = false;
  absl::Status status;
  {
    absl::MutexLock lock(&mu_);
    if (finished_) return;
    if (broken_) {
      queue_.clear();
      bytes_ = 0;
    }
    if (!writing_ && queue_.empty() && left_out_ > 0 && !broken_ && !over_) {
      v1::DispatchProgress& told = *queue_.emplace_back().mutable_progress();
      told.set_call_id(left_out_of_);
      told.mutable_log()->set_level("warning");
      told.mutable_log()->set_message(absl::StrCat(
          left_out_, " events were left out here: they came faster than they were read."));
      left_out_ = 0;
    }
    if (!writing_ && !queue_.empty()) {
      out_ = std::move(queue_.front());
      queue_.pop_front();
      bytes_ = queue_.empty() ? 0 : bytes_ - std::min(bytes_, out_.ByteSizeLong());
      writing_ = write = true;
    } else if (!writing_ && over_) {
      finished_ = true;
      status = status_;
      if (status.ok() && broken_) {
        status = CallCancelled(stats_->name(), "caller", Executed::kMaybe);
      }
    }
    if (may_read_ && !finished_ && !over_ && (!Crowded() || broken_)) {
      may_read_ = false;
      read = true;
    }
    if (finished_) {
      stats_->Ended(status.code());
      Finish(ToGrpcStatus(status));
      return;
    }
    // Under the lock, so that no Finish of another thread comes before.
    if (write) StartWrite(&out_);
    if (read) StartRead(&in_);
  }
}

void DispatchStream::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mu_);
    writing_ = false;
    if (!ok) broken_ = true;
  }
  Go();
}

void DispatchStream::OnCancel() {
  {
    absl::MutexLock lock(&mu_);
    broken_ = true;
  }
  stop_.RequestStop(WhyGone(*context_));
  Go();
}

}  // namespace toolrack
