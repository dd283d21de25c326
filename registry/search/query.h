// Ranks the tools of an index for one query in words.
#ifndef TOOLRACK_REGISTRY_SEARCH_QUERY_H_
#define TOOLRACK_REGISTRY_SEARCH_QUERY_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "registry/search/index.h"

namespace toolrack {

// A query taken apart.
struct ParsedQuery {
  struct Word {
    std::string surface;  // lower case, as written
    SearchIndex::TermId term = SearchIndex::kNoTerm;
    uint32_t count = 1;
    // No tool has the word; `near` are what it may have been meant to be.
    std::vector<SearchIndex::NearWord> near;
  };
  std::string text;
  std::vector<Word> words;  // distinct, in order; no stop words
  // The query, or a part of it, is just the name of these: they come first, in this order.
  std::vector<SearchIndex::DocId> exact;
};

ParsedQuery ParseQuery(const SearchIndex& index, absl::string_view text);

struct Ranked {
  SearchIndex::DocId doc;
  float score = 0;
  bool exact = false;
};

// The best `max` documents that `visible` takes, best first; equal ones by length of the name, then
// bytewise. The same index and query give the same answer.
std::vector<Ranked> Rank(const SearchIndex& index, const ParsedQuery& query, size_t max,
                         absl::FunctionRef<bool(SearchIndex::DocId)> visible);

// The documents that `token` names: by the whole canonical name, by the name without namespace, or
// by what stands after the first or last `__`, `/` or `.`; case and separators do not count. The
// literal name comes first.
std::vector<SearchIndex::DocId> FindNamed(const SearchIndex& index, absl::string_view token);

// The share of the query, by weight of its words, that is in the document: 0 to 1.
float Coverage(const SearchIndex& index, const ParsedQuery& query, SearchIndex::DocId doc);

// Whether the document has the word, or what it was taken for.
bool HasWord(const SearchIndex& index, const ParsedQuery::Word& word, SearchIndex::DocId doc);

// The parts of a text that end like sentences, without what ends them.
std::vector<absl::string_view> SentencesOf(absl::string_view text);

// Orders a list as Rank does.
void SortRanked(const SearchIndex& index, std::vector<Ranked>& ranked);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_QUERY_H_
