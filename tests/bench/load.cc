// The benchmark's client, the same for both sides. `--do=`
//   call      keeps `--in-flight` CallTool calls going for `--warmup` and then `--seconds` (or
//   until
//             `--calls` have been answered), and says one line of JSON: counts, latencies, and the
//             CPU time that the processes `--cpu-of=PID,PID` used in the measured window
//   hold      starts `--in-flight` calls, says `held`, waits for end of input, cancels them
//   connect   opens `--in-flight` connections, says `held`, waits for end of input
//   start     runs `--exec="COMMAND ARG…"` and says how long until its health is SERVING, in
//             milliseconds from exec; then waits for end of input and ends it with SIGTERM
// `--target=ADDRESS`, `--channels=N` connections, `--tool=NAME`, `--args=JSON`.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "tests/bench/harness.h"
#include "toolrack/v1/tool_service.grpc.pb.h"

extern char** environ;

namespace toolrack::bench {
namespace {

std::vector<std::shared_ptr<grpc::Channel>> MakeChannels(const std::string& target, int64_t count) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int64_t i = 0; i < count; ++i) {
    grpc::ChannelArguments args;
    // Else channels with equal arguments share one connection.
    args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channels.push_back(grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), args));
  }
  return channels;
}

bool AllConnected(const std::vector<std::shared_ptr<grpc::Channel>>& channels) {
  for (const auto& channel : channels) {
    const auto latest = std::chrono::system_clock::now() + std::chrono::seconds(20);
    if (!channel->WaitForConnected(latest)) return false;
  }
  return true;
}

// A closed loop of calls: each slot starts its next call when the one before was answered.
class Load {
 public:
  Load(std::vector<std::shared_ptr<grpc::Channel>> channels, const v1::CallToolRequest& request,
       int64_t in_flight, uint64_t max_calls)
      : max_calls_(max_calls) {
    for (const auto& channel : channels) stubs_.push_back(v1::ToolService::NewStub(channel));
    for (int64_t i = 0; i < in_flight; ++i) {
      slots_.emplace_back();
      slots_.back().stub = stubs_[i % stubs_.size()].get();
      slots_.back().request = request;
    }
  }

  void Start() {
    running_ = slots_.size();
    for (Slot& slot : slots_) Next(&slot);
  }
  void StartMeasuring() {
    absl::MutexLock lock(&mutex_);
    measuring_ = true;
  }
  // No new calls from now on; returns when those in flight have ended. False after 60 s.
  bool Stop() {
    stopping_ = true;
    return WaitAllEnded(absl::Seconds(60));
  }
  bool WaitAllEnded(absl::Duration latest) {
    absl::MutexLock lock(&mutex_);
    return mutex_.AwaitWithTimeout(absl::Condition(
                                       +[](uint64_t* running) { return *running == 0; }, &running_),
                                   latest);
  }
  void CancelAll() {
    stopping_ = true;
    for (Slot& slot : slots_) slot.context->TryCancel();
  }
  uint64_t answered() const { return answered_; }
  const Histogram& latencies() const { return latencies_; }
  uint64_t errors() const { return errors_; }
  std::string first_error() {
    absl::MutexLock lock(&mutex_);
    return first_error_;
  }
  size_t response_bytes() const { return response_bytes_; }

 private:
  struct Slot {
    v1::ToolService::Stub* stub;
    std::optional<grpc::ClientContext> context;
    v1::CallToolRequest request;
    v1::CallToolResponse response;
    int64_t start_ns;
  };

  void Next(Slot* slot) {
    slot->context.emplace();
    slot->start_ns = absl::GetCurrentTimeNanos();
    slot->stub->async()->CallTool(&*slot->context, &slot->request, &slot->response,
                                  [this, slot](grpc::Status status) { Ended(slot, status); });
  }

