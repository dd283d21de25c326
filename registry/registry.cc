#include "registry/registry.h"

#include <algorithm>
#include <utility>

#include "registry/base/random.h"
#include "registry/name.h"
#include "registry/registry_state.h"

namespace toolrack {
namespace {

constexpr size_t kEpochDigits = 16;

uint64_t NextRegistryId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

// The slots of one thread: one for each registry that it read. Few, so a scan is fastest.
struct ThreadSlots {
  struct Owned {
    uint64_t registry;
    std::shared_ptr<ReaderSlot> slot;
  };
  std::vector<Owned> slots;
};

ThreadSlots& SlotsOfThisThread() {
  thread_local ThreadSlots slots;
  return slots;
}

}  // namespace

Registry::State::State(RegistryOptions options)
    : limits(WithDefaults(std::move(options.limits))),
      pins(options.pins),
      may_register(std::move(options.may_register)),
      epoch(RandomId().substr(0, kEpochDigits)),
      id(NextRegistryId()),
      checker(limits, options.validation, std::move(options.tools)),
      schemas(std::make_shared<SchemaPool>(options.schema_cache_bytes,
                                           SchemaOptionsOf(limits, options.validation))),
      current(SnapshotBuilder::Empty()) {}

Registry::Registry(RegistryOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Registry::~Registry() {
  // Threads live longer than registries: leave nothing of this one with them.
  absl::MutexLock lock(&state_->mutex);
  for (const auto& slot : state_->readers) {
    slot->snapshot = nullptr;
    slot->registry_gone.store(true, std::memory_order_release);
  }
}

const std::string& Registry::epoch() const { return state_->epoch; }

const SnapshotPtr& Registry::Refreshed() const {
  // What this thread read last. Ids are never used twice, so the slot of another registry, which
  // may be gone, is not touched.
  struct Last {
    uint64_t registry = 0;
    ReaderSlot* slot = nullptr;
  };
  thread_local constinit Last last;
  if (last.registry != state_->id) last = {state_->id, SlotOfThisThread()};
  ReaderSlot* slot = last.slot;
  if (slot->version == state_->version.load(std::memory_order_acquire)) return slot->snapshot;
  SnapshotPtr old;  // may be the last reference, and is dropped without the lock
  absl::MutexLock lock(&state_->mutex);
  old = std::exchange(slot->snapshot, state_->current);
  slot->version = state_->version.load(std::memory_order_relaxed);
  return slot->snapshot;
}

ReaderSlot* Registry::SlotOfThisThread() const {
  std::vector<ThreadSlots::Owned>& slots = SlotsOfThisThread().slots;
  for (const ThreadSlots::Owned& owned : slots) {
    if (owned.registry == state_->id) return owned.slot.get();
  }
  slots.erase(std::remove_if(slots.begin(), slots.end(),
                             [](const ThreadSlots::Owned& owned) {
                               return owned.slot->registry_gone.load(std::memory_order_acquire);
                             }),
              slots.end());
  auto made = std::make_shared<ReaderSlot>();
  slots.push_back({state_->id, made});
  absl::MutexLock lock(&state_->mutex);
  // Slots of threads that ended are ours alone.
  auto& readers = state_->readers;
  readers.erase(std::remove_if(readers.begin(), readers.end(),
                               [](const auto& reader) { return reader.use_count() == 1; }),
                readers.end());
  readers.push_back(made);
  return made.get();
}

SnapshotPtr Registry::snapshot() const { return Refreshed(); }

const Snapshot& Registry::Peek() const { return *Refreshed(); }

std::vector<std::pair<std::string, size_t>> Registry::SetsOf(
    const std::shared_ptr<Backend>& backend) const {
  std::vector<std::pair<std::string, size_t>> out;
  absl::MutexLock lock(&state_->writer);
  const auto found = state_->sets.find(KeyOf(*backend));
  if (found == state_->sets.end()) return out;
  for (const auto& [ns, set] : found->second) {
    if (set.backend == backend) out.emplace_back(ns, set.names.size());
  }
  return out;
}

std::vector<std::string> Registry::Nearest(absl::string_view name, size_t max,
                                           const ToolVisibility& visible) const {
  const SnapshotPtr tools = snapshot();
  std::vector<absl::string_view> names;
  names.reserve(tools->size());
  tools->ForEach("", [&names, &visible](const ToolEntryPtr& entry) {
    if (entry->state != v1::TOOL_STATE_QUARANTINED && (!visible || visible(*entry->definition))) {
      names.push_back(entry->name());
    }
    return true;
  });
  return NearestNames(name, names, max);
}

}  // namespace toolrack
