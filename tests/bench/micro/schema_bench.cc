// Validation next to nlohmann's plain parse of the same bytes.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "registry/base/json.h"
#include "registry/schema/schema.h"

namespace toolrack::bench {
namespace {

struct Case {
  std::string schema;
  std::string value;
};

// One string, as most single-purpose tools have.
Case Tiny() {
  return {R"({"type":"object","properties":{"text":{"type":"string"}},"required":["text"]})",
          R"({"text":"hello, world"})"};
}

// Some 200 bytes of arguments, as of a file tool.
Case Small() {
  return {
      R"({"type":"object","properties":{"path":{"type":"string","minLength":1,"maxLength":4096},)"
      R"("text":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100000},)"
      R"("recursive":{"type":"boolean"},"mode":{"enum":["lines","bytes"]},)"
      R"("tags":{"type":"array","items":{"type":"string"},"maxItems":16}},)"
      R"("required":["path"],"additionalProperties":false})",
      R"({"path":"/srv/data/reports/2026/quarter-4/summary-of-everything.txt",)"
      R"("text":"the quick brown fox jumps over the lazy dog again","limit":500,"recursive":true,)"
      R"("mode":"lines","tags":["alpha","beta","gamma"]})"};
}

// Some 2 KB: nested objects, references, alternatives, a pattern, as of an issue tracker.
Case Medium() {
  std::string items;
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&items, i == 0 ? "" : ",", R"({"id":)", 1000 + i, R"(,"title":"Step number )",
                    i, R"( of the long plan","state":")", i % 2 ? "open" : "closed",
                    R"(","assignee":{"name":"user)", i, R"(","mail":"user)", i,
                    R"(@example.org"},"weight":)", i, ".5", R"(,"labels":["area/core","prio/)",
                    i % 3, R"("],"due":)", i % 2 ? R"("2026-11-30")" : "null", "}");
  }
  return {
      R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"object",)"
      R"("definitions":{"person":{"type":"object","properties":{"name":{"type":"string","minLength":1},)"
      R"("mail":{"type":"string","pattern":"^[^@ ]+@[^@ ]+$"}},"required":["name"]},)"
      R"("step":{"type":"object","properties":{"id":{"type":"integer","minimum":1},)"
      R"("title":{"type":"string","maxLength":200},"state":{"type":"string","enum":["open","closed","draft"]},)"
      R"("assignee":{"$ref":"#/definitions/person"},"weight":{"type":"number","exclusiveMinimum":-1},)"
      R"("labels":{"type":"array","items":{"type":"string"},"uniqueItems":true},)"
      R"("due":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["id","title","state"],)"
      R"("additionalProperties":false}},"properties":{"project":{"type":"string"},)"
      R"("steps":{"type":"array","items":{"$ref":"#/definitions/step"},"minItems":1}},)"
      R"("required":["project","steps"],"additionalProperties":false})",
      absl::StrCat(R"({"project":"toolrack","steps":[)", items, "]}")};
}

// Some 50 KB of rows.
Case Large() {
  std::string rows;
  for (int i = 0; i < 500; ++i) {
    absl::StrAppend(&rows, i == 0 ? "" : ",", R"({"key":"row-)", i, R"(","values":[)", i, ",",
                    i * 2, ",", i * 3, R"(],"note":"some text that goes with row )", i,
                    R"(","ok":true,"ratio":0.)", i + 1, "}");
  }
  return {
      R"({"type":"object","properties":{"rows":{"type":"array","items":{"type":"object",)"
      R"("properties":{"key":{"type":"string","pattern":"^row-[0-9]+$"},"values":{"type":"array",)"
      R"("items":{"type":"integer","minimum":0}},"note":{"type":"string","maxLength":100},)"
      R"("ok":{"type":"boolean"},"ratio":{"type":"number","minimum":0,"maximum":1}},)"
      R"("required":["key","values"]}}},"required":["rows"]})",
      absl::StrCat(R"({"rows":[)", rows, "]}")};
}

void Parse(benchmark::State& state, const Case& c) {
  for (auto _ : state) {
    Json value = Json::parse(c.value, nullptr, /*allow_exceptions=*/false);
    benchmark::DoNotOptimize(value);
  }
}

