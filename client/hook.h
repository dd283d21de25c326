// The hook SDK: lets a function of this process see, change, answer or refuse the calls of a
// toolrackd.
//
//   toolrack::HookOptions options;
//   options.address = "unix:/run/toolrack/control.sock";
//   options.name = "my-hook";
//   options.points = {toolrack::v1::HOOK_POINT_PRE_CALL};
//   toolrack::HookClient hook(options, [](const toolrack::v1::HookEvent& event,
//                                         const toolrack::v1::Tool& tool) {
//     return toolrack::DenyCall("not today");
//   });
//   hook.Start();
//   absl::Status end = hook.Wait();
//
// A hook attaches, answers, and attaches again, with jittered back-off and for ever, whenever the
// stream is lost. It gives up only when another process attached under its name (REPLACED), or when
// the daemon says that the hook itself is at fault.
#ifndef TOOLRACK_CLIENT_HOOK_H_
#define TOOLRACK_CLIENT_HOOK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "toolrack/v1/hook_service.pb.h"
#include "toolrack/v1/result.pb.h"
#include "toolrack/v1/tool.pb.h"

namespace toolrack {

// The verdict on one event; event_id is filled in. Runs on the hook's own threads, in parallel, and
// may block as long as the hook's timeout allows. An exception is a failure of the hook. What an
// observer returns is dropped.
using HookHandler =
    std::function<v1::HookVerdict(const v1::HookEvent& event, const v1::Tool& tool)>;

v1::HookVerdict PassCall();
v1::HookVerdict ReplaceCallArguments(std::string arguments_json);
v1::HookVerdict ReplaceCallResult(v1::ToolResult result);
v1::HookVerdict DenyCall(absl::string_view reason);
v1::HookVerdict AnswerCall(v1::ToolResult result);

struct HookOptions {
  // `unix:/path` of control.sock.
  std::string address;
  // 1 to 128 of `[A-Za-z0-9_.:/-]`. The same name takes over from its predecessor.
  std::string name;
  // A bearer token of a principal with the scope `hook`; empty: the peer's user decides.
  std::string token = {};
  std::vector<v1::HookPoint> points;
  v1::ToolFilter filter;                  // all tools when empty
  int32_t priority = 0;                   // higher ones are asked first
  std::optional<absl::Duration> timeout;  // the daemon's default when not set
  v1::HookFailureMode failure_mode = v1::HOOK_FAILURE_MODE_UNSPECIFIED;
  bool observe_only = false;
  bool dry_run = false;
  size_t threads = 4;
  absl::Duration min_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(10);
  // Called on the hook's thread: short.
  std::function<void(const v1::HookWelcome&)> on_attached;
  std::function<void(const absl::Status&)> on_detached;
};

// Thread-safe.
class HookClient {
 public:
  HookClient(HookOptions options, HookHandler handler);
  // Stop() when it still runs.
  ~HookClient();
  HookClient(const HookClient&) = delete;
  HookClient& operator=(const HookClient&) = delete;

  // Begins to attach, and returns. INVALID_ARGUMENT for an empty name or address; once.
  absl::Status Start();
  // True once it is attached; false when `timeout` is over or it has ended.
  bool WaitUntilAttached(absl::Duration timeout);
  // Detaches. Blocks until handlers have returned; not from one of them. Idempotent.
  void Stop();
  // Blocks until it has ended: OK after Stop, else why it gave up.
  absl::Status Wait();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace toolrack

#endif  // TOOLRACK_CLIENT_HOOK_H_
