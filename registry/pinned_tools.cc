#include "registry/pinned_tools.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"

namespace toolrack {
namespace {

absl::string_view NameOf(const PinnedTools::Item& item) { return item.definition->tool.name(); }

}  // namespace

size_t PinnedTools::PartOf(absl::string_view name) { return absl::HashOf(name) % kParts; }

std::shared_ptr<const PinnedTools> PinnedTools::Of(const Snapshot& snapshot,
                                                   const PinnedTools* before) {
  auto made = std::make_shared<PinnedTools>();
  made->revision_ = snapshot.revision();
  made->definitions_revision_ = snapshot.definitions_revision();
  std::array<Part, kParts> parts;
  snapshot.ForEach("", [&parts](const ToolEntryPtr& entry) {
    if (entry->definition->quarantined || entry->state == v1::TOOL_STATE_QUARANTINED) return true;
    parts[PartOf(entry->name())].push_back(
        {entry->definition, entry->state == v1::TOOL_STATE_DISABLED});
    return true;
  });
  for (size_t i = 0; i < kParts; ++i) {
    const bool same = before != nullptr && *before->parts_[i] == parts[i];
    made->parts_[i] = same ? before->parts_[i] : std::make_shared<const Part>(std::move(parts[i]));
  }
  return made;
}

const PinnedTools::Item* PinnedTools::Find(absl::string_view name) const {
  const Part& part = *parts_[PartOf(name)];
  const auto at = std::lower_bound(
      part.begin(), part.end(), name,
      [](const Item& item, absl::string_view wanted) { return NameOf(item) < wanted; });
  return at != part.end() && NameOf(*at) == name ? &*at : nullptr;
}

std::vector<const PinnedTools::Item*> PinnedTools::Sorted() const {
  std::vector<const Item*> out;
  for (const auto& part : parts_) {
    for (const Item& item : *part) out.push_back(&item);
  }
  std::sort(out.begin(), out.end(),
            [](const Item* a, const Item* b) { return NameOf(*a) < NameOf(*b); });
  return out;
}

}  // namespace toolrack
