// Search: a ranked query, and the index's making.
#include <benchmark/benchmark.h>

#include <memory>

#include "registry/search/search.h"
#include "tests/bench/micro/fixtures.h"

namespace toolrack::bench {
namespace {

v1::SearchToolsRequest Query() {
  v1::SearchToolsRequest request;
  request.set_query("send an invoice to a customer");
  return request;
}

void Search(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(state.range(0));
  Searcher searcher(filled.registry.get());
  const v1::SearchToolsRequest request = Query();
  auto first = searcher.Search(request);
  if (!first.ok() || first->hits().empty()) {
    state.SkipWithError("nothing found");
    return;
  }
  for (auto _ : state) {
    auto found = searcher.Search(request);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(Search)->Arg(1000)->Arg(10000)->Arg(100000);

// The first search of a revision builds the index.
void SearchFirst(benchmark::State& state) {
  FilledRegistry& filled = RegistryOf(state.range(0));
  const v1::SearchToolsRequest request = Query();
  for (auto _ : state) {
    Searcher searcher(filled.registry.get());
    auto found = searcher.Search(request);
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK(SearchFirst)->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace toolrack::bench
