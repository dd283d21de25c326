// Renderers alone: first and cached render with the tokens that each strategy costs, and parsing in
// ns a byte from 1 KB to 1 MB, whole and in pieces of 7 bytes. Real tools are read where
// TOOLRACK_SHARED says; without them made ones stand in.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/registry.h"
#include "renderers/json_text.h"
#include "renderers/output_parser.h"
#include "server/services/render_cache.h"
#include "tests/registry/fake_backend.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

// Definitions like the real ones, in size: where those are not there.
void AddSynthetic(int count, Tools& tools) {
  for (int i = 0; i < count; ++i) {
    std::string properties;
    for (int p = 0; p < 6; ++p) {
      absl::StrAppend(&properties, p == 0 ? "" : ",", "\"property_", p,
                      R"(":{"type":"string","description":"What the property of this tool is for, )"
                      R"(in about as many words as people need.","enum":["first","second"]})");
    }
    tools.Add(
        absl::StrCat("s", i % 170, "__tool_number_", i),
        "Does one of the many things that tools do, as told in two sentences. Use it when the "
        "user asks for just that.",
        absl::StrCat(R"({"type":"object","properties":{)", properties,
                     R"(},"required":["property_0","property_1"]})"));
  }
}

const Tools& BenchTools(size_t count) {
  static std::map<size_t, Tools>* kept = new std::map<size_t, Tools>;
  Tools& tools = (*kept)[count];
  if (!tools.View().empty()) return tools;
  const char* shared = std::getenv("TOOLRACK_SHARED");
  std::ifstream in(absl::StrCat(shared == nullptr ? "" : shared, "/data/real_tools.jsonl"));
  size_t number = 0;
  for (std::string line; number < count && std::getline(in, line);) {
    const auto tool = ParseJsonText(line);
    if (!tool) continue;
    const bool github = absl::StartsWith(tool->StringAt("source"), "github/github-mcp-server");
    if (count == 117 && !github) continue;
    const JsonText* schema = tool->Find("inputSchema");
    tools.Add(
        count == 117 ? std::string(tool->StringAt("name"))
                     : absl::StrCat("s", number % 170, "__", tool->StringAt("name"), "_", number),
        std::string(tool->StringAt("description")), schema == nullptr ? "" : WriteJson(*schema));
    ++number;
  }
  if (number == 0) AddSynthetic(static_cast<int>(count), tools);
  return tools;
}

void FirstRender(benchmark::State& state, const char* renderer, size_t count) {
  const std::vector<const v1::Tool*> view = BenchTools(count).View();
  const RendererSpec spec = *FindRenderer(renderer);
  v1::RenderInitialResponse rendered;
  for (auto _ : state) rendered = RenderInitial(spec, {view, {}, 0, {}, nullptr});
  size_t tokens = 0, bytes = 0;
  for (const v1::Fragment& fragment : rendered.fragments()) {
    tokens += fragment.token_estimate();
    bytes += fragment.text().size() + fragment.json().size();
  }
  state.counters["tools"] = static_cast<double>(view.size());
  state.counters["tokens"] = static_cast<double>(tokens);
  state.counters["bytes"] = static_cast<double>(bytes);
}

// What a request costs beside RPC and copying once the prompt was made: the view and the prompt out
// of their cache.
void CachedRender(benchmark::State& state, const char* renderer, size_t count) {
  Registry registry{RegistryOptions()};
  const auto backend = MakeWorker("w");
  std::vector<v1::Tool> tools;
  for (const v1::Tool* tool : BenchTools(count).View()) {
    tools.push_back(*tool);
    tools.back().set_name(absl::StrCat("t", tools.size()));
    tools.back().clear_namespace_();
  }
  if (!registry.Publish(backend, "srv", tools, v1::PUBLISH_MODE_BEST_EFFORT).ok()) {
    return state.SkipWithError("cannot be published");
  }
  const PinnedToolsPtr pinned = PinnedTools::Of(*registry.snapshot(), nullptr);
  RenderCache cache(&registry);
  const RendererSpec spec = *FindRenderer(renderer);
  const ToolViewPtr first = cache.View(*pinned, {}, {}, "me", nullptr);
  cache.Initial(spec, *first, {first->tools(), {}, 0, {}, nullptr});
  for (auto _ : state) {
    const ToolViewPtr view = cache.View(*pinned, {}, {}, "me", nullptr);
    benchmark::DoNotOptimize(cache.Initial(spec, *view, {view->tools(), {}, 0, {}, nullptr}));
  }
}

