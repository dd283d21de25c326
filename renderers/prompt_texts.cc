#include "renderers/prompt_texts.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "renderers/meta_tools.h"

namespace toolrack {
namespace {

// More names than this are told by namespace only.
constexpr size_t kMaxNamesTold = 500;

}  // namespace

std::string ClaudeIntroduction() {
  return "You can use the tools below to do what the user asks. To call them, write a block of "
         "this "
         "form in your reply:\n"
         "<function_calls>\n<invoke name=\"NAME\">\n<parameter "
         "name=\"PARAMETER\">VALUE</parameter>\n"
         "...\n</invoke>\n</function_calls>\n"
         "Several calls may stand in one block. Write strings and scalars as they are, without "
         "quotes or escapes, and lists and objects as JSON; blanks and line feeds in values "
         "count. "
         "The block is read by a pattern and need not be valid XML.\n"
         "Stop after the block: the results come in <function_results>.\n\n"
         "The tools, as JSON Schema:\n";
}

std::string HarmonySystemText(bool tools, int64_t clock, absl::string_view effort) {
  std::string out =
      "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\n"
      "Knowledge cutoff: 2024-06\n";
  if (clock != 0) {
    absl::StrAppend(
        &out, "Current date: ",
        absl::FormatCivilTime(absl::ToCivilDay(absl::FromUnixSeconds(clock), absl::UTCTimeZone())),
        "\n");
  }
  absl::StrAppend(
      &out, "\nReasoning: ", effort.empty() ? "medium" : effort,
      "\n\n# Valid channels: analysis, commentary, final. Channel must be included for every "
      "message.");
  if (tools) {
    out += "\nCalls to these tools must go to the commentary channel: 'functions'.";
  }
  return out + "<|end|>";
}

std::string DeferredNames(const std::vector<DeclaredTool>& rest, bool loads) {
  std::string out =
      absl::StrCat("More tools can be found with ", kToolSearch,
                   loads ? ", which loads their definitions; they cannot be called before that."
                         : absl::StrCat(" and called with ", kToolCall, "."),
                   " Exact names: select:NAME,NAME.");
  if (rest.size() > kMaxNamesTold) {
    std::map<std::string, size_t> counts;
    for (const DeclaredTool& tool : rest) ++counts[tool.tool->namespace_()];
    absl::StrAppend(&out, " There are ", rest.size(), " of them, by owner:");
    for (const auto& [name, count] : counts) {
      absl::StrAppend(&out, "\n", name.empty() ? "(built in)" : name, ": ", count);
    }
    return out;
  }
  absl::StrAppend(&out, " They are:");
  for (const DeclaredTool& tool : rest) absl::StrAppend(&out, "\n", tool.wire);
  return out;
}

std::string ChangedNames(const std::vector<DeclaredTool>& added,
                         const std::vector<std::string>& removed) {
  std::string out;
  if (!added.empty()) {
    absl::StrAppend(&out, "These tools can now be found with ", kToolSearch, " too:");
    for (const DeclaredTool& tool : added) absl::StrAppend(&out, "\n", tool.wire);
  }
  if (!removed.empty()) {
    absl::StrAppend(&out, out.empty() ? "" : "\n", "These tools are not available any more:");
    for (const std::string& name : removed) absl::StrAppend(&out, "\n", name);
  }
  return out;
}

std::string DefinitionLines(const std::vector<DeclaredTool>& tools) {
  std::string out;
  for (const DeclaredTool& tool : tools) {
    JsonText entry = JsonText::Object();
    entry.Set("name", JsonText::String(tool.tool->name()));
    entry.Set("description", JsonText::String(tool.tool->description()));
    entry.Set("parameters", tool.schema);
    absl::StrAppend(&out, out.empty() ? "" : "\n", WriteJson(entry));
  }
  return out;
}

}  // namespace toolrack
