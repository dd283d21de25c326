// usage: bench_search [--smoke] [TOOLS…]: the search beside SQLite's FTS5, in one run on one
// thread, on the same tools and queries: 1,000, 10,000 and 100,000 tools unless told otherwise.
//
// The tools are those of the public retrieval sets (TOOLRACK_SHARED says where), again under other
// names when they do not suffice; the queries are the sets' own, whole and cut to three words. Ours
// is measured at its door: a request in, a response with five tools out. FTS5 gives five names; it
// is used as people use it (porter, words OR-ed, bm25 with weights), the names split for it. The
// two take turns, query by query. Times are of the processor: nothing here waits.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/search/index.h"
#include "registry/search/search.h"
#include "registry/search/tokens.h"
#include "tests/bench/search/fts5.h"
#include "tests/conformance/search/retrieval_set.h"

namespace toolrack::bench {
namespace {

// This thread's time on a processor, in ms: what others do to the machine is not in it.
double Now() {
  timespec now = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}
double MsSince(double start) { return Now() - start; }

struct Pool {
  std::vector<v1::Tool> tools;  // name, description and schema
  std::vector<std::string> queries;
};

Pool LoadPool() {
  Pool pool;
  for (const char* name : {"bfcl", "livemcp_route", "seal", "ace_zh", "mcpzero_registry"}) {
    const auto set = LoadRetrievalSet(name);
    if (set == nullptr) continue;
    set->registry->Peek().ForEach("", [&pool](const ToolEntryPtr& entry) {
      if (entry->definition->quarantined) return true;
      v1::Tool tool;
      tool.set_name(entry->definition->bare_name.substr(0, 100));
      tool.set_description(entry->definition->tool.description());
      tool.set_input_schema(entry->definition->tool.input_schema());
      pool.tools.push_back(std::move(tool));
      return true;
    });
    for (const auto& question : set->questions) pool.queries.push_back(question.query);
  }
  return pool;
}

std::vector<std::string> WordsOf(const std::string& text, size_t max) {
  std::vector<std::string> words;
  SplitWords(text, [&](absl::string_view word) {
    if (words.size() < max && !IsStopWord(word)) words.emplace_back(word);
  });
  return words;
}

struct Times {
  std::vector<double> ms;
  double At(double share) {
    if (ms.empty()) return 0;
    std::sort(ms.begin(), ms.end());
    return ms[static_cast<size_t>(share * static_cast<double>(ms.size() - 1))];
  }
};

void Report(const char* what, size_t tools, Times& times) {
  if (times.ms.empty()) return;
  std::printf("%7zu tools  %-24s p50 %8.3f  p99 %8.3f  max %8.3f ms  (%zu queries)\n", tools, what,
              times.At(0.5), times.At(0.99), times.At(1), times.ms.size());
}

void Run(const Pool& pool, size_t size, size_t queries) {
  RegistryOptions options;
  options.limits.set_max_tools(static_cast<uint32_t>(size + 1000));
  options.limits.set_max_tools_per_worker(static_cast<uint32_t>(size + 1000));
  Registry registry{options};
  const auto worker = MakeWorker("bench");
  for (size_t first = 0; first < size; first += 1000) {
    std::vector<v1::Tool> tools;
    for (size_t i = first; i < std::min(size, first + 1000); ++i) {
      tools.push_back(pool.tools[i % pool.tools.size()]);
      tools.back().set_name(absl::StrCat(tools.back().name(), "_", i));
    }
    const auto report = registry.Publish(worker, absl::StrCat("s", first / 1000), std::move(tools),
                                         v1::PUBLISH_MODE_BEST_EFFORT);
    if (!report.ok()) std::exit(1);
  }
  std::vector<DefinitionPtr> definitions;
  registry.Peek().ForEach("", [&definitions](const ToolEntryPtr& entry) {
    definitions.push_back(entry->definition);
    return true;
  });

  double start = Now();
  auto index = SearchIndex().With({}, definitions, SIZE_MAX);
  const double build = MsSince(start);
  std::printf("%7zu tools  own index: built in %.0f ms (%.1f us a tool), %.1f MB\n", size, build,
              1000 * build / static_cast<double>(size), static_cast<double>(index->bytes()) / 1e6);

  // One tool after the other is published anew.
  const size_t changes = std::min<size_t>(1000, size);
  start = Now();
  for (size_t i = 0; i < changes; ++i) {
    const DefinitionPtr& definition = definitions[i * (size / changes)];
    SearchIndex::DocId doc = 0;
    if (!index->FindByName(definition->tool.name(), doc)) std::exit(1);
    index = index->With({doc}, {definition}, 1024);
  }
  std::printf("%7zu tools  own index: one tool replaced in %.1f us (mean of %zu)\n", size,
              1000 * MsSince(start) / static_cast<double>(changes), changes);

  start = Now();
  Fts5 fts5;
  for (const DefinitionPtr& definition : definitions) {
    fts5.Add(absl::StrJoin(WordsOf(definition->tool.name(), SIZE_MAX), " "),
             definition->tool.description(), definition->tool.input_schema());
  }
  fts5.Finish();
  if (Fts5::kThere) {
    std::printf("%7zu tools  FTS5: built in %.0f ms, %.1f MB\n", size, MsSince(start),
                static_cast<double>(fts5.bytes()) / 1e6);
  }

  Searcher searcher(&registry);
  searcher.Indexes();
  Times own_whole, own_short, fts5_whole, fts5_short;
  // FTS5 takes up to a second a query with many tools.
  const size_t step = std::max<size_t>(1, pool.queries.size() / queries);
  const size_t fts5_every = size > 10000 ? 10 : 1;
  size_t number = 0;
  for (size_t i = 0; i < pool.queries.size(); i += step, ++number) {
    const std::string shorter = absl::StrJoin(WordsOf(pool.queries[i], 3), " ");
    for (const bool whole : {true, false}) {
      const std::string& query = whole ? pool.queries[i] : shorter;
      v1::SearchToolsRequest request;
      request.set_query(query);
      start = Now();
      const auto response = searcher.Search(request);
      (whole ? own_whole : own_short).ms.push_back(MsSince(start));
      if (!response.ok()) std::exit(1);
      if (!Fts5::kThere || number % fts5_every != 0) continue;
      const std::vector<std::string> words = WordsOf(query, SIZE_MAX);
      start = Now();
      fts5.Search(words, 5);
      (whole ? fts5_whole : fts5_short).ms.push_back(MsSince(start));
    }
  }
  Report("own, whole queries", size, own_whole);
  Report("FTS5, whole queries", size, fts5_whole);
  Report("own, three words", size, own_short);
  Report("FTS5, three words", size, fts5_short);
  std::fflush(stdout);
}

}  // namespace
}  // namespace toolrack::bench

int main(int argc, char** argv) {
  using toolrack::bench::Run;
  std::vector<size_t> sizes;
  bool smoke = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--smoke") == 0) {
      smoke = true;
    } else {
      sizes.push_back(static_cast<size_t>(std::atol(argv[i])));
    }
  }
  if (sizes.empty())
    sizes = smoke ? std::vector<size_t>{200} : std::vector<size_t>{1000, 10000, 100000};
  toolrack::bench::Pool pool = toolrack::bench::LoadPool();
  if (pool.tools.empty()) {
    if (!smoke) {
      std::fprintf(stderr, "the shared data is not here (TOOLRACK_SHARED)\n");
      return 1;
    }
    pool.tools = {toolrack::MakeToolDefinition("read_file", "Reads a file from disk."),
                  toolrack::MakeToolDefinition("send_mail", "Sends a mail to somebody.")};
    pool.queries = {"read a file", "send somebody a mail about the weather"};
  }
  for (const size_t size : sizes) {
    if (size > 0) Run(pool, size, smoke ? 20 : 1000);
  }
}
