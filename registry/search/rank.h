// Ranks the tools of an index for one query in words: BM25F with one weighted length (Robertson and
// Zaragoza 2009, section 3.6), synonyms, coverage, sentences, names.
#ifndef TOOLRACK_REGISTRY_SEARCH_RANK_H_
#define TOOLRACK_REGISTRY_SEARCH_RANK_H_

#include <vector>

#include "registry/search/query.h"

namespace toolrack {

struct Ranked {
  SearchIndex::DocId doc;
  float score = 0;
  bool exact = false;
};

// What may be found, besides what the view hides.
struct RankOptions {
  size_t max = 0;
  const DocSet* allowed = nullptr;             // null: all
  const std::vector<float>* vector = nullptr;  // of length 1; null: none
};

// The best documents, best first; equal ones by length of the name, then bytewise. The same tools
// and query give the same answer.
std::vector<Ranked> Rank(const IndexView& view, const ParsedQuery& query,
                         const RankOptions& options);

// Orders a list as Rank does.
void SortRanked(const SearchIndex& index, std::vector<Ranked>& ranked);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_RANK_H_
