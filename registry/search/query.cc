#include "registry/search/query.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "registry/search/synonyms.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;
using TermId = SearchIndex::TermId;
using Word = ParsedQuery::Word;

// Measured on public retrieval sets; see tests/search/quality_test.cc.
constexpr float kSynonymWeight = 0.5f;  // divided by the root of their number
constexpr float kNearWeight = 0.7f;     // of a corrected word
constexpr float kTrigramWeight = 0.3f;  // of the likeness of names
constexpr float kCoverageOfSynonym = 0.5f;
constexpr float kSentenceShare = 0.5f;
// Longer queries ask for several things: how much of them one tool covers says little.
constexpr size_t kShortQuery = 12;
// What the dearer part of the ranking looks at.
constexpr size_t kCandidates = 300;
constexpr size_t kMaxNear = 2;
constexpr size_t kMaxListedNames = 10;

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

  void Add(const SearchIndex& index, TermId id, float weight, float cover, uint32_t word) {
    const SearchIndex::Term& term = index.term(id);
    const float top = weight * term.idf * (SearchIndex::kSaturation + 1);
    for (const SearchIndex::Posting& posting : term.postings) {
      One& one = all_[posting.doc];
      if (one.score == 0) touched_.push_back(posting.doc);
      one.score += top * posting.frequency / (index.length_norm(posting.doc) + posting.frequency);
      if (one.last_word != word) {
        one.last_word = word;
        one.covered += cover;
      }
    }
  }

  const std::vector<DocId>& touched() const { return touched_; }
  const One& of(DocId doc) const { return all_[doc]; }

 private:
  std::vector<One> all_;
  std::vector<DocId> touched_;
};

float IdfOf(const SearchIndex& index, const Word& word) {
  if (word.term != SearchIndex::kNoTerm) return index.term(word.term).idf;
  if (!word.near.empty()) return index.term(word.near.front().term).idf;
  // A word that is nowhere is as telling as one that is in one tool.
  return static_cast<float>(std::log(1 + (static_cast<double>(index.docs().size()) - 0.5) / 1.5));
}

// Gives the sum of idf over the words: what `covered` is a share of.
float AddWords(const SearchIndex& index, const std::vector<Word>& words, bool synonyms,
               Scores& out) {
  float total = 0;
  uint32_t number = 0;
  for (const Word& word : words) {
    ++number;
    const float weight = std::sqrt(static_cast<float>(word.count));
    const float idf = IdfOf(index, word);
    total += idf;
    if (word.term != SearchIndex::kNoTerm) out.Add(index, word.term, weight, idf, number);
    for (const SearchIndex::NearWord& near : word.near) {
      out.Add(index, near.term, weight * kNearWeight, idf * kNearWeight, number);
    }
    if (!synonyms) continue;
    std::vector<TermId> others;
    for (const std::string& synonym : SynonymsOf(Stem(word.surface))) {
      const TermId id = index.FindTerm(synonym);
      const bool asked = std::any_of(words.begin(), words.end(),
                                     [id](const Word& other) { return other.term == id; });
      if (id != SearchIndex::kNoTerm && !asked) others.push_back(id);
    }
    const float share =
        kSynonymWeight * weight / std::sqrt(static_cast<float>(std::max<size_t>(1, others.size())));
    for (const TermId id : others) {
      out.Add(index, id, share, idf * kCoverageOfSynonym, number);
    }
  }
  return total;
}

std::vector<Word> WordsOf(const SearchIndex& index, absl::string_view text) {
  std::vector<Word> words;
  absl::flat_hash_map<std::string, size_t> seen;
  SplitWords(text, [&](absl::string_view word) {
    if (IsStopWord(word)) return;
    const auto [at, is_new] = seen.try_emplace(Stem(word), words.size());
    if (!is_new) {
      ++words[at->second].count;
      return;
    }
    Word& added = words.emplace_back();
    added.surface = std::string(word);
    added.term = index.FindTerm(at->first);
  });
  return words;
}

// 0 to 1: how alike name and query look.
class NameLikeness {
 public:
  NameLikeness(const SearchIndex& index, absl::string_view text)
      : index_(index), trigrams_(Trigrams(text)) {
    for (const uint16_t trigram : trigrams_) norm_ += Weight(trigram);
    norm_ = std::sqrt(norm_);
  }

  float Of(DocId doc) const {
    const SearchIndex::Doc& name = index_.docs()[doc];
    float shared = 0;
    auto a = trigrams_.begin();
    for (const uint16_t trigram : name.trigrams) {
      while (a != trigrams_.end() && *a < trigram) ++a;
      if (a == trigrams_.end()) break;
      if (*a == trigram) shared += Weight(trigram);
    }
    const float norms = norm_ * name.trigram_norm;
    return norms > 0 ? shared / norms : 0;
  }

 private:
  float Weight(uint16_t trigram) const {
    return index_.TrigramIdf(trigram) * index_.TrigramIdf(trigram);
  }

  const SearchIndex& index_;
  const std::vector<uint16_t> trigrams_;
  float norm_ = 0;
};

