// Tells ThreadSanitizer how Abseil's mutex, condition variable, notification and counter
// synchronise: Debian's Abseil is not built for it, so that everything under an absl::Mutex would
// look like a race.
//
// Linked into every program of the preset tsan, in front of the shared library: each function here
// is found first, calls the real one, and adds the happens-before edge. Reads inside the real ones
// are not looked at: conditions are evaluated there, under the lock but on whichever thread lets it
// go.
#include <dlfcn.h>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
}

namespace {

struct IgnoreReads {
  IgnoreReads() { AnnotateIgnoreReadsBegin(__FILE__, __LINE__); }
  ~IgnoreReads() { AnnotateIgnoreReadsEnd(__FILE__, __LINE__); }
};

void* Next(const char* symbol) {
  IgnoreReads ignore;
  return dlsym(RTLD_NEXT, symbol);
}

void* Address(const void* object) { return const_cast<void*>(object); }

// The real function, called with `object` as `this`. RELEASE and ACQUIRE: what the call gives and
// takes.
enum Edges { kAcquire = 1, kRelease = 2 };
template <typename Result, typename... Arguments>
Result Real(const char* symbol, void*& found, int edges, const void* object, const void* sync,
            Arguments... arguments) {
  using Function = Result (*)(const void*, Arguments...);
  void* real = __atomic_load_n(&found, __ATOMIC_RELAXED);
  if (real == nullptr) {
    real = Next(symbol);
    __atomic_store_n(&found, real, __ATOMIC_RELAXED);
  }
  if (edges & kRelease) __tsan_release(Address(sync));
  struct After {
    int edges;
    const void* sync;
    ~After() {
      if (edges & kAcquire) __tsan_acquire(Address(sync));
    }
  } after{edges, sync};
  IgnoreReads ignore;
  return reinterpret_cast<Function>(real)(object, arguments...);
}

}  // namespace

#define TSAN_REAL(result, symbol, edges, sync, ...)                                   \
  [&]() -> result {                                                                   \
    static void* found = nullptr;                                                     \
    return Real<result>(symbol, found, edges, this, sync __VA_OPT__(, ) __VA_ARGS__); \
  }()

namespace absl {
ABSL_NAMESPACE_BEGIN

void Mutex::Lock() { TSAN_REAL(void, "_ZN4absl7debian35Mutex4LockEv", kAcquire, this); }
void Mutex::Unlock() { TSAN_REAL(void, "_ZN4absl7debian35Mutex6UnlockEv", kRelease, this); }
bool Mutex::TryLock() {
  return TSAN_REAL(bool, "_ZN4absl7debian35Mutex7TryLockEv", kAcquire, this);
}
void Mutex::ReaderLock() {
  TSAN_REAL(void, "_ZN4absl7debian35Mutex10ReaderLockEv", kAcquire, this);
}
void Mutex::ReaderUnlock() {
  TSAN_REAL(void, "_ZN4absl7debian35Mutex12ReaderUnlockEv", kRelease, this);
}
void Mutex::Await(const Condition& condition) {
  TSAN_REAL(void, "_ZN4absl7debian35Mutex5AwaitERKNS0_9ConditionE", kAcquire | kRelease, this,
            &condition);
}
void Mutex::LockWhen(const Condition& condition) {
  TSAN_REAL(void, "_ZN4absl7debian35Mutex8LockWhenERKNS0_9ConditionE", kAcquire, this, &condition);
}
bool Mutex::AwaitWithTimeout(const Condition& condition, Duration timeout) {
  return TSAN_REAL(bool, "_ZN4absl7debian35Mutex16AwaitWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                   kAcquire | kRelease, this, &condition, timeout);
}
bool Mutex::AwaitWithDeadline(const Condition& condition, Time deadline) {
  return TSAN_REAL(bool, "_ZN4absl7debian35Mutex17AwaitWithDeadlineERKNS0_9ConditionENS0_4TimeE",
                   kAcquire | kRelease, this, &condition, deadline);
}
bool Mutex::LockWhenWithTimeout(const Condition& condition, Duration timeout) {
  return TSAN_REAL(bool,
                   "_ZN4absl7debian35Mutex19LockWhenWithTimeoutERKNS0_9ConditionENS0_8DurationE",
                   kAcquire, this, &condition, timeout);
}

void CondVar::Wait(Mutex* mu) {
  TSAN_REAL(void, "_ZN4absl7debian37CondVar4WaitEPNS0_5MutexE", kAcquire | kRelease, mu, mu);
}
bool CondVar::WaitWithTimeout(Mutex* mu, Duration timeout) {
  return TSAN_REAL(bool, "_ZN4absl7debian37CondVar15WaitWithTimeoutEPNS0_5MutexENS0_8DurationE",
                   kAcquire | kRelease, mu, mu, timeout);
}

void Notification::Notify() {
  TSAN_REAL(void, "_ZN4absl7debian312Notification6NotifyEv", kRelease, this);
}
void Notification::WaitForNotification() const {
  TSAN_REAL(void, "_ZNK4absl7debian312Notification19WaitForNotificationEv", kAcquire, this);
}
bool Notification::WaitForNotificationWithTimeout(Duration timeout) const {
  return TSAN_REAL(bool,
                   "_ZNK4absl7debian312Notification30WaitForNotificationWithTimeoutENS0_8DurationE",
                   kAcquire, this, timeout);
}
bool BlockingCounter::DecrementCount() {
  return TSAN_REAL(bool, "_ZN4absl7debian315BlockingCounter14DecrementCountEv", kRelease, this);
}
void BlockingCounter::Wait() {
  TSAN_REAL(void, "_ZN4absl7debian315BlockingCounter4WaitEv", kAcquire, this);
}

ABSL_NAMESPACE_END
}  // namespace absl
