#include "renderers/allowed_tools.h"

#include <map>
#include <set>
#include <utility>

#include "renderers/meta_tools.h"

namespace toolrack {

std::string AllowedTools(const Dialect& dialect, const v1::RenderOptions& options,
                         const std::vector<const DeclaredTool*>& declared,
                         RenderWarnings& warnings) {
  if (dialect.declare != DeclareEngine::kOpenAiResponses) {
    AddWarning(warnings, "", "allowed_tools_not_said", "",
               "this format has no way to say which tools are allowed for now; all are");
    return "";
  }
  std::map<absl::string_view, const DeclaredTool*> by_name;
  for (const DeclaredTool* tool : declared) by_name[tool->tool->name()] = tool;
  JsonText list = JsonText::Array();
  for (const std::string& name :
       std::set<std::string>(options.allowed_tools().begin(), options.allowed_tools().end())) {
    const auto at = by_name.find(name);
    if (at == by_name.end()) {
      AddWarning(warnings, name, "allowed_tool_unknown", "",
                 "the prompt declares no such tool; it cannot be allowed");
      continue;
    }
    // The search is a kind of its own there and has no name.
    const bool search = name == kToolSearch;
    JsonText one = JsonText::Object();
    one.Set("type", JsonText::String(search ? "tool_search" : "function"));
    if (!search) one.Set("name", JsonText::String(at->second->wire));
    list.items.push_back(std::move(one));
  }
  if (list.items.empty()) return "\"none\"";
  JsonText choice = JsonText::Object();
  choice.Set("type", JsonText::String("allowed_tools"));
  choice.Set("mode", JsonText::String("auto"));
  choice.Set("tools", std::move(list));
  return WriteJson(choice);
}

}  // namespace toolrack
