#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <thread>

#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"

namespace {

// Ctrl-C and SIGTERM stop what is under way, a second one ends at once.
void StopOnSignal(toolrack::StopSource stop) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  // Before any thread is there, so that all of them inherit it.
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([stop, signals]() mutable {
    int signal = 0;
    while (sigwait(&signals, &signal) == 0) {
      if (!stop.RequestStop(toolrack::StopReason::kCaller)) _exit(toolrack::kExitCancelled);
    }
  }).detach();
}

size_t ColumnsOf(int fd) {
  winsize size{};
  if (isatty(fd) != 1 || ioctl(fd, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
  toolrack::StopSource stop;
  StopOnSignal(stop);
  toolrack::Terminal terminal{std::cin,
                              std::cout,
                              std::cerr,
                              isatty(STDOUT_FILENO) == 1,
                              isatty(STDERR_FILENO) == 1,
                              ColumnsOf(STDOUT_FILENO),
                              [](const std::string& name) -> std::optional<std::string> {
                                const char* value = std::getenv(name.c_str());
                                if (value == nullptr || *value == '\0') return std::nullopt;
                                return value;
                              },
                              stop.token()};
  std::ios::sync_with_stdio(false);
  return toolrack::RunToolrack(std::vector<std::string>(argv + 1, argv + argc), terminal);
}
