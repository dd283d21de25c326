#include <utility>

#include "registry/registry_state.h"

namespace toolrack {
namespace {

class QueueWatch : public RegistryWatch {
 public:
  explicit QueueWatch(std::shared_ptr<WatchQueue> queue) : queue_(std::move(queue)) {}

  RegistryChangesPtr Next() override {
    absl::MutexLock lock(&queue_->mutex);
    if (queue_->waiting.empty()) return nullptr;
    RegistryChangesPtr next = std::move(queue_->waiting.front());
    queue_->waiting.pop_front();
    if (queue_->began_with > 0) {
      --queue_->began_with;
    } else {
      queue_->backlog -= next->changes.size();
    }
    return next;
  }

  bool overflowed() const override {
    absl::MutexLock lock(&queue_->mutex);
    return queue_->overflowed;
  }

 private:
  const std::shared_ptr<WatchQueue> queue_;
};

}  // namespace

bool WatchQueue::Offer(const RegistryChangesPtr& changes) {
  absl::MutexLock lock(&mutex);
  if (overflowed) return false;
  // One revision alone always fits: a reader that keeps up must survive a set of any size.
  if (backlog > 0 && backlog + changes->changes.size() > max_backlog) {
    overflowed = true;
    waiting.clear();
    began_with = backlog = 0;
    return true;
  }
  backlog += changes->changes.size();
  waiting.push_back(changes);
  return true;
}

std::unique_ptr<RegistryWatch> Registry::Watch(uint64_t from_revision, size_t max_backlog,
                                               std::function<void()> wake) {
  auto queue = std::make_shared<WatchQueue>();
  queue->max_backlog = max_backlog;
  queue->wake = std::move(wake);

  absl::MutexLock lock(&state_->writer);
  {
    absl::MutexLock current_lock(&state_->mutex);
    if (from_revision > state_->current->revision()) return nullptr;
  }
  if (from_revision < state_->history_floor) return nullptr;
  {
    absl::MutexLock queue_lock(&queue->mutex);
    for (const RegistryChangesPtr& changes : state_->history) {
      if (changes->revision > from_revision) queue->waiting.push_back(changes);
    }
    queue->began_with = queue->waiting.size();
  }
  state_->watches.push_back(queue);
  return std::make_unique<QueueWatch>(std::move(queue));
}

}  // namespace toolrack
