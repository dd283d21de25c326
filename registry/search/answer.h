// From documents found to the answer that a model reads.
#ifndef TOOLRACK_REGISTRY_SEARCH_ANSWER_H_
#define TOOLRACK_REGISTRY_SEARCH_ANSWER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "registry/search/live_index.h"
#include "registry/search/query.h"
#include "registry/snapshot.h"
#include "toolrack/v1/tool_service.pb.h"

namespace toolrack {

// What one request may find, and how much of it is shown. Refers to its arguments.
class SearchScope {
 public:
  SearchScope(const Snapshot& snapshot, const SearchIndexes& indexes,
              const v1::SearchToolsRequest& request, const ToolVisibility& visible);

  const Snapshot& snapshot() const { return snapshot_; }
  const SearchIndex& index() const { return view_.index(); }
  const v1::SearchToolsRequest& request() const { return request_; }
  const IndexView& view() const { return view_; }
  // The quarantined tools: they are never found, but told of.
  const IndexView& held() const { return held_; }
  // What the request's filters leave of the index; null: all of it.
  const std::shared_ptr<const DocSet>& filtered() const { return filtered_; }
  bool filters() const { return request_.categories_size() + request_.namespaces_size() > 0; }
  // As asked for; 0 when nothing was said.
  size_t asked_results() const { return asked_results_; }
  size_t max_results() const { return asked_results_ == 0 ? kDefaultResults : asked_results_; }
  // The request's vector, of length 1; null: none, or of no use.
  const std::vector<float>* vector() const { return vector_.empty() ? nullptr : &vector_; }
  // Calls `take` for each tool that may be found, in no order that means anything.
  void ForEach(absl::FunctionRef<void(SearchIndex::DocId)> take) const;
  bool May(SearchIndex::DocId doc) const;

  v1::SearchToolsResponse NewResponse() const;
  // Adds the tool as a hit or, when those are `limit` already, to `more_names`, or not at all when
  // those are full too. The new hit, else null.
  v1::SearchHit* Add(v1::SearchToolsResponse& response, SearchIndex::DocId doc, double score,
                     const char* match, size_t limit) const;
  // The sentence that `worth` gives most, and, when the schemas are not shown, the parameters that
  // must be given.
  void SetSnippet(SearchIndex::DocId doc, absl::FunctionRef<float(absl::string_view)> worth,
                  v1::SearchHit& hit) const;
  // How many tools there are to be found: for messages.
  std::string HowMany() const;
  // Puts the message together: adds which hits cannot be called just now, and what the request
  // asked for and did not get.
  void Say(v1::SearchToolsResponse& response, std::string message) const;

  static constexpr size_t kDefaultResults = 5;
  static constexpr size_t kMaxResults = 100;
  static constexpr int kMaxMoreNames = 20;
  static constexpr int kMaxSuggestions = 5;

 private:
  const Snapshot& snapshot_;
  const SearchIndexes& indexes_;
  const v1::SearchToolsRequest& request_;
  const IndexView view_, held_;
  const std::shared_ptr<const DocSet> filtered_;
  const size_t asked_results_;
  std::vector<float> vector_;
};

// The sentence of `text` that `worth` gives most, or the first one; at most `max` characters, on
// one line.
std::string Snippet(absl::string_view text, size_t max,
                    absl::FunctionRef<float(absl::string_view)> worth);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_ANSWER_H_
