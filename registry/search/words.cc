#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/errors.h"
#include "registry/edit_distance.h"
#include "registry/search/modes.h"
#include "registry/search/rank.h"
#include "registry/search/restrict.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;

// A hit that has less of the query than this is told as a weak one.
constexpr float kWeakCoverage = 0.35f;
// A quarantined tool that has less of it is not worth a word.
constexpr float kHeldCoverage = 0.5f;
constexpr size_t kMaxHeld = 3;

// One phrasing, ready to be looked for.
struct Phrasing {
  ParsedQuery query;
  Restriction restriction;
};

struct Candidate {
  Ranked ranked;
  size_t phrasing = 0;  // that found it best
};

Phrasing Prepare(const SearchScope& scope, const QueryOperators& operators) {
  Phrasing out;
  out.restriction = Restrict(scope.view(), scope.filtered(), operators);
  std::string text = operators.text;
  // `+words` are not ranked by unless there is nothing else to rank by.
  bool any = false;
  SplitWords(text, [&any](absl::string_view) { any = true; });
  for (const QueryOperators::Clause& clause : operators.must) {
    if (!any) absl::StrAppend(&text, " ", clause.text);
  }
  out.query = ParseQuery(scope.view(), text, operators.phrases);
  return out;
}

// The best of all phrasings counts for each tool.
std::vector<Candidate> BestOfAll(const SearchScope& scope, const std::vector<Phrasing>& phrasings,
                                 size_t wanted) {
  absl::flat_hash_map<DocId, Candidate> best;
  for (size_t i = 0; i < phrasings.size(); ++i) {
    const RankOptions options = {wanted, phrasings[i].restriction.docs.get(), scope.vector()};
    for (const Ranked& one : Rank(scope.view(), phrasings[i].query, options)) {
      const auto [at, is_new] = best.try_emplace(one.doc, Candidate{one, i});
      const Ranked& there = at->second.ranked;
      if (!is_new &&
          std::make_pair(one.exact, one.score) > std::make_pair(there.exact, there.score)) {
        at->second = {one, i};
      }
    }
  }
  std::vector<Ranked> order;
  order.reserve(best.size());
  for (const auto& [doc, candidate] : best) order.push_back(candidate.ranked);
  SortRanked(scope.index(), order);
  std::vector<Candidate> out;
  out.reserve(order.size());
  for (const Ranked& ranked : order) out.push_back(best.at(ranked.doc));
  return out;
}

bool IsWeak(const SearchIndex& index, const ParsedQuery& query, const Ranked& ranked) {
  return !ranked.exact && !query.words.empty() &&
         Coverage(index, query, ranked.doc) < kWeakCoverage;
}

void Describe(const SearchScope& scope, const ParsedQuery& query, const Ranked& ranked,
              v1::SearchHit& hit) {
  const SearchIndex& index = scope.index();
  bool name_matched = false;
  for (const ParsedQuery::Word& word : query.words) {
    if (!HasWord(index, word, ranked.doc)) {
      hit.add_unmatched_terms(word.surface);
      continue;
    }
    hit.add_matched_terms(word.surface);
    const Segment::Posting* posting =
        word.known() ? index.FindPosting(word.term, ranked.doc) : nullptr;
    name_matched |= posting != nullptr && (posting->fields & kNameField) != 0;
  }
  if (hit.match().empty()) {
    hit.set_match(IsWeak(index, query, ranked) ? "weak" : name_matched ? "name" : "text");
  }
  absl::flat_hash_map<absl::string_view, float> worth_of;  // by stem
  for (const ParsedQuery::Word& word : query.words) {
    if (word.known()) worth_of.emplace(word.stem, word.term.idf);
  }
  const auto worth = [&](absl::string_view sentence) {
    absl::flat_hash_set<std::string> seen;
    float sum = 0;
    SplitWords(sentence, [&](absl::string_view word) {
      std::string stem = Stem(word);
      const auto found = worth_of.find(stem);
      if (found != worth_of.end() && seen.insert(std::move(stem)).second) sum += found->second;
    });
    return sum;
  };
  scope.SetSnippet(ranked.doc, worth, hit);
}

// The word as a tool that the caller knows writes it: other tools may have the same stem in a form
// that must not be told.
std::string ShownForm(const SearchScope& scope, const ParsedQuery::Near& near,
                      absl::string_view typed) {
  if (!scope.view().hides()) return near.word;
  constexpr size_t kMaxLookedAt = 20;
  size_t looked = 0;
  std::string best;
  scope.index().ForEachPosting(near.term, [&](DocId doc, const Segment::Posting&) {
    if (!scope.view().Knows(doc)) return true;
    const ToolDefinition& definition = scope.index().definition(doc);
    const std::string stem = Stem(near.word);
    ForEachField(definition, ReadSchemaWords(definition.tool.input_schema()),
                 [&](absl::string_view text, SearchField) {
                   SplitWords(text, [&](absl::string_view word) {
                     if (word == best || Stem(word) != stem) return;
                     if (best.empty() || BoundedEditDistance(word, typed, 8) <
                                             BoundedEditDistance(best, typed, 8)) {
                       best = std::string(word);
                     }
                   });
                 });
    return best != near.word && ++looked < kMaxLookedAt;
  });
  return best;
}

