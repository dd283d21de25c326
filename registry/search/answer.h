// From documents found to the answer that a model reads.
#ifndef TOOLRACK_REGISTRY_SEARCH_ANSWER_H_
#define TOOLRACK_REGISTRY_SEARCH_ANSWER_H_

#include <cstddef>
#include <string>
#include <vector>

#include "registry/search/index.h"
#include "registry/search/query.h"
#include "registry/snapshot.h"
#include "registry/tool_filter.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// What one request may find, and how much of it is shown. Refers to its arguments.
class SearchScope {
 public:
  SearchScope(const Snapshot& snapshot, const SearchIndex& index,
              const v1::SearchToolsRequest& request, const ToolVisibility& visible);

  const Snapshot& snapshot() const { return snapshot_; }
  const SearchIndex& index() const { return index_; }
  // As asked for; 0 when nothing was said.
  size_t asked_results() const { return asked_results_; }
  size_t max_results() const { return asked_results_ == 0 ? kDefaultResults : asked_results_; }
  bool Visible(SearchIndex::DocId doc) const;
  // Whether the caller may know of it, whatever was asked for.
  bool Knows(const ToolDefinition& definition) const { return !visible_ || visible_(definition); }

  v1::SearchToolsResponse NewResponse() const;
  // Adds the tool as a hit or, when those are `limit` already, to `more_names`, or not at all when
  // those are full too. The new hit, else null.
  v1::SearchHit* Add(v1::SearchToolsResponse& response, SearchIndex::DocId doc, double score,
                     const char* match, size_t limit) const;
  // How many tools there are to be found: for messages.
  std::string HowMany() const;
  // Puts the message together; adds what the request asked for and did not get.
  void Say(v1::SearchToolsResponse& response, std::string message) const;

  static constexpr size_t kDefaultResults = 5;
  static constexpr size_t kMaxResults = 100;
  static constexpr int kMaxMoreNames = 20;
  static constexpr int kMaxSuggestions = 5;

 private:
  const Snapshot& snapshot_;
  const SearchIndex& index_;
  const v1::SearchToolsRequest& request_;
  const ToolFilter filter_;
  const ToolVisibility& visible_;
  size_t asked_results_;
};

// The sentence of `text` that `worth` gives most, or the first one; at most 200 characters, on one
// line.
std::string Snippet(absl::string_view text, absl::FunctionRef<float(absl::string_view)> worth);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_ANSWER_H_
