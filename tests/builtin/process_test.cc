// Programs: how they are started, watched and ended.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/notification.h"
#include "registry/base/clock.h"
#include "server/process/process_runner.h"
#include "server/process/process_tree.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

RunSpec Shell(const std::string& script) {
  RunSpec spec;
  spec.spawn.argv = {"/bin/sh", "-c", script};
  spec.timeout = kHung;
  spec.grace = kHung;
  return spec;
}

class ProcessTest : public testing::Test {
 protected:
  struct Run {
    absl::Notification over;
    absl::StatusOr<RunResult> result = absl::UnknownError("");
    StopSource stop;
  };
  std::shared_ptr<Run> Start(RunSpec spec) {
    auto run = std::make_shared<Run>();
    runner_->Run(std::move(spec), run->stop.token(), [run](absl::StatusOr<RunResult> result) {
      run->result = std::move(result);
      run->over.Notify();
    });
    return run;
  }
  static absl::StatusOr<RunResult> Await(const std::shared_ptr<Run>& run) {
    if (!run->over.WaitForNotificationWithTimeout(kHung)) return absl::UnknownError("it hangs");
    return run->result;
  }
  RunResult Finish(RunSpec spec) {
    absl::StatusOr<RunResult> result = Await(Start(std::move(spec)));
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *std::move(result) : RunResult();
  }
  // Waits until the file has a line, and gives it as a number.
  pid_t PidFrom(const std::string& file) {
    while (true) {
      std::ifstream in(file);
      std::string line;
      if (std::getline(in, line) && !in.eof()) return std::stoi(line);
      absl::SleepFor(absl::Milliseconds(2));
    }
  }
  // Nobody tells when a process that is not our child has gone.
  static bool WaitUntilGone(pid_t pid) {
    const absl::Duration end = Clock::Real().SteadyNow() + kHung;
    while (Clock::Real().SteadyNow() < end) {
      if (::kill(pid, 0) != 0 || IsZombie(pid)) return true;
      absl::SleepFor(absl::Milliseconds(2));
    }
    return false;
  }
  static bool IsZombie(pid_t pid) {
    std::ostringstream text;
    text << std::ifstream(absl::StrCat("/proc/", pid, "/stat")).rdbuf();
    return text.str().find(") Z ") != std::string::npos;
  }

  TempDir dir_;
  std::unique_ptr<ProcessRunner> runner_ = std::make_unique<ProcessRunner>();
};

TEST_F(ProcessTest, GivesWhatAProgramWritesAndHowItEnds) {
  const RunResult fine = Finish(Shell("echo out; echo err >&2"));
  EXPECT_EQ(fine.why, RunResult::Why::kItself);
  EXPECT_EQ(fine.exit_code, 0);
  EXPECT_EQ(fine.output, "out\n");
  EXPECT_EQ(fine.errors, "err\n");
  EXPECT_EQ(Finish(Shell("exit 7")).exit_code, 7);
  EXPECT_EQ(Finish(Shell("kill -9 $$")).signal, SIGKILL);
}

TEST_F(ProcessTest, HasItsOwnGroupAndNothingOfOurs) {
  // A descriptor that is not close-on-exec, and a signal that is ignored, must not get there.
  const int leak = ::open("/dev/null", O_RDONLY);
  ASSERT_EQ(::fcntl(leak, F_DUPFD, 200), 200);
  const auto before = ::signal(SIGUSR2, SIG_IGN);
  RunSpec spec = Shell(
      "ls /proc/self/fd | tr '\\n' ' '; echo; grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2; "
      "cut -d' ' -f5,6 /proc/$$/stat; echo $$; pwd; ulimit -c; ulimit -n; /usr/bin/env; "
      "grep NoNewPrivs /proc/self/status | cut -f2; cat");
  spec.spawn.env = {"A=1", "PATH=/usr/bin:/bin"};
  spec.spawn.directory = dir_.path();
  const RunResult run = Finish(std::move(spec));
  ::signal(SIGUSR2, before);
  ::close(leak);
  ::close(200);
  const std::vector<std::string> lines = absl::StrSplit(run.output, '\n');
  ASSERT_GE(lines.size(), 12u) << run.output << run.errors;
  EXPECT_EQ(lines[0], "0 1 2 3 ");  // the last one is the folder that ls reads
  EXPECT_EQ(lines[1], "0000000000000000");
  EXPECT_EQ(lines[2], "0000000000000000");
  EXPECT_EQ(lines[3], absl::StrCat(lines[4], " ", lines[4]));  // group and session
  EXPECT_EQ(lines[5], std::filesystem::canonical(dir_.path()));
  EXPECT_EQ(lines[6], "0");
  EXPECT_LE(std::stoi(lines[7]), 1024);
  EXPECT_THAT(run.output, HasSubstr("A=1\n"));
  EXPECT_EQ(run.output.find("HOME="), std::string::npos);
  EXPECT_THAT(run.output, testing::EndsWith("1\n"));
}

