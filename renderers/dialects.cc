#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/wire_name.h"
#include "renderers/dialect.h"
#include "renderers/families.h"

namespace toolrack {
namespace {

// Special tokens of o200k_harmony, and the beginning of its reserved ones.
const Markers& HarmonyMarkers() {
  static const auto* kMarkers = new Markers{
      {"<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>",
       "<|call|>", "<|startoftext|>", "<|endoftext|>", "<|endofprompt|>", "<|reserved_"},
      {}};
  return *kMarkers;
}

const Markers& ClaudeMarkers() {
  static const auto* kMarkers = new Markers{
      {"\n\nHuman:", "\n\nAssistant:"},
      {"functions", "function", "function_calls", "function_results", "result", "tool_name",
       "stdout", "error", "invoke", "parameter", "thinking", "system-reminder"}};
  return *kMarkers;
}

std::vector<Dialect> MakeDialects() {
  std::vector<Dialect> rows;
  rows.push_back({.name = "anthropic",
                  .declare = DeclareEngine::kAnthropic,
                  .parse = ParseEngine::kXmlParameters,
                  .medium = v1::RENDER_MEDIUM_JSON,
                  .placement = v1::PLACEMENT_API_TOOLS,
                  .role = "",
                  .order = PromptOrder::kToolsSystemMessages,
                  .schema = SchemaTarget::kAnthropic,
                  .max_name = 64,
                  .dots_in_names = false,
                  .max_tools = 10000,
                  .stop_strings = {},
                  .markers = {},
                  .think_open = "<thinking>",
                  .think_close = "</thinking>",
                  .native = {"upfront", "deferred"},
                  .sibling = "claude",
                  .description = "Claude by the Messages API"});
  rows.push_back(
      {.name = "claude",
       .declare = DeclareEngine::kFunctionLines,
       .parse = ParseEngine::kXmlParameters,
       .medium = v1::RENDER_MEDIUM_TEXT,
       .placement = v1::PLACEMENT_SYSTEM_PROMPT,
       .role = "system",
       .order = PromptOrder::kToolsSystemMessages,
       .schema = SchemaTarget::kAny,
       .max_name = 64,
       .dots_in_names = false,
       .max_tools = 0,
       .stop_strings = {"</function_calls>"},
       .markers = ClaudeMarkers(),
       .think_open = "<thinking>",
       .think_close = "</thinking>",
       .native = {"upfront", "deferred"},
       .sibling = "anthropic",
       .description = "Claude and its kin by raw text: <functions> in, <function_calls> out"});
  rows.push_back({.name = "gemini",
                  .declare = DeclareEngine::kGemini,
                  .parse = ParseEngine::kNone,
                  .medium = v1::RENDER_MEDIUM_JSON,
                  .placement = v1::PLACEMENT_API_TOOLS,
                  .role = "",
                  .order = PromptOrder::kFlatPrefix,
                  .schema = SchemaTarget::kGemini,
                  .max_name = 64,
                  .dots_in_names = false,
                  .max_tools = 512,
                  .stop_strings = {},
                  .markers = {},
                  .think_open = "",
                  .think_close = "",
                  .native = {"upfront"},
                  .sibling = "",
                  .description = "Gemini by generateContent"});
  rows.push_back(
      {.name = "harmony",
       .declare = DeclareEngine::kHarmony,
       .parse = ParseEngine::kHarmony,
       .medium = v1::RENDER_MEDIUM_TEXT,
       .placement = v1::PLACEMENT_DEVELOPER_MESSAGE,
       .role = "developer",
       .order = PromptOrder::kDateEffortTools,
       .schema = SchemaTarget::kAny,
       .max_name = 64,
       .dots_in_names = true,
       .max_tools = 0,
       .stop_strings = {"<|return|>", "<|call|>"},
       .markers = HarmonyMarkers(),
       .think_open = "",
       .think_close = "",
       .native = {"upfront", "dispatcher"},
       .sibling = "",
       .description = "gpt-oss: TypeScript in the developer message, channels and recipients"});
  rows.push_back({.name = "openai_chat",
                  .declare = DeclareEngine::kOpenAiChat,
                  .parse = ParseEngine::kNone,
                  .medium = v1::RENDER_MEDIUM_JSON,
                  .placement = v1::PLACEMENT_API_TOOLS,
                  .role = "",
                  .order = PromptOrder::kFlatPrefix,
                  .schema = SchemaTarget::kOpenAi,
                  .max_name = 64,
                  .dots_in_names = false,
                  .max_tools = 128,
                  .stop_strings = {},
                  .markers = {},
                  .think_open = "",
                  .think_close = "",
                  .native = {"upfront"},
                  .sibling = "",
                  .description = "Chat Completions, of OpenAI and of everybody who speaks it"});
  rows.push_back({.name = "openai_responses",
                  .declare = DeclareEngine::kOpenAiResponses,
                  .parse = ParseEngine::kNone,
                  .medium = v1::RENDER_MEDIUM_JSON,
                  .placement = v1::PLACEMENT_API_TOOLS,
                  .role = "",
                  .order = PromptOrder::kFlatPrefix,
                  .schema = SchemaTarget::kOpenAi,
                  .max_name = 64,
                  .dots_in_names = false,
                  .max_tools = 0,
                  .stop_strings = {},
                  .markers = {},
                  .think_open = "",
                  .think_close = "",
                  .native = {"upfront", "deferred"},
                  .sibling = "",
                  .description = "OpenAI's Responses: namespaces, tool_search, additional_tools"});
  for (const Family& family : AllFamilies()) rows.push_back(FamilyDialect(family));
  std::sort(rows.begin(), rows.end(),
            [](const Dialect& a, const Dialect& b) { return a.name < b.name; });
  return rows;
}

}  // namespace

absl::Span<const Dialect> AllDialects() {
  static const auto* kRows = new std::vector<Dialect>(MakeDialects());
  return *kRows;
}

const Dialect* FindDialect(absl::string_view name) {
  for (const Dialect& dialect : AllDialects()) {
    if (dialect.name == name) return &dialect;
  }
  return nullptr;
}

std::string WireNameFor(const Dialect& dialect, absl::string_view canonical) {
  std::string name = WireName(canonical, dialect.max_name, dialect.dots_in_names);
  if (dialect.schema == SchemaTarget::kGemini && !name.empty() && name[0] != '_' &&
      !absl::ascii_isalpha(static_cast<unsigned char>(name[0]))) {
    // Illegal on purpose, so that the hash is there as for every mapped name.
    name = WireName(absl::StrCat("_", canonical, "/"), dialect.max_name, dialect.dots_in_names);
  }
  return name;
}

}  // namespace toolrack
