#include "registry/search/search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/search/answer.h"
#include "registry/search/modes.h"
#include "registry/search/operators.h"

namespace toolrack {
namespace {

constexpr size_t kMaxQueryBytes = 16 << 10;
constexpr int kMaxQueries = 16;

// All phrasings that are not blank.
absl::StatusOr<std::vector<std::string>> QueriesOf(const v1::SearchToolsRequest& request) {
  std::vector<std::string> out;
  const auto add = [&out](absl::string_view query) {
    const absl::string_view text = absl::StripAsciiWhitespace(query);
    if (!text.empty()) out.emplace_back(text);
    return text.size() <= kMaxQueryBytes;
  };
  if (request.queries_size() > kMaxQueries) {
    return RequestInvalid("queries", absl::StrCat(request.queries_size(), " queries"),
                          absl::StrCat("at most ", kMaxQueries, " phrasings are taken"));
  }
  bool fits = add(request.query());
  for (const std::string& query : request.queries()) fits &= add(query);
  if (!fits) {
    return RequestInvalid("query", "a longer one",
                          absl::StrCat("a query has at most ", kMaxQueryBytes, " bytes"));
  }
  return out;
}

}  // namespace

Searcher::Searcher(Registry* registry, const SearchParams& params)
    : registry_(registry), live_(registry, params) {}

SearchIndexes Searcher::Indexes() { return live_.At(registry_->Peek().definitions_revision()); }

absl::StatusOr<v1::SearchToolsResponse> Searcher::Search(const v1::SearchToolsRequest& request,
                                                         const ToolVisibility& visible) {
  if (request.max_results() < 0) {
    return RequestInvalid("max_results", absl::StrCat(request.max_results()),
                          "it must not be negative");
  }
  TR_ASSIGN_OR_RETURN(std::vector<std::string> queries, QueriesOf(request));
  const SnapshotPtr snapshot = registry_->snapshot();
  const SearchIndexes indexes = live_.At(snapshot->definitions_revision());
  const SearchScope scope(*snapshot, indexes, request, visible);
  using Kind = QueryOperators::Kind;

  // Patterns are not taken apart: `^foo` and `/` mean something in them.
  if (request.mode() == v1::SEARCH_MODE_REGEX && !queries.empty()) {
    return SearchByRegex(scope, queries);
  }
  std::vector<QueryOperators> parsed;
  parsed.reserve(queries.size());
  for (const std::string& query : queries) parsed.push_back(ReadOperators(query));
  const auto texts_of = [&parsed] {
    std::vector<std::string> texts;
    texts.reserve(parsed.size());
    for (QueryOperators& query : parsed) texts.push_back(std::move(query.text));
    return texts;
  };
  const auto all = [&parsed](Kind kind) {
    return !parsed.empty() && std::all_of(parsed.begin(), parsed.end(),
                                          [kind](const auto& query) { return query.kind == kind; });
  };
  if (!parsed.empty() &&
      (request.mode() == v1::SEARCH_MODE_SELECT || parsed.front().kind == Kind::kSelect)) {
    if (parsed.front().kind == Kind::kSelect) return SearchByNames(scope, texts_of());
    return SearchByNames(scope, queries);
  }
  if (all(Kind::kRegex)) return SearchByRegex(scope, texts_of());
  // What is left of an operator without words is browsed, unless there are words elsewhere.
  const auto is_bare = [](const QueryOperators& query) {
    return query.must.empty() && absl::StripAsciiWhitespace(query.text).empty();
  };
  if (std::all_of(parsed.begin(), parsed.end(), is_bare) && scope.vector() == nullptr) {
    return Browse(scope, parsed.empty() ? QueryOperators() : parsed.front());
  }
  if (parsed.empty()) parsed.emplace_back();
  return SearchByWords(scope, parsed);
}

}  // namespace toolrack