TEST_F(ProcessTest, WritesItsInputAlsoWhenNobodyReadsIt) {
  RunSpec cat = Shell("cat");
  cat.spawn.input = true;
  cat.input = std::string(1 << 20, 'x');
  cat.max_output_bytes = 2 << 20;
  EXPECT_EQ(Finish(cat).output, cat.input);
  RunSpec deaf = Shell("exec <&-; echo done");
  deaf.spawn.input = true;
  deaf.input = std::string(1 << 20, 'x');
  EXPECT_EQ(Finish(deaf).output, "done\n");
  RunSpec never = Shell("true");
  never.spawn.input = true;
  never.input = std::string(1 << 20, 'x');
  EXPECT_EQ(Finish(never).exit_code, 0);
  RunSpec empty = Shell("cat; echo end");
  empty.spawn.input = true;
  EXPECT_EQ(Finish(empty).output, "end\n");
}

TEST_F(ProcessTest, SaysWhyAProgramCannotBeStarted) {
  const auto start = [&](const std::string& program, const std::string& directory = "/") {
    RunSpec spec;
    spec.spawn.argv = {program};
    spec.spawn.directory = directory;
    return Await(Start(std::move(spec))).status();
  };
  EXPECT_EQ(start("/no/such/program").code(), absl::StatusCode::kNotFound);
  std::ofstream(dir_.path() + "/plain") << "x";
  EXPECT_EQ(start(dir_.path() + "/plain").code(), absl::StatusCode::kPermissionDenied);
  ::chmod((dir_.path() + "/plain").c_str(), 0755);
  EXPECT_EQ(start(dir_.path() + "/plain").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(start("/bin/true", "/no/such/folder").message()),
              HasSubstr("its directory /no/such/folder cannot be used: No such file"));
  RunSpec longest = Shell("true");
  longest.spawn.argv.push_back(std::string(8 << 20, 'x'));
  EXPECT_EQ(Await(Start(std::move(longest))).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ProcessTest, BoundsWhatItKeepsOfAFlood) {
  RunSpec spec =
      Shell("yes abcdefg | head -c 3000000; yes hijklmn | head -c 3000000 >&2; echo last >&2");
  spec.max_output_bytes = 1000;
  const RunResult run = Finish(std::move(spec));
  EXPECT_EQ(run.output.size(), 1000u);
  EXPECT_EQ(run.output.substr(0, 8), "abcdefg\n");
  EXPECT_EQ(run.output_bytes, 3000000u);
  EXPECT_EQ(run.errors.size(), 1000u);
  EXPECT_THAT(run.errors, testing::EndsWith("last\n"));
  EXPECT_EQ(run.error_bytes, 3000005u);
}

TEST_F(ProcessTest, EndsAFloodAtItsTimeout) {
  RunSpec spec = Shell("exec yes");
  spec.timeout = absl::Milliseconds(50);
  spec.max_output_bytes = 1000;
  const RunResult run = Finish(std::move(spec));
  EXPECT_EQ(run.why, RunResult::Why::kTimeout);
  EXPECT_EQ(run.signal, SIGTERM);
  EXPECT_EQ(run.output.size(), 1000u);
}

TEST_F(ProcessTest, IsNotFooledByAnOutputThatIsClosedEarlyOrKeptOpen) {
  EXPECT_EQ(Finish(Shell("echo a; exec >&- 2>&-; exit 3")).exit_code, 3);
  // Somebody in the background has the pipe: it ends with the program.
  const std::string file = dir_.path() + "/pid";
  const RunResult run = Finish(Shell(absl::StrCat("sleep 1000 & echo $! > ", file, "; echo a")));
  EXPECT_EQ(run.output, "a\n");
  EXPECT_TRUE(WaitUntilGone(PidFrom(file)));
}

TEST_F(ProcessTest, AsksFirstAndKillsWhatIgnoresIt) {
  const std::string file = dir_.path() + "/pid";
  RunSpec spec =
      Shell(absl::StrCat("trap '' TERM; echo $$ > ", file, "; while :; do sleep 1000; done"));
  spec.grace = absl::Milliseconds(50);
  const auto run = Start(std::move(spec));
  PidFrom(file);
  run->stop.RequestStop(StopReason::kCaller);
  const absl::StatusOr<RunResult> result = Await(run);
  EXPECT_EQ(result->why, RunResult::Why::kStopped);
  EXPECT_EQ(result->signal, SIGKILL);
}

TEST_F(ProcessTest, LetsAProgramThatListensEndByItself) {
  const std::string file = dir_.path() + "/pid";
  const auto run = Start(Shell(absl::StrCat("trap 'echo bye; exit 5' TERM; echo $$ > ", file,
                                            "; while :; do sleep 0.01; done")));
  PidFrom(file);
  run->stop.RequestStop(StopReason::kDeadline);
  const absl::StatusOr<RunResult> result = Await(run);
  EXPECT_EQ(result->exit_code, 5);
  EXPECT_EQ(result->output, "bye\n");
  EXPECT_EQ(result->why, RunResult::Why::kStopped);
}

TEST_F(ProcessTest, CatchesGrandchildrenThatLeftTheGroup) {
  // One below a leader that heeds the signal, one below a leader that does not.
  for (const std::string trap : {"", "trap '' TERM; "}) {
    const std::string file = absl::StrCat(dir_.path(), "/pid", trap.size());
    RunSpec spec = Shell(absl::StrCat(trap, "setsid sh -c 'trap \"\" TERM; echo $$ > ", file,
                                      "; sleep 1000; :' & wait; sleep 1000"));
    spec.grace = absl::Milliseconds(50);
    const auto run = Start(std::move(spec));
    const pid_t grandchild = PidFrom(file);
    ASSERT_EQ(::getpgid(grandchild), grandchild);
    run->stop.RequestStop(StopReason::kCaller);
    EXPECT_TRUE(Await(run).ok());
    EXPECT_TRUE(WaitUntilGone(grandchild));
  }
}

TEST_F(ProcessTest, RunsManyAtOnceAndIsCalledBackForEach) {
  std::vector<std::shared_ptr<Run>> runs;
  for (int i = 0; i < 50; ++i) runs.push_back(Start(Shell(absl::StrCat("echo ", i))));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Await(runs[i])->output, absl::StrCat(i, "\n"));
}

