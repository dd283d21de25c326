// The real program toolrackd, as a child process.
#ifndef TOOLRACK_TESTS_TESTING_DAEMON_PROCESS_H_
#define TOOLRACK_TESTS_TESTING_DAEMON_PROCESS_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {

// Starts it with these flags; ends it (SIGKILL) when the object goes and it still runs. Its output
// goes to a file. `program` is `$TOOLRACK_BIN_DIR/toolrackd` unless a wrapper (`prlimit …`) is
// given.
class DaemonProcess {
 public:
  DaemonProcess(std::vector<std::string> flags, std::vector<std::string> wrapper = {});
  ~DaemonProcess();

  // With a runtime folder of its own.
  static std::unique_ptr<DaemonProcess> Serve(std::vector<std::string> flags = {},
                                              std::vector<std::string> wrapper = {});

  // Waits until its control socket answers; false when it ended or hangs.
  bool WaitUntilServing();
  void Signal(int signal);
  // Its exit code, 128 + signal when it was killed, -1 when it hangs.
  int WaitForExit();
  bool Running();
  // All that it wrote so far.
  std::string Output() const;
  pid_t pid() const { return pid_; }

  const std::string& runtime_dir() const { return runtime_dir_; }
  std::shared_ptr<grpc::Channel> Channel(absl::string_view scope) const;

 private:
  TempDir dir_;
  std::string runtime_dir_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_DAEMON_PROCESS_H_
