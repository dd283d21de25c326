#include "registry/search/rank.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "registry/search/refine.h"
#include "registry/search/synonyms.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;
using Word = ParsedQuery::Word;

constexpr float kCoverageOfSynonym = 0.5f;
// What the dearer part of the ranking looks at.
constexpr size_t kCandidates = 300;

// Scores of all documents, dense: adding up is most of the work. One for each thread, cleared after
// use, because making it anew would cost more than a short query.
class Scores {
 public:
  struct One {
    float score = 0;
    float covered = 0;
    uint32_t last_word = 0;  // the last word that covered it
  };

  static Scores& OfThisThread(size_t docs) {
    thread_local Scores scores;
    if (scores.all_.size() < docs) scores.all_.resize(docs);
    return scores;
  }
  void Clear() {
    for (const DocId doc : touched_) all_[doc] = One();
    touched_.clear();
  }

  void Add(const SearchIndex& index, const SearchIndex::Term& term, float weight, float cover,
           uint32_t word) {
    const SearchParams& params = index.params();
    const float top = weight * term.idf * (params.k1 + 1);
    const float norm = params.k1 * (1 - params.b);
    const float norm_of_length = params.k1 * params.b / index.mean_length();
    for (size_t i = 0; i < index.parts().size(); ++i) {
      if (term.in_part[i] == Segment::kNone) continue;
      const Segment& segment = *index.parts()[i].segment;
      const DocId first = index.parts()[i].first;
      for (const Segment::Posting& posting : segment.postings(term.in_part[i])) {
        const float frequency = static_cast<float>(posting.tenths) * 0.1f;
        const auto length = static_cast<float>(segment.length(posting.doc));
        const DocId doc = first + posting.doc;
        One& one = all_[doc];
        if (one.last_word == 0) touched_.push_back(doc);
        one.score += top * frequency / (norm + norm_of_length * length + frequency);
        if (one.last_word != word) {
          one.last_word = word;
          one.covered += cover;
        }
      }
    }
  }

  const std::vector<DocId>& touched() const { return touched_; }
  const One& of(DocId doc) const { return all_[doc]; }

 private:
  std::vector<One> all_;
  std::vector<DocId> touched_;
};

// Gives the sum of idf over the words: what `covered` is a share of.
float AddWords(const SearchIndex& index, const std::vector<Word>& words, bool synonyms,
               Scores& out) {
  const SearchParams& params = index.params();
  float total = 0;
  uint32_t number = 0;
  for (const Word& word : words) {
    ++number;
    const float weight = std::sqrt(static_cast<float>(word.count));
    const float idf = IdfOf(index, word);
    total += idf;
    if (word.known()) out.Add(index, word.term, weight, idf, number);
    for (const ParsedQuery::Near& near : word.near) {
      out.Add(index, near.term, weight * params.near_word, idf * params.near_word, number);
    }
    if (!synonyms) continue;
    std::vector<SearchIndex::Term> others;
    for (const std::string& synonym : SynonymsOf(word.stem)) {
      const bool asked = std::any_of(words.begin(), words.end(), [&synonym](const Word& other) {
        return other.stem == synonym;
      });
      if (asked) continue;
      SearchIndex::Term term = index.FindTerm(synonym);
      if (term.docs > 0) others.push_back(std::move(term));
    }
    const float share =
        params.synonym * weight / std::sqrt(static_cast<float>(std::max<size_t>(1, others.size())));
    for (const SearchIndex::Term& term : others) {
      out.Add(index, term, share, idf * kCoverageOfSynonym, number);
    }
  }
  return total;
}

// Best first.
class Better {
 public:
  explicit Better(const SearchIndex& index) : index_(index) {}
  bool operator()(const Ranked& a, const Ranked& b) const {
    if (a.score != b.score) return a.score > b.score;
    return NameBefore(index_.name(a.doc), index_.name(b.doc));
  }

 private:
  const SearchIndex& index_;
};