class Nothing final : public OutputSink {
 public:
  void Text(absl::string_view text) override { seen_ += text.size(); }
  void Reasoning(absl::string_view text) override { seen_ += text.size(); }
  void CallBegin(const v1::OutputCallBegin&) override {}
  void Arguments(absl::string_view piece) override { seen_ += piece.size(); }
  void CallEnd(const v1::OutputCallEnd&) override {}
  void Malformed(const v1::OutputMalformed&) override {}
  void Repair(const v1::OutputRepair&) override {}
  size_t seen_ = 0;
};

enum What { kProse, kArguments, kBraces };

void Parse(benchmark::State& state, const char* renderer, What what, size_t piece) {
  static const Tools* kTools = [] {
    auto* tools = new Tools;
    tools->Add("put", "", R"({"type":"object","properties":{"s":{"type":"string"}}})");
    return tools;
  }();
  const std::vector<const v1::Tool*> view = kTools->View();
  const OfferedTools offered(*FindRenderer(renderer), view);
  const bool harmony = absl::string_view(renderer) == "harmony";
  std::string text, tail;
  std::string unit = "The quick brown fox jumps over the lazy dog.\n";
  if (what == kProse) {
    if (harmony) text = "<|channel|>final<|message|>";
  } else if (harmony) {
    text = "<|channel|>commentary to=functions.put<|message|>{\"s\":";
    unit = what == kBraces ? "[[],{\"a\":1}]" : "The quick brown fox jumps over the lazy dog. ";
    text += what == kBraces ? "[0" : "\"";
    tail = what == kBraces ? "]}<|call|>" : "\"}<|call|>";
    if (what == kBraces) unit = "," + unit;
  } else {
    text = "<function_calls><invoke name=\"put\"><parameter name=\"s\">";
    if (what == kBraces) unit = "<a>{b}</a>";
    tail = "</parameter></invoke></function_calls>";
  }
  while (text.size() < static_cast<size_t>(state.range(0))) text += unit;
  text += tail;
  for (auto _ : state) {
    Nothing sink;
    const auto parser = MakeOutputParser(offered, sink);
    for (size_t at = 0; at < text.size(); at += piece) {
      parser->Feed(absl::string_view(text).substr(at, piece));
    }
    parser->Finish();
    benchmark::DoNotOptimize(sink.seen_);
  }
  state.SetBytesProcessed(static_cast<int64_t>(text.size()) * state.iterations());
}

#define RENDERS(renderer)                                                                          \
  BENCHMARK_CAPTURE(FirstRender, renderer##_117, #renderer, 117)->Unit(benchmark::kMillisecond);   \
  BENCHMARK_CAPTURE(FirstRender, renderer##_1000, #renderer, 1000)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(FirstRender, renderer##_3295, #renderer, 3295)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(CachedRender, renderer##_117, #renderer, 117);                                 \
  BENCHMARK_CAPTURE(CachedRender, renderer##_3295, #renderer, 3295)
RENDERS(claude);
RENDERS(claude_deferred);
RENDERS(anthropic);
RENDERS(anthropic_deferred);
RENDERS(openai_chat);
RENDERS(openai_responses);
RENDERS(openai_responses_deferred);
RENDERS(harmony);
RENDERS(harmony_dispatcher);
RENDERS(gemini);

#define PARSES(renderer)                                                              \
  BENCHMARK_CAPTURE(Parse, renderer##_prose, #renderer, kProse, SIZE_MAX / 2)         \
      ->RangeMultiplier(32)                                                           \
      ->Range(1 << 10, 1 << 20);                                                      \
  BENCHMARK_CAPTURE(Parse, renderer##_arguments, #renderer, kArguments, SIZE_MAX / 2) \
      ->RangeMultiplier(32)                                                           \
      ->Range(1 << 10, 1 << 20);                                                      \
  BENCHMARK_CAPTURE(Parse, renderer##_braces, #renderer, kBraces, SIZE_MAX / 2)       \
      ->RangeMultiplier(32)                                                           \
      ->Range(1 << 10, 1 << 20);                                                      \
  BENCHMARK_CAPTURE(Parse, renderer##_arguments_7, #renderer, kArguments, 7)          \
      ->RangeMultiplier(32)                                                           \
      ->Range(1 << 10, 1 << 20)
PARSES(harmony);
PARSES(claude);

}  // namespace
}  // namespace toolrack
