#include "registry/snapshot.h"

#include <algorithm>
#include <iterator>

#include "absl/hash/hash.h"
#include "registry/schema_cache.h"
#include "registry/snapshot_builder.h"

namespace toolrack {
namespace {

bool EntryBefore(const ToolEntryPtr& entry, absl::string_view name) { return entry->name() < name; }

}  // namespace

std::shared_ptr<const Schema> ToolEntry::InputSchema() const {
  return schemas == nullptr ? nullptr : schemas->Input();
}

std::shared_ptr<const Schema> ToolEntry::OutputSchema() const {
  return schemas == nullptr ? nullptr : schemas->Output();
}

v1::Tool ToolEntry::ToProto(v1::ToolView view) const {
  const v1::Tool& from = definition->tool;
  v1::Tool to;
  if (view == v1::TOOL_VIEW_FULL) {
    to = from;
  } else {
    // Field by field: schemas can be large, and copying them only to drop them shows in lists.
    to.set_name(from.name());
    to.set_namespace_(from.namespace_());
    to.set_title(from.title());
    to.set_description(from.description());
    *to.mutable_categories() = from.categories();
    if (from.has_annotations()) *to.mutable_annotations() = from.annotations();
    to.set_risk(from.risk());
    if (from.has_source()) *to.mutable_source() = from.source();
    to.set_digest(from.digest());
    to.set_revision(from.revision());
    *to.mutable_findings() = from.findings();
    to.set_always_load(from.always_load());
    if (from.has_timeout()) *to.mutable_timeout() = from.timeout();
    to.set_max_concurrency(from.max_concurrency());
    to.set_raw_input(from.raw_input());
    to.set_scope(from.scope());
  }
  to.set_state(state);
  return to;
}

Snapshot::Key Snapshot::KeyOf(absl::string_view name) {
  return {absl::Hash<absl::string_view>{}(name), name};
}

const ToolEntry* Snapshot::Find(absl::string_view canonical) const {
  const Key key = KeyOf(canonical);
  const Shard* shard = shards_[ShardOf(key)].get();
  if (shard == nullptr) return nullptr;
  const auto found = shard->find(key);
  return found == shard->end() ? nullptr : found->second;
}

ToolEntryPtr Snapshot::Get(absl::string_view canonical) const {
  const ToolEntry* entry = Find(canonical);
  return entry == nullptr ? nullptr : entry->shared_from_this();
}

void Snapshot::ForEach(absl::string_view after,
                       const std::function<bool(const ToolEntryPtr&)>& visit) const {
  // The last block whose first name is <= after may hold the start.
  auto block = std::upper_bound(
      blocks_.begin(), blocks_.end(), after,
      [](absl::string_view name, const auto& b) { return name < b->front()->name(); });
  if (block != blocks_.begin()) --block;
  bool first = true;
  for (; block != blocks_.end(); ++block) {
    auto entry = (*block)->begin();
    if (first && !after.empty()) {
      entry = std::upper_bound(
          (*block)->begin(), (*block)->end(), after,
          [](absl::string_view name, const ToolEntryPtr& e) { return name < e->name(); });
    }
    first = false;
    for (; entry != (*block)->end(); ++entry) {
      if (!visit(*entry)) return;
    }
  }
}

std::shared_ptr<const Snapshot> SnapshotBuilder::Empty() { return std::make_shared<Snapshot>(); }

std::shared_ptr<const Snapshot> SnapshotBuilder::Apply(const Snapshot& base,
                                                       const std::vector<Edit>& edits,
                                                       uint64_t revision,
                                                       uint64_t definitions_revision) {
  using Shard = Snapshot::Shard;
  using Block = Snapshot::Block;
  auto next = std::make_shared<Snapshot>();
  next->shards_ = base.shards_;
  next->size_ = base.size_;
  next->quarantined_ = base.quarantined_;
  next->revision_ = revision;
  next->definitions_revision_ = definitions_revision;

  // Shards: copy each touched one once.
  std::array<std::shared_ptr<Shard>, Snapshot::kShards> touched;
  for (const Edit& edit : edits) {
    const Snapshot::Key key = Snapshot::KeyOf(edit.name);
    const size_t at = Snapshot::ShardOf(key);
    if (touched[at] == nullptr) {
      touched[at] = base.shards_[at] == nullptr ? std::make_shared<Shard>()
                                                : std::make_shared<Shard>(*base.shards_[at]);
    }
    // Erase first: the key's text lives in the entry.
    if (edit.before != nullptr) {
      touched[at]->erase(key);
      --next->size_;
      next->quarantined_ -= edit.before->definition->quarantined;
    }
    if (edit.after != nullptr) {
      touched[at]->emplace(Snapshot::Key{key.hash, edit.after->name()}, edit.after.get());
      ++next->size_;
      next->quarantined_ += edit.after->definition->quarantined;
    }
  }
  for (size_t at = 0; at < touched.size(); ++at) {
    if (touched[at] == nullptr) continue;
    next->shards_[at] = touched[at]->empty() ? nullptr : std::move(touched[at]);
  }

  // Blocks: merge the edits into the blocks that they fall into.
  const auto emit = [&next](Block merged) {
    auto& blocks = next->blocks_;
    if (merged.empty()) return;
    // A small rest joins its neighbour, so that withdrawals leave no crumbs.
    if (!blocks.empty() && blocks.back()->size() + merged.size() <= Snapshot::kBlock) {
      auto joined = std::make_shared<Block>(*blocks.back());
      joined->insert(joined->end(), std::make_move_iterator(merged.begin()),
                     std::make_move_iterator(merged.end()));
      blocks.back() = std::move(joined);
      return;
    }
    if (merged.size() <= 2 * Snapshot::kBlock) {
      blocks.push_back(std::make_shared<Block>(std::move(merged)));
      return;
    }
    const size_t pieces = merged.size() / Snapshot::kBlock;
    for (size_t i = 0; i < pieces; ++i) {
      const auto from = merged.begin() + merged.size() * i / pieces;
      const auto to = merged.begin() + merged.size() * (i + 1) / pieces;
      blocks.push_back(
          std::make_shared<Block>(std::make_move_iterator(from), std::make_move_iterator(to)));
    }
  };
  next->blocks_.reserve(base.blocks_.size() + 1);
  auto edit = edits.begin();
  for (size_t i = 0; i < base.blocks_.size() || (i == 0 && edit != edits.end()); ++i) {
    const bool last = i + 1 >= base.blocks_.size();
    auto end = edit;
    while (end != edits.end() && (last || end->name < base.blocks_[i + 1]->front()->name())) ++end;
    if (end == edit) {
      next->blocks_.push_back(base.blocks_[i]);
      continue;
    }
    static const Block kNone;
    const Block& old = i < base.blocks_.size() ? *base.blocks_[i] : kNone;
    Block merged;
    merged.reserve(old.size() + (end - edit));
    auto from = old.begin();
    for (; edit != end; ++edit) {
      const auto at = std::lower_bound(from, old.end(), edit->name, EntryBefore);
      merged.insert(merged.end(), from, at);
      from = at;
      if (edit->before != nullptr) ++from;
      if (edit->after != nullptr) merged.push_back(edit->after);
    }
    merged.insert(merged.end(), from, old.end());
    emit(std::move(merged));
  }
  return next;
}

}  // namespace toolrack
