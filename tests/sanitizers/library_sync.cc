// Tells ThreadSanitizer how Debian's Abseil and gRPC synchronise: they are not built for it, so
// that everything under an absl::Mutex, and everything handed from one callback of gRPC to the
// next, would look like a race.
//
// Linked into every program of the preset tsan, in front of the shared libraries: each function
// here is found first, calls the real one, and adds the happens-before edge. Reads inside Abseil's
// are not looked at: conditions are evaluated there, under the lock but on whichever thread lets it
// go.
//
// gRPC: what happened before an operation was started happens before its completion is told, be it
// by callback or by completion queue. No more than that: two operations of one stream stay apart.
#include <dlfcn.h>
#include <grpc/grpc.h>
#include <link.h>

#include <map>
#include <mutex>

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

namespace {

using Functor = grpc_completion_queue_functor;
using FunctorRun = void (*)(Functor*, int);

template <typename Function>
Function* NextAs(const char* symbol) {
  return reinterpret_cast<Function*>(Next(symbol));
}

// Whether `address` is code: a callback's tag begins with a function, a completion queue's with a
// table of them, or it is opaque.
bool IsCode(const void* address) {
  struct Search {
    uintptr_t address;
    bool found;
  } search{reinterpret_cast<uintptr_t>(address), false};
  dl_iterate_phdr(
      [](dl_phdr_info* object, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        for (int i = 0; i < object->dlpi_phnum && !wanted->found; ++i) {
          const auto& part = object->dlpi_phdr[i];
          const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          wanted->found = part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0 &&
                          wanted->address >= begin && wanted->address < begin + part.p_memsz;
        }
        return wanted->found ? 1 : 0;
      },
      &search);
  return search.found;
}

// What the callbacks' tags had before RunWithEdge.
std::mutex& functors_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}
std::map<Functor*, FunctorRun>& functors() {
  static auto* const all = new std::map<Functor*, FunctorRun>;
  return *all;
}

void RunWithEdge(Functor* functor, int ok) {
  __tsan_acquire(functor);
  FunctorRun run;
  {
    std::lock_guard<std::mutex> lock(functors_mutex());
    run = functors().at(functor);
  }
  run(functor, ok);
}

void AddEdge(void* tag) {
  if (tag == nullptr) return;
  auto* const functor = static_cast<Functor*>(tag);
  {
    IgnoreReads ignore;
    std::lock_guard<std::mutex> lock(functors_mutex());
    const FunctorRun run = functor->functor_run;
    if (run != RunWithEdge && IsCode(reinterpret_cast<const void*>(run))) {
      functors()[functor] = run;
      functor->functor_run = RunWithEdge;
    }
  }
  __tsan_release(tag);
}

}  // namespace

extern "C" {

grpc_call_error grpc_call_start_batch(grpc_call* call, const grpc_op* ops, size_t nops, void* tag,
                                      void* reserved) {
  static auto* const real = NextAs<decltype(grpc_call_start_batch)>("grpc_call_start_batch");
  AddEdge(tag);
  return real(call, ops, nops, tag, reserved);
}

grpc_event grpc_completion_queue_pluck(grpc_completion_queue* queue, void* tag,
                                       gpr_timespec deadline, void* reserved) {
  static auto* const real =
      NextAs<decltype(grpc_completion_queue_pluck)>("grpc_completion_queue_pluck");
  const grpc_event event = real(queue, tag, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE) __tsan_acquire(event.tag);
  return event;
}

grpc_event grpc_completion_queue_next(grpc_completion_queue* queue, gpr_timespec deadline,
                                      void* reserved) {
  static auto* const real =
      NextAs<decltype(grpc_completion_queue_next)>("grpc_completion_queue_next");
  const grpc_event event = real(queue, deadline, reserved);
  if (event.type == GRPC_OP_COMPLETE && event.tag != nullptr) __tsan_acquire(event.tag);
  return event;
}

}  // extern "C"
