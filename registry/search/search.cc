#include "registry/search/search.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "registry/base/errors.h"
#include "registry/base/status_macros.h"
#include "registry/search/answer.h"
#include "registry/search/index.h"
#include "registry/search/modes.h"
#include "registry/search/query.h"

namespace toolrack {
namespace {

constexpr size_t kMaxQueryBytes = 16 << 10;
constexpr int kMaxQueries = 16;
constexpr char kSelectPrefix[] = "select:";

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
  if (out.empty()) {
    return RequestInvalid("query", "",
                          "say in some words what the tool should do; ListTools lists all");
  }
  return out;
}

}  // namespace

struct Searcher::State {
  const Registry* registry;
  absl::Mutex mutex;
  std::shared_ptr<const SearchIndex> index ABSL_GUARDED_BY(mutex);
  absl::Mutex building ABSL_ACQUIRED_BEFORE(mutex);

  std::shared_ptr<const SearchIndex> Current() {
    absl::MutexLock lock(&mutex);
    return index;
  }

  // The index of the snapshot's definitions. Who comes while it is being built waits for it.
  std::shared_ptr<const SearchIndex> IndexOf(const Snapshot& snapshot) {
    const auto fits = [&snapshot](const std::shared_ptr<const SearchIndex>& candidate) {
      return candidate != nullptr &&
             candidate->definitions_revision() == snapshot.definitions_revision();
    };
    std::shared_ptr<const SearchIndex> current = Current();
    if (fits(current)) return current;
    absl::MutexLock build_lock(&building);
    current = Current();
    if (fits(current)) return current;
    std::shared_ptr<const SearchIndex> built = SearchIndex::Build(snapshot);
    absl::MutexLock lock(&mutex);
    // A search that began before the last change must not throw a newer index away.
    if (index == nullptr || index->definitions_revision() < built->definitions_revision()) {
      index = built;
    }
    return built;
  }
};

Searcher::Searcher(const Registry* registry) : state_(std::make_unique<State>()) {
  state_->registry = registry;
}

Searcher::~Searcher() = default;

absl::StatusOr<v1::SearchToolsResponse> Searcher::Search(const v1::SearchToolsRequest& request,
                                                         const ToolVisibility& visible) {
  if (request.max_results() < 0) {
    return RequestInvalid("max_results", absl::StrCat(request.max_results()),
                          "it must not be negative");
  }
  TR_ASSIGN_OR_RETURN(std::vector<std::string> queries, QueriesOf(request));
  const SnapshotPtr snapshot = state_->registry->snapshot();
  const std::shared_ptr<const SearchIndex> index = state_->IndexOf(*snapshot);

  SearchScope scope(*snapshot, *index, request, visible);
  const bool select = request.mode() == v1::SEARCH_MODE_SELECT ||
                      (request.mode() != v1::SEARCH_MODE_REGEX &&
                       absl::StartsWithIgnoreCase(queries.front(), kSelectPrefix));
  if (select) return SearchByNames(scope, queries);
  if (request.mode() == v1::SEARCH_MODE_REGEX) return SearchByRegex(scope, queries);
  return SearchByWords(scope, queries);
}

}  // namespace toolrack