  void Ended(Slot* slot, const grpc::Status& status) {
    const uint64_t count = answered_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (measuring_.load(std::memory_order_relaxed)) {
      latencies_.Record(std::max<int64_t>(0, absl::GetCurrentTimeNanos() - slot->start_ns));
    }
    const bool good = status.ok() && !slot->response.result().is_error();
    if (!good && !stopping_) {
      errors_.fetch_add(1);
      absl::MutexLock lock(&mutex_);
      if (first_error_.empty()) {
        first_error_ = status.ok() ? slot->response.ShortDebugString()
                                   : absl::StrCat(status.error_code(), " ", status.error_message());
      }
    } else if (count == 1) {
      response_bytes_ = slot->response.ByteSizeLong();
    }
    // After an error the slot ends: a loop of refusals would measure nothing and spin.
    if (!good || stopping_ || (max_calls_ != 0 && count + slots_.size() > max_calls_)) {
      absl::MutexLock lock(&mutex_);
      --running_;
      return;
    }
    Next(slot);
  }

  const uint64_t max_calls_;
  std::vector<std::unique_ptr<v1::ToolService::Stub>> stubs_;
  std::deque<Slot> slots_;
  std::atomic<uint64_t> answered_{0};
  std::atomic<uint64_t> errors_{0};
  std::atomic<size_t> response_bytes_{0};
  std::atomic<bool> measuring_{false};
  std::atomic<bool> stopping_{false};
  Histogram latencies_;
  absl::Mutex mutex_;
  uint64_t running_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string first_error_ ABSL_GUARDED_BY(mutex_);
};

int DoCall(const Flags& flags) {
  v1::CallToolRequest request;
  request.set_name(flags.Text("tool", "echo"));
  request.set_arguments_json(flags.Text("args", "{}"));
  std::vector<int64_t> pids;
  for (absl::string_view text : absl::StrSplit(flags.Text("cpu-of", ""), ',', absl::SkipEmpty())) {
    int64_t pid = 0;
    if (absl::SimpleAtoi(text, &pid)) pids.push_back(pid);
  }
  pids.push_back(getpid());
  const uint64_t max_calls = flags.Number("calls", 0);
  auto channels = MakeChannels(flags.Text("target", ""), flags.Number("channels", 1));
  if (!AllConnected(channels)) {
    absl::FPrintF(stderr, "cannot connect\n");
    return 1;
  }
  Load load(channels, request, flags.Number("in-flight", 1), max_calls);
  if (max_calls != 0) load.StartMeasuring();
  absl::Time start = absl::Now();
  uint64_t calls_before = 0;
  std::vector<absl::Duration> cpu;
  for (int64_t pid : pids) cpu.push_back(ProcessCpu(pid));
  load.Start();
  bool ended = true;
  if (max_calls != 0) {
    ended = load.WaitAllEnded(absl::Minutes(5));
  } else {
    absl::SleepFor(absl::Seconds(flags.Real("warmup", 0.3)));
    load.StartMeasuring();
    start = absl::Now();
    calls_before = load.answered();
    for (size_t i = 0; i < pids.size(); ++i) cpu[i] = ProcessCpu(pids[i]);
    absl::SleepFor(absl::Seconds(flags.Real("seconds", 1)));
  }
  for (size_t i = 0; i < pids.size(); ++i) cpu[i] = ProcessCpu(pids[i]) - cpu[i];
  const uint64_t calls = load.answered() - calls_before;
  const double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  ended = load.Stop() && ended;
  std::vector<std::string> per_call;
  for (absl::Duration spent : cpu) {
    per_call.push_back(
        absl::StrFormat("%.3f", absl::ToDoubleMicroseconds(spent) / std::max<uint64_t>(calls, 1)));
  }
  std::string error = load.first_error();
  for (char& c : error) {
    if (c == '"' || c == '\\' || c < ' ') c = ' ';
  }
  Say(absl::StrFormat(
      R"({"calls":%d,"seconds":%.3f,"rps":%.1f,"p50_us":%.1f,"p99_us":%.1f,"cpu_us":[%s],)"
      R"("response_bytes":%d,"errors":%d,"error":"%s"})",
      calls, seconds, calls / seconds, load.latencies().Quantile(0.5) / 1e3,
      load.latencies().Quantile(0.99) / 1e3, absl::StrJoin(per_call, ","), load.response_bytes(),
      load.errors(), error));
  return ended && load.errors() == 0 ? 0 : 1;
}

