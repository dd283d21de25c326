// One call through the pipeline, without gRPC: the tool answers at once, on the caller's thread.
#include <benchmark/benchmark.h>

#include <memory>
#include <utility>

#include "registry/call/pipeline.h"
#include "registry/call/result_store.h"
#include "tests/bench/micro/fixtures.h"

namespace toolrack::bench {
namespace {

void PipelineCall(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(state.range(0));
  std::unique_ptr<Timers> timers = MakeTimers();
  ThreadPool pool("bench", 1, 16);
  ResultStore results(&Clock::Real(), v1::ResultsConfig());
  CallPipeline::Parts parts{filled.registry.get(), timers.get(), &Clock::Real(), &pool, &results};
  CallPipeline pipeline(parts, PipelineOptions());
  v1::CallToolRequest request;
  request.set_name(filled.names[0]);
  request.set_arguments_json(R"({"text":")" + std::string(190, 'x') + R"("})");
  Caller caller;
  caller.principal = "bench";
  for (auto _ : state) {
    bool good = false;
    pipeline.Start(
        request, caller, StopSource(), nullptr,
        [&good](absl::StatusOr<v1::CallToolResponse> response) { good = response.ok(); });
    if (!good) {
      state.SkipWithError("the call failed, or was not answered at once");
      break;
    }
  }
}
BENCHMARK(PipelineCall)->Arg(100)->Arg(100000);

}  // namespace
}  // namespace toolrack::bench
