#include "registry/schema_cache.h"

#include <utility>

namespace toolrack {

size_t SchemaPool::bytes() const {
  absl::MutexLock lock(&mutex_);
  return bytes_;
}

void SchemaPool::Add(Kept kept) {
  // Freed after the lock: a schema can be large.
  std::vector<std::shared_ptr<const Schema>> dropped;
  std::vector<std::shared_ptr<SchemaCache>> held;
  absl::MutexLock lock(&mutex_);
  bytes_ += kept.bytes;
  kept_.push_back(std::move(kept));
  // The newest stays, whatever its size. Two rounds: the first only takes the marks away.
  for (size_t steps = 2 * kept_.size(); bytes_ > max_bytes_ && kept_.size() > 1 && steps > 0;
       --steps) {
    if (hand_ >= kept_.size() - 1) hand_ = 0;
    Kept& victim = kept_[hand_];
    std::shared_ptr<SchemaCache> cache = victim.cache.lock();
    if (cache != nullptr) {
      SchemaCache::Slot& slot = cache->slots_[victim.slot];
      held.push_back(cache);
      if (slot.used.exchange(false, std::memory_order_relaxed)) {
        ++hand_;
        continue;
      }
      absl::MutexLock slot_lock(&slot.mutex);
      dropped.push_back(std::move(slot.schema));
      slot.schema = nullptr;
    }
    bytes_ -= victim.bytes;
    // Keeps the newest last.
    if (kept_.size() > 2 && hand_ != kept_.size() - 2) std::swap(victim, kept_[kept_.size() - 2]);
    kept_.erase(kept_.end() - 2);
  }
}

std::shared_ptr<const Schema> SchemaCache::Peek(Slot& slot) {
  absl::MutexLock lock(&slot.mutex);
  if (slot.schema != nullptr) slot.used.store(true, std::memory_order_relaxed);
  return slot.schema;
}

std::shared_ptr<const Schema> SchemaCache::Get(size_t which) {
  const v1::Tool& tool = definition_->tool;
  const std::string& text = which == 0 ? tool.input_schema() : tool.output_schema();
  if (definition_->quarantined || text.empty()) return nullptr;
  Slot& slot = slots_[which];
  if (std::shared_ptr<const Schema> schema = Peek(slot)) return schema;

  absl::MutexLock compiling(&slot.compiling);
  if (std::shared_ptr<const Schema> schema = Peek(slot)) return schema;
  SchemaOptions options = pool_->options();
  options.object_root = which == 0;
  options.openapi = definition_->openapi;
  std::shared_ptr<const Schema> schema = Schema::Compile(text, options).schema;
  if (schema == nullptr) return nullptr;
  {
    absl::MutexLock lock(&slot.mutex);
    slot.schema = schema;
  }
  pool_->Add({weak_from_this(), which, schema->ApproximateBytes() + sizeof(Slot)});
  return schema;
}

}  // namespace toolrack
