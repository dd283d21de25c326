// Finding tools: the one door to search, for SearchTools and for `__tool_search`.
#ifndef TOOLRACK_REGISTRY_SEARCH_SEARCH_H_
#define TOOLRACK_REGISTRY_SEARCH_SEARCH_H_

#include "absl/status/statusor.h"
#include "registry/registry.h"
#include "registry/search/live_index.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// Searches the registry as it is (live_index.h says how new that is at least); `revision` tells.
// Quarantined tools are never found, only told of. Thread-safe. Takes up to some milliseconds: call
// it off the gRPC threads.
class Searcher {
 public:
  explicit Searcher(Registry* registry, const SearchParams& params = {});  // outlives this

  // REQUEST_INVALID for a bad `max_results`, too many or too long queries, or a regular expression
  // that RE2 does not take. An empty query browses. Only what is visible is found, named or
  // counted.
  absl::StatusOr<v1::SearchToolsResponse> Search(const v1::SearchToolsRequest& request,
                                                 const ToolVisibility& visible = {});

  // Brings the index up to date and gives it, for measuring.
  SearchIndexes Indexes();

 private:
  Registry* const registry_;
  LiveIndex live_;
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SEARCH_H_
