// The index of a registry that changes while it is searched.
#ifndef TOOLRACK_REGISTRY_SEARCH_LIVE_INDEX_H_
#define TOOLRACK_REGISTRY_SEARCH_LIVE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "registry/registry.h"
#include "registry/search/index.h"

namespace toolrack {

// What a search holds. Immutable.
struct SearchIndexes {
  std::shared_ptr<const SearchIndex> tools;
  std::shared_ptr<const SearchIndex> held;  // the quarantined ones
  uint64_t revision = 0;                    // of the registry
  // Tools that changed since and are being indexed; for messages.
  size_t waiting = 0;
};

// Follows the registry's changes. Some 20 µs for a tool: a few are indexed by the search that needs
// them, many on a thread of their own that starts when they come and ends with them, while searches
// go on with what there was. A search waits for tools that were published before it began, but at
// most kPatience, unless there is nothing to search yet. Thread-safe.
class LiveIndex {
 public:
  LiveIndex(Registry* registry, const SearchParams& params);  // outlives this
  ~LiveIndex();
  LiveIndex(const LiveIndex&) = delete;
  LiveIndex& operator=(const LiveIndex&) = delete;

  // What is indexed of this revision of definitions, or of a later one.
  SearchIndexes At(uint64_t definitions_revision);

  // So many changed tools are indexed by the next search.
  static constexpr size_t kFew = 128;
  static constexpr absl::Duration kPatience = absl::Milliseconds(200);

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_LIVE_INDEX_H_
