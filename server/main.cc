// toolrackd: flags, configuration, signals.
#include <grpcpp/version_info.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/log.h"
#include "server/config.h"
#include "server/server.h"

namespace toolrack {
namespace {

// What the process says when it ends.
enum ExitCode {
  kFine = 0,          // drained, or nothing to do but to answer
  kFailed = 1,        // could not start for a reason of the machine, or was stopped at once
  kBadConfig = 2,     // flags or configuration
  kAlreadyServed = 3  // another process has the folder or the address
};

struct Flags {
  std::string config;
  std::string runtime_dir;
  std::vector<std::string> listen;
  bool insecure_remote = false;
  std::string socket_mode;
  std::string socket_group;
  std::string log_level;
  bool check_config = false;
};

void Declare(CLI::App& app, Flags& flags) {
  app.add_option("--config", flags.config, "Read this file (YAML or JSON)");
  app.add_option("--runtime-dir", flags.runtime_dir,
                 "Folder of agent.sock, worker.sock and control.sock "
                 "[$XDG_RUNTIME_DIR/toolrack, else /run/toolrack]");
  app.add_option(
         "--listen", flags.listen,
         "Also serve agents on this TCP address, HOST:PORT; port 0 takes a free one; may be "
         "repeated")
      ->allow_extra_args(false);
  app.add_flag("--insecure-remote", flags.insecure_remote,
               "Allow --listen on an address that is not loopback, without encryption");
  app.add_option("--socket-mode", flags.socket_mode, "Octal mode of the sockets [0600]");
  app.add_option("--socket-group", flags.socket_group, "Group of the sockets");
  app.add_option("--log-level", flags.log_level, "debug, info, warning, error or off [info]");
  app.add_flag("--check-config", flags.check_config, "Check flags and configuration, then exit");
  app.set_version_flag(
      "--version", absl::StrCat("toolrackd ", Version(), " (gRPC ", GRPC_CPP_VERSION_STRING, ")"));
}

// Flags win over the file.
void Apply(const Flags& flags, v1::Config& config) {
  auto& listen = *config.mutable_listen();
  if (!flags.runtime_dir.empty()) listen.set_runtime_dir(flags.runtime_dir);
  if (!flags.listen.empty()) {
    listen.clear_tcp();
    for (const std::string& address : flags.listen) listen.add_tcp(address);
  }
  if (flags.insecure_remote) listen.set_insecure_remote(true);
  if (!flags.socket_mode.empty()) listen.set_socket_mode(flags.socket_mode);
  if (!flags.socket_group.empty()) listen.set_socket_group(flags.socket_group);
  if (!flags.log_level.empty()) config.mutable_log()->set_level(flags.log_level);
}

// File and flags, checked, with defaults.
absl::StatusOr<v1::Config> ReadAll(const Flags& flags) {
  v1::Config config;
  if (!flags.config.empty()) {
    absl::StatusOr<v1::Config> loaded = LoadConfigFile(flags.config);
    if (!loaded.ok()) return loaded.status();
    config = *std::move(loaded);
  }
  Apply(flags, config);
  const std::vector<ConfigMistake> mistakes = CheckConfig(config);
  if (!mistakes.empty()) return absl::InvalidArgumentError(FormatMistakes("flags", mistakes));
  return WithDefaults(std::move(config));
}

// gRPC 1.51 suffers badly from a lack of descriptors: take all that we may have.
void RaiseFdLimit() {
  rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

// SIGTERM and SIGINT: the first one drains, the second ends the process at once. SIGHUP opens the
// logs again and reads the configuration again. SIGUSR1 ends the thread.
class Signals {
 public:
  // Before any other thread starts, so that all of them inherit the mask.
  Signals() {
    ::sigemptyset(&set_);
    for (int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, nullptr);
    ::signal(SIGPIPE, SIG_IGN);
  }
  ~Signals() { Stop(); }
  // Before the server goes.
  void Stop() {
    if (!thread_.joinable()) return;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  void Watch(Server& server) {
    thread_ = std::thread([this, &server] { Run(server); });
  }

 private:
  void Run(Server& server) {
    int signal = 0;
    bool draining = false;
    while (::sigwait(&set_, &signal) == 0 && signal != SIGUSR1) {
      if (signal == SIGHUP) {
        ReadAgain(server);
        continue;
      }
      if (draining) {
        LogWarning("second signal: ending at once");
        StopLog();
        ::_exit(kFailed);
      }
      draining = true;
      server.BeginDrain(FromProto(server.config().drain_grace()));
    }
  }
  static void ReadAgain(Server& server) {
    if (const absl::Status status = ReopenLog(); !status.ok()) LogError(status.message());
    server.ReopenFiles();
    // Says in the log what it did.
    const absl::StatusOr<v1::ReloadConfigResponse> reloaded = server.ReloadConfig(false);
    if (!reloaded.ok()) LogError(reloaded.status().message());
  }
  sigset_t set_;
  std::thread thread_;
};

int Complain(const absl::Status& status) {
  std::fprintf(stderr, "toolrackd: %s\n", std::string(status.message()).c_str());
  if (status.code() == absl::StatusCode::kInvalidArgument) return kBadConfig;
  return status.code() == absl::StatusCode::kAlreadyExists ? kAlreadyServed : kFailed;
}

int Run(int argc, char** argv) {
  CLI::App app("Holds a rack of tools and serves it over gRPC.", "toolrackd");
  Flags flags;
  Declare(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kFine : kBadConfig;
  }
  // Debian builds Abseil with its search for lock cycles on, at every lock that is taken, in gRPC
  // too: a twelfth of an empty call. Tests, which do not come by here, keep it.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Signals signals;
  absl::StatusOr<v1::Config> loaded = ReadAll(flags);
  if (!loaded.ok()) return Complain(loaded.status());
  const v1::Config config = *std::move(loaded);
  if (flags.check_config) {
    std::printf("the configuration is fine\n");
    return kFine;
  }
  if (absl::Status status = StartLog(
          {LogLevelOf(config.log().level()), config.log().file(), config.log().format() == "json"});
      !status.ok()) {
    return Complain(status);
  }
  RaiseFdLimit();
  ConfigSource source;
  if (!flags.config.empty()) source = {flags.config, [&flags] { return ReadAll(flags); }};
  absl::StatusOr<std::unique_ptr<Server>> server = Server::Create(config, std::move(source));
  if (!server.ok()) {
    StopLog();
    return Complain(server.status());
  }
  LogInfo(absl::StrCat("toolrackd ", Version(), " serves, pid ", ::getpid()));
  signals.Watch(**server);
  (*server)->Wait();
  signals.Stop();
  server->reset();
  StopLog();
  return kFine;
}

}  // namespace
}  // namespace toolrack

int main(int argc, char** argv) { return toolrack::Run(argc, argv); }
