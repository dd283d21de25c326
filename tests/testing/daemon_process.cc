#include "tests/testing/daemon_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "absl/strings/str_cat.h"

extern char** environ;

namespace toolrack {
namespace {

// How often a state that nobody signals (a child's) is looked at.
constexpr absl::Duration kLook = absl::Milliseconds(5);

}  // namespace

DaemonProcess::DaemonProcess(std::vector<std::string> flags, std::vector<std::string> wrapper)
    : runtime_dir_(absl::StrCat(dir_.path(), "/run")) {
  std::vector<std::string> words = std::move(wrapper);
  words.push_back(absl::StrCat(TOOLRACK_BIN_DIR, "/toolrackd"));
  for (std::string& flag : flags) {
    // `RUN` stands for the process's own folder.
    words.push_back(flag == "RUN" ? runtime_dir_ : std::move(flag));
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string log = absl::StrCat(dir_.path(), "/output");
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  if (::posix_spawnp(&pid_, argv[0], &actions, nullptr, argv.data(), environ) != 0) {
    std::perror("posix_spawnp");
    std::abort();
  }
  ::posix_spawn_file_actions_destroy(&actions);
}

DaemonProcess::~DaemonProcess() {
  if (!Running()) return;
  ::kill(pid_, SIGKILL);
  WaitForExit();
}

std::unique_ptr<DaemonProcess> DaemonProcess::Serve(std::vector<std::string> flags,
                                                    std::vector<std::string> wrapper) {
  flags.insert(flags.begin(), {"--runtime-dir", "RUN"});
  return std::make_unique<DaemonProcess>(std::move(flags), std::move(wrapper));
}

bool DaemonProcess::Running() {
  if (exit_code_ >= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return false;
}

int DaemonProcess::WaitForExit() {
  const absl::Time end = absl::Now() + kHung;
  while (Running() && absl::Now() < end) absl::SleepFor(kLook);
  return exit_code_;
}

void DaemonProcess::Signal(int signal) { ::kill(pid_, signal); }

bool DaemonProcess::WaitUntilServing() {
  auto stub = v1::AdminService::NewStub(Channel("control"));
  const absl::Time end = absl::Now() + kHung;
  while (Running() && absl::Now() < end) {
    v1::GetStatusResponse status;
    auto context = NewContext();
    context->set_wait_for_ready(true);
    context->set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    if (stub->GetStatus(context.get(), {}, &status).ok()) return true;
  }
  return false;
}

std::string DaemonProcess::Output() const {
  std::ifstream in(absl::StrCat(dir_.path(), "/output"));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::shared_ptr<grpc::Channel> DaemonProcess::Channel(absl::string_view scope) const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(absl::StrCat("unix:", runtime_dir_, "/", scope, ".sock"),
                                   grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace toolrack
