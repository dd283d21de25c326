// Compiled schemas: made on first use, kept within a bound over all tools.
#ifndef TOOLRACK_REGISTRY_SCHEMA_CACHE_H_
#define TOOLRACK_REGISTRY_SCHEMA_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "registry/schema/schema.h"
#include "registry/snapshot.h"

namespace toolrack {

class SchemaCache;

// The bound that all caches of one registry share. When it is passed, schemas that were not used
// since the last round go (second chance). Thread-safe.
class SchemaPool {
 public:
  SchemaPool(size_t max_bytes, SchemaOptions options)
      : max_bytes_(max_bytes), options_(std::move(options)) {}

  const SchemaOptions& options() const { return options_; }
  size_t bytes() const;

 private:
  friend class SchemaCache;
  struct Kept {
    std::weak_ptr<SchemaCache> cache;
    size_t slot;
    size_t bytes;
  };
  void Add(Kept kept);

  const size_t max_bytes_;
  const SchemaOptions options_;
  mutable absl::Mutex mutex_;
  std::vector<Kept> kept_ ABSL_GUARDED_BY(mutex_);
  size_t hand_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The two schemas of one definition. Thread-safe. Whoever got a schema keeps it alive.
class SchemaCache : public std::enable_shared_from_this<SchemaCache> {
 public:
  SchemaCache(std::shared_ptr<SchemaPool> pool, std::shared_ptr<const ToolDefinition> definition)
      : pool_(std::move(pool)), definition_(std::move(definition)) {}

  // Compiles when it must: some 0.1 ms. Null when there is no such schema, or it has faults.
  std::shared_ptr<const Schema> Input() { return Get(0); }
  std::shared_ptr<const Schema> Output() { return Get(1); }

 private:
  friend class SchemaPool;
  struct Slot {
    absl::Mutex mutex;
    std::shared_ptr<const Schema> schema ABSL_GUARDED_BY(mutex);
    // Two threads that need it at once compile it once.
    absl::Mutex compiling ABSL_ACQUIRED_BEFORE(mutex);
    std::atomic<bool> used{false};
  };
  std::shared_ptr<const Schema> Get(size_t slot);
  std::shared_ptr<const Schema> Peek(Slot& slot);

  const std::shared_ptr<SchemaPool> pool_;
  const std::shared_ptr<const ToolDefinition> definition_;
  std::array<Slot, 2> slots_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SCHEMA_CACHE_H_
