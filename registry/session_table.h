// All sessions: who may see them, when they are over, and who has to know.
#ifndef TOOLRACK_REGISTRY_SESSION_TABLE_H_
#define TOOLRACK_REGISTRY_SESSION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "registry/base/clock.h"
#include "registry/base/errors.h"
#include "registry/base/timers.h"
#include "registry/registry.h"
#include "registry/session.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/session_service.pb.h"

namespace toolrack {

// What holds something for each session in this process: the in-process tools their instances, the
// store its results. Thread-safe. Called without locks held.
class SessionHost {
 public:
  virtual ~SessionHost() = default;
  // Before anybody can name the session.
  virtual void OpenSession(const std::string&) {}
  // Once, after OpenSession; calls of the session may still be running.
  virtual void CloseSession(const std::string& session_id) = 0;
  // Adds what it holds.
  virtual void DescribeSession(const std::string&, v1::Session&) const {}
};

// Who has to know which sessions there are, elsewhere: a worker. Thread-safe.
class SessionWatcher {
 public:
  virtual ~SessionWatcher() = default;
  // In the order in which it happens, with the table's lock held: note it down, nothing else. A
  // session is closed only after it was opened, and each once.
  virtual void NoteOpened(const std::string& session_id) = 0;
  virtual void NoteClosed(const std::string& session_id) = 0;
  // After notes were made, without locks held: now act on them.
  virtual void ActOnNotes() = 0;
};

// Thread-safe. Shutdown before any of its parts goes.
class SessionTable {
 public:
  struct Parts {  // all outlive this
    Registry* registry;
    Timers* timers;
    Clock* clock;
    // Which tools a principal may know of; empty: all. What is hidden cannot be loaded.
    std::function<ToolVisibility(absl::string_view principal)> visibility_of = {};
  };
  SessionTable(Parts parts, const v1::LimitsConfig& limits);
  ~SessionTable();

  // Before the first Open. The host outlives this.
  void AddHost(SessionHost* host);
  // Tells it all sessions that are open, then what happens. It is forgotten when it is gone.
  void Watch(const std::shared_ptr<SessionWatcher>& watcher);

  // Whose sessions somebody may see: nullopt is everybody's.
  using Viewer = std::optional<std::string>;

  // Makes the session's instances on this thread: not a gRPC one. REQUEST_INVALID, CONCURRENCY
  // (limits.max_sessions), DRAINING.
  absl::StatusOr<v1::Session> Open(const v1::OpenSessionRequest& request,
                                   const std::string& principal);
  // SESSION_NOT_FOUND, here and below. Counts as use.
  absl::StatusOr<v1::Session> Get(absl::string_view id, const Viewer& viewer);
  // The oldest first, without loaded tools and instances.
  std::vector<v1::Session> List(const Viewer& viewer) const;
  absl::StatusOr<v1::SessionCounters> Close(absl::string_view id, const Viewer& viewer);
  absl::StatusOr<v1::LoadToolsResponse> Load(const v1::LoadToolsRequest& request,
                                             const Viewer& viewer);
  absl::StatusOr<v1::UnloadToolsResponse> Unload(const v1::UnloadToolsRequest& request,
                                                 const Viewer& viewer);

  // A call begins in it.
  absl::StatusOr<SessionLease> Enter(absl::string_view id, absl::string_view principal);
  // Looks without using.
  absl::StatusOr<std::shared_ptr<Session>> Peek(absl::string_view id,
                                                absl::string_view principal) const;

  // The definitions of the newest snapshot; one object for one revision.
  PinnedToolsPtr Newest() { return Pin(*parts_.registry->snapshot()); }

  size_t size() const;
  // Opens no more.
  void Drain();
  // No timer runs, and nobody is told anything, any more. Idempotent.
  void Shutdown();

 private:
  struct Over {
    std::string principal;
    SessionEnd end;
  };
  using SessionPtr = std::shared_ptr<Session>;

  absl::Status CheckOpen(const v1::OpenSessionRequest& request, absl::Duration* ttl) const;
  absl::StatusOr<SessionPtr> FindLocked(absl::string_view id, const Viewer& viewer) const
      ABSL_SHARED_LOCKS_REQUIRED(mu_);
  absl::StatusOr<SessionPtr> Use(absl::string_view id, const Viewer& viewer) const;
  bool IsDue(const Session& session, absl::Duration now) const;
  // Takes it out; the caller then calls TellOver.
  void TakeOut(const SessionPtr& session, SessionEnd end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Those that are due, at most `max`.
  std::vector<SessionPtr> TakeOutDue(size_t max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TellOver(const std::vector<SessionPtr>& sessions);
  void ActAll();
  // Arms a timer for the next due session, unless there is one.
  void ArmNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void OnTimer();
  ToolVisibility VisibilityOf(const Session& session) const;
  PinnedToolsPtr Pin(const Snapshot& snapshot);
  void LoadOne(Session& session, absl::string_view name, const ToolEntry* entry,
               v1::LoadToolsResponse& response) const;
  v1::Session Describe(const Session& session, bool all) const;
  std::vector<std::shared_ptr<SessionWatcher>> Watchers();

  const Parts parts_;
  const size_t max_sessions_;
  const size_t max_loaded_;
  const absl::Duration idle_;
  const absl::Duration max_idle_;
  // Wall time when the steady clock was 0.
  const absl::Time wall_at_zero_;
  std::vector<SessionHost*> hosts_;  // fixed before the first Open
  absl::Mutex pin_mu_;
  PinnedToolsPtr pinned_ ABSL_GUARDED_BY(pin_mu_);  // the newest that was asked for
  // What timers hold: they may fire when this is gone.
  struct Alive;
  const std::shared_ptr<Alive> alive_;

  mutable absl::Mutex mu_;
  absl::flat_hash_map<std::string, SessionPtr> sessions_ ABSL_GUARDED_BY(mu_);
  std::set<std::pair<absl::Duration, Session*>> due_ ABSL_GUARDED_BY(mu_);
  size_t opening_ ABSL_GUARDED_BY(mu_) = 0;
  bool draining_ ABSL_GUARDED_BY(mu_) = false;
  absl::Duration armed_for_ ABSL_GUARDED_BY(mu_) = absl::InfiniteDuration();
  std::vector<std::weak_ptr<SessionWatcher>> watchers_ ABSL_GUARDED_BY(mu_);
  // The last ones that are over, so that their owners learn why.
  absl::flat_hash_map<std::string, Over> over_ ABSL_GUARDED_BY(mu_);
  std::deque<std::string> over_order_ ABSL_GUARDED_BY(mu_);
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SESSION_TABLE_H_
