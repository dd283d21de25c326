#include "registry/base/task.h"

#include <deque>

namespace toolrack {
namespace task_internal {
std::atomic<int64_t> live_frames{0};
}  // namespace task_internal

int64_t LiveCoroutineFrames() { return task_internal::live_frames.load(std::memory_order_relaxed); }

void ResumeOnThisThread(std::coroutine_handle<> handle) noexcept {
  thread_local std::deque<std::coroutine_handle<>>* queue = nullptr;
  if (queue != nullptr) {
    queue->push_back(handle);
    return;
  }
  std::deque<std::coroutine_handle<>> mine;
  queue = &mine;
  handle.resume();
  while (!mine.empty()) {
    std::coroutine_handle<> next = mine.front();
    mine.pop_front();
    next.resume();
  }
  queue = nullptr;
}

}  // namespace toolrack
