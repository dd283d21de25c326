#include <algorithm>
#include <utility>

#include "registry/registry_state.h"

namespace toolrack {
namespace {

// What watchers get: without the way to the backends, which must not live as long as the history.
ToolEntryPtr WithoutRoute(const ToolEntryPtr& entry) {
  if (entry == nullptr) return nullptr;
  auto copy = std::make_shared<ToolEntry>(*entry);
  copy->backends.clear();
  copy->schemas = nullptr;
  return copy;
}

RegistryChange::Kind KindOf(const ToolEntry* before, const ToolEntry* after) {
  using Kind = RegistryChange::Kind;
  if (before == nullptr) return Kind::kAdded;
  if (after == nullptr) return Kind::kRemoved;
  return before->definition == after->definition ? Kind::kState : Kind::kUpdated;
}

bool LooksTheSame(const ToolEntry* before, const ToolEntry* after) {
  if (before == nullptr || after == nullptr) return before == after;
  return before->definition == after->definition && before->state == after->state;
}

}  // namespace

BackendKey KeyOf(const Backend& backend) {
  return {backend.kind(), backend.principal(), backend.id()};
}

bool Registry::State::Disabled(const ToolDefinition& definition) const {
  const auto named = name_switches.find(definition.tool.name());
  if (named != name_switches.end()) return !named->second;
  for (const std::string& category : definition.tool.categories()) {
    if (categories_off.contains(category)) return true;
  }
  return checker.DisabledByConfig(definition.tool.name());
}

v1::ToolState Registry::State::StateOf(const ToolEntry& entry) const {
  if (entry.definition->quarantined) return v1::TOOL_STATE_QUARANTINED;
  if (Disabled(*entry.definition)) return v1::TOOL_STATE_DISABLED;
  for (const auto& backend : entry.backends) {
    if (backend->available()) return v1::TOOL_STATE_ACTIVE;
  }
  return v1::TOOL_STATE_UNAVAILABLE;
}

Transaction::Transaction(Registry::State* state) : state_(state) {
  state_->writer.Lock();
  absl::MutexLock lock(&state_->mutex);
  base_ = state_->current;
}

Transaction::~Transaction() {
  state_->writer.Unlock();
  for (const auto& queue : to_wake_) {
    if (queue->wake) queue->wake();
  }
}

ToolEntryPtr Transaction::Find(absl::string_view name) const {
  const auto edited = edits_.find(name);
  return edited != edits_.end() ? edited->second.after : base_->Get(name);
}

void Transaction::Put(std::shared_ptr<ToolEntry> entry) {
  state_->writer.AssertHeld();
  entry->state = state_->StateOf(*entry);
  const auto [edit, is_new] = edits_.try_emplace(entry->name());
  if (is_new) edit->second.before = base_->Get(entry->name());
  edit->second.after = std::move(entry);
}

void Transaction::Erase(absl::string_view name) {
  const auto [edit, is_new] = edits_.try_emplace(std::string(name));
  if (is_new) edit->second.before = base_->Get(name);
  edit->second.after = nullptr;
}

void Transaction::Withdraw(absl::string_view name, const Backend* backend) {
  const ToolEntryPtr entry = Find(name);
  if (entry == nullptr) return;
  auto next = std::make_shared<ToolEntry>(*entry);
  auto& backends = next->backends;
  backends.erase(std::remove_if(backends.begin(), backends.end(),
                                [backend](const auto& b) { return b.get() == backend; }),
                 backends.end());
  if (backends.empty()) {
    Erase(name);
  } else {
    Put(std::move(next));
  }
}

ToolEntryPtr Transaction::Refresh(absl::string_view name) {
  state_->writer.AssertHeld();
  const ToolEntryPtr entry = Find(name);
  if (entry == nullptr || state_->StateOf(*entry) == entry->state) return nullptr;
  Put(std::make_shared<ToolEntry>(*entry));
  return Find(name);
}

void Transaction::KeepUntilUnlocked(std::shared_ptr<const void> garbage) {
  garbage_.push_back(std::move(garbage));
}

uint64_t Transaction::Commit() {
  state_->writer.AssertHeld();
  auto changes = std::make_shared<RegistryChanges>();
  std::vector<SnapshotBuilder::Edit> edits;
  bool definitions = false;
  for (const auto& [name, edit] : edits_) {
    if (edit.before == edit.after) continue;
    edits.push_back({name, edit.before, edit.after});
    if (LooksTheSame(edit.before.get(), edit.after.get())) continue;
    const RegistryChange::Kind kind = KindOf(edit.before.get(), edit.after.get());
    definitions |= kind != RegistryChange::Kind::kState;
    changes->changes.push_back({kind, name, WithoutRoute(edit.after), WithoutRoute(edit.before)});
  }
  if (edits.empty()) return base_->revision();

  // A change of routes alone is a new snapshot of the same revision.
  const uint64_t revision = changes->changes.empty() ? base_->revision() : next_revision();
  Publish(SnapshotBuilder::Apply(*base_, edits, revision,
                                 definitions ? revision : base_->definitions_revision()));
  if (!changes->changes.empty()) {
    changes->revision = revision;
    Remember(std::move(changes));
  }
  return revision;
}

void Transaction::BeginAnew() {
  state_->writer.AssertHeld();
  const uint64_t revision = next_revision();
  Publish(SnapshotBuilder::Apply(*base_, {}, revision, revision));
  for (RegistryChangesPtr& changes : state_->history) garbage_.push_back(std::move(changes));
  state_->history.clear();
  state_->history_changes = 0;
  state_->history_floor = revision;
}

void Transaction::Publish(SnapshotPtr next) {
  {
    absl::MutexLock lock(&state_->mutex);
    state_->current.swap(next);
    state_->version.fetch_add(1, std::memory_order_release);
    // What threads that ended last saw must not live on.
    auto& readers = state_->readers;
    const auto ended = std::partition(readers.begin(), readers.end(),
                                      [](const auto& reader) { return reader.use_count() > 1; });
    garbage_.insert(garbage_.end(), ended, readers.end());
    readers.erase(ended, readers.end());
  }
  garbage_.push_back(std::move(next));
}

void Transaction::Remember(RegistryChangesPtr changes) {
  state_->writer.AssertHeld();
  auto& watches = state_->watches;
  watches.erase(std::remove_if(watches.begin(), watches.end(),
                               [&](const std::weak_ptr<WatchQueue>& weak) {
                                 std::shared_ptr<WatchQueue> queue = weak.lock();
                                 if (queue == nullptr) return true;
                                 if (queue->Offer(changes)) {
                                   to_wake_.push_back(std::move(queue));
                                 } else {
                                   garbage_.push_back(std::move(queue));
                                 }
                                 return false;
                               }),
                watches.end());

  state_->history_changes += changes->changes.size();
  state_->history.push_back(std::move(changes));
  while (state_->history_changes > state_->limits.watch_history()) {
    RegistryChangesPtr& oldest = state_->history.front();
    state_->history_changes -= oldest->changes.size();
    state_->history_floor = oldest->revision;
    garbage_.push_back(std::move(oldest));
    state_->history.pop_front();
  }
}

}  // namespace toolrack
