// WorkerSession as a watcher of agents' sessions: what a worker with session-scoped tools is told.
#include <algorithm>
#include <utility>

#include "server/backends/worker_session.h"

namespace toolrack {

// Before the set is put in place: a call of a session can only come after the worker knows it.
void WorkerSession::WatchSessionsFor(const WorkerSet& set) {
  if (parts_.sessions == nullptr) return;
  const bool scoped = std::any_of(set.tools.begin(), set.tools.end(), [](const v1::Tool& tool) {
    return tool.scope() == v1::TOOL_SCOPE_SESSION;
  });
  if (!scoped) return;
  {
    absl::MutexLock lock(&mu_);
    if (std::exchange(watches_sessions_, true)) return;
  }
  parts_.sessions->Watch(shared_from_this());
}

void WorkerSession::NoteOpened(const std::string& session_id) {
  absl::MutexLock lock(&mu_);
  if (phase_ != Phase::kOver) notes_.push_back({true, session_id});
}

void WorkerSession::NoteClosed(const std::string& session_id) {
  absl::MutexLock lock(&mu_);
  if (backend_ != nullptr) backend_->ForgetSession(session_id);
  if (phase_ != Phase::kOver) notes_.push_back({false, session_id});
}

void WorkerSession::ActOnNotes() { Pump(); }

}  // namespace toolrack
