#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/search/modes.h"
#include "registry/search/restrict.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;
using Lists = const Segment::Lists& (Segment::*)() const;
using Count = std::pair<std::string, size_t>;

// Names and how many tools the caller knows under each: most first, then bytewise.
std::vector<Count> CountsOf(const SearchScope& scope, Lists lists) {
  std::map<std::string, size_t> counts;
  for (const SegmentPart& part : scope.index().parts()) {
    for (const auto& [name, docs] : ((*part.segment).*lists)()) {
      for (const uint32_t doc : docs) {
        if (part.alive(doc) && scope.view().Knows(part.first + doc)) ++counts[name];
      }
    }
  }
  std::vector<Count> out(counts.begin(), counts.end());
  std::stable_sort(out.begin(), out.end(),
                   [](const Count& a, const Count& b) { return a.second > b.second; });
  return out;
}

std::string Listed(const std::vector<Count>& counts) {
  constexpr size_t kMax = 30;
  std::string out = absl::StrJoin(
      counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(std::min(kMax, counts.size())),
      ", ", [](std::string* text, const Count& count) {
        absl::StrAppend(text, count.first.empty() ? "(none)" : count.first, " (", count.second,
                        ")");
      });
  if (counts.size() > kMax) absl::StrAppend(&out, " and ", counts.size() - kMax, " more");
  return out;
}

}  // namespace

v1::SearchToolsResponse Browse(const SearchScope& scope, const QueryOperators& operators) {
  const Restriction restriction = Restrict(scope.view(), scope.filtered(), operators);
  v1::SearchToolsResponse response = scope.NewResponse();
  std::string message = absl::StrJoin(restriction.notes, " ");
  const absl::string_view gap = message.empty() ? "" : " ";
  if (scope.filters() || (operators.Filters() && restriction.notes.empty())) {
    std::vector<DocId> docs;
    scope.ForEach([&](DocId doc) {
      if (restriction.docs == nullptr || restriction.docs->Has(doc)) docs.push_back(doc);
    });
    const SearchIndex& index = scope.index();
    std::sort(docs.begin(), docs.end(),
              [&index](DocId a, DocId b) { return index.name(a) < index.name(b); });
    for (const DocId doc : docs) {
      v1::SearchHit* hit = scope.Add(response, doc, 0, "filter", scope.max_results());
      if (hit != nullptr)
        scope.SetSnippet(
            doc, [](absl::string_view) { return 0.0f; }, *hit);
    }
    absl::StrAppend(&message, gap, docs.size(), docs.size() == 1 ? " tool" : " tools",
                    docs.empty() ? " here, of " : " here, by name, of ", scope.view().Count(),
                    ". Say in some words what the tool should do.");
  } else if (scope.view().Count() == 0) {
    message = "No tool can be searched just now: none is registered yet. Search again later.";
  } else {
    const std::vector<Count> categories = CountsOf(scope, &Segment::by_category);
    absl::StrAppend(&message, gap, "There are ", scope.HowMany(),
                    ". Categories: ", Listed(categories),
                    ". Servers: ", Listed(CountsOf(scope, &Segment::by_namespace)),
                    ". Say in some words what the tool should do; category:NAME or server:NAME "
                    "narrows it down.");
    for (const auto& [name, count] : categories) {
      if (response.suggestions_size() == SearchScope::kMaxSuggestions) break;
      response.add_suggestions(absl::StrCat("category:", name));
    }
  }
  scope.Say(response, std::move(message));
  return response;
}

}  // namespace toolrack
