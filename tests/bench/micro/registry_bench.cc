// The registry: look-up, publish, pages, watchers.
#include <benchmark/benchmark.h>

#include "absl/strings/str_cat.h"
#include "tests/bench/micro/fixtures.h"

namespace toolrack::bench {
namespace {

// Never the same twice in a process: publishing what is there already changes nothing.
std::string NextDescription() {
  static uint64_t count = 0;
  return absl::StrCat("Turn ", ++count);
}

void Lookup(benchmark::State& state) {
  const FilledRegistry& filled = RegistryOf(state.range(0));
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(filled.registry->Peek().Find(filled.names[next]));
    if (++next == filled.names.size()) next = 0;
  }
}
BENCHMARK(Lookup)->Arg(100)->Arg(10000)->Arg(100000);

// As a call does it: with the entry pinned.
void LookupPinned(benchmark::State& state) {
  const FilledRegistry& filled = RegistryOf(state.range(0));
  size_t next = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(filled.registry->Peek().Get(filled.names[next]));
    if (++next == filled.names.size()) next = 0;
  }
}
BENCHMARK(LookupPinned)->Arg(100)->Arg(10000)->Arg(100000);

// One tool of its own namespace, a new description each time; its schema was seen before.
void PublishOne(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(state.range(0));
  for (auto _ : state) {
    std::vector<v1::Tool> tools{MakeDefinition(0)};
    tools[0].set_description(NextDescription());
    auto report =
        filled.registry->Publish(filled.backend, "one", std::move(tools), v1::PUBLISH_MODE_ATOMIC);
    if (!report.ok() || report->refused) state.SkipWithError("refused");
  }
}
BENCHMARK(PublishOne)->Arg(100)->Arg(10000)->Arg(100000);

void ListPage(benchmark::State& state) {
  const FilledRegistry& filled = RegistryOf(state.range(0));
  v1::ListToolsRequest request;
  auto first = ListTools(*filled.registry, request);
  if (!first.ok()) {
    state.SkipWithError("refused");
    return;
  }
  request.set_page_token(first->next_page_token());
  for (auto _ : state) {
    auto page = ListTools(*filled.registry, request);
    benchmark::DoNotOptimize(page);
  }
}
BENCHMARK(ListPage)->Arg(1000)->Arg(10000)->Arg(100000);

// One changed tool, seen by so many watchers.
void WatchFanOut(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(1000);
  std::vector<std::unique_ptr<RegistryWatch>> watches;
  for (int64_t i = 0; i < state.range(0); ++i) {
    watches.push_back(filled.registry->Watch(filled.registry->Peek().revision(), 1024, [] {}));
  }
  for (auto _ : state) {
    std::vector<v1::Tool> tools{MakeDefinition(0)};
    tools[0].set_description(NextDescription());
    auto report =
        filled.registry->Publish(filled.backend, "one", std::move(tools), v1::PUBLISH_MODE_ATOMIC);
    if (!report.ok() || report->refused) state.SkipWithError("refused");
    for (auto& watch : watches) {
      if (watch->Next() == nullptr) state.SkipWithError("a watcher missed a change");
    }
  }
}
BENCHMARK(WatchFanOut)->Arg(1)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace toolrack::bench
