// The parts of the ranking that look at the best documents only.
#ifndef TOOLRACK_REGISTRY_SEARCH_REFINE_H_
#define TOOLRACK_REGISTRY_SEARCH_REFINE_H_

#include <string>
#include <vector>

#include "registry/search/rank.h"

namespace toolrack {

// Scales the scores so that the best is 1.
void DivideByMax(std::vector<Ranked>& ranked);

// For requests of several sentences: a part of the whole, a part of the best sentence. Orders
// `ranked` by document.
void MixSentences(const SearchIndex& index, const ParsedQuery& query, std::vector<Ranked>& ranked);

// Adds how alike names and query look.
void AddLikeness(const SearchIndex& index, absl::string_view text, std::vector<Ranked>& ranked);

// Adds to the tools that have the phrase, of at least two words, word for word.
void AddPhrase(const SearchIndex& index, absl::string_view phrase, std::vector<Ranked>& ranked);

// 0 when the document has no vector, or one of another dimension. Both are of length 1.
float CosineOf(const Segment::Doc& doc, const std::vector<float>& vector);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_REFINE_H_
