#include "server/process/process_runner.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/clock.h"
#include "registry/base/fd.h"
#include "server/process/running.h"

namespace toolrack {

class ProcessRunner::Loop {
 public:
  Loop() : wake_(std::make_shared<const Fd>(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
    thread_ = std::thread([this] { Work(); });
  }
  ~Loop() {
    {
      absl::MutexLock lock(&mu_);
      over_ = true;
    }
    Wake(*wake_);
    thread_.join();
  }

  void Add(RunSpec spec, StopToken stop, Done done) {
    {
      absl::MutexLock lock(&mu_);
      added_.push_back({std::move(spec), std::move(stop), std::move(done)});
    }
    Wake(*wake_);
  }

 private:
  struct Added {
    RunSpec spec;
    StopToken stop;
    Done done;
  };
  using OnStop = std::stop_callback<std::function<void()>>;
  struct Job {
    Job(Added added, Spawned spawned, absl::Duration now)
        : running(std::move(added.spec), std::move(spawned), std::move(added.stop), now),
          done(std::move(added.done)) {}
    Running running;
    Done done;
    std::optional<OnStop> on_stop;
  };

  static void Wake(const Fd& fd) {
    const uint64_t one = 1;
    // It can only fail when it is awake anyway.
    if (::write(fd.get(), &one, sizeof(one)) < 0) return;
  }

  void Work() {
    ::pthread_setname_np(::pthread_self(), "processes");
    sigset_t all;
    ::sigfillset(&all);  // SIGPIPE too
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    while (true) {
      std::vector<Added> added;
      bool over;
      {
        absl::MutexLock lock(&mu_);
        added.swap(added_);
        over = over_;
      }
      for (Added& one : added) Start(std::move(one));
      if (over) break;
      Wait();
      HandleAll();
    }
    for (Job& job : jobs_) job.running.KillNow();
    while (!jobs_.empty()) {
      Wait();
      HandleAll();
    }
  }

  void Start(Added added) {
    if (added.stop.stop_requested()) return added.done(absl::CancelledError("stopped before"));
    absl::StatusOr<Spawned> spawned = Spawn(added.spec.spawn);
    if (!spawned.ok()) return added.done(spawned.status());
    const std::stop_token token = added.stop.std_token();
    Job& job = jobs_.emplace_back(std::move(added), *std::move(spawned), Now());
    // By value: it may outlast the loop.
    job.on_stop.emplace(token, [wake = wake_] { Wake(*wake); });
  }

  void Wait() {
    std::vector<pollfd> all = {{wake_->get(), POLLIN, 0}};
    absl::Duration due = absl::InfiniteDuration();
    for (const Job& job : jobs_) {
      job.running.AddTo(all);
      due = std::min(due, job.running.due());
    }
    timespec left = absl::ToTimespec(std::max(due - Now(), absl::ZeroDuration()));
    ::ppoll(all.data(), all.size(), due == absl::InfiniteDuration() ? nullptr : &left, nullptr);
    uint64_t count = 0;
    if (::read(wake_->get(), &count, sizeof(count)) < 0) return;
  }

  void HandleAll() {
    const absl::Duration now = Now();
    for (auto at = jobs_.begin(); at != jobs_.end();) {
      if (!at->running.Handle(now)) {
        ++at;
        continue;
      }
      at->on_stop.reset();
      Done done = std::move(at->done);
      RunResult result = std::move(at->running.result());
      at = jobs_.erase(at);
      done(std::move(result));
    }
  }

  static absl::Duration Now() { return Clock::Real().SteadyNow(); }

  const std::shared_ptr<const Fd> wake_;
  absl::Mutex mu_;
  std::vector<Added> added_ ABSL_GUARDED_BY(mu_);
  bool over_ ABSL_GUARDED_BY(mu_) = false;
  std::list<Job> jobs_;  // of the thread
  std::thread thread_;
};

ProcessRunner::ProcessRunner() : loop_(std::make_unique<Loop>()) {}
ProcessRunner::~ProcessRunner() = default;

void ProcessRunner::Run(RunSpec spec, StopToken stop, Done done) {
  loop_->Add(std::move(spec), std::move(stop), std::move(done));
}

}  // namespace toolrack