void Suggest(const SearchScope& scope, const std::vector<Phrasing>& phrasings,
             v1::SearchToolsResponse& response) {
  absl::flat_hash_set<std::string> given;
  for (const Phrasing& phrasing : phrasings) {
    for (const ParsedQuery::Word& word : phrasing.query.words) {
      for (const ParsedQuery::Near& near : word.near) {
        if (response.suggestions_size() == SearchScope::kMaxSuggestions) return;
        const std::string shown = ShownForm(scope, near, word.surface);
        if (!shown.empty() && given.insert(shown).second) response.add_suggestions(shown);
      }
    }
  }
}

std::string Unknown(const std::vector<Phrasing>& phrasings) {
  std::vector<std::string> unknown;
  for (const Phrasing& phrasing : phrasings) {
    for (const ParsedQuery::Word& word : phrasing.query.words) {
      if (!word.known() && unknown.size() < SearchScope::kMaxSuggestions &&
          std::find(unknown.begin(), unknown.end(), word.surface) == unknown.end()) {
        unknown.push_back(word.surface);
      }
    }
  }
  return absl::StrJoin(unknown, ", ");
}

// What the model should do next, when little or nothing was found.
std::string Advice(const SearchScope& scope, const std::vector<Phrasing>& phrasings,
                   const std::vector<Candidate>& found, const v1::SearchToolsResponse& response) {
  if (scope.view().Count() == 0) {
    return "No tool can be searched just now: none is registered yet. Search again later.";
  }
  std::string message;
  if (found.empty()) {
    message = absl::StrCat("These words found nothing, which does not mean that there is no such ",
                           "tool: there are ", scope.HowMany(), ".");
  } else {
    const Candidate& best = found.front();
    if (!IsWeak(scope.index(), phrasings[best.phrasing].query, best.ranked)) return "";
    message = absl::StrCat("These tools have only some of the words. There are ", scope.HowMany(),
                           "; a better one may be found with other words.");
  }
  const std::string unknown = Unknown(phrasings);
  if (!unknown.empty()) absl::StrAppend(&message, " No tool has the words: ", unknown, ".");
  if (response.suggestions_size() > 0) {
    absl::StrAppend(&message, " Near words: ", absl::StrJoin(response.suggestions(), ", "), ".");
  }
  absl::StrAppend(&message, " Try other words for what the tool does or works on, or fewer words.");
  return message;
}

// Quarantined tools that would have been found.
std::string HeldBack(const SearchScope& scope, const std::vector<QueryOperators>& queries) {
  const SearchIndex& index = scope.held().index();
  if (index.size() == 0) return "";
  std::vector<std::string> names;
  const auto docs =
      FilterDocs(index, {scope.request().categories().begin(), scope.request().categories().end()},
                 {scope.request().namespaces().begin(), scope.request().namespaces().end()});
  for (const QueryOperators& operators : queries) {
    const ParsedQuery query = ParseQuery(scope.held(), operators.text, {});
    for (const Ranked& one : Rank(scope.held(), query, {kMaxHeld, docs.get(), nullptr})) {
      const std::string& name = index.name(one.doc);
      if (names.size() < kMaxHeld && std::find(names.begin(), names.end(), name) == names.end() &&
          (one.exact || Coverage(index, query, one.doc) >= kHeldCoverage)) {
        names.push_back(name);
      }
    }
  }
  if (names.empty()) return "";
  return absl::StrCat(
      "Quarantined, so not callable (DescribeTool says why): ", absl::StrJoin(names, ", "), ".");
}

void Append(std::string& message, const std::string& sentence) {
  if (!sentence.empty()) absl::StrAppend(&message, message.empty() ? "" : " ", sentence);
}

}  // namespace

v1::SearchToolsResponse SearchByWords(const SearchScope& scope,
                                      const std::vector<QueryOperators>& queries) {
  std::vector<Phrasing> phrasings;
  phrasings.reserve(queries.size());
  for (const QueryOperators& query : queries) phrasings.push_back(Prepare(scope, query));
  const size_t wanted = scope.max_results() + SearchScope::kMaxMoreNames;
  std::vector<Candidate> found = BestOfAll(scope, phrasings, wanted);

  // Who says that a word must be in the name wants nothing else; but what there is, is told.
  std::string message;
  const bool unmet = std::all_of(phrasings.begin(), phrasings.end(), [](const Phrasing& phrasing) {
    return !phrasing.restriction.unmet.empty();
  });
  v1::SearchToolsResponse response = scope.NewResponse();
  for (const Candidate& candidate : found) {
    v1::SearchHit* hit =
        scope.Add(response, candidate.ranked.doc, candidate.ranked.score,
                  candidate.ranked.exact ? "exact_name" : "", unmet ? 0 : scope.max_results());
    if (hit != nullptr)
      Describe(scope, phrasings[candidate.phrasing].query, candidate.ranked, *hit);
  }
  Suggest(scope, phrasings, response);
  if (unmet) {
    message = absl::StrCat("No tool has ", ForMessage(phrasings.front().restriction.unmet),
                           " in its name, title or server; there are ", scope.HowMany(), ".",
                           found.empty() ? "" : " Without the + the tools in more_names match.",
                           " Search again without the +.");
  } else {
    message = Advice(scope, phrasings, found, response);
  }
  for (const Phrasing& phrasing : phrasings) {
    for (const std::string& note : phrasing.restriction.notes) Append(message, note);
  }
  Append(message, HeldBack(scope, queries));
  scope.Say(response, std::move(message));
  return response;
}

}  // namespace toolrack
