// What readers of the registry hold: an immutable picture of all tools at one revision.
#ifndef TOOLRACK_REGISTRY_SNAPSHOT_H_
#define TOOLRACK_REGISTRY_SNAPSHOT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/schema/schema.h"
#include "registry/tool.h"

namespace toolrack {

class SchemaCache;

// What the configuration says of a tool that is no part of its definition. 0: what holds for all.
struct ToolSettings {
  uint64_t result_cap_bytes = 0;
  absl::Duration cache_ttl;
};

// A definition as registered: never changes. Shared by the entries of all revisions that have it.
struct ToolDefinition {
  // Output-only fields filled in, apart from `state`, which is the entry's.
  v1::Tool tool;
  std::string bare_name;
  std::string owner_principal;
  std::string owner_id;  // "kind:id" of the backend that registered it first
  // It has a finding of severity ERROR.
  bool quarantined = false;
  bool openapi = false;  // its schemas are read as OpenAPI 3.0
  ToolSettings settings;
  // A note of HookSet: the version of the set in which no hook concerns this tool.
  mutable std::atomic<uint64_t> unhooked_at{0};
};

// One tool in one snapshot. Immutable, thread-safe. Always held by shared pointers.
class ToolEntry : public std::enable_shared_from_this<ToolEntry> {
 public:
  std::shared_ptr<const ToolDefinition> definition;
  v1::ToolState state = v1::TOOL_STATE_ACTIVE;
  // Replicas, at least one. All have this definition.
  absl::InlinedVector<std::shared_ptr<Backend>, 1> backends;
  // Compiles on first use, remembers within a bound. Null schema: the tool has none, or it is
  // quarantined.
  std::shared_ptr<SchemaCache> schemas;

  const std::string& name() const { return definition->tool.name(); }
  // The compiled schemas of this definition; null when it cannot be compiled (quarantined) or, for
  // the output, is absent.
  std::shared_ptr<const Schema> InputSchema() const;
  std::shared_ptr<const Schema> OutputSchema() const;
  // The definition with `state`, trimmed to the view.
  v1::Tool ToProto(v1::ToolView view) const;
};
using ToolEntryPtr = std::shared_ptr<const ToolEntry>;

// All tools at one revision. Two levels, so that publishing one tool copies a small part: hash
// shards for look-up, sorted blocks for listing. Immutable, thread-safe.
class Snapshot {
 public:
  // About the square root of 100,000: a change copies the table of shards and one shard.
  static constexpr size_t kShards = 256;
  static constexpr size_t kBlock = 256;

  // Null when there is none. O(1).
  const ToolEntry* Find(absl::string_view canonical) const;
  ToolEntryPtr Get(absl::string_view canonical) const;

  // Calls `visit` for each entry in order of canonical name, from the first one that is > `after`
  // (>= when `after` is empty), until it returns false.
  void ForEach(absl::string_view after,
               const std::function<bool(const ToolEntryPtr&)>& visit) const;

  // All tools, and those of them that are quarantined.
  size_t size() const { return size_; }
  size_t quarantined() const { return quarantined_; }
  uint64_t revision() const { return revision_; }
  uint64_t definitions_revision() const { return definitions_revision_; }

 private:
  friend class SnapshotBuilder;
  // An entry's own name and its hash: so that copying a shard looks at nothing outside it.
  struct Key {
    size_t hash;
    absl::string_view name;
    bool operator==(const Key& other) const { return hash == other.hash && name == other.name; }
  };
  struct KeyHash {
    size_t operator()(const Key& key) const { return key.hash; }
  };
  // The entries are owned by the blocks, which hold the same ones.
  using Shard = absl::flat_hash_map<Key, const ToolEntry*, KeyHash>;
  using Block = std::vector<ToolEntryPtr>;  // sorted, 1 to 2 * kBlock entries

  static Key KeyOf(absl::string_view name);
  static size_t ShardOf(const Key& key) { return key.hash >> 48 & (kShards - 1); }

  // Null shards are empty.
  std::array<std::shared_ptr<const Shard>, kShards> shards_;
  std::vector<std::shared_ptr<const Block>> blocks_;  // sorted by first name
  size_t size_ = 0;
  size_t quarantined_ = 0;
  uint64_t revision_ = 0;
  uint64_t definitions_revision_ = 0;
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SNAPSHOT_H_