void DivideByMax(std::vector<Ranked>& ranked) {
  float max = 0;
  for (const Ranked& one : ranked) max = std::max(max, one.score);
  if (max == 0) return;
  for (Ranked& one : ranked) one.score /= max;
}

// What AddWords would give this document, without synonyms.
float ScoreOf(const SearchIndex& index, const std::vector<Word>& words, DocId doc) {
  float score = 0;
  for (const Word& word : words) {
    if (word.term == SearchIndex::kNoTerm) continue;
    const float frequency = index.FrequencyIn(word.term, doc);
    score += std::sqrt(static_cast<float>(word.count)) * index.term(word.term).idf *
             (SearchIndex::kSaturation + 1) * frequency / (index.length_norm(doc) + frequency);
  }
  return score;
}

// For requests of several sentences: half the whole, half the best sentence.
void MixSentences(const SearchIndex& index, absl::string_view text, std::vector<Ranked>& ranked) {
  const std::vector<absl::string_view> sentences = SentencesOf(text);
  if (sentences.size() < 2) return;
  std::vector<float> best(ranked.size());
  for (const absl::string_view sentence : sentences) {
    const std::vector<Word> words = WordsOf(index, sentence);
    if (words.empty()) continue;
    std::vector<float> score(ranked.size());
    float max = 0;
    for (size_t i = 0; i < ranked.size(); ++i) {
      score[i] = ScoreOf(index, words, ranked[i].doc);
      max = std::max(max, score[i]);
    }
    if (max == 0) continue;
    for (size_t i = 0; i < ranked.size(); ++i) best[i] = std::max(best[i], score[i] / max);
  }
  for (size_t i = 0; i < ranked.size(); ++i) {
    ranked[i].score = (1 - kSentenceShare) * ranked[i].score + kSentenceShare * best[i];
  }
}

// A word of the query as it may be the name of a tool: without what stands around it.
absl::string_view Bare(absl::string_view token) {
  constexpr absl::string_view kAround = "\"'`()[]{}<>,;:.?!*";
  while (!token.empty() && absl::StrContains(kAround, token.front())) token.remove_prefix(1);
  while (!token.empty() && absl::StrContains(kAround, token.back())) token.remove_suffix(1);
  return token;
}

// Whether the word is plainly a name and not a word of a sentence.
bool LooksLikeIdentifier(absl::string_view token) {
  bool letter = false, inner_capital = false, digit = false;
  for (size_t i = 0; i < token.size(); ++i) {
    letter |= absl::ascii_isalpha(token[i]);
    digit |= absl::ascii_isdigit(token[i]);
    inner_capital |= i > 0 && absl::ascii_isupper(token[i]) && absl::ascii_islower(token[i - 1]);
  }
  return letter && (inner_capital || digit || absl::StrContains(token, '_') ||
                    absl::StrContains(token, '.') || absl::StrContains(token, '/'));
}

std::vector<DocId> ExactNames(const SearchIndex& index, absl::string_view text) {
  std::vector<DocId> out;
  const auto add = [&out](const std::vector<DocId>& docs) {
    for (const DocId doc : docs) {
      if (std::find(out.begin(), out.end(), doc) == out.end()) out.push_back(doc);
    }
  };
  constexpr size_t kLongestName = 192;
  if (text.size() <= kLongestName) {
    if (const std::vector<DocId>* whole = index.FindByFoldedName(FoldName(text))) {
      add(FindNamed(index, absl::StripAsciiWhitespace(text)));
      add(*whole);
      return out;
    }
  }
  const std::vector<absl::string_view> tokens =
      absl::StrSplit(text, absl::ByAnyChar(" \t\r\n,"), absl::SkipEmpty());
  bool all_named = tokens.size() <= kMaxListedNames;
  std::vector<DocId> all;
  for (const absl::string_view raw : tokens) {
    const absl::string_view token = Bare(raw);
    const bool identifier = LooksLikeIdentifier(token);
    if (!identifier && !all_named) continue;
    const std::vector<DocId> docs = FindNamed(index, token);
    all_named &= !docs.empty();
    if (identifier) add(docs);
    all.insert(all.end(), docs.begin(), docs.end());
  }
  if (all_named) {
    out.clear();
    add(all);
  }
  return out;
}

}  // namespace

std::vector<absl::string_view> SentencesOf(absl::string_view text) {
  std::vector<absl::string_view> out;
  size_t start = 0;
  const auto cut = [&](size_t end, size_t next) {
    if (end > start) out.push_back(text.substr(start, end - start));
    start = next;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const absl::string_view rest = text.substr(i);
    const char c = text[i];
    const bool end_mark = (c == '.' || c == '?' || c == '!' || c == ';') &&
                          (rest.size() == 1 || absl::ascii_isspace(rest[1]));
    if (end_mark || c == '\n') {
      cut(i, i + 1);
      continue;
    }
    for (const absl::string_view mark : {"。", "？", "！", "；", " then ", " also ", " finally "}) {
      if (!absl::StartsWith(rest, mark)) continue;
      cut(i, i + mark.size());
      i += mark.size() - 1;
      break;
    }
  }
  cut(text.size(), text.size());
  return out;
}

