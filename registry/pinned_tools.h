// The definitions of one snapshot without what runs them: what a session's prompts are made from,
// however long it lives.
#ifndef TOOLRACK_REGISTRY_PINNED_TOOLS_H_
#define TOOLRACK_REGISTRY_PINNED_TOOLS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "registry/snapshot.h"

namespace toolrack {

// A snapshot would keep backends that are gone; this keeps definitions, and shares with the one
// before it all parts that did not change, so that many sessions over a busy registry cost little.
// Quarantined tools are left out. Immutable, thread-safe.
class PinnedTools {
 public:
  struct Item {
    std::shared_ptr<const ToolDefinition> definition;
    bool disabled = false;
    bool operator==(const Item& other) const {
      return definition == other.definition && disabled == other.disabled;
    }
  };

  // `before` may be null. Linear in the number of tools.
  static std::shared_ptr<const PinnedTools> Of(const Snapshot& snapshot, const PinnedTools* before);

  uint64_t revision() const { return revision_; }
  uint64_t definitions_revision() const { return definitions_revision_; }
  // Null when there is none.
  const Item* Find(absl::string_view name) const;
  // Sorted by canonical name.
  std::vector<const Item*> Sorted() const;

 private:
  static constexpr size_t kParts = 64;
  using Part = std::vector<Item>;  // sorted by name
  static size_t PartOf(absl::string_view name);

  std::array<std::shared_ptr<const Part>, kParts> parts_;
  uint64_t revision_ = 0;
  uint64_t definitions_revision_ = 0;
};
using PinnedToolsPtr = std::shared_ptr<const PinnedTools>;

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_PINNED_TOOLS_H_
