#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/errors.h"
#include "registry/search/modes.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;

// A best hit that has less of the query than this is told as a weak one.
constexpr float kWeakCoverage = 0.35f;

struct Candidate {
  Ranked ranked;
  size_t query = 0;  // the phrasing that found it best
};

// The best of all phrasings counts for each tool.
std::vector<Candidate> BestOfAll(const SearchScope& scope, const std::vector<ParsedQuery>& queries,
                                 size_t wanted) {
  absl::flat_hash_map<DocId, Candidate> best;
  for (size_t i = 0; i < queries.size(); ++i) {
    const std::vector<Ranked> ranked =
        Rank(scope.index(), queries[i], wanted, [&scope](DocId doc) { return scope.Visible(doc); });
    for (const Ranked& one : ranked) {
      const auto [at, is_new] = best.try_emplace(one.doc, Candidate{one, i});
      const Ranked& there = at->second.ranked;
      if (!is_new &&
          std::make_pair(one.exact, one.score) > std::make_pair(there.exact, there.score)) {
        at->second = {one, i};
      }
    }
  }
  std::vector<Ranked> order;
  for (const auto& [doc, candidate] : best) order.push_back(candidate.ranked);
  SortRanked(scope.index(), order);
  std::vector<Candidate> out;
  out.reserve(order.size());
  for (const Ranked& ranked : order) out.push_back(best.at(ranked.doc));
  return out;
}

void Describe(const SearchIndex& index, const ParsedQuery& query, DocId doc, v1::SearchHit& hit) {
  absl::flat_hash_set<std::string> in_name;
  const ToolDefinition& definition = *index.docs()[doc].definition;
  SplitWords(definition.bare_name, [&](absl::string_view word) { in_name.insert(Stem(word)); });
  bool name_matched = false;
  for (const ParsedQuery::Word& word : query.words) {
    if (HasWord(index, word, doc)) {
      hit.add_matched_terms(word.surface);
      name_matched |= in_name.contains(Stem(word.surface));
    } else {
      hit.add_unmatched_terms(word.surface);
    }
  }
  if (hit.match().empty()) hit.set_match(name_matched ? "name" : "text");
  hit.set_snippet(Snippet(definition.tool.description(), [&](absl::string_view sentence) {
    absl::flat_hash_set<SearchIndex::TermId> terms;
    SplitWords(sentence, [&](absl::string_view word) { terms.insert(index.FindTerm(Stem(word))); });
    float worth = 0;
    for (const ParsedQuery::Word& word : query.words) {
      if (word.term != SearchIndex::kNoTerm && terms.contains(word.term)) {
        worth += index.term(word.term).idf;
      }
    }
    return worth;
  }));
}

void Suggest(const std::vector<ParsedQuery>& queries, v1::SearchToolsResponse& response) {
  absl::flat_hash_set<std::string> given;
  for (const ParsedQuery& query : queries) {
    for (const ParsedQuery::Word& word : query.words) {
      for (const SearchIndex::NearWord& near : word.near) {
        if (response.suggestions_size() == SearchScope::kMaxSuggestions) return;
        if (given.insert(near.word).second) response.add_suggestions(near.word);
      }
    }
  }
}

std::string Unknown(const std::vector<ParsedQuery>& queries) {
  std::vector<std::string> unknown;
  for (const ParsedQuery& query : queries) {
    for (const ParsedQuery::Word& word : query.words) {
      if (word.term == SearchIndex::kNoTerm && unknown.size() < SearchScope::kMaxSuggestions &&
          std::find(unknown.begin(), unknown.end(), word.surface) == unknown.end()) {
        unknown.push_back(word.surface);
      }
    }
  }
  return absl::StrJoin(unknown, ", ");
}

// What the model should do next, when little or nothing was found.
std::string Advice(const SearchScope& scope, const std::vector<ParsedQuery>& queries,
                   const std::vector<Candidate>& found, const v1::SearchToolsResponse& response) {
  if (scope.index().docs().empty()) {
    return "No tool can be searched just now: none is registered yet. Search again later.";
  }
  std::string message;
  if (found.empty()) {
    message = absl::StrCat("These words found nothing, which does not mean that there is no such ",
                           "tool: there are ", scope.HowMany(), ".");
  } else {
    const Candidate& best = found.front();
    const ParsedQuery& query = queries[best.query];
    if (best.ranked.exact || query.words.empty() ||
        Coverage(scope.index(), query, best.ranked.doc) >= kWeakCoverage) {
      return "";
    }
    message = absl::StrCat("These tools have only some of the words. There are ", scope.HowMany(),
                           "; a better one may be found with other words.");
  }
  const std::string unknown = Unknown(queries);
  if (!unknown.empty()) absl::StrAppend(&message, " No tool has the words: ", unknown, ".");
  if (response.suggestions_size() > 0) {
    absl::StrAppend(&message, " Near words: ", absl::StrJoin(response.suggestions(), ", "), ".");
  }
  absl::StrAppend(&message, " Try other words for what the tool does or works on, or fewer words.");
  return message;
}

}  // namespace

v1::SearchToolsResponse SearchByWords(const SearchScope& scope,
                                      const std::vector<std::string>& queries) {
  std::vector<ParsedQuery> parsed;
  parsed.reserve(queries.size());
  for (const std::string& query : queries) parsed.push_back(ParseQuery(scope.index(), query));
  const size_t wanted = scope.max_results() + SearchScope::kMaxMoreNames;
  const std::vector<Candidate> found = BestOfAll(scope, parsed, wanted);

  v1::SearchToolsResponse response = scope.NewResponse();
  for (const Candidate& candidate : found) {
    v1::SearchHit* hit = scope.Add(response, candidate.ranked.doc, candidate.ranked.score,
                                   candidate.ranked.exact ? "exact_name" : "", scope.max_results());
    if (hit != nullptr) {
      Describe(scope.index(), parsed[candidate.query], candidate.ranked.doc, *hit);
    }
  }
  Suggest(parsed, response);
  scope.Say(response, Advice(scope, parsed, found, response));
  return response;
}

}  // namespace toolrack
