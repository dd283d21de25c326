#include "server/process/spawn.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"

#if defined(__SANITIZE_THREAD__)
// The thread sanitizer takes each clone() for a fork(), after which nothing of it works any more.
extern "C" int __clone(int (*)(void*), void*, int, void*, ...);
#define TR_CLONE __clone
#else
#define TR_CLONE ::clone
#endif

namespace toolrack {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr rlim_t kDescriptors = 1024;
constexpr int kSignals = 64;
constexpr int kFirstFree = 3;  // after the standard ones

enum class Step { kNone, kSetup, kDirectory, kProgram };

// All that the child reads and writes; it shares the memory of the parent.
struct ChildPlan {
  char* const* argv;
  char* const* env;
  const char* directory;
  int in, out, err;  // not below kFirstFree
  pid_t parent;
  rlim_t most_descriptors;
  Step failed = Step::kNone;
  int error = 0;
};

// The sanitizers would take the child's stack and signals for those of the parent.
#define TR_IN_CHILD __attribute__((no_sanitize_address, no_sanitize_thread))

TR_IN_CHILD void CloseOthers(rlim_t most) {
  if (::syscall(SYS_close_range, kFirstFree, UINT_MAX, 0) == 0) return;
  for (rlim_t fd = kFirstFree; fd < most; ++fd) ::close(static_cast<int>(fd));
}

TR_IN_CHILD void Fail(ChildPlan& plan, Step step) {
  plan.failed = step;
  plan.error = errno;
  ::_exit(127);
}

// In the child, with the parent's memory: system calls only.
TR_IN_CHILD int RunChild(void* data) {
  auto& plan = *static_cast<ChildPlan*>(data);
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // It ended before the line above, and nobody would tell.
  if (::getppid() != plan.parent) ::_exit(127);
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) Fail(plan, Step::kSetup);
  // The kernel's struct, all of it zero, is SIG_DFL; the library keeps two signals to itself.
  const uint64_t as_default[8] = {};
  for (int number = 1; number <= kSignals; ++number) {
    ::syscall(SYS_rt_sigaction, number, as_default, nullptr, kSignals / 8);
  }
  if (::dup2(plan.in, 0) < 0 || ::dup2(plan.out, 1) < 0 || ::dup2(plan.err, 2) < 0) {
    Fail(plan, Step::kSetup);
  }
  CloseOthers(plan.most_descriptors);
  const rlimit no_core = {0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const rlim_t descriptors = std::min(kDescriptors, plan.most_descriptors);
  const rlimit files = {descriptors, descriptors};
  ::setrlimit(RLIMIT_NOFILE, &files);
  if (::chdir(plan.directory) != 0) Fail(plan, Step::kDirectory);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(plan.argv[0], plan.argv, plan.env);
  Fail(plan, Step::kProgram);
  return 127;
}

// A pipe whose parent's end does not block, and whose ends are none of the standard descriptors.
absl::Status MakePipe(Fd& parent, Fd& child, bool parent_writes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("no pipe could be made: ", strerror(errno)));
  }
  for (int& end : ends) {
    if (end >= kFirstFree) continue;
    const int higher = ::fcntl(end, F_DUPFD_CLOEXEC, kFirstFree);
    ::close(end);
    end = higher;
  }
  parent.Reset(ends[parent_writes ? 1 : 0]);
  child.Reset(ends[parent_writes ? 0 : 1]);
  if (!parent || !child || ::fcntl(parent.get(), F_SETFL, O_NONBLOCK) != 0) {
    return absl::UnavailableError(absl::StrCat("no pipe could be made: ", strerror(errno)));
  }
  return absl::OkStatus();
}

absl::Status StartError(const ChildPlan& plan) {
  const std::string why = strerror(plan.error);
  if (plan.failed == Step::kDirectory) {
    return absl::FailedPreconditionError(
        absl::StrCat("its directory ", ForMessage(plan.directory), " cannot be used: ", why));
  }
  const std::string what = absl::StrCat(ForMessage(plan.argv[0]), " cannot be started: ", why);
  switch (plan.error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(what);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(what);
    case E2BIG:
      return absl::InvalidArgumentError(what);
    case EAGAIN:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return absl::UnavailableError(what);
    default:
      return absl::FailedPreconditionError(what);
  }
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (const std::string& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

// Memory of its own for the child to run on.
class Stack {
 public:
  Stack()
      : memory_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ~Stack() {
    if (*this) ::munmap(memory_, kStackBytes);
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  void* top() const { return static_cast<char*>(memory_) + kStackBytes; }

 private:
  void* memory_;
};

}  // namespace

absl::StatusOr<Spawned> Spawn(const SpawnSpec& spec) {
  Spawned out;
  Fd in, output, errors;
  if (spec.input) {
    TR_RETURN_IF_ERROR(MakePipe(out.input, in, /*parent_writes=*/true));
  } else {
    const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    in.Reset(::fcntl(nothing.get(), F_DUPFD_CLOEXEC, kFirstFree));
    if (!in) return absl::UnavailableError("/dev/null cannot be opened");
  }
  TR_RETURN_IF_ERROR(MakePipe(out.output, output, /*parent_writes=*/false));
  TR_RETURN_IF_ERROR(MakePipe(out.errors, errors, /*parent_writes=*/false));
  const Stack stack;
  if (!stack) return absl::UnavailableError("there is no memory for another process");
  const std::vector<char*> argv = Pointers(spec.argv), env = Pointers(spec.env);
  rlimit files;
  ::getrlimit(RLIMIT_NOFILE, &files);
  ChildPlan plan = {argv.data(),  env.data(), spec.directory.c_str(), in.get(), output.get(),
                    errors.get(), ::getpid(), files.rlim_cur};
  // No handler of this process may run in the child, which has its memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  const int pid = TR_CLONE(RunChild, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                           &plan, &pidfd);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    return absl::UnavailableError(absl::StrCat("no process could be made: ", strerror(error)));
  }
  out.pid = pid;
  out.ended.Reset(pidfd);
  if (plan.failed == Step::kNone) return out;
  ::waitpid(pid, nullptr, 0);
  return StartError(plan);
}

}  // namespace toolrack
