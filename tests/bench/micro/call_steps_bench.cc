// What each step of a call costs: the steps that are functions of their own by themselves, the
// others as the whole call with and without them.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "registry/arguments.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline.h"
#include "registry/call/result_shape.h"
#include "registry/call/result_store.h"
#include "registry/call/scrub.h"
#include "registry/session_table.h"
#include "tests/bench/micro/fixtures.h"

namespace toolrack::bench {
namespace {

std::string Text(size_t size) { return std::string(size, 'x'); }
std::string Arguments(size_t size) { return absl::StrCat(R"({"text":")", Text(size), "\"}"); }

// A pipeline with everything that a call may meet, switched on by the benchmark.
struct Stand {
  explicit Stand(PipelineOptions options = {}, const v1::PolicyConfig& rules = {},
                 const v1::Config& who = {})
      : timers(MakeTimers()),
        pool("bench", 1, 16),
        results(&Clock::Real(), v1::ResultsConfig()),
        hooks(&Clock::Real(), {}),
        sessions({filled.registry.get(), timers.get(), &Clock::Real()}, {}),
        principals(who.principals()),
        policy(rules),
        approvals(&Clock::Real(), rules),
        pipeline({filled.registry.get(), timers.get(), &Clock::Real(), &pool, &results, &sessions,
                  &hooks, &principals, &policy, &approvals},
                 std::move(options)) {
    request.set_name(filled.names[0]);
    request.set_arguments_json(Arguments(190));
  }
  void AddHook(v1::HookPoint point, const std::string& tools, HookVerdict verdict) {
    HookSpec spec;
    spec.name = absl::StrCat("h", hooks.size());
    spec.points = {point};
    spec.filter.add_names(tools);
    (void)hooks.Add(
        MakeHook(spec, [verdict](const v1::HookEvent&, const v1::Tool&) { return verdict; }));
  }
  void Run(benchmark::State& state) {
    for (auto _ : state) {
      bool good = false;
      pipeline.Start(
          request, {"bench", "", absl::InfiniteDuration()}, StopSource(), nullptr,
          [&good](absl::StatusOr<v1::CallToolResponse> response) { good = response.ok(); });
      if (!good) {
        state.SkipWithError("the call failed, or was not answered at once");
        break;
      }
    }
  }

  FilledRegistry& filled = RegistryOf(1000);
  std::unique_ptr<Timers> timers;
  ThreadPool pool;
  ResultStore results;
  HookSet hooks;
  SessionTable sessions;
  Principals principals;
  Policy policy;
  Approvals approvals;
  CallPipeline pipeline;
  v1::CallToolRequest request;
};

void CallBare(benchmark::State& state) { Stand().Run(state); }
BENCHMARK(CallBare);

void CallWithAHookOfOtherTools(benchmark::State& state) {
  Stand stand;
  stand.AddHook(v1::HOOK_POINT_PRE_CALL, "nothing*", PassVerdict());
  stand.Run(state);
}
BENCHMARK(CallWithAHookOfOtherTools);

void CallWithHooksBefore(benchmark::State& state) {
  Stand stand;
  for (int i = 0; i < state.range(0); ++i) {
    stand.AddHook(v1::HOOK_POINT_PRE_CALL, "*", PassVerdict());
  }
  stand.Run(state);
}
BENCHMARK(CallWithHooksBefore)->Arg(1)->Arg(4);

void CallWithAHookThatReplaces(benchmark::State& state) {
  Stand stand;
  stand.AddHook(v1::HOOK_POINT_PRE_CALL, "*", ReplaceArguments(Arguments(191)));
  stand.Run(state);
}
BENCHMARK(CallWithAHookThatReplaces);

void CallWithAHookAfter(benchmark::State& state) {
  Stand stand;
  stand.AddHook(v1::HOOK_POINT_POST_CALL, "*", PassVerdict());
  stand.Run(state);
}
BENCHMARK(CallWithAHookAfter);

void CallWithRules(benchmark::State& state) {
  v1::PolicyConfig rules;
  for (int i = 0; i < state.range(0); ++i) {
    v1::PolicyRule& rule = *rules.add_rules();
    rule.add_tools(absl::StrCat("nothing", i, "*"));
    rule.set_action("deny");
  }
  Stand({}, rules).Run(state);
}
BENCHMARK(CallWithRules)->Arg(1)->Arg(100);

void CallWithRate(benchmark::State& state) {
  PipelineOptions options;
  options.limits.set_max_calls_per_minute(4'000'000'000);
  options.limits.set_call_burst(4'000'000'000);
  Stand(std::move(options)).Run(state);
}
BENCHMARK(CallWithRate);

void CallInASession(benchmark::State& state) {
  Stand stand;
  stand.request.set_session_id(stand.sessions.Open({}, "bench")->session_id());
  stand.Run(state);
}
BENCHMARK(CallInASession);

void CallWithARecord(benchmark::State& state) {
  PipelineOptions options;
  options.digest_arguments = true;
  options.on_call = [](const CallRecord& record) { benchmark::DoNotOptimize(record); };
  Stand(std::move(options)).Run(state);
}
BENCHMARK(CallWithARecord);

// The steps that stand by themselves.
void StepFind(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(1000);
  for (auto _ : state) benchmark::DoNotOptimize(filled.registry->Peek().Get(filled.names[0]));
}
BENCHMARK(StepFind);

void StepReadArguments(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(1000);
  const ToolEntryPtr entry = filled.registry->Peek().Get(filled.names[0]);
  const std::string text = Arguments(state.range(0));
  for (auto _ : state) {
    ArgumentInput input;
    input.text = text;
    benchmark::DoNotOptimize(
        ReadArguments(entry->definition->tool, std::move(input), ArgumentLimits(), false));
  }
}
BENCHMARK(StepReadArguments)->Arg(190)->Arg(10000);

void StepValidate(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(1000);
  const ToolEntryPtr entry = filled.registry->Peek().Get(filled.names[0]);
  ArgumentInput input;
  input.text = Arguments(190);
  absl::StatusOr<toolrack::Arguments> arguments =
      ReadArguments(entry->definition->tool, std::move(input), ArgumentLimits(), false);
  for (auto _ : state) benchmark::DoNotOptimize(ValidateArguments(*entry, false, *arguments));
}
BENCHMARK(StepValidate);

void StepScrub(benchmark::State& state) {
  const Scrubber scrubber{v1::ResultsConfig()};
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(Text(state.range(0)));
  for (auto _ : state) {
    scrubber.Scrub(result);
    benchmark::DoNotOptimize(result);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(StepScrub)->Arg(200)->Arg(10000)->Arg(1000000);

}  // namespace
}  // namespace toolrack::bench
