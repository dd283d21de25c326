#include "registry/search/live_index.h"

#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "registry/name.h"

namespace toolrack {
namespace {

// A search may spend about a millisecond on tidying up; the rest is for the builder.
constexpr size_t kSmallMerge = 1024;
constexpr size_t kAnyMerge = SIZE_MAX;

// The newest definition of each tool that changed; null: it is gone.
using Changes = absl::flat_hash_map<std::string, DefinitionPtr>;

std::shared_ptr<const SearchIndex> Apply(const std::shared_ptr<const SearchIndex>& index,
                                         const Changes& changes, bool quarantined,
                                         size_t max_merge) {
  std::vector<SearchIndex::DocId> gone;
  std::vector<DefinitionPtr> added;
  for (const auto& [name, definition] : changes) {
    SearchIndex::DocId doc = 0;
    const bool there = index->size() > 0 && index->FindByName(name, doc);
    const bool belongs =
        definition != nullptr && definition->quarantined == quarantined && !IsReservedName(name);
    if (there && belongs && index->doc(doc).definition == definition) continue;
    if (there) gone.push_back(doc);
    if (belongs) added.push_back(definition);
  }
  if (gone.empty() && added.empty() && (max_merge != kAnyMerge || !index->NeedsMerge())) {
    return index;
  }
  return index->With(gone, added, max_merge);
}

}  // namespace

struct LiveIndex::State {
  explicit State(const SearchParams& params) {
    indexes.tools = std::make_shared<const SearchIndex>(params);
    indexes.held = indexes.tools;
  }

  absl::Mutex mutex;
  std::unique_ptr<RegistryWatch> watch ABSL_GUARDED_BY(mutex);
  SearchIndexes indexes ABSL_GUARDED_BY(mutex);
  Changes pending ABSL_GUARDED_BY(mutex);
  uint64_t pending_revision ABSL_GUARDED_BY(mutex) = 0;
  size_t being_indexed ABSL_GUARDED_BY(mutex) = 0;
  bool busy ABSL_GUARDED_BY(mutex) = false;  // somebody makes the next indexes
  bool closed ABSL_GUARDED_BY(mutex) = false;
  std::thread builder ABSL_GUARDED_BY(mutex);

  void Drain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (watch == nullptr) return;
    while (const RegistryChangesPtr changes = watch->Next()) {
      for (const RegistryChange& change : changes->changes) {
        if (change.kind == RegistryChange::Kind::kState) continue;
        pending[change.name] = change.entry == nullptr ? nullptr : change.entry->definition;
      }
      pending_revision = changes->revision;
    }
  }

  bool Empty() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return indexes.tools->size() + indexes.held->size() == 0;
  }

  // Indexes what is pending. Lets go of the lock meanwhile.
  void Work(size_t max_merge) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    busy = true;
    Changes changes;
    changes.swap(pending);
    being_indexed = changes.size();
    SearchIndexes next = indexes;
    next.revision = pending_revision;
    mutex.Unlock();
    next.tools = Apply(next.tools, changes, false, max_merge);
    next.held = Apply(next.held, changes, true, max_merge);
    mutex.Lock();
    std::swap(indexes, next);
    being_indexed = 0;
    mutex.Unlock();
    next = {};  // a large index takes a while to let go
    mutex.Lock();
    busy = false;
  }

  // For much work. False: there is no thread to be had.
  bool StartBuilder(const std::shared_ptr<State>& self) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (builder.joinable()) builder.join();  // it has ended, or is about to: it is not busy
    try {
      builder = std::thread([state = self] {
        absl::MutexLock lock(&state->mutex);
        do {
          state->Work(kAnyMerge);
          state->Drain();
        } while (!state->closed && state->pending.size() > kFew);
      });
    } catch (const std::system_error&) {
      return false;
    }
    busy = true;
    return true;
  }

  bool Large() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    return pending.size() > kFew || indexes.tools->NeedsMerge();
  }

  // The registry has changed. On the thread of the writer.
  void Wake(const std::shared_ptr<State>& self) {
    absl::MutexLock lock(&mutex);
    if (closed) return;
    Drain();
    if (!busy && pending.size() > kFew) StartBuilder(self);
  }
};

LiveIndex::LiveIndex(Registry* registry, const SearchParams& params)
    : state_(std::make_shared<State>(params)) {
  const auto wake = [weak = std::weak_ptr<State>(state_)] {
    if (const std::shared_ptr<State> state = weak.lock()) state->Wake(state);
  };
  absl::MutexLock lock(&state_->mutex);
  state_->watch = registry->Watch(0, SIZE_MAX / 2, wake);
  while (state_->watch == nullptr) {
    // The registry does not remember that far back.
    const SnapshotPtr snapshot = registry->snapshot();
    decltype(state_->pending) found;
    snapshot->ForEach("", [&found](const ToolEntryPtr& entry) {
      found[entry->name()] = entry->definition;
      return true;
    });
    state_->pending = std::move(found);
    state_->pending_revision = snapshot->revision();
    state_->watch = registry->Watch(snapshot->revision(), SIZE_MAX / 2, wake);
  }
}

LiveIndex::~LiveIndex() {
  std::unique_ptr<RegistryWatch> watch;
  std::thread builder;
  {
    absl::MutexLock lock(&state_->mutex);
    state_->closed = true;
    watch = std::move(state_->watch);
    builder = std::move(state_->builder);
  }
  if (builder.joinable()) builder.join();
}

SearchIndexes LiveIndex::At(uint64_t definitions_revision) {
  State& state = *state_;
  const absl::Time end = absl::Now() + kPatience;
  absl::MutexLock lock(&state.mutex);
  if (state.indexes.revision < definitions_revision) state.Drain();
  while (state.indexes.revision < definitions_revision) {
    if (state.busy) {
      const absl::Condition idle(
          +[](bool* busy) { return !*busy; }, &state.busy);
      if (state.Empty()) {
        state.mutex.Await(idle);
      } else if (!state.mutex.AwaitWithDeadline(idle, end)) {
        break;
      }
      state.Drain();
    } else if (state.pending.empty()) {
      // Nothing that is searched has changed, or the news of it is still on its way.
      state.indexes.revision = std::max(state.indexes.revision, state.pending_revision);
      break;
    } else if (!state.Empty() && state.pending.size() > kFew && state.StartBuilder(state_)) {
      continue;
    } else {
      state.Work(state.Empty() ? kAnyMerge : kSmallMerge);
      if (!state.busy && state.indexes.tools->NeedsMerge()) state.StartBuilder(state_);
    }
  }
  SearchIndexes out = state.indexes;
  if (out.revision < definitions_revision) {
    out.waiting = state.pending.size() + state.being_indexed;
  }
  return out;
}

}  // namespace toolrack
