#include "registry/session_table.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/proto_time.h"
#include "registry/base/random.h"
#include "registry/base/utf8.h"
#include "registry/name.h"
#include "registry/tool_filter.h"

namespace toolrack {
namespace {

constexpr size_t kRememberedOver = 16384;
constexpr size_t kMaxNameBytes = 256;
constexpr int kMaxMetadataEntries = 64;
constexpr size_t kMaxMetadataBytes = 16 << 10;
constexpr size_t kMaxNames = 10000;
// What one timer ends at most: ending runs the destructors of tools, and other timers wait.
constexpr size_t kEndedAtOnce = 64;

absl::Duration DurationOr(const google::protobuf::Duration& from, absl::Duration fallback) {
  const absl::Duration duration = ToDuration(from);
  return duration > absl::ZeroDuration() ? duration : fallback;
}

absl::Status CheckText(absl::string_view field, absl::string_view value) {
  if (value.size() > kMaxNameBytes) {
    return RequestInvalid(field, value, absl::StrCat("at most ", kMaxNameBytes, " bytes"));
  }
  return absl::OkStatus();
}

template <typename Names>
absl::Status CheckNumber(absl::string_view field, const Names& names) {
  if (static_cast<size_t>(names.size()) <= kMaxNames) return absl::OkStatus();
  return RequestInvalid(field, absl::StrCat(names.size(), " entries"),
                        absl::StrCat("at most ", kMaxNames));
}

bool HasCategory(const ToolEntry& entry, const std::string& category) {
  const auto& categories = entry.definition->tool.categories();
  return std::find(categories.begin(), categories.end(), category) != categories.end();
}

bool IsCallable(const ToolEntry& entry) {
  return entry.state != v1::TOOL_STATE_QUARANTINED && entry.state != v1::TOOL_STATE_DISABLED;
}

}  // namespace

struct SessionTable::Alive {
  // Held while a timer's work is done: Shutdown waits for it.
  absl::Mutex mu;
  SessionTable* table ABSL_GUARDED_BY(mu);
};

SessionTable::SessionTable(Parts parts, const v1::LimitsConfig& limits)
    : parts_(parts),
      max_sessions_(limits.max_sessions() > 0 ? limits.max_sessions() : 10000),
      max_loaded_(limits.max_loaded_tools() > 0 ? limits.max_loaded_tools() : 1000),
      idle_(DurationOr(limits.session_idle(), absl::Hours(1))),
      max_idle_(DurationOr(limits.max_session_idle(), absl::Hours(24))),
      wall_at_zero_(parts.clock->WallNow() - parts.clock->SteadyNow()),
      alive_(std::make_shared<Alive>()) {
  absl::MutexLock lock(&alive_->mu);
  alive_->table = this;
}

SessionTable::~SessionTable() { Shutdown(); }

void SessionTable::AddHost(SessionHost* host) { hosts_.push_back(host); }

void SessionTable::Watch(const std::shared_ptr<SessionWatcher>& watcher) {
  {
    absl::MutexLock lock(&mu_);
    watchers_.erase(std::remove_if(watchers_.begin(), watchers_.end(),
                                   [](const auto& weak) { return weak.expired(); }),
                    watchers_.end());
    watchers_.push_back(watcher);
    for (const auto& [id, session] : sessions_) watcher->NoteOpened(id);
  }
  watcher->ActOnNotes();
}

absl::Status SessionTable::CheckOpen(const v1::OpenSessionRequest& request,
                                     absl::Duration* ttl) const {
  absl::Status status = CheckText("renderer", request.renderer());
  if (status.ok()) status = CheckText("model", request.model());
  if (status.ok()) status = CheckToolFilter("filters", request.filters());
  if (status.ok()) status = CheckNumber("loaded_tools", request.loaded_tools());
  if (!status.ok()) return status;
  *ttl = idle_;
  if (request.has_ttl()) {
    *ttl = ToDuration(request.ttl());
    if (*ttl <= absl::ZeroDuration() || *ttl > max_idle_) {
      return RequestInvalid("ttl", absl::FormatDuration(*ttl),
                            absl::StrCat("more than 0 and at most limits.max_session_idle, ",
                                         absl::FormatDuration(max_idle_)));
    }
  }
  size_t bytes = 0;
  for (const auto& [key, value] : request.metadata()) bytes += key.size() + value.size();
  if (request.metadata_size() > kMaxMetadataEntries || bytes > kMaxMetadataBytes) {
    return RequestInvalid("metadata",
                          absl::StrCat(request.metadata_size(), " entries, ", bytes, " bytes"),
                          absl::StrCat("at most ", kMaxMetadataEntries, " entries and ",
                                       kMaxMetadataBytes, " bytes in all"));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Session> SessionTable::Open(const v1::OpenSessionRequest& request,
                                               const std::string& principal) {
  absl::Duration ttl;
  if (absl::Status status = CheckOpen(request, &ttl); !status.ok()) return status;
  const absl::Duration now = parts_.clock->SteadyNow();
  const SnapshotPtr snapshot = parts_.registry->snapshot();
  v1::Session opened;
  opened.set_session_id(RandomId());
  opened.set_principal(principal);
  opened.set_renderer(request.renderer());
  opened.set_model(request.model());
  if (request.has_filters()) *opened.mutable_filters() = request.filters();
  if (request.has_retry_policy()) *opened.mutable_retry_policy() = request.retry_policy();
  opened.set_epoch(parts_.registry->epoch());
  SetDuration(ttl, *opened.mutable_ttl());
  SetTimestamp(wall_at_zero_ + now, *opened.mutable_open_time());
  *opened.mutable_metadata() = request.metadata();
  const auto session = std::make_shared<Session>(std::move(opened), Pin(*snapshot), ttl, now);
  v1::LoadToolsResponse loaded;
  for (const std::string& name : request.loaded_tools()) {
    LoadOne(*session, name, snapshot->Find(name), loaded);
  }

  std::vector<SessionPtr> expired;
  absl::Status refusal;
  {
    absl::MutexLock lock(&mu_);
    expired = TakeOutDue(SIZE_MAX);
    if (draining_) {
      refusal = Draining("daemon");
    } else if (sessions_.size() + opening_ >= max_sessions_) {
      refusal = TooManyAtOnce("limits.max_sessions", max_sessions_, "all callers");
    } else {
      ++opening_;
    }
  }
  TellOver(expired);
  if (!refusal.ok()) return refusal;
  for (SessionHost* host : hosts_) host->OpenSession(session->id());
  {
    absl::MutexLock lock(&mu_);
    --opening_;
    sessions_.emplace(session->id(), session);
    session->due_ = now + ttl;
    due_.emplace(session->due_, session.get());
    for (const auto& weak : watchers_) {
      if (const auto watcher = weak.lock()) watcher->NoteOpened(session->id());
    }
    ArmNext();
  }
  ActAll();
  v1::Session out = Describe(*session, /*all=*/true);
  *out.mutable_not_loaded() = loaded.not_loaded();
  return out;
}

PinnedToolsPtr SessionTable::Pin(const Snapshot& snapshot) {
  absl::MutexLock lock(&pin_mu_);
  if (pinned_ != nullptr && pinned_->revision() == snapshot.revision()) return pinned_;
  PinnedToolsPtr made = PinnedTools::Of(snapshot, pinned_.get());
  if (pinned_ == nullptr || pinned_->revision() < made->revision()) pinned_ = made;
  return made;
}

bool SessionTable::IsDue(const Session& session, absl::Duration now) const {
  return session.in_flight_.load() == 0 &&
         absl::Nanoseconds(session.last_used_ns_.load()) + session.ttl() <= now;
}

absl::StatusOr<SessionTable::SessionPtr> SessionTable::FindLocked(absl::string_view id,
                                                                  const Viewer& viewer) const {
  const auto at = sessions_.find(id);
  if (at == sessions_.end()) {
    const auto gone = over_.find(id);
    const bool known =
        gone != over_.end() && (!viewer.has_value() || gone->second.principal == *viewer);
    return SessionNotFound(id, known ? gone->second.end : SessionEnd::kUnknown);
  }
  if (viewer.has_value() && at->second->principal() != *viewer) {
    return SessionNotFound(id, SessionEnd::kUnknown);
  }
  // Its timer may be late.
  if (IsDue(*at->second, parts_.clock->SteadyNow())) {
    return SessionNotFound(id, SessionEnd::kExpired);
  }
  return at->second;
}

absl::StatusOr<SessionTable::SessionPtr> SessionTable::Use(absl::string_view id,
                                                           const Viewer& viewer) const {
  absl::ReaderMutexLock lock(&mu_);
  absl::StatusOr<SessionPtr> session = FindLocked(id, viewer);
  if (session.ok()) {
    (*session)->last_used_ns_.store(absl::ToInt64Nanoseconds(parts_.clock->SteadyNow()));
  }
  return session;
}

absl::StatusOr<SessionLease> SessionTable::Enter(absl::string_view id,
                                                 absl::string_view principal) {
  absl::ReaderMutexLock lock(&mu_);
  absl::StatusOr<SessionPtr> session = FindLocked(id, std::string(principal));
  if (!session.ok()) return session.status();
  return SessionLease(*std::move(session), parts_.clock);
}

absl::StatusOr<SessionTable::SessionPtr> SessionTable::Peek(absl::string_view id,
                                                            absl::string_view principal) const {
  absl::ReaderMutexLock lock(&mu_);
  return FindLocked(id, std::string(principal));
}

absl::StatusOr<v1::Session> SessionTable::Get(absl::string_view id, const Viewer& viewer) {
  const absl::StatusOr<SessionPtr> session = Use(id, viewer);
  if (!session.ok()) return session.status();
  return Describe(**session, /*all=*/true);
}

std::vector<v1::Session> SessionTable::List(const Viewer& viewer) const {
  std::vector<SessionPtr> found;
  {
    absl::ReaderMutexLock lock(&mu_);
    const absl::Duration now = parts_.clock->SteadyNow();
    for (const auto& [id, session] : sessions_) {
      if (viewer.has_value() && session->principal() != *viewer) continue;
      if (!IsDue(*session, now)) found.push_back(session);
    }
  }
  std::vector<v1::Session> out;
  out.reserve(found.size());
  for (const SessionPtr& session : found) out.push_back(Describe(*session, /*all=*/false));
  std::sort(out.begin(), out.end(), [](const v1::Session& a, const v1::Session& b) {
    const auto key = [](const v1::Session& s) {
      return std::make_tuple(s.open_time().seconds(), s.open_time().nanos(), s.session_id());
    };
    return key(a) < key(b);
  });
  return out;
}

absl::StatusOr<v1::SessionCounters> SessionTable::Close(absl::string_view id,
                                                        const Viewer& viewer) {
  SessionPtr session;
  {
    absl::MutexLock lock(&mu_);
    absl::StatusOr<SessionPtr> found = FindLocked(id, viewer);
    if (!found.ok()) return found.status();
    session = *std::move(found);
    TakeOut(session, SessionEnd::kClosed);
  }
  TellOver({session});
  return session->counters();
}

ToolVisibility SessionTable::VisibilityOf(const Session& session) const {
  return parts_.visibility_of ? parts_.visibility_of(session.principal()) : ToolVisibility();
}

void SessionTable::LoadOne(Session& session, absl::string_view name, const ToolEntry* entry,
                           v1::LoadToolsResponse& response) const {
  absl::Status fault;
  const ToolVisibility visible = VisibilityOf(session);
  if (entry == nullptr || (visible && !visible(*entry->definition))) {
    fault = ToolNotFound(name, parts_.registry->Nearest(name, 3, visible));
  } else if (entry->state == v1::TOOL_STATE_QUARANTINED) {
    fault = ToolQuarantined(name, static_cast<size_t>(entry->definition->tool.findings_size()),
                            "its definition is faulty");
  } else if (entry->state == v1::TOOL_STATE_DISABLED) {
    fault = ToolDisabled(name);
  } else {
    switch (session.Load(entry->definition->tool, max_loaded_)) {
      case Session::Loaded::kNew: {
        v1::LoadedTool& loaded = *response.add_loaded();
        loaded.set_name(entry->name());
        loaded.set_digest(entry->definition->tool.digest());
        return;
      }
      case Session::Loaded::kAlready:
        response.add_already_loaded(entry->name());
        return;
      case Session::Loaded::kFull:
        fault = TooManyAtOnce("limits.max_loaded_tools", max_loaded_, "one session");
        break;
    }
  }
  v1::NotLoadedTool& not_loaded = *response.add_not_loaded();
  not_loaded.set_name(ForMessage(name, kMaxNameBytes));
  not_loaded.set_reason(std::string(ReasonName(ReasonOf(fault))));
  not_loaded.set_message(std::string(fault.message()));
}

absl::StatusOr<v1::LoadToolsResponse> SessionTable::Load(const v1::LoadToolsRequest& request,
                                                         const Viewer& viewer) {
  absl::Status fault = CheckNumber("names", request.names());
  if (fault.ok()) fault = CheckNumber("categories", request.categories());
  if (!fault.ok()) return fault;
  const absl::StatusOr<SessionPtr> session = Use(request.session_id(), viewer);
  if (!session.ok()) return session.status();
  const SnapshotPtr snapshot = parts_.registry->snapshot();
  v1::LoadToolsResponse out;
  out.set_revision(snapshot->revision());
  for (const std::string& name : request.names()) {
    LoadOne(**session, name, snapshot->Find(name), out);
  }
  if (!request.categories().empty()) {
    const ToolVisibility visible = VisibilityOf(**session);
    snapshot->ForEach("", [&](const ToolEntryPtr& entry) {
      const auto& wanted = request.categories();
      if (IsCallable(*entry) && !IsReservedName(entry->name()) &&
          (!visible || visible(*entry->definition)) &&
          std::any_of(wanted.begin(), wanted.end(),
                      [&entry](const std::string& c) { return HasCategory(*entry, c); })) {
        LoadOne(**session, entry->name(), entry.get(), out);
      }
      return true;
    });
  }
  std::sort(out.mutable_loaded()->begin(), out.mutable_loaded()->end(),
            [](const v1::LoadedTool& a, const v1::LoadedTool& b) { return a.name() < b.name(); });
  std::sort(out.mutable_already_loaded()->begin(), out.mutable_already_loaded()->end());
  return out;
}

absl::StatusOr<v1::UnloadToolsResponse> SessionTable::Unload(const v1::UnloadToolsRequest& request,
                                                             const Viewer& viewer) {
  absl::Status fault = CheckNumber("names", request.names());
  if (fault.ok()) fault = CheckNumber("categories", request.categories());
  if (!fault.ok()) return fault;
  const absl::StatusOr<SessionPtr> session = Use(request.session_id(), viewer);
  if (!session.ok()) return session.status();
  v1::UnloadToolsResponse out;
  const auto unload = [&](const std::string& name) {
    if ((*session)->Unload(name)) out.add_unloaded(name);
  };
  for (const std::string& name : request.names()) unload(name);
  if (!request.categories().empty()) {
    const SnapshotPtr snapshot = parts_.registry->snapshot();
    for (const v1::LoadedTool& loaded : (*session)->loaded_tools()) {
      const ToolEntry* entry = snapshot->Find(loaded.name());
      if (entry == nullptr) continue;
      for (const std::string& category : request.categories()) {
        if (!HasCategory(*entry, category)) continue;
        unload(loaded.name());
        break;
      }
    }
  }
  std::sort(out.mutable_unloaded()->begin(), out.mutable_unloaded()->end());
  return out;
}

void SessionTable::TakeOut(const SessionPtr& session, SessionEnd end) {
  session->over_.store(true);
  due_.erase({session->due_, session.get()});
  if (over_order_.size() >= kRememberedOver) {
    over_.erase(over_order_.front());
    over_order_.pop_front();
  }
  over_.emplace(session->id(), Over{session->principal(), end});
  over_order_.push_back(session->id());
  for (const auto& weak : watchers_) {
    if (const auto watcher = weak.lock()) watcher->NoteClosed(session->id());
  }
  sessions_.erase(session->id());
}

std::vector<SessionTable::SessionPtr> SessionTable::TakeOutDue(size_t max) {
  const absl::Duration now = parts_.clock->SteadyNow();
  std::vector<SessionPtr> out;
  while (!due_.empty() && due_.begin()->first <= now && out.size() < max) {
    Session* const session = due_.begin()->second;
    if (IsDue(*session, now)) {
      out.push_back(sessions_.find(session->id())->second);
      TakeOut(out.back(), SessionEnd::kExpired);
      continue;
    }
    // It was used meanwhile. While a call runs, at least a full idle time is left.
    due_.erase(due_.begin());
    const absl::Duration last =
        session->in_flight_.load() > 0 ? now : absl::Nanoseconds(session->last_used_ns_.load());
    session->due_ = std::max(last + session->ttl(), now + absl::Milliseconds(1));
    due_.emplace(session->due_, session);
  }
  return out;
}

void SessionTable::TellOver(const std::vector<SessionPtr>& sessions) {
  if (sessions.empty()) return;
  for (const SessionPtr& session : sessions) {
    for (SessionHost* host : hosts_) host->CloseSession(session->id());
  }
  ActAll();
}

std::vector<std::shared_ptr<SessionWatcher>> SessionTable::Watchers() {
  std::vector<std::shared_ptr<SessionWatcher>> out;
  absl::MutexLock lock(&mu_);
  for (const auto& weak : watchers_) {
    if (auto watcher = weak.lock()) out.push_back(std::move(watcher));
  }
  return out;
}

void SessionTable::ActAll() {
  for (const auto& watcher : Watchers()) watcher->ActOnNotes();
}

void SessionTable::ArmNext() {
  if (due_.empty() || due_.begin()->first >= armed_for_) return;
  armed_for_ = due_.begin()->first;
  const absl::Duration delay = armed_for_ - parts_.clock->SteadyNow();
  parts_.timers->Arm(delay, [weak = std::weak_ptr<Alive>(alive_)] {
    const auto alive = weak.lock();
    if (alive == nullptr) return;
    absl::MutexLock lock(&alive->mu);
    if (alive->table != nullptr) alive->table->OnTimer();
  });
}

void SessionTable::OnTimer() {
  std::vector<SessionPtr> expired;
  {
    absl::MutexLock lock(&mu_);
    // An earlier one may have been armed after this: the later one finds its work done.
    if (parts_.clock->SteadyNow() >= armed_for_) armed_for_ = absl::InfiniteDuration();
    expired = TakeOutDue(kEndedAtOnce);
    ArmNext();
  }
  TellOver(expired);
}

v1::Session SessionTable::Describe(const Session& session, bool all) const {
  v1::Session out = session.opened_;
  out.set_pinned_revision(session.pinned_revision());
  *out.mutable_counters() = session.counters();
  if (session.in_flight_.load() == 0) {
    SetTimestamp(wall_at_zero_ + absl::Nanoseconds(session.last_used_ns_.load()) + session.ttl(),
                 *out.mutable_expire_time());
  }
  if (!all) return out;
  for (v1::LoadedTool& tool : session.loaded_tools()) *out.add_loaded_tools() = std::move(tool);
  for (const SessionHost* host : hosts_) host->DescribeSession(session.id(), out);
  std::sort(out.mutable_instances()->begin(), out.mutable_instances()->end());
  return out;
}

size_t SessionTable::size() const {
  absl::ReaderMutexLock lock(&mu_);
  return sessions_.size();
}

void SessionTable::Drain() {
  absl::MutexLock lock(&mu_);
  draining_ = true;
}

void SessionTable::Shutdown() {
  Drain();
  {
    absl::MutexLock lock(&alive_->mu);
    alive_->table = nullptr;
  }
  absl::MutexLock lock(&mu_);
  watchers_.clear();
}

}  // namespace toolrack
