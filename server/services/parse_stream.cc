#include "server/services/parse_stream.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "server/rpc/status.h"

namespace toolrack {
namespace {

// A response grows up to this before the next one begins.
constexpr size_t kJoin = 256 << 10;

}  // namespace

ParseStream::ParseStream(Executor* executor, MethodStats* stats, Choose choose)
    : executor_(executor), stats_(stats), choose_(std::move(choose)) {
  stats_->Started();
  StartRead(&in_);
}

void ParseStream::OnReadDone(bool ok) {
  if (!executor_->Post([this, ok] { Handle(ok); })) {
    End(QueueFull("limits.max_pending_requests", 0, "this daemon"));
  }
}

void ParseStream::Handle(bool more) {
  try {
    if (more && parser_ == nullptr) {
      absl::StatusOr<Setting> setting = choose_(in_);
      if (!setting.ok()) return End(setting.status());
      setting_ = *std::move(setting);
      parser_ = MakeOutputParser(setting_.view->Offered(setting_.spec), *this, setting_.options);
    }
    if (more) {
      parser_->Feed(in_.text());
    } else {
      if (parser_ != nullptr) parser_->Finish();
      over_ = true;
    }
  } catch (const std::exception& error) {
    return End(InternalError(stats_->name(), error.what()));
  }
  Go();
}

void ParseStream::Go() {
  if (!out_.empty()) {
    StartWrite(&out_.front());
  } else if (over_) {
    End(absl::OkStatus());
  } else {
    StartRead(&in_);
  }
}

void ParseStream::OnWriteDone(bool ok) {
  if (!ok) return End(CallCancelled(stats_->name(), "caller", Executed::kNo));
  out_.pop_front();
  Go();
}

void ParseStream::End(const absl::Status& status) {
  stats_->Ended(status.code());
  Finish(ToGrpcStatus(status));
}

void ParseStream::Text(absl::string_view text) {
  if (out_.empty() || !out_.back().has_text() || out_.back().text().size() > kJoin) {
    out_.emplace_back();
  }
  absl::StrAppend(out_.back().mutable_text(), text);
}

void ParseStream::Reasoning(absl::string_view text) {
  if (out_.empty() || !out_.back().has_reasoning() || out_.back().reasoning().size() > kJoin) {
    out_.emplace_back();
  }
  absl::StrAppend(out_.back().mutable_reasoning(), text);
}

void ParseStream::CallBegin(const v1::OutputCallBegin& begin) {
  *out_.emplace_back().mutable_call_begin() = begin;
}

void ParseStream::Arguments(absl::string_view piece) {
  if (out_.empty() || !out_.back().has_arguments_delta() ||
      out_.back().arguments_delta().size() > kJoin) {
    out_.emplace_back();
  }
  absl::StrAppend(out_.back().mutable_arguments_delta(), piece);
}

void ParseStream::CallEnd(const v1::OutputCallEnd& end) {
  *out_.emplace_back().mutable_call_end() = end;
}

void ParseStream::Malformed(const v1::OutputMalformed& malformed) {
  *out_.emplace_back().mutable_malformed() = malformed;
}

void ParseStream::Repair(const v1::OutputRepair& repair) {
  *out_.emplace_back().mutable_repair() = repair;
}

}  // namespace toolrack
