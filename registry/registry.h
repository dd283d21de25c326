// The registry: the one truth about which tools there are.
//
// One write verb: Publish(backend, namespace, tools) replaces the whole set of (backend,
// namespace); an empty set withdraws it. Worker attach, MCP list_changed, config reload and
// shutdown are the same operation. Readers take an immutable snapshot and wait for nobody.
#ifndef TOOLRACK_REGISTRY_REGISTRY_H_
#define TOOLRACK_REGISTRY_REGISTRY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "registry/pins.h"
#include "registry/schema/schema.h"
#include "registry/snapshot.h"
#include "registry/tool.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/config.pb.h"
#include "toolrack/v1/worker_service.pb.h"

namespace toolrack {

// What became of a set. Names are bare names, in the order given.
struct PublishReport {
  struct Fault {
    std::string name;   // UTF-8 replaced where it is none
    std::string owner;  // rule `name_taken`: whose it is, "kind:id"
    std::vector<v1::Finding> findings;
  };
  std::vector<std::string> accepted;
  std::vector<Fault> quarantined;
  std::vector<Fault> rejected;
  uint64_t revision = 0;
  // ATOMIC and there was a fault: nothing changed, the old set stays.
  bool refused = false;
};

// One change, as watchers see it.
struct RegistryChange {
  enum class Kind { kAdded, kUpdated, kRemoved, kState };
  Kind kind;
  std::string name;
  // As they are in the snapshots, but without backends and schemas: those must not live as long as
  // the registry remembers changes. Look the name up for a call.
  ToolEntryPtr entry;     // null for kRemoved
  ToolEntryPtr previous;  // null for kAdded
};
// Everything that one revision changed, sorted by name.
struct RegistryChanges {
  uint64_t revision = 0;
  std::vector<RegistryChange> changes;
};
using RegistryChangesPtr = std::shared_ptr<const RegistryChanges>;

// One reader of changes, with a bounded queue of its own. Thread-safe. Dropping it unsubscribes.
class RegistryWatch {
 public:
  virtual ~RegistryWatch() = default;
  // The next revision's changes, or null when there is none yet. Every revision after the start
  // comes exactly once, in order.
  virtual RegistryChangesPtr Next() = 0;
  // True once more changes came than the queue takes: the watch is dead, and Next gives null for
  // ever.
  virtual bool overflowed() const = 0;
};

struct RegistryOptions {
  v1::LimitsConfig limits;  // 0 is the default
  v1::ValidationConfig validation;
  // Config's tool settings; later entries win.
  std::vector<v1::ToolConfig> tools;
  // Compiled schemas kept, in bytes.
  size_t schema_cache_bytes = 64 << 20;
  // The definitions that tools are known by; outlives the registry. Null: nobody looks.
  Pins* pins = nullptr;
  // Whether this principal may register under this namespace; empty: everybody may. Not asked for
  // the daemon's own tools. Thread-safe.
  std::function<absl::Status(absl::string_view principal, absl::string_view ns)> may_register;
};

struct ReaderSlot;

// Thread-safe. Calls Backend::available(), kind(), id() and principal() with its lock held: they
// must not wait for anything that waits for the registry. A thread holds the snapshot that it last
// looked at, with the backends in it, until it looks again or the registry ends; the registry ends
// when nobody reads it any more.
class Registry {
 public:
  explicit Registry(RegistryOptions options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Names this run: 16 hex digits. Revisions of different epochs cannot be compared.
  const std::string& epoch() const;

  // The newest snapshot: a thread-local copy, refreshed when a version counter moved. No lock in
  // the common case.
  SnapshotPtr snapshot() const;
  // The same without touching the count; valid until this thread's next call of snapshot() or
  // Peek().
  const Snapshot& Peek() const;

  // Replaces the whole set of (backend's kind, principal and id; namespace). Checks every
  // definition (compiles schemas, outside the lock): CPU work of some 0.1 ms a tool; never call it
  // on a gRPC thread.
  //
  // `tools` hold bare names. Names: rejected when illegal, repeated within the set, or taken by
  // another owner (NAME_TAKEN naming it; the same definition digest of the same principal makes a
  // replica instead). Definitions: quarantined under BEST_EFFORT when faulty. Under ATOMIC every
  // fault goes to `rejected` and nothing changes. Fails as a whole (status) only for a bad
  // namespace, a namespace of another principal, or a limit on the number of tools.
  //
  // A set published by another Backend object of the same kind, principal and id takes over:
  // definitions that are equal keep their revision, and readers see no change but the route.
  //
  // A definition that is not the one by which its tool is known (pins) gets a finding, and is
  // quarantined when pins are enforced, whatever the mode.
  absl::StatusOr<PublishReport> Publish(const std::shared_ptr<Backend>& backend,
                                        absl::string_view ns, std::vector<v1::Tool> tools,
                                        v1::PublishMode mode);
  // Backend::available() changed: its tools become UNAVAILABLE, or ACTIVE again, unless a replica
  // says otherwise.
  void RefreshState(const std::shared_ptr<Backend>& backend);
  // Withdraws every set that still belongs to this very object (not those that a successor has
  // taken over).
  void Remove(const std::shared_ptr<Backend>& backend);
  // The namespaces and the number of tools that belong to this very object.
  std::vector<std::pair<std::string, size_t>> SetsOf(const std::shared_ptr<Backend>& backend) const;

  // DISABLED or back. By name: TOOL_NOT_FOUND; it outlives the tool's withdrawal and goes before
  // category and configuration. By category: also tools that come later; switching one off takes
  // back what was switched on by name in it. Gives the tools that changed.
  absl::StatusOr<std::vector<ToolEntryPtr>> SetToolEnabled(absl::string_view name, bool enabled);
  std::vector<ToolEntryPtr> SetCategoryEnabled(absl::string_view category, bool enabled);

  // Whoever resumes a watch from before this gets a whole snapshot, and who has prompts sees that
  // they are old: for changes of who may see what, which no change of a tool tells of.
  void ForgetHistory();

  // Lifts the quarantine of a definition that was quarantined because it changed, and makes it the
  // known one. TOOL_NOT_FOUND; DEFINITION_CHANGED when it has another digest by now.
  absl::StatusOr<ToolEntryPtr> ApproveTool(absl::string_view name, absl::string_view digest);

  // Subscribes to all changes after `from_revision`. Null when the registry no longer remembers
  // that far back, or never was there: take a snapshot and watch from its revision. `wake` is
  // called, on the writer's thread and without locks held, whenever something was queued or the
  // watch overflowed; it must be short and must not publish. It may still run once while, or just
  // after, the watch is dropped: let it hold what it touches weakly or shared, but not the watch
  // itself. What was missed before the start does not count towards `max_backlog`.
  std::unique_ptr<RegistryWatch> Watch(uint64_t from_revision, size_t max_backlog,
                                       std::function<void()> wake);

  // At most `max` names near to `name` that are not quarantined and visible, best first.
  std::vector<std::string> Nearest(absl::string_view name, size_t max = 3,
                                   const ToolVisibility& visible = {}) const;

 private:
  friend class Transaction;
  struct State;
  // This thread's copy, brought up to date.
  const SnapshotPtr& Refreshed() const;
  ReaderSlot* SlotOfThisThread() const;

  std::unique_ptr<State> state_;
};

// A page of ListTools, from one snapshot, of what is visible. Reserved tools (`__…`) are listed
// only for a prefix that begins so. Fails with REQUEST_INVALID on a page token that is not ours.
absl::StatusOr<v1::ListToolsResponse> ListTools(const Registry& registry,
                                                const v1::ListToolsRequest& request,
                                                const ToolVisibility& visible = {});

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_REGISTRY_H_