std::vector<DocId> FindNamed(const SearchIndex& index, absl::string_view token) {
  std::vector<absl::string_view> forms = {token};
  for (const absl::string_view separator : {"__", "/", "."}) {
    const size_t first = token.find(separator);
    if (first == absl::string_view::npos) continue;
    forms.push_back(token.substr(first + separator.size()));
    forms.push_back(token.substr(token.rfind(separator) + separator.size()));
  }
  for (const absl::string_view form : forms) {
    const std::string folded = FoldName(form);
    if (folded.empty()) continue;
    if (const std::vector<DocId>* docs = index.FindByFoldedName(folded)) {
      std::vector<DocId> out = *docs;
      // The literal name goes before the same in other letters, and the whole before a part.
      const auto literal = [&](DocId doc) {
        const ToolDefinition& definition = *index.docs()[doc].definition;
        return definition.tool.name() == form                         ? 0
               : definition.bare_name == form                         ? 1
               : absl::EqualsIgnoreCase(definition.tool.name(), form) ? 2
                                                                      : 3;
      };
      std::stable_sort(out.begin(), out.end(),
                       [&](DocId a, DocId b) { return literal(a) < literal(b); });
      return out;
    }
  }
  return {};
}

bool HasWord(const SearchIndex& index, const Word& word, DocId doc) {
  if (word.term != SearchIndex::kNoTerm) return index.FrequencyIn(word.term, doc) > 0;
  return std::any_of(word.near.begin(), word.near.end(), [&](const SearchIndex::NearWord& near) {
    return index.FrequencyIn(near.term, doc) > 0;
  });
}

float Coverage(const SearchIndex& index, const ParsedQuery& query, DocId doc) {
  float found = 0, all = 0;
  for (const Word& word : query.words) {
    const float idf = IdfOf(index, word);
    all += idf;
    if (HasWord(index, word, doc)) found += idf;
  }
  return all > 0 ? found / all : 0;
}

ParsedQuery ParseQuery(const SearchIndex& index, absl::string_view text) {
  ParsedQuery query;
  query.text = std::string(text);
  query.words = WordsOf(index, text);
  for (Word& word : query.words) {
    if (word.term == SearchIndex::kNoTerm) word.near = index.NearWords(word.surface, kMaxNear);
  }
  query.exact = ExactNames(index, text);
  return query;
}

void SortRanked(const SearchIndex& index, std::vector<Ranked>& ranked) {
  // Rounded, so that sums in another order give the same answer.
  const auto rounded = [](float score) { return std::llround(static_cast<double>(score) * 1e5); };
  std::sort(ranked.begin(), ranked.end(), [&](const Ranked& a, const Ranked& b) {
    if (a.exact != b.exact) return a.exact;
    const long long score_a = rounded(a.score), score_b = rounded(b.score);
    if (score_a != score_b) return score_a > score_b;
    const std::string &name_a = index.docs()[a.doc].name(), &name_b = index.docs()[b.doc].name();
    if (name_a.size() != name_b.size()) return name_a.size() < name_b.size();
    return name_a < name_b;
  });
}

std::vector<Ranked> Rank(const SearchIndex& index, const ParsedQuery& query, size_t max,
                         absl::FunctionRef<bool(DocId)> visible) {
  const bool is_short = query.words.size() <= kShortQuery;
  Scores& scores = Scores::OfThisThread(index.docs().size());
  const float total = AddWords(index, query.words, is_short, scores);
  std::vector<Ranked> ranked;
  ranked.reserve(scores.touched().size());
  for (const DocId doc : scores.touched()) {
    if (!visible(doc)) continue;
    const Scores::One& one = scores.of(doc);
    const float share = is_short && total > 0 ? std::sqrt(one.covered / total) : 1;
    ranked.push_back({doc, one.score * share, false});
  }
  scores.Clear();
  const auto by_score = [](const Ranked& a, const Ranked& b) {
    return std::tie(b.score, a.doc) < std::tie(a.score, b.doc);
  };
  const size_t keep = std::max(kCandidates, max);
  if (ranked.size() > keep) {
    std::nth_element(ranked.begin(), ranked.begin() + keep, ranked.end(), by_score);
    ranked.resize(keep);
  }
  DivideByMax(ranked);
  if (!is_short) MixSentences(index, query.text, ranked);
  const NameLikeness likeness(index, query.text);
  for (Ranked& one : ranked) one.score += kTrigramWeight * likeness.Of(one.doc);

  // Exact names first, in the order of the query, whatever their score.
  float top = 2;
  for (const DocId doc : query.exact) {
    if (!visible(doc)) continue;
    const auto there = std::find_if(ranked.begin(), ranked.end(),
                                    [doc](const Ranked& one) { return one.doc == doc; });
    Ranked& one = there == ranked.end() ? ranked.emplace_back() : *there;
    one.doc = doc;
    one.exact = true;
    one.score = top;
    top *= 0.999f;
  }
  SortRanked(index, ranked);
  if (ranked.size() > max) ranked.resize(max);
  return ranked;
}

}  // namespace toolrack