TEST_F(ProcessTest, KillsAllWhenItGoes) {
  const std::string file = dir_.path() + "/pid";
  const auto run = Start(Shell(absl::StrCat("trap '' TERM; echo $$ > ", file, "; sleep 1000; :")));
  const pid_t pid = PidFrom(file);
  runner_.reset();
  EXPECT_TRUE(run->over.HasBeenNotified());
  EXPECT_TRUE(WaitUntilGone(pid));
  runner_ = std::make_unique<ProcessRunner>();
  const auto stopped = std::make_shared<Run>();
  stopped->stop.RequestStop(StopReason::kCaller);
  runner_->Run(Shell("true"), stopped->stop.token(), [stopped](absl::StatusOr<RunResult> result) {
    stopped->result = std::move(result);
    stopped->over.Notify();
  });
  EXPECT_EQ(Await(stopped).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ProcessTest, LeavesNoDescriptorAndNoZombie) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  Finish(Shell("true"));
  const auto before = descriptors();
  for (int i = 0; i < 20; ++i) Finish(Shell("echo x"));
  RunSpec missing;
  missing.spawn.argv = {"/no/such/program"};
  EXPECT_FALSE(Await(Start(missing)).ok());
  EXPECT_EQ(descriptors(), before);
  EXPECT_THAT(DescendantsOf({ProcessOf(::getpid())}), IsEmpty());
}

}  // namespace
}  // namespace toolrack
