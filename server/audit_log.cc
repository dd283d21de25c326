#include "server/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/log.h"

namespace toolrack {
namespace {

constexpr absl::Duration kRetry = absl::Seconds(1);
constexpr size_t kMaxText = 300;

void Text(std::string& line, absl::string_view key, absl::string_view value) {
  absl::StrAppend(&line, ",\"", key, "\":", JsonQuote(ForMessage(value, kMaxText)));
}

void TextIfAny(std::string& line, absl::string_view key, absl::string_view value) {
  if (!value.empty()) Text(line, key, value);
}

int OpenToAppend(const std::string& file) {
  return ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

}  // namespace

std::string FormatAuditLine(const CallRecord& call) {
  std::string line =
      absl::StrCat("{\"time\":\"",
                   absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", call.time, absl::UTCTimeZone()), "\"");
  Text(line, "call_id", call.call_id);
  Text(line, "principal", call.principal);
  Text(line, "tool", call.tool);
  Text(line, "outcome", call.outcome);
  absl::StrAppend(&line, ",\"duration_us\":", absl::ToInt64Microseconds(call.duration),
                  ",\"argument_bytes\":", call.argument_bytes,
                  ",\"result_bytes\":", call.result_bytes);
  TextIfAny(line, "arguments_sha256", call.arguments_sha256);
  TextIfAny(line, "digest", call.tool_digest);
  TextIfAny(line, "session_id", call.session_id);
  TextIfAny(line, "batch_id", call.batch_id);
  TextIfAny(line, "backend", call.backend);
  if (call.attempts != 0) absl::StrAppend(&line, ",\"attempts\":", call.attempts);
  if (call.cached) absl::StrAppend(&line, ",\"cached\":true");
  TextIfAny(line, "hook", call.hook);
  TextIfAny(line, "approval_id", call.approval_id);
  TextIfAny(line, "traceparent", call.traceparent);
  absl::StrAppend(&line, "}\n");
  return line;
}

struct AuditLog::State {
  State(std::string f, int d) : file(std::move(f)), fd(d) {}

  void Run();
  // Only on the thread. Writes `batch` from `written` on; false when that failed.
  bool Write();
  void OpenAnew();

  const std::string file;
  int fd;             // only the thread's, once it runs
  std::string batch;  // likewise: what is being written
  size_t written = 0;
  bool complained = false;

  absl::Mutex mu;
  std::string waiting ABSL_GUARDED_BY(mu);
  bool reopen ABSL_GUARDED_BY(mu) = false;
  bool ending ABSL_GUARDED_BY(mu) = false;
  uint64_t added ABSL_GUARDED_BY(mu) = 0;  // orders given: lines and reopens
  uint64_t tried ABSL_GUARDED_BY(mu) = 0;  // of those, the ones that were carried out or tried
  size_t held ABSL_GUARDED_BY(mu) = 0;     // bytes of `batch` that are not written
  std::atomic<bool> writable{true};
  std::atomic<uint64_t> lost{0};
  std::thread thread;
};

bool AuditLog::State::Write() {
  while (written < batch.size()) {
    const ssize_t count = ::write(fd, batch.data() + written, batch.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      if (!std::exchange(complained, true)) {
        LogError(absl::StrCat("cannot write to the audit log ", file, ": ", strerror(errno),
                              "; trying again each second"));
      }
      writable.store(false);
      return false;
    }
    written += static_cast<size_t>(count);
  }
  batch.clear();
  written = 0;
  writable.store(true);
  if (std::exchange(complained, false)) LogInfo(absl::StrCat("writing to ", file, " again"));
  return true;
}

void AuditLog::State::OpenAnew() {
  const int opened = OpenToAppend(file);
  if (opened < 0) {
    LogError(absl::StrCat("cannot open the audit log ", file, " again: ", strerror(errno),
                          "; going on with the file that was open"));
    return;
  }
  ::close(std::exchange(fd, opened));
  // A line that was begun in the old file is whole in the new one.
  while (written > 0 && batch[written - 1] != '\n') --written;
}

void AuditLog::State::Run() {
  while (true) {
    bool anew = false;
    bool last = false;
    uint64_t upto = 0;
    {
      absl::MutexLock lock(&mu);
      const auto work = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) {
        return ending || reopen || !waiting.empty();
      };
      if (batch.empty()) {
        mu.Await(absl::Condition(&work));
      } else {  // the last write failed: more lines are no reason to try sooner
        const auto urgent = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return ending || reopen; };
        mu.AwaitWithTimeout(absl::Condition(&urgent), kRetry);
      }
      anew = std::exchange(reopen, false);
      last = ending;
      upto = added;
      batch.append(waiting);
      waiting.clear();
      held = batch.size() - written;
    }
    if (anew) OpenAnew();
    Write();
    absl::MutexLock lock(&mu);
    tried = upto;
    held = batch.size() - written;
    if (last) return;
  }
}

absl::StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(std::string file) {
  const int fd = OpenToAppend(file);
  if (fd < 0) {
    return absl::FailedPreconditionError(absl::StrCat("cannot open the audit log ", file, ": ",
                                                      strerror(errno),
                                                      "; give another path in audit.file"));
  }
  auto state = std::make_unique<State>(file, fd);
  return std::unique_ptr<AuditLog>(new AuditLog(std::move(file), std::move(state)));
}

AuditLog::AuditLog(std::string file, std::unique_ptr<State> state)
    : file_(std::move(file)), state_(std::move(state)) {
  state_->thread = std::thread([state = state_.get()] { state->Run(); });
}

AuditLog::~AuditLog() {
  {
    absl::MutexLock lock(&state_->mu);
    state_->ending = true;
  }
  state_->thread.join();
  if (!state_->batch.empty()) {
    LogError(absl::StrCat("the audit log ", file_, " lacks its last ",
                          state_->batch.size() - state_->written, " bytes"));
  }
  ::close(state_->fd);
}

void AuditLog::Add(const CallRecord& call) {
  const std::string line = FormatAuditLine(call);
  absl::MutexLock lock(&state_->mu);
  ++state_->added;
  if (state_->waiting.size() + state_->held + line.size() > kMaxWaitingBytes) {
    state_->lost.fetch_add(1);
    return;
  }
  state_->waiting.append(line);
}

void AuditLog::Reopen() {
  absl::MutexLock lock(&state_->mu);
  ++state_->added;
  state_->reopen = true;
}

void AuditLog::Flush() {
  absl::MutexLock lock(&state_->mu);
  const uint64_t upto = state_->added;
  State* const state = state_.get();
  const auto done = [state, upto]()
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(state->mu) { return state->tried >= upto; };
  state_->mu.Await(absl::Condition(&done));
}

bool AuditLog::writable() const { return state_->writable.load(); }
uint64_t AuditLog::lost() const { return state_->lost.load(); }

}  // namespace toolrack
