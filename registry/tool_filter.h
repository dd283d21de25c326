// Which tools a list, a search or a watch is about.
#ifndef TOOLRACK_REGISTRY_TOOL_FILTER_H_
#define TOOLRACK_REGISTRY_TOOL_FILTER_H_

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "registry/snapshot.h"
#include "toolrack/v1/tool_filter.pb.h"

namespace toolrack {

// Which tools a caller may know of; empty: all. What it hides is not there for that caller.
using ToolVisibility = std::function<bool(const ToolDefinition&)>;

// By category (one of them is enough) and namespace (the empty string is the built-in one); no
// categories or no namespaces: all. Immutable, thread-safe.
class ToolFilter {
 public:
  template <typename Names>
  ToolFilter(const Names& categories, const Names& namespaces)
      : categories_(categories.begin(), categories.end()),
        namespaces_(namespaces.begin(), namespaces.end()) {}

  bool empty() const { return categories_.empty() && namespaces_.empty(); }

  bool Matches(const ToolEntry& entry) const { return Matches(*entry.definition); }
  bool Matches(const ToolDefinition& definition) const {
    const v1::Tool& tool = definition.tool;
    if (!namespaces_.empty() && !Has(namespaces_, tool.namespace_())) return false;
    if (categories_.empty()) return true;
    return std::any_of(tool.categories().begin(), tool.categories().end(),
                       [this](const std::string& category) { return Has(categories_, category); });
  }

 private:
  static bool Has(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  std::vector<std::string> categories_;
  std::vector<std::string> namespaces_;
};

// v1::ToolFilter, as tool_filter.proto says. REQUEST_INVALID naming `field` when it is over a
// bound.
absl::Status CheckToolFilter(absl::string_view field, const v1::ToolFilter& filter);
bool Matches(const v1::ToolFilter& filter, const ToolDefinition& definition);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_TOOL_FILTER_H_
