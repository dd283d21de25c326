#include "registry/tool_filter.h"

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/checks.h"

namespace toolrack {
namespace {

constexpr int kMaxEntries = 1000;
constexpr size_t kMaxEntryBytes = 256;

template <typename List, typename Match>
bool MatchesList(const List& list, Match match) {
  return list.empty() || std::any_of(list.begin(), list.end(), match);
}

}  // namespace

absl::Status CheckToolFilter(absl::string_view field, const v1::ToolFilter& filter) {
  const int entries = filter.names_size() + filter.categories_size() + filter.namespaces_size() +
                      filter.risks_size();
  if (entries > kMaxEntries) {
    return RequestInvalid(field, absl::StrCat(entries, " entries"),
                          absl::StrCat("at most ", kMaxEntries, " entries"));
  }
  for (const auto* list : {&filter.names(), &filter.categories(), &filter.namespaces()}) {
    for (const std::string& entry : *list) {
      if (entry.size() > kMaxEntryBytes) {
        return RequestInvalid(field, entry,
                              absl::StrCat("at most ", kMaxEntryBytes, " bytes an entry"));
      }
    }
  }
  for (const int risk : filter.risks()) {
    if (risk == v1::RISK_LEVEL_UNSPECIFIED || !v1::RiskLevel_IsValid(risk)) {
      return RequestInvalid(field, absl::StrCat("risk ", risk), "SAFE, CAUTION or DANGEROUS");
    }
  }
  return absl::OkStatus();
}

bool Matches(const v1::ToolFilter& filter, const ToolDefinition& definition) {
  const v1::Tool& tool = definition.tool;
  const auto is = [](const std::string& text) {
    return [&text](const std::string& other) { return other == text; };
  };
  return MatchesList(filter.namespaces(), is(tool.namespace_())) &&
         MatchesList(filter.risks(), [&tool](int risk) { return risk == tool.risk(); }) &&
         MatchesList(filter.categories(),
                     [&](const std::string& wanted) {
                       return std::any_of(tool.categories().begin(), tool.categories().end(),
                                          is(wanted));
                     }) &&
         MatchesList(filter.names(), [&tool](const std::string& pattern) {
           return MatchesGlob(pattern, tool.name());
         });
}

}  // namespace toolrack
