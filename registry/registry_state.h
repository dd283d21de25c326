// The inside of Registry, shared by its source files. Nothing else includes this.
#ifndef TOOLRACK_REGISTRY_REGISTRY_STATE_H_
#define TOOLRACK_REGISTRY_REGISTRY_STATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/synchronization/mutex.h"
#include "registry/checks.h"
#include "registry/registry.h"
#include "registry/schema_cache.h"
#include "registry/snapshot_builder.h"

namespace toolrack {

// One thread's copy of the newest snapshot of one registry. Only that thread touches it, apart from
// ~Registry, by whose contract nobody reads any more.
struct ReaderSlot {
  uint64_t version = 0;
  SnapshotPtr snapshot;
  std::atomic<bool> registry_gone{false};
};

// What is queued for one watch. The registry holds it weakly: whoever drops the watch drops it.
struct WatchQueue {
  absl::Mutex mutex;
  std::deque<RegistryChangesPtr> waiting ABSL_GUARDED_BY(mutex);
  // Changes that wait, without those that the watch began with.
  size_t backlog ABSL_GUARDED_BY(mutex) = 0;
  size_t began_with ABSL_GUARDED_BY(mutex) = 0;  // revisions at the front that do not count
  bool overflowed ABSL_GUARDED_BY(mutex) = false;
  size_t max_backlog = 0;
  std::function<void()> wake;

  // Whether something came of it that the reader should look at.
  bool Offer(const RegistryChangesPtr& changes);
};

// Who published: replicas differ in it, a take-over does not.
using BackendKey = std::tuple<std::string, std::string, std::string>;  // kind, principal, id
BackendKey KeyOf(const Backend& backend);

struct Registry::State {
  explicit State(RegistryOptions options);

  // The tools of one backend in one namespace; never empty.
  struct Set {
    std::shared_ptr<Backend> backend;
    absl::btree_set<std::string> names;  // canonical
  };
  struct NamespaceOwner {
    std::string principal;
    std::string first;  // "kind:id"
    size_t sets = 0;
  };

  const v1::LimitsConfig limits;  // defaults filled in
  Pins* const pins;               // may be null
  const std::function<absl::Status(absl::string_view, absl::string_view)> may_register;
  const std::string epoch;
  const uint64_t id;  // of this Registry in this process; never used twice
  DefinitionChecker checker;
  const std::shared_ptr<SchemaPool> schemas;

  // Writers. Held while the next snapshot is made, never while anything foreign runs, apart from
  // Backend::available() and the names, which do not wait.
  absl::Mutex writer;
  std::map<BackendKey, absl::btree_map<std::string, Set>> sets ABSL_GUARDED_BY(writer);
  absl::flat_hash_map<std::string, NamespaceOwner> namespaces ABSL_GUARDED_BY(writer);
  absl::flat_hash_map<std::string, bool> name_switches ABSL_GUARDED_BY(writer);
  absl::flat_hash_set<std::string> categories_off ABSL_GUARDED_BY(writer);
  std::deque<RegistryChangesPtr> history ABSL_GUARDED_BY(writer);
  size_t history_changes ABSL_GUARDED_BY(writer) = 0;
  // Everything after this revision is in `history`.
  uint64_t history_floor ABSL_GUARDED_BY(writer) = 0;
  std::vector<std::weak_ptr<WatchQueue>> watches ABSL_GUARDED_BY(writer);

  // The newest snapshot. `mutex` is held for the copy of a pointer; readers take it only after
  // `version` moved.
  mutable absl::Mutex mutex;
  SnapshotPtr current ABSL_GUARDED_BY(mutex);
  std::atomic<uint64_t> version{1};
  mutable std::vector<std::shared_ptr<ReaderSlot>> readers ABSL_GUARDED_BY(mutex);

  // Takes the set out of `sets` and `namespaces`.
  void ForgetSet(const BackendKey& key, const std::string& ns)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer);
  bool Disabled(const ToolDefinition& definition) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer);
  v1::ToolState StateOf(const ToolEntry& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(writer);
};

// One change of the registry. Holds the writer's lock from construction to Commit or destruction;
// frees what it replaced, and wakes watchers, after that.
class ABSL_SCOPED_LOCKABLE Transaction {
 public:
  explicit Transaction(Registry::State* state) ABSL_EXCLUSIVE_LOCK_FUNCTION(state->writer);
  ~Transaction() ABSL_UNLOCK_FUNCTION();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  const Snapshot& base() const { return *base_; }
  // The revision that a change of this transaction will have.
  uint64_t next_revision() const { return base_->revision() + 1; }
  // As this transaction has made it so far; null when there is none.
  ToolEntryPtr Find(absl::string_view name) const;
  // Puts an entry; its state is worked out here.
  void Put(std::shared_ptr<ToolEntry> entry);
  void Erase(absl::string_view name);
  // Takes `backend` out of the tool; the last one takes the tool along.
  void Withdraw(absl::string_view name, const Backend* backend);
  // Works the state of the tool out anew. The entry, when it changed, else null.
  ToolEntryPtr Refresh(absl::string_view name);
  // Keeps something alive until the lock is gone.
  void KeepUntilUnlocked(std::shared_ptr<const void> garbage);

  // Puts the new snapshot in place, if anything changed. The newest revision.
  uint64_t Commit();
  // Instead of Commit: the same tools by a new revision, and no changes that lead to it.
  void BeginAnew();

 private:
  struct Edit {
    ToolEntryPtr before;
    ToolEntryPtr after;
  };
  void Publish(SnapshotPtr next);
  void Remember(RegistryChangesPtr changes);

  Registry::State* const state_;
  SnapshotPtr base_;
  absl::btree_map<std::string, Edit> edits_;
  std::vector<std::shared_ptr<WatchQueue>> to_wake_;
  std::vector<std::shared_ptr<const void>> garbage_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_REGISTRY_STATE_H_
