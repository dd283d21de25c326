// Renderers alone: first render of real tools with the tokens that each strategy costs, and parsing
// in ns a byte from 1 KB to 1 MB, whole and in pieces of 7 bytes. Real tools are read where
// TOOLRACK_SHARED says; without them the renders are left out.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "renderers/json_text.h"
#include "renderers/output_parser.h"
#include "tests/renderers/rig.h"

namespace toolrack {
namespace {

const Tools& RealTools(bool all) {
  static Tools* github = nullptr;
  static Tools* whole = nullptr;
  if (github == nullptr) {
    github = new Tools;
    whole = new Tools;
    const char* shared = std::getenv("TOOLRACK_SHARED");
    std::ifstream in(absl::StrCat(shared == nullptr ? "" : shared, "/data/real_tools.jsonl"));
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      const auto tool = ParseJsonText(line);
      if (!tool) continue;
      const JsonText* schema = tool->Find("inputSchema");
      const std::string text = schema == nullptr ? "" : WriteJson(*schema);
      const std::string description(tool->StringAt("description"));
      const std::string name(tool->StringAt("name"));
      whole->Add(absl::StrCat("s", ++number % 170, "__", name, "_", number), description, text);
      if (absl::StartsWith(tool->StringAt("source"), "github/github-mcp-server")) {
        github->Add(name, description, text);
      }
    }
  }
  return all ? *whole : *github;
}

void FirstRender(benchmark::State& state, const char* renderer, bool all) {
  const std::vector<const v1::Tool*> view = RealTools(all).View();
  if (view.empty()) return state.SkipWithError("no real tools");
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
  BENCHMARK_CAPTURE(FirstRender, renderer##_117, #renderer, false)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(FirstRender, renderer##_3295, #renderer, true)->Unit(benchmark::kMillisecond)
RENDERS(claude);
RENDERS(claude_deferred);
RENDERS(anthropic);
RENDERS(openai_responses);
RENDERS(harmony);
RENDERS(harmony_dispatcher);

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
