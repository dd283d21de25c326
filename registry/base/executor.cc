#include "registry/base/executor.h"

#include <pthread.h>

#include <deque>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"

namespace toolrack {

struct ThreadPool::State {
  mutable absl::Mutex mu;
  std::deque<absl::AnyInvocable<void()>> queue ABSL_GUARDED_BY(mu);
  bool stopping ABSL_GUARDED_BY(mu) = false;
  size_t max_queue = 0;
  std::vector<std::thread> threads;

  bool HasWork() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu) { return stopping || !queue.empty(); }

  void Run() {
    while (true) {
      absl::AnyInvocable<void()> work;
      {
        absl::MutexLock lock(&mu, absl::Condition(this, &State::HasWork));
        if (queue.empty()) return;  // stopping, and everything has run
        work = std::move(queue.front());
        queue.pop_front();
      }
      work();
    }
  }
};

ThreadPool::ThreadPool(const char* name, size_t threads, size_t max_queue)
    : state_(std::make_unique<State>()) {
  state_->max_queue = max_queue;
  for (size_t i = 0; i < threads; ++i) {
    state_->threads.emplace_back([state = state_.get()] { state->Run(); });
    const std::string label = std::string(name).substr(0, 12) + "-" + std::to_string(i % 100);
    pthread_setname_np(state_->threads.back().native_handle(), label.c_str());
  }
}

ThreadPool::~ThreadPool() { Shutdown(); }

bool ThreadPool::Post(absl::AnyInvocable<void()> work) {
  absl::MutexLock lock(&state_->mu);
  if (state_->stopping || state_->queue.size() >= state_->max_queue) return false;
  state_->queue.push_back(std::move(work));
  return true;
}

size_t ThreadPool::max_queue() const { return state_->max_queue; }

void ThreadPool::Shutdown() {
  {
    absl::MutexLock lock(&state_->mu);
    state_->stopping = true;
  }
  for (std::thread& thread : state_->threads) {
    if (thread.joinable()) thread.join();
  }
}

size_t ThreadPool::queued() const {
  absl::MutexLock lock(&state_->mu);
  return state_->queue.size();
}

}  // namespace toolrack
