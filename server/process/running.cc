#include "server/process/running.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace toolrack {
namespace {

constexpr size_t kPiece = 64 << 10;
// So much of what a program wrote last is read after its end: a pipe holds it, and somebody who
// still writes to it does not keep us.
constexpr int kLastPieces = 16;

}  // namespace

Running::Running(RunSpec spec, Spawned spawned, StopToken stop, absl::Duration now)
    : spec_(std::move(spec)),
      spawned_(std::move(spawned)),
      stop_(std::move(stop)),
      deadline_(now + spec_.timeout) {
  if (spec_.input.empty()) spawned_.input.Reset();
}

Running::~Running() {
  if (reaped_) return;
  Kill();
  ::waitpid(spawned_.pid, nullptr, 0);
}

void Running::AddTo(std::vector<pollfd>& all) const {
  // poll() passes over what is -1.
  all.push_back({spawned_.ended.get(), POLLIN, 0});
  all.push_back({spawned_.input.get(), POLLOUT, 0});
  all.push_back({spawned_.output.get(), POLLIN, 0});
  all.push_back({spawned_.errors.get(), POLLIN, 0});
}

absl::Duration Running::due() const {
  if (killed_) return absl::InfiniteDuration();
  return asked_ ? kill_at_ : deadline_;
}

bool Running::Handle(absl::Duration now) {
  Write();
  Read(spawned_.output, true, result_.output, result_.output_bytes);
  Read(spawned_.errors, false, result_.errors, result_.error_bytes);
  if (Reap()) return true;
  if (!asked_ && stop_.stop_requested()) {
    AskToEnd(RunResult::Why::kStopped, now);
  } else if (!asked_ && now >= deadline_) {
    AskToEnd(RunResult::Why::kTimeout, now);
  }
  if (asked_ && !killed_ && now >= kill_at_) Kill();
  return false;
}

void Running::KillNow() {
  if (!asked_) AskToEnd(RunResult::Why::kStopped, absl::ZeroDuration());
  if (!killed_) Kill();
}

void Running::Write() {
  if (!spawned_.input) return;
  // SIGPIPE is blocked on the runner's thread.
  const ssize_t put =
      ::write(spawned_.input.get(), spec_.input.data() + written_, spec_.input.size() - written_);
  if (put > 0) written_ += static_cast<size_t>(put);
  // A program need not read its input.
  const bool wait = put < 0 && (errno == EAGAIN || errno == EINTR);
  if ((put < 0 && !wait) || written_ == spec_.input.size()) spawned_.input.Reset();
}

void Running::Read(Fd& from, bool keep_beginning, std::string& kept, uint64_t& bytes) {
  if (!from) return;
  char piece[kPiece];
  const ssize_t got = ::read(from.get(), piece, sizeof(piece));
  if (got <= 0) {
    if (got == 0 || (errno != EAGAIN && errno != EINTR)) from.Reset();
    return;
  }
  const auto size = static_cast<size_t>(got);
  bytes += size;
  if (keep_beginning) {
    kept.append(piece, std::min<uint64_t>(size, spec_.max_output_bytes - kept.size()));
    return;
  }
  kept.append(piece, size);
  if (kept.size() > spec_.max_output_bytes + kPiece) {
    kept.erase(0, kept.size() - spec_.max_output_bytes);
  }
}

void Running::AskToEnd(RunResult::Why why, absl::Duration now) {
  asked_ = true;
  result_.why = why;
  kill_at_ = now + spec_.grace;
  // Before it ends and they are no longer known as its own.
  started_ = DescendantsOf({ProcessOf(spawned_.pid)});
  ::kill(-spawned_.pid, SIGTERM);
  // A stopped program would not hear of it.
  ::kill(-spawned_.pid, SIGCONT);
}

void Running::Kill() {
  killed_ = true;
  std::vector<ProcessId> all = {ProcessOf(spawned_.pid)};
  all.insert(all.end(), started_.begin(), started_.end());
  KillTrees(std::move(all));
  ::kill(-spawned_.pid, SIGKILL);
}

bool Running::Reap() {
  siginfo_t info = {};
  // It stays a zombie until its group is gone: nobody else gets the number meanwhile.
  if (::waitid(P_PID, static_cast<id_t>(spawned_.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid == 0) {
    return false;
  }
  if (asked_ && !killed_) KillTrees(started_);
  ::kill(-spawned_.pid, SIGKILL);
  int status = 0;
  ::waitpid(spawned_.pid, &status, 0);
  reaped_ = true;
  if (WIFSIGNALED(status)) {
    result_.signal = WTERMSIG(status);
  } else {
    result_.exit_code = WEXITSTATUS(status);
  }
  for (int i = 0; i < kLastPieces && (spawned_.output || spawned_.errors); ++i) {
    const uint64_t before = result_.output_bytes + result_.error_bytes;
    Read(spawned_.output, true, result_.output, result_.output_bytes);
    Read(spawned_.errors, false, result_.errors, result_.error_bytes);
    if (result_.output_bytes + result_.error_bytes == before) break;
  }
  if (result_.errors.size() > spec_.max_output_bytes) {
    result_.errors.erase(0, result_.errors.size() - spec_.max_output_bytes);
  }
  return true;
}

}  // namespace toolrack
