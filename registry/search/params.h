// The numbers of the ranking, in one place.
#ifndef TOOLRACK_REGISTRY_SEARCH_PARAMS_H_
#define TOOLRACK_REGISTRY_SEARCH_PARAMS_H_

#include <cstddef>

namespace toolrack {

// None is fitted: k1 and b are what the literature starts from (Robertson and Zaragoza 2009,
// section 3.5.1), the rest are round numbers. tests/conformance/search/sweep.cc shows, for each,
// what other values would bring, and what a choice by all sets but one loses on that one.
struct SearchParams {
  // How much a word counts in each field; a tenth is the smallest difference.
  float name = 3;
  float title = 3;
  float description = 1;
  float parameter = 1;
  float owner = 1;  // namespace and categories
  float parameter_text = 0.7f;
  float example = 0.7f;
  float value = 0.5f;

  float k1 = 1.2f;  // how soon a word said again stops counting
  float b = 0.75f;  // how much long texts pay for their length

  float synonym = 0.5f;    // divided by the root of their number
  float near_word = 0.7f;  // of what an unknown word is taken for
  // Score times (share of the query that is there) to this power, for short queries.
  float coverage = 0.5f;
  float sentence = 0.5f;  // share of the best sentence, for long queries
  float likeness = 0.3f;  // of name and query, by trigrams
  float phrase = 0.25f;   // for each quoted phrase that is there, word for word
  float vector = 0.6f;    // of the cosine, when the caller gives a vector
  // Longer queries ask for several things: how much of them one tool covers says little.
  size_t short_query = 12;  // distinct words
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_PARAMS_H_