// Our door: limits, duplicate keys, and UTF-8 included.
void StrictParse(benchmark::State& state, const Case& c) {
  for (auto _ : state) {
    Json value;
    auto fault = ParseJson(c.value, JsonLimits(), value);
    benchmark::DoNotOptimize(fault);
    benchmark::DoNotOptimize(value);
  }
}

void Validate(benchmark::State& state, const Case& c) {
  const Schema::Compiled compiled = Schema::Compile(c.schema, SchemaLimits(), /*object_root=*/true);
  const Json value = Json::parse(c.value);
  if (compiled.schema == nullptr || !compiled.schema->Accepts(value)) {
    state.SkipWithError("the schema does not take its value");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(compiled.schema->Accepts(value));
}

void Compile(benchmark::State& state, const Case& c) {
  for (auto _ : state) {
    auto compiled = Schema::Compile(c.schema, SchemaLimits(), /*object_root=*/true);
    benchmark::DoNotOptimize(compiled);
  }
}

// A real tool's schema with arguments of the usual kind, from the corpus beside the project;
// without it, nothing is registered.
void AddRealCases() {
  struct Wanted {
    const char* label;
    const char* tool;
    const char* arguments;
  };
  const Wanted kWanted[] = {
      {"real_tiny", "read_file", R"({"path":"/srv/data/reports/2026/summary.txt"})"},
      {"real_medium", "create_issue",
       R"({"owner":"octo-org","repo":"hello-world","title":"Found a bug in the parser",)"
       R"("body":"Something odd happens when the input has a trailing comma; see the log below.",)"
       R"("assignees":["octocat","hubot"],"milestone":1,"labels":["bug","area/parser"]})"},
      {"real_long", "create_pull_request",
       R"({"owner":"octo-org","repo":"hello-world","title":"Mend the parser","head":"mend",)"
       R"("base":"main","body":"Closes the report; a test of its shape is added.","draft":true})"},
  };
  const char* shared = std::getenv("TOOLRACK_SHARED");
  std::ifstream in(
      absl::StrCat(shared == nullptr ? "../shared" : shared, "/data/real_tools.jsonl"));
  std::set<std::string> done;
  for (std::string line; std::getline(in, line);) {
    const Json tool = Json::parse(line);
    for (const Wanted& each : kWanted) {
      if (tool["name"] != each.tool || done.count(each.label) > 0) continue;
      Case c{tool["inputSchema"].dump(), each.arguments};
      const auto compiled = Schema::Compile(c.schema, SchemaLimits(), /*object_root=*/true);
      if (compiled.schema == nullptr || !compiled.schema->Accepts(Json::parse(c.value))) continue;
      done.insert(each.label);
      const auto add = [&](const char* what, void (*run)(benchmark::State&, const Case&)) {
        benchmark::RegisterBenchmark(absl::StrCat(what, "/", each.label).c_str(),
                                     [run, c](benchmark::State& state) { run(state, c); });
      };
      add("Parse", Parse);
      add("StrictParse", StrictParse);
      add("Validate", Validate);
      add("Compile", Compile);
    }
  }
}

[[maybe_unused]] const bool kRealCases = (AddRealCases(), true);

BENCHMARK_CAPTURE(Parse, tiny, Tiny());
BENCHMARK_CAPTURE(Parse, small, Small());
BENCHMARK_CAPTURE(Parse, medium, Medium());
BENCHMARK_CAPTURE(Parse, large, Large());
BENCHMARK_CAPTURE(StrictParse, tiny, Tiny());
BENCHMARK_CAPTURE(StrictParse, small, Small());
BENCHMARK_CAPTURE(StrictParse, medium, Medium());
BENCHMARK_CAPTURE(StrictParse, large, Large());
BENCHMARK_CAPTURE(Validate, tiny, Tiny());
BENCHMARK_CAPTURE(Validate, small, Small());
BENCHMARK_CAPTURE(Validate, medium, Medium());
BENCHMARK_CAPTURE(Validate, large, Large());
BENCHMARK_CAPTURE(Compile, tiny, Tiny());
BENCHMARK_CAPTURE(Compile, small, Small());
BENCHMARK_CAPTURE(Compile, medium, Medium());

}  // namespace
}  // namespace toolrack::bench
