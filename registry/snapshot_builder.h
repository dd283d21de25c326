// Makes the next snapshot out of the last one, copying only what changes.
#ifndef TOOLRACK_REGISTRY_SNAPSHOT_BUILDER_H_
#define TOOLRACK_REGISTRY_SNAPSHOT_BUILDER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "registry/snapshot.h"

namespace toolrack {

class SnapshotBuilder {
 public:
  // One place: `before` and `after` have the same name; null: not there.
  struct Edit {
    absl::string_view name;
    ToolEntryPtr before;
    ToolEntryPtr after;
  };

  // `edits` are sorted by name, one for each name; `before` is what `base` has.
  static std::shared_ptr<const Snapshot> Apply(const Snapshot& base, const std::vector<Edit>& edits,
                                               uint64_t revision, uint64_t definitions_revision);
  static std::shared_ptr<const Snapshot> Empty();
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SNAPSHOT_BUILDER_H_
