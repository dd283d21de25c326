#include "registry/watch_feed.h"

#include <utility>

#include "registry/base/errors.h"
#include "registry/name.h"

namespace toolrack {

WatchFeed::WatchFeed(Registry* registry, const v1::WatchToolsRequest& request, size_t max_backlog,
                     std::function<void()> wake, ToolVisibility visible)
    : registry_(registry),
      filter_(request.categories(), request.namespaces()),
      visible_(std::move(visible)),
      max_backlog_(max_backlog) {
  Subscribe(request, std::move(wake));
}

void WatchFeed::Subscribe(const v1::WatchToolsRequest& request, std::function<void()> wake) {
  if (request.epoch().empty()) return StartSnapshot("initial", std::move(wake));
  if (request.epoch() != registry_->epoch()) return StartSnapshot("epoch_changed", std::move(wake));
  // Read first: what comes between the two is told after `synced`.
  sync_at_ = registry_->Peek().revision();
  revision_ = request.from_revision();
  watch_ = registry_->Watch(request.from_revision(), max_backlog_, wake);
  if (watch_ == nullptr) StartSnapshot("revision_too_old", std::move(wake));
}

void WatchFeed::StartSnapshot(const char* reason, std::function<void()> wake) {
  reset_reason_ = reason;
  phase_ = Phase::kReset;
  revision_ = 0;
  // Fails only when more than the whole history was written between the two calls.
  do {
    snapshot_ = registry_->snapshot();
    watch_ = registry_->Watch(snapshot_->revision(), max_backlog_, wake);
  } while (watch_ == nullptr);
  sync_at_ = snapshot_->revision();
}

bool WatchFeed::Visible(const ToolEntryPtr& entry) const {
  return entry != nullptr && entry->state != v1::TOOL_STATE_QUARANTINED &&
         filter_.Matches(*entry) && !IsReservedName(entry->name()) &&
         (!visible_ || visible_(*entry->definition));
}

absl::StatusOr<std::optional<v1::WatchToolsResponse>> WatchFeed::Next() {
  if (phase_ == Phase::kReset) {
    phase_ = Phase::kSnapshot;
    v1::WatchToolsResponse event;
    event.set_epoch(registry_->epoch());
    event.mutable_reset()->set_reason(reset_reason_);
    return event;
  }
  if (phase_ == Phase::kSnapshot) return NextOfSnapshot();

  while (true) {
    if (changes_ == nullptr) {
      changes_ = watch_->Next();
      if (changes_ == nullptr && watch_->overflowed()) {
        return SlowReader("limits.max_watch_backlog", max_backlog_);
      }
      at_ = changes_ == nullptr ? 0 : NextVisible(0);
    }
    if (sync_at_.has_value() && (changes_ == nullptr || changes_->revision > *sync_at_)) {
      return Synced();
    }
    if (changes_ == nullptr) return std::nullopt;
    if (at_ == changes_->changes.size()) {
      revision_ = changes_->revision;
      changes_ = nullptr;
      continue;
    }
    v1::WatchToolsResponse event = EventOf(changes_->changes[at_]);
    at_ = NextVisible(at_ + 1);
    event.set_revision(at_ == changes_->changes.size() ? changes_->revision : revision_);
    return event;
  }
}

v1::WatchToolsResponse WatchFeed::NextOfSnapshot() {
  v1::WatchToolsResponse event;
  snapshot_->ForEach(told_up_to_, [&](const ToolEntryPtr& entry) {
    told_up_to_ = entry->name();
    if (!Visible(entry)) return true;
    event.set_epoch(registry_->epoch());
    *event.mutable_added() = entry->ToProto(v1::TOOL_VIEW_FULL);
    return false;
  });
  if (event.has_added()) return event;
  phase_ = Phase::kChanges;
  snapshot_ = nullptr;
  return Synced();
}

v1::WatchToolsResponse WatchFeed::Synced() {
  v1::WatchToolsResponse event;
  event.set_epoch(registry_->epoch());
  event.mutable_synced();
  revision_ = *sync_at_;
  event.set_revision(revision_);
  sync_at_ = std::nullopt;
  return event;
}

size_t WatchFeed::NextVisible(size_t from) const {
  while (from < changes_->changes.size() && !Visible(changes_->changes[from].entry) &&
         !Visible(changes_->changes[from].previous)) {
    ++from;
  }
  return from;
}

v1::WatchToolsResponse WatchFeed::EventOf(const RegistryChange& change) const {
  v1::WatchToolsResponse event;
  event.set_epoch(registry_->epoch());
  const bool before = Visible(change.previous), after = Visible(change.entry);
  if (!after) {
    event.mutable_removed()->set_name(change.name);
  } else if (!before) {
    *event.mutable_added() = change.entry->ToProto(v1::TOOL_VIEW_FULL);
  } else if (change.kind == RegistryChange::Kind::kState) {
    event.mutable_state()->set_name(change.name);
    event.mutable_state()->set_state(change.entry->state);
  } else {
    *event.mutable_updated() = change.entry->ToProto(v1::TOOL_VIEW_FULL);
  }
  return event;
}

}  // namespace toolrack
