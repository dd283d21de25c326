// One program that runs, as the runner's thread sees it.
#ifndef TOOLRACK_SERVER_PROCESS_RUNNING_H_
#define TOOLRACK_SERVER_PROCESS_RUNNING_H_

#include <poll.h>

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/process/process_runner.h"
#include "server/process/process_tree.h"

namespace toolrack {

// For one thread. Times are Clock::SteadyNow.
class Running {
 public:
  Running(RunSpec spec, Spawned spawned, StopToken stop, absl::Duration now);
  // Ends it when it still runs, and waits for that.
  ~Running();

  // What it waits for; `AddTo` and `Handle` belong together.
  void AddTo(std::vector<pollfd>& all) const;
  // Reads and writes what can be. True: it has ended, `result` is whole.
  bool Handle(absl::Duration now);
  // When Handle is to be called at the latest.
  absl::Duration due() const;
  RunResult& result() { return result_; }
  // As if its time were up and its grace over.
  void KillNow();

 private:
  void Write();
  void Read(Fd& from, bool keep_beginning, std::string& kept, uint64_t& bytes);
  void AskToEnd(RunResult::Why why, absl::Duration now);
  void Kill();
  bool Reap();

  const RunSpec spec_;
  Spawned spawned_;
  const StopToken stop_;
  const absl::Duration deadline_;
  absl::Duration kill_at_ = absl::InfiniteDuration();
  bool asked_ = false, killed_ = false, reaped_ = false;
  size_t written_ = 0;
  std::vector<ProcessId> started_;  // what it had started when it was asked to end
  RunResult result_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_RUNNING_H_
