// The sessions of agents, as a worker hears of them.
#include <string>
#include <utility>
#include <vector>

#include "client/worker.h"
#include "client/worker_state.h"

namespace toolrack {

void Worker::State::WatchSessions(SessionListener listener) {
  absl::MutexLock lock(&mu_);
  session_listeners_.push_back(std::move(listener));
}

void Worker::State::OnSessionOpened(const std::string& session_id) {
  std::vector<SessionListener> listeners;
  {
    absl::MutexLock lock(&mu_);
    unconfirmed_.erase(session_id);
    if (sessions_.insert(session_id).second) listeners = session_listeners_;
  }
  for (const SessionListener& listener : listeners) {
    if (listener.opened) listener.opened(session_id);
  }
}

void Worker::State::OnSessionsClosed(const std::vector<std::string>& session_ids) {
  for (const std::string& session_id : session_ids) {
    std::vector<SessionListener> listeners;
    {
      absl::MutexLock lock(&mu_);
      unconfirmed_.erase(session_id);
      if (sessions_.erase(session_id) > 0) listeners = session_listeners_;
    }
    for (const SessionListener& listener : listeners) {
      if (listener.closed) listener.closed(session_id);
    }
  }
}

void Worker::WatchSessions(SessionListener listener) { state_->WatchSessions(std::move(listener)); }

}  // namespace toolrack
