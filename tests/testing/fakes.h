// Fakes for tests: time that stands still (fakes_time.h), work that runs when told, a backend that
// the test answers for. Header only.
#ifndef TOOLRACK_TESTS_TESTING_FAKES_H_
#define TOOLRACK_TESTS_TESTING_FAKES_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "registry/base/executor.h"
#include "registry/tool.h"
#include "tests/testing/fakes_time.h"

namespace toolrack {

// Runs what was posted when the test says so. Thread-safe.
class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(size_t max_queue = SIZE_MAX) : max_queue_(max_queue) {}

  bool Post(absl::AnyInvocable<void()> work) override {
    absl::MutexLock lock(&mu_);
    if (queue_.size() >= max_queue_) return false;
    queue_.push_back(std::move(work));
    return true;
  }
  size_t max_queue() const override { return max_queue_; }
  // The oldest one; false when there is none.
  bool RunOne() {
    absl::AnyInvocable<void()> work;
    {
      absl::MutexLock lock(&mu_);
      if (queue_.empty()) return false;
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    work();
    return true;
  }
  void RunAll() {
    while (RunOne()) {
    }
  }
  size_t queued() const {
    absl::MutexLock lock(&mu_);
    return queue_.size();
  }

 private:
  const size_t max_queue_;
  mutable absl::Mutex mu_;
  std::deque<absl::AnyInvocable<void()>> queue_ ABSL_GUARDED_BY(mu_);
};

// Holds the calls; the test ends them. Thread-safe. A held call holds its tool, and the tool this
// backend: who lets calls end otherwise (by a stop) says DropHeld at the end.
class FakeBackend : public Backend {
 public:
  struct Held {
    uint64_t number = 0;
    ToolCall call;
    ToolDone done;
  };
  struct Cancelled {
    uint64_t number;
    StopReason reason;
  };

  explicit FakeBackend(std::string id = "fake", std::string principal = "tests",
                       std::string kind = "fake")
      : kind_(std::move(kind)), id_(std::move(id)), principal_(std::move(principal)) {}

  const std::string& kind() const override { return kind_; }
  const std::string& id() const override { return id_; }
  const std::string& principal() const override { return principal_; }
  uint64_t Start(ToolCall call, ToolDone done) override {
    started_.fetch_add(1);
    if (absl::Status status = start_status(); !status.ok()) {
      done(std::move(status));
      return 0;
    }
    absl::MutexLock lock(&mu_);
    held_.push_back({++last_number_, std::move(call), std::move(done)});
    return last_number_;
  }
  void Cancel(uint64_t number, StopReason reason) override {
    absl::MutexLock lock(&mu_);
    cancelled_.push_back({number, reason});
  }
  uint32_t in_flight() const override {
    absl::MutexLock lock(&mu_);
    return static_cast<uint32_t>(held_.size()) + extra_load_;
  }
  bool available() const override { return available_.load(); }

  void set_available(bool available) { available_.store(available); }
  void set_extra_load(uint32_t load) {
    absl::MutexLock lock(&mu_);
    extra_load_ = load;
  }
  // Not OK: every Start ends at once with it.
  void set_start_status(absl::Status status) {
    absl::MutexLock lock(&mu_);
    start_status_ = std::move(status);
  }
  size_t held() const {
    absl::MutexLock lock(&mu_);
    return held_.size();
  }
  size_t started() const { return started_.load(); }
  std::vector<Cancelled> cancelled() const {
    absl::MutexLock lock(&mu_);
    return cancelled_;
  }
  // The oldest held call leaves the backend; there must be one.
  Held Take() {
    absl::MutexLock lock(&mu_);
    Held held = std::move(held_.front());
    held_.pop_front();
    return held;
  }
  // Forgets the held calls: nobody waits for them any more.
  void DropHeld() {
    std::deque<Held> dropped;
    absl::MutexLock lock(&mu_);
    dropped.swap(held_);
  }

 private:
  absl::Status start_status() const {
    absl::MutexLock lock(&mu_);
    return start_status_;
  }

  const std::string kind_, id_, principal_;
  std::atomic<bool> available_{true};
  std::atomic<size_t> started_{0};
  mutable absl::Mutex mu_;
  std::deque<Held> held_ ABSL_GUARDED_BY(mu_);
  std::vector<Cancelled> cancelled_ ABSL_GUARDED_BY(mu_);
  absl::Status start_status_ ABSL_GUARDED_BY(mu_);
  uint32_t extra_load_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t last_number_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_FAKES_H_
