#include "registry/builtin/sleep.h"

#include <optional>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/base/task.h"
#include "registry/typed_tool.h"

namespace toolrack {
namespace {

struct SleepArgs {
  double seconds = 0;
  uint32_t steps = 1;
  static auto Describe() {
    return Fields(Field("seconds", &SleepArgs::seconds, "How long to wait.").Min(0).Max(3600),
                  Field("steps", &SleepArgs::steps, "How many times to tell how far it is.")
                      .Min(1)
                      .Max(1000)
                      .Default(1));
  }
};

struct SleepDone {
  double slept_seconds = 0;
  static auto Describe() {
    return Fields(Field("slept_seconds", &SleepDone::slept_seconds, "How long it waited."));
  }
};

void Report(const ToolCall& call, const SleepArgs& args, uint32_t step) {
  v1::Progress progress;
  progress.set_progress(step);
  progress.set_total(args.steps);
  progress.set_message(absl::StrCat(args.seconds * step / args.steps, " of ", args.seconds, " s"));
  call.reporter->OnProgress(std::move(progress));
}

// True: the time is over. False: the call was stopped first.
Task<bool> Wait(Timers* timers, absl::Duration delay, StopToken stop) {
  Completion<bool> woken;
  const TimerId timer = timers->Arm(delay, [woken] { woken.Set(true); });
  auto on_stop = [woken] { woken.Set(false); };
  std::stop_callback listener(stop.std_token(), on_stop);
  const bool over = co_await woken;
  if (!over) timers->Disarm(timer);
  co_return over;
}

Detached Sleep(Timers* timers, SleepArgs args, ToolCall call, ToolReply<SleepDone> reply) {
  const absl::Duration step_time = absl::Seconds(args.seconds) / args.steps;
  Report(call, args, 0);
  for (uint32_t step = 1; step <= args.steps; ++step) {
    const bool over = co_await Wait(timers, step_time, call.stop);
    if (!over) {
      reply(absl::CancelledError(
          absl::StrCat("Stopped before step ", step, " of ", args.steps, " was over.")));
      co_return;
    }
    Report(call, args, step);
  }
  reply(SleepDone{args.seconds});
}

}  // namespace

ToolFactory MakeSleepTool(Timers* timers) {
  return MakeTool(ToolSpec("sleep",
                           "Waits for some seconds and tells how far it is. Good for "
                           "trying out progress, deadlines and cancelling.")
                      .Category("basic")
                      .ReadOnly()
                      .Idempotent()
                      .OpenWorld(false)
                      .Example("wait ten seconds"),
                  [timers](SleepArgs args, ToolCall call, ToolReply<SleepDone> reply) {
                    Sleep(timers, std::move(args), std::move(call), std::move(reply));
                  });
}

}  // namespace toolrack