int DoHold(const Flags& flags) {
  v1::CallToolRequest request;
  request.set_name(flags.Text("tool", "sleep"));
  request.set_arguments_json(flags.Text("args", "{}"));
  auto channels = MakeChannels(flags.Text("target", ""), flags.Number("channels", 1));
  if (!AllConnected(channels)) return 1;
  Load load(channels, request, flags.Number("in-flight", 1), 0);
  load.Start();
  Say("held");
  WaitForEndOfInput();
  const uint64_t too_early = load.answered();
  load.CancelAll();
  const bool ended = load.WaitAllEnded(absl::Seconds(60));
  if (too_early != 0) {
    absl::FPrintF(stderr, "%d calls were answered while held: %s\n", too_early, load.first_error());
  }
  return ended && too_early == 0 ? 0 : 1;
}

int DoConnect(const Flags& flags) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int64_t left = flags.Number("in-flight", 1); left > 0; left -= 32) {
    auto more = MakeChannels(flags.Text("target", ""), std::min<int64_t>(left, 32));
    for (const auto& channel : more) channel->GetState(true);
    if (!AllConnected(more)) return 1;
    channels.insert(channels.end(), more.begin(), more.end());
  }
  Say("held");
  WaitForEndOfInput();
  return 0;
}

// True when something accepts connections at the Unix socket.
bool Accepts(const std::string& path) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const bool good = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return good;
}

// grpc.health.v1.Health/Check by hand: a HealthCheckResponse {status: SERVING} is the bytes 08 01.
bool Serving(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(5));
  grpc::ByteBuffer empty(nullptr, 0), response;
  grpc::CompletionQueue queue;
  auto call = stub.PrepareUnaryCall(&context, "/grpc.health.v1.Health/Check", empty, &queue);
  call->StartCall();
  grpc::Status status;
  call->Finish(&response, &status, &queue);
  void* tag;
  bool ok;
  queue.Next(&tag, &ok);
  grpc::Slice slice;
  if (!status.ok() || !response.DumpToSingleSlice(&slice).ok()) return false;
  return absl::string_view(reinterpret_cast<const char*>(slice.begin()), slice.size()) ==
         "\x08\x01";
}

int DoStart(const Flags& flags) {
  const std::string target = flags.Text("target", "");
  const std::string path(absl::StripPrefix(target, "unix:"));
  std::vector<std::string> words = absl::StrSplit(flags.Text("exec", ""), ' ', absl::SkipEmpty());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  auto channels = MakeChannels(target, 1);
  int input[2];
  if (pipe(input) != 0) return 1;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", 0, 0);
  posix_spawn_file_actions_addclose(&actions, input[1]);
  pid_t pid = 0;
  const absl::Time start = absl::Now();
  if (posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) return 1;
  const absl::Time latest = start + absl::Seconds(20);
  while (!Accepts(path) && absl::Now() < latest) absl::SleepFor(absl::Microseconds(200));
  const absl::Duration listening = absl::Now() - start;
  bool serving = false;
  while (!serving && absl::Now() < latest) serving = Serving(channels[0]);
  const absl::Duration took = absl::Now() - start;
  if (serving) {
    Say(absl::StrFormat("serving %.2f listening %.2f pid %d", absl::ToDoubleMilliseconds(took),
                        absl::ToDoubleMilliseconds(listening), pid));
    WaitForEndOfInput();
  }
  kill(pid, SIGTERM);
  close(input[1]);
  int status = 0;
  waitpid(pid, &status, 0);
  return serving ? 0 : 1;
}

int Main(int argc, char** argv) {
  const Flags flags(argc, argv);
  const std::string what = flags.Text("do", "call");
  if (what == "call") return DoCall(flags);
  if (what == "hold") return DoHold(flags);
  if (what == "connect") return DoConnect(flags);
  if (what == "start") return DoStart(flags);
  absl::FPrintF(stderr, "--do=call, hold, connect or start\n");
  return 2;
}

}  // namespace
}  // namespace toolrack::bench

int main(int argc, char** argv) { return toolrack::bench::Main(argc, argv); }
