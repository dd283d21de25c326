// A hook: sees calls of some tools, and may change, answer or refuse them.
//
// Hooks in this process and hooks behind a stream are the same to the pipeline.
#ifndef TOOLRACK_REGISTRY_CALL_HOOK_H_
#define TOOLRACK_REGISTRY_CALL_HOOK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "registry/snapshot.h"
#include "toolrack/v1/admin_service.pb.h"
#include "toolrack/v1/hook_service.pb.h"
#include "toolrack/v1/result.pb.h"

namespace toolrack {

// What a hook wants; never changes while it is in place. Fields as in v1::HookHello.
struct HookSpec {
  std::string name;
  std::string principal = "toolrack";
  std::vector<v1::HookPoint> points;
  v1::ToolFilter filter;
  int32_t priority = 0;
  absl::Duration timeout = absl::Seconds(1);
  bool fail_closed = true;
  bool observe_only = false;
  bool dry_run = false;
};

// One event, without its id. Shared by all hooks that see it; never changes.
struct HookQuestion {
  std::shared_ptr<const v1::HookEvent> event;
  ToolEntryPtr tool;
};

// What a hook wants done. Whether it belongs to the point is checked by the pipeline.
struct HookVerdict {
  enum class Action { kPass, kReplaceArguments, kReplaceResult, kDeny, kAnswer };
  Action action = Action::kPass;
  std::string arguments;  // kReplaceArguments: JSON text
  v1::ToolResult result;  // kReplaceResult, kAnswer
  std::string reason;     // kDeny
};
// `pass`, `replace_arguments`, …
const char* HookActionName(HookVerdict::Action action);

// A verdict, or in a status's message what went wrong with the hook, to stand after its name:
// "lost its stream".
using HookDone = absl::AnyInvocable<void(absl::StatusOr<HookVerdict>)>;

// Thread-safe. Held by shared pointers.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual const HookSpec& spec() const = 0;
  // Asks, without blocking. `done` runs at most once, on any thread, possibly before this returned;
  // never when the hook has no answer: whoever asks has a timer. Gives a number for Forget, 0 when
  // there is nothing to forget.
  virtual uint64_t Ask(HookQuestion question, HookDone done) = 0;
  // Nobody waits for that any more. `done` may still be running.
  virtual void Forget(uint64_t number) = 0;
  // Lets it know, without an answer; never waits. For observers, and for what is over.
  virtual void Tell(HookQuestion question) = 0;
  // Adds what only it knows: id, dropped, late.
  virtual void Describe(v1::HookInfo&) const {}
};

// A hook of this process: answers at once, by a function that must not block. An exception out of
// it is a failure of the hook.
using HookFunction = std::function<HookVerdict(const v1::HookEvent& event, const v1::Tool& tool)>;
std::shared_ptr<Hook> MakeHook(HookSpec spec, HookFunction function);

// For functions of hooks.
HookVerdict PassVerdict();
HookVerdict ReplaceArguments(std::string arguments_json);
HookVerdict ReplaceResult(v1::ToolResult result);
HookVerdict Deny(std::string reason);
HookVerdict AnswerInstead(v1::ToolResult result);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_CALL_HOOK_H_
