// A small coroutine task, so that a call reads top to bottom while no thread waits.
//
// Rules for every coroutine in this project (g++ 12.2 miscompiles what they forbid; tests/base
// checks them in the sources and in compiled probes):
//  1. `co_await` stands only at the start of a statement, right after `=`, or after `co_return`.
//     Never in a condition, in `?:`, in braces, or next to `&&` and `||`.
//  2. No closure, aggregate or braced temporary inside a co_await expression: name it, then
//  std::move it.
//  3. Awaiters hold pointers and trivial state only.
//  4. Every coroutine body starts with a declaration.
//  5. Parameters by value, or references to what the caller's call object owns.
//  6. A lambda coroutine captures nothing.
//  7. No co_await while a lock is held: it may resume on another thread. No thread_local across
//  one.
//  8. No co_await in a catch block; no structured binding straight from one.
//  9. A suspended Task is never destroyed: stop it and let it run to its end.
#ifndef TOOLRACK_REGISTRY_BASE_TASK_H_
#define TOOLRACK_REGISTRY_BASE_TASK_H_

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace toolrack {

// Resumes coroutines one after the other: a resume from inside a resume is queued and runs when the
// outer one has suspended, so that chains of completions do not recurse.
void ResumeOnThisThread(std::coroutine_handle<> handle) noexcept;

// Frames alive now, over the process: for tests (0 at the end) and for the status page.
int64_t LiveCoroutineFrames();
namespace task_internal {
extern std::atomic<int64_t> live_frames;
struct CountedFrame {
  CountedFrame() { live_frames.fetch_add(1, std::memory_order_relaxed); }
  ~CountedFrame() { live_frames.fetch_sub(1, std::memory_order_relaxed); }
  CountedFrame(const CountedFrame&) = delete;
  CountedFrame& operator=(const CountedFrame&) = delete;
};
}  // namespace task_internal

// A lazy, move-only task: runs when awaited, is awaited exactly once, on whatever thread resumes
// it. An exception in it is rethrown at the co_await.
template <typename T>
class [[nodiscard]] Task {
 public:
  struct promise_type;
  using Handle = std::coroutine_handle<promise_type>;

  struct promise_type : task_internal::CountedFrame {
    Task get_return_object() { return Task(Handle::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct FinalAwaiter {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(Handle handle) noexcept {
        return handle.promise().continuation;
      }
      void await_resume() noexcept {}
    };
    FinalAwaiter final_suspend() noexcept { return {}; }
    template <typename U>
    void return_value(U&& result) {
      value.emplace(std::forward<U>(result));
    }
    void unhandled_exception() noexcept { exception = std::current_exception(); }

    std::coroutine_handle<> continuation;
    std::optional<T> value;
    std::exception_ptr exception;
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  struct Awaiter {
    explicit Awaiter(Handle h) : handle(h) {}
    bool await_ready() noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter) noexcept {
      handle.promise().continuation = waiter;
      return handle;
    }
    T await_resume() {
      if (handle.promise().exception) std::rethrow_exception(handle.promise().exception);
      return std::move(*handle.promise().value);
    }
    Handle handle;
  };
  Awaiter operator co_await() && { return Awaiter(handle_); }

 private:
  explicit Task(Handle handle) : handle_(handle) {}
  Handle handle_;
};

// The root of a chain: starts at once, frees itself, and must catch everything itself (an exception
// terminates).
class Detached {
 public:
  struct promise_type : task_internal::CountedFrame {
    Detached get_return_object() noexcept { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { std::terminate(); }
  };
};

// A value that arrives once, from any thread, and resumes the one coroutine that awaits it.
//
// Several parties may race to end the same wait: the first Set wins, the others learn that they
// lost. Copies share the state, so a late party may hold one after the waiter is gone.
template <typename T>
class Completion {
 public:
  Completion() : state_(std::make_shared<State>()) {}

  // Resumes the waiter on this thread (through ResumeOnThisThread). True for the first Set; later
  // ones are dropped.
  bool Set(T value) const {
    if (state_->claimed.exchange(true, std::memory_order_acq_rel)) return false;
    state_->value.emplace(std::move(value));
    void* before = state_->waiter.exchange(Done(), std::memory_order_acq_rel);
    if (before != nullptr) ResumeOnThisThread(std::coroutine_handle<>::from_address(before));
    return true;
  }
  bool is_set() const { return state_->claimed.load(std::memory_order_acquire); }

  struct State;
  struct Awaiter {
    explicit Awaiter(State* s) : state(s) {}
    bool await_ready() noexcept { return state->waiter.load(std::memory_order_acquire) == Done(); }
    bool await_suspend(std::coroutine_handle<> handle) noexcept {
      void* empty = nullptr;
      return state->waiter.compare_exchange_strong(empty, handle.address(),
                                                   std::memory_order_acq_rel);
    }
    T await_resume() { return std::move(*state->value); }
    State* state;
  };
  // The Completion must outlive the wait: a local of the awaiting coroutine.
  Awaiter operator co_await() const { return Awaiter(state_.get()); }

  struct State {
    std::atomic<bool> claimed{false};
    std::atomic<void*> waiter{nullptr};
    std::optional<T> value;
  };

 private:
  static void* Done() {
    static char done;
    return &done;
  }
  std::shared_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_BASE_TASK_H_
