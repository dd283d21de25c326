// Runs programs to their end: what they are given, what they write, how long they may take.
#ifndef TOOLRACK_SERVER_PROCESS_PROCESS_RUNNER_H_
#define TOOLRACK_SERVER_PROCESS_PROCESS_RUNNER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "registry/base/stop.h"
#include "server/process/spawn.h"

namespace toolrack {

struct RunSpec {
  SpawnSpec spawn;
  std::string input;  // written to its standard input when spawn.input is set
  absl::Duration timeout = absl::InfiniteDuration();
  // Between asking it to end (SIGTERM) and killing it.
  absl::Duration grace = absl::Seconds(2);
  // Most kept: of the standard output the beginning, of the standard error the end. What is over
  // is read and dropped, so that the program does not wait for it.
  uint64_t max_output_bytes = 1 << 20;
};

struct RunResult {
  enum class Why { kItself, kTimeout, kStopped };
  Why why = Why::kItself;  // what ended it
  int exit_code = 0;       // when `signal` is 0
  int signal = 0;
  std::string output, errors;
  uint64_t output_bytes = 0, error_bytes = 0;  // with what was dropped
};

// One thread that starts them, waits for their pipes and ends, and calls back. Thread-safe.
//
// A run is over when the program itself has ended; what it left running in its process group is
// killed then. At the timeout and at a stop the group gets SIGTERM, and after the grace SIGKILL,
// together with all that the program had started by then and that had left the group (its
// descendants, found in /proc). Not caught: a process that left the group and whose own parent had
// ended before, so that it belongs to init; and one that left the group when the program ends by
// itself. When this process dies its programs die with it, theirs do not.
class ProcessRunner {
 public:
  ProcessRunner();
  // Kills what runs; every run is called back before it returns.
  ~ProcessRunner();
  ProcessRunner(const ProcessRunner&) = delete;
  ProcessRunner& operator=(const ProcessRunner&) = delete;

  // `done` runs once, on the thread of the runner; it must not block. A status: it was not started
  // (see Spawn), or CANCELLED, it was stopped before.
  using Done = absl::AnyInvocable<void(absl::StatusOr<RunResult>)>;
  void Run(RunSpec spec, StopToken stop, Done done);

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace toolrack

#endif  // TOOLRACK_SERVER_PROCESS_PROCESS_RUNNER_H_
