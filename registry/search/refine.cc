#include "registry/search/refine.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;

// Calls `take(i, posting)` for each of `ranked` (ordered by document) that has the term.
template <typename Take>
void ForEachWith(const SearchIndex& index, const SearchIndex::Term& term,
                 const std::vector<Ranked>& ranked, Take take) {
  size_t i = 0;
  for (size_t p = 0; p < index.parts().size(); ++p) {
    const DocId first = index.parts()[p].first;
    const DocId end = first + static_cast<DocId>(index.parts()[p].segment->size());
    if (term.in_part[p] == Segment::kNone) {
      while (i < ranked.size() && ranked[i].doc < end) ++i;
      continue;
    }
    const auto postings = index.parts()[p].segment->postings(term.in_part[p]);
    auto at = postings.begin();
    for (; i < ranked.size() && ranked[i].doc < end; ++i) {
      const uint32_t doc = ranked[i].doc - first;
      // In steps that double, then by halves: the next one is mostly near.
      std::ptrdiff_t step = 1;
      auto low = at;
      while (postings.end() - low > step && low[step].doc < doc) {
        low += step;
        step *= 2;
      }
      const auto high = postings.end() - low > step ? low + step + 1 : postings.end();
      at = std::lower_bound(low, high, doc, [](const Segment::Posting& posting, uint32_t d) {
        return posting.doc < d;
      });
      if (at == postings.end()) {
        while (i < ranked.size() && ranked[i].doc < end) ++i;
        break;
      }
      if (at->doc == doc) take(i, *at);
    }
  }
}

// Words with one gap between them, lower case.
std::string Plain(absl::string_view text) {
  std::string out = " ";
  SplitWords(text, [&out](absl::string_view word) { absl::StrAppend(&out, word, " "); });
  return out;
}

}  // namespace

void DivideByMax(std::vector<Ranked>& ranked) {
  float max = 0;
  for (const Ranked& one : ranked) max = std::max(max, one.score);
  if (max == 0) return;
  for (Ranked& one : ranked) one.score /= max;
}

void MixSentences(const SearchIndex& index, const ParsedQuery& query, std::vector<Ranked>& ranked) {
  const std::vector<absl::string_view> sentences = SentencesOf(query.text);
  if (sentences.size() < 2 || ranked.empty()) return;
  const SearchParams& params = index.params();
  std::sort(ranked.begin(), ranked.end(),
            [](const Ranked& a, const Ranked& b) { return a.doc < b.doc; });

  // What each word is worth in each document, once for all sentences.
  absl::flat_hash_map<absl::string_view, size_t> number_of;  // by stem
  std::vector<std::vector<std::pair<uint32_t, float>>> worth;
  for (const ParsedQuery::Word& word : query.words) {
    number_of.emplace(word.stem, worth.size());
    auto& list = worth.emplace_back();
    if (!word.known()) continue;
    ForEachWith(index, word.term, ranked, [&](size_t i, const Segment::Posting& posting) {
      const float frequency = static_cast<float>(posting.tenths) * 0.1f;
      const auto length = static_cast<float>(index.doc(ranked[i].doc).length);
      const float norm = params.k1 * (1 - params.b + params.b * length / index.mean_length());
      list.emplace_back(static_cast<uint32_t>(i),
                        word.term.idf * (params.k1 + 1) * frequency / (norm + frequency));
    });
  }
  std::vector<float> best(ranked.size()), score(ranked.size());
  std::vector<uint32_t> counts(worth.size());
  for (const absl::string_view sentence : sentences) {
    std::fill(counts.begin(), counts.end(), 0);
    std::vector<size_t> order;
    SplitWords(sentence, [&](absl::string_view word) {
      const auto found = number_of.find(Stem(word));
      if (found != number_of.end() && counts[found->second]++ == 0) order.push_back(found->second);
    });
    std::fill(score.begin(), score.end(), 0.0f);
    for (const size_t word : order) {
      const float weight = std::sqrt(static_cast<float>(counts[word]));
      for (const auto& [i, value] : worth[word]) score[i] += weight * value;
    }
    const float max = *std::max_element(score.begin(), score.end());
    if (max == 0) continue;
    for (size_t i = 0; i < ranked.size(); ++i) best[i] = std::max(best[i], score[i] / max);
  }
  for (size_t i = 0; i < ranked.size(); ++i) {
    ranked[i].score = (1 - params.sentence) * ranked[i].score + params.sentence * best[i];
  }
}

void AddLikeness(const SearchIndex& index, absl::string_view text, std::vector<Ranked>& ranked) {
  const std::vector<uint16_t> wanted = Trigrams(text);
  if (wanted.empty()) return;
  for (Ranked& one : ranked) {
    const SegmentPart& part = index.PartOf(one.doc);
    const auto there = part.segment->trigrams(one.doc - part.first);
    if (there.empty()) continue;
    size_t shared = 0;
    auto a = wanted.begin();
    for (const uint16_t trigram : there) {
      while (a != wanted.end() && *a < trigram) ++a;
      if (a == wanted.end()) break;
      shared += *a == trigram ? 1 : 0;
    }
    one.score += index.params().likeness * static_cast<float>(shared) /
                 std::sqrt(static_cast<float>(wanted.size() * there.size()));
  }
}

void AddPhrase(const SearchIndex& index, absl::string_view phrase, std::vector<Ranked>& ranked) {
  std::vector<SearchIndex::Term> terms;
  size_t words = 0;
  SplitWords(phrase, [&](absl::string_view word) {
    ++words;
    if (!IsStopWord(word)) terms.push_back(index.FindTerm(Stem(word)));
  });
  if (words < 2) return;
  const std::string plain = Plain(phrase);
  const std::string lower = absl::AsciiStrToLower(phrase);
  for (Ranked& one : ranked) {
    const bool all = std::all_of(terms.begin(), terms.end(), [&](const SearchIndex::Term& term) {
      return index.FindPosting(term, one.doc) != nullptr;
    });
    if (!all) continue;
    const ToolDefinition& definition = index.definition(one.doc);
    bool found = false;
    // Not what its parameters say: people also quote values, and those are in their examples.
    ForEachField(definition, SchemaWords(), [&](absl::string_view text, SearchField) {
      // Pairs of characters stand between those of CJK texts: as it is written, too.
      found = found || absl::StrContains(absl::AsciiStrToLower(text), lower) ||
              absl::StrContains(Plain(text), plain);
    });
    if (found) one.score += index.params().phrase;
  }
}

float CosineOf(const Segment::Doc& doc, const std::vector<float>& vector) {
  if (doc.vector == nullptr || doc.vector->size() != vector.size()) return 0;
  float sum = 0;
  for (size_t i = 0; i < vector.size(); ++i) sum += vector[i] * (*doc.vector)[i];
  return sum;
}

}  // namespace toolrack
