// The program toolrackd: flags, exit codes, running out of descriptors.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/testing/daemon_process.h"
#include "tests/testing/raw_socket.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

struct Ended {
  int code;
  std::string output;
};
Ended RunToEnd(std::vector<std::string> flags) {
  DaemonProcess process(std::move(flags));
  const int code = process.WaitForExit();
  return {code, process.Output()};
}

TEST(Program, TellsItsVersion) {
  const Ended ended = RunToEnd({"--version"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_TRUE(absl::StartsWith(ended.output, absl::StrCat("toolrackd ", Version())))
      << ended.output;
}

TEST(Program, RefusesFlagsThatItDoesNotKnow) { EXPECT_EQ(RunToEnd({"--no-such-flag"}).code, 2); }

TEST(Program, RefusesFlagsThatAreWrongAllAtOnce) {
  const Ended ended = RunToEnd({"--runtime-dir", "RUN", "--listen", "0.0.0.0:1", "--listen", "x",
                                "--socket-mode", "9", "--log-level", "loud"});
  EXPECT_EQ(ended.code, 2);
  for (const char* part :
       {"0.0.0.0:1 is not a loopback address", "got x", "octal mode", "got loud"}) {
    EXPECT_TRUE(absl::StrContains(ended.output, part)) << part << "\n" << ended.output;
  }
}

TEST(Program, ChecksAConfigWithoutServing) {
  TempDir dir;
  const std::string file = dir.path() + "/c.yaml";
  std::ofstream(file) << "limits:\n  max_tols: 1\n  max_tools: x\n";
  Ended ended = RunToEnd({"--config", file, "--check-config"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_EQ(ended.output,
            absl::StrCat("toolrackd: ", file,
                         ":2:3: limits.max_tols: there is no such setting; did you mean "
                         "`max_tools`?\n",
                         file, ":3:14: limits.max_tools: must be a whole number; got x\n"));
  std::ofstream(file) << "limits:\n  max_tools: 7\n";
  ended = RunToEnd({"--config", file, "--check-config"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output, "the configuration is fine\n");
}

TEST(Program, LetsFlagsWinOverTheFile) {
  TempDir dir;
  const std::string file = dir.path() + "/c.yaml";
  std::ofstream(file) << "listen: {socket_mode: \"0644\", runtime_dir: /nowhere/at/all}\n";
  auto daemon = DaemonProcess::Serve({"--config", file, "--socket-mode", "0660"});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  struct stat info;
  ASSERT_EQ(::stat((daemon->runtime_dir() + "/agent.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST(Program, RefusesToBeASecondDaemonInOneFolder) {
  auto daemon = DaemonProcess::Serve();
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  const Ended second = RunToEnd({"--runtime-dir", daemon->runtime_dir()});
  EXPECT_EQ(second.code, 3);
  EXPECT_TRUE(absl::StrContains(second.output, absl::StrCat("another daemon (pid ", daemon->pid())))
      << second.output;
  EXPECT_TRUE(daemon->WaitUntilServing());
}

TEST(Program, TakesOverTheFolderOfAKilledDaemon) {
  TempDir dir;
  {
    DaemonProcess first({"--runtime-dir", dir.path() + "/run"});
    const std::string socket = dir.path() + "/run/control.sock";
    while (first.Running() && ::access(socket.c_str(), F_OK) != 0)
      absl::SleepFor(absl::Milliseconds(5));
    first.Signal(SIGKILL);
    EXPECT_EQ(first.WaitForExit(), 128 + SIGKILL);
    EXPECT_EQ(::access(socket.c_str(), F_OK), 0);
  }
  DaemonProcess second({"--runtime-dir", dir.path() + "/run", "--listen", "127.0.0.1:0"});
  while (second.Running() && !absl::StrContains(second.Output(), " serves, pid")) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_TRUE(second.Running()) << second.Output();
}

TEST(Program, TellsTheRealPortOfAFreeOne) {
  auto daemon = DaemonProcess::Serve({"--listen", "127.0.0.1:0"});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  v1::GetStatusResponse status;
  ASSERT_TRUE(v1::AdminService::NewStub(daemon->Channel("control"))
                  ->GetStatus(NewContext().get(), {}, &status)
                  .ok());
  const std::string address = status.listeners(3).address();
  while (!absl::StrContains(daemon->Output(), address)) {
    ASSERT_TRUE(daemon->Running());
    absl::SleepFor(absl::Milliseconds(20));  // the log is flushed every second
  }
  EXPECT_FALSE(absl::EndsWith(address, ":0"));
  // Nobody shares it.
  EXPECT_EQ(RunToEnd({"--runtime-dir", "RUN", "--listen", address}).code, 3);
}

TEST(Program, WritesOneLineForEachCallAndNeverItsArguments) {
  TempDir dir;
  const std::string log = dir.path() + "/log";
  const std::string file = dir.path() + "/c.yaml";
  std::ofstream(file) << "log: {file: " << log << ", format: json}\n";
  auto daemon = DaemonProcess::Serve({"--config", file});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  auto stub = v1::ToolService::NewStub(daemon->Channel("agent"));
  v1::CallToolRequest request;
  request.set_name("echo");
  request.set_call_id("the-call");
  request.set_arguments_json(R"({"text":"a-secret-value"})");
  v1::CallToolResponse response;
  const grpc::Status status = stub->CallTool(NewContext().get(), request, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  request.set_name("no_such_tool");
  request.set_call_id("refused-call");
  EXPECT_FALSE(stub->CallTool(NewContext().get(), request, &response).ok());
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->WaitForExit(), 0);
  std::ifstream in(log);
  std::string line, all;
  int calls = 0, refused = 0;
  while (std::getline(in, line)) {
    all += line;
    if (absl::StrContains(line, "the-call")) {
      ++calls;
      EXPECT_TRUE(absl::StrContains(line, absl::StrCat("principal=uid:", ::getuid()))) << line;
      EXPECT_TRUE(absl::StrContains(line, "tool=echo")) << line;
      EXPECT_TRUE(absl::StrContains(line, "outcome=ok")) << line;
    }
    if (absl::StrContains(line, "refused-call")) {
      ++refused;
      EXPECT_TRUE(absl::StrContains(line, "outcome=TOOL_NOT_FOUND")) << line;
    }
  }
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(refused, 1);
  EXPECT_FALSE(absl::StrContains(all, "a-secret-value"));
}

TEST(Program, SurvivesRunningOutOfDescriptors) {
  auto daemon = DaemonProcess::Serve({}, {"prlimit", "--nofile=96"});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  const std::string agent = daemon->runtime_dir() + "/agent.sock";
  {
    // Many more than it has descriptors for; some are served, the others turned off at once.
    std::vector<RawSocket> sockets;
    for (int i = 0; i < 200; ++i) {
      sockets.push_back(RawSocket::Unix(agent));
      sockets.back().Send(kHttp2Preface);
    }
    int refused = 0;
    for (RawSocket& socket : sockets) refused += socket.ClosedSoon() ? 1 : 0;
    EXPECT_GT(refused, 50);
    // The administrator still gets in.
    EXPECT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  }
  auto stub = v1::ToolService::NewStub(daemon->Channel("agent"));
  for (int i = 0; i < 20; ++i) {
    v1::ListToolsResponse list;
    auto context = NewContext();
    context->set_wait_for_ready(true);
    const grpc::Status status = stub->ListTools(context.get(), {}, &list);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->WaitForExit(), 0);
}

}  // namespace
}  // namespace toolrack