// The best `keep` that the caller knows. Who is asked about each is asked about the best only.
void KeepBest(const IndexView& view, size_t keep, std::vector<Ranked>& ranked) {
  const Better better(view.index());
  if (!view.hides()) {
    if (ranked.size() <= keep) return;
    std::nth_element(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(keep),
                     ranked.end(), better);
    ranked.resize(keep);
    return;
  }
  const auto worse = [&better](const Ranked& a, const Ranked& b) { return better(b, a); };
  std::make_heap(ranked.begin(), ranked.end(), worse);
  std::vector<Ranked> kept;
  while (!ranked.empty() && kept.size() < keep) {
    std::pop_heap(ranked.begin(), ranked.end(), worse);
    if (view.Knows(ranked.back().doc)) kept.push_back(ranked.back());
    ranked.pop_back();
  }
  ranked = std::move(kept);
}

// By cosine alone.
std::vector<Ranked> NearVectors(const IndexView& view, const RankOptions& options, size_t keep) {
  std::vector<Ranked> out;
  const SearchIndex& index = view.index();
  for (const SegmentPart& part : index.parts()) {
    if (part.segment->vectors() == 0) continue;
    for (uint32_t number = 0; number < part.segment->size(); ++number) {
      const DocId doc = part.first + number;
      if (!part.alive(number) || (options.allowed != nullptr && !options.allowed->Has(doc)))
        continue;
      const float cosine = CosineOf(part.segment->doc(number), *options.vector);
      if (cosine > 0) out.push_back({doc, cosine, false});
    }
  }
  KeepBest(view, keep, out);
  return out;
}

void AddVectors(const IndexView& view, const RankOptions& options, size_t keep,
                std::vector<Ranked>& ranked) {
  const SearchIndex& index = view.index();
  for (const Ranked& near : NearVectors(view, options, keep)) {
    const bool there = std::any_of(ranked.begin(), ranked.end(),
                                   [&near](const Ranked& one) { return one.doc == near.doc; });
    if (!there) ranked.push_back({near.doc, 0, false});
  }
  for (Ranked& one : ranked) {
    one.score += index.params().vector * CosineOf(index.doc(one.doc), *options.vector);
  }
}

}  // namespace

void SortRanked(const SearchIndex& index, std::vector<Ranked>& ranked) {
  const auto rounded = [](float score) { return std::llround(static_cast<double>(score) * 1e6); };
  std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    if (a.exact != b.exact) return a.exact;
    const long long score_a = rounded(a.score), score_b = rounded(b.score);
    if (score_a != score_b) return score_a > score_b;
    return NameBefore(index.name(a.doc), index.name(b.doc));
  });
}

std::vector<Ranked> Rank(const IndexView& view, const ParsedQuery& query,
                         const RankOptions& options) {
  const SearchIndex& index = view.index();
  const SearchParams& params = index.params();
  const bool is_short = query.words.size() <= params.short_query;
  const auto may = [&](DocId doc) {
    return options.allowed == nullptr || options.allowed->Has(doc);
  };
  Scores& scores = Scores::OfThisThread(index.doc_limit());
  const float total = AddWords(index, query.words, is_short, scores);
  std::vector<Ranked> ranked;
  ranked.reserve(scores.touched().size());
  for (const DocId doc : scores.touched()) {
    if (!may(doc)) continue;
    const Scores::One& one = scores.of(doc);
    const float share = is_short && total > 0 ? std::pow(one.covered / total, params.coverage) : 1;
    ranked.push_back({doc, one.score * share, false});
  }
  scores.Clear();
  const size_t keep = std::max(kCandidates, options.max);
  KeepBest(view, keep, ranked);
  DivideByMax(ranked);
  if (!is_short) MixSentences(index, query, ranked);
  if (options.vector != nullptr) AddVectors(view, options, keep, ranked);
  AddLikeness(index, query.text, ranked);
  for (const std::string& phrase : query.phrases) AddPhrase(index, phrase, ranked);

  // Exact names first, in the order of the query, whatever their score.
  float top = 2 + static_cast<float>(query.phrases.size());
  for (const DocId doc : query.exact) {
    if (!may(doc) || !view.Knows(doc)) continue;
    const auto there = std::find_if(ranked.begin(), ranked.end(),
                                    [doc](const Ranked& one) { return one.doc == doc; });
    Ranked& one = there == ranked.end() ? ranked.emplace_back() : *there;
    one.doc = doc;
    one.exact = true;
    one.score = top;
    top *= 0.999f;
  }
  SortRanked(index, ranked);
  if (ranked.size() > options.max) ranked.resize(options.max);
  return ranked;
}

}  // namespace toolrack
