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

#ifndef TUNE
#define TUNE constexpr float
#endif
// Measured on public retrieval sets; see tests/search/quality_test.cc.
TUNE kSynonymWeight = 0.5f;  // divided by the root of their number
TUNE kNearWeight = 0.7f;     // of a corrected word
TUNE kTrigramWeight = 0.3f;  // of the likeness of names
TUNE kCoverageOfSynonym = 0.5f;
TUNE kSentenceShare = 0.5f;
TUNE kCoverPower = 0.5f;
// Longer queries ask for several things: how much of them one tool covers says little.
constexpr size_t kShortQuery = 12;
// What the dearer part of the ranking looks at.
constexpr size_t kCandidates = 300;
constexpr size_t kMaxNear = 2;
constexpr size_t kMaxListedNames = 10;

// Scores of all documents, dense: adding up is most of the work.
struct Scores {
  explicit Scores(size_t docs) : score(docs), covered(docs), last_word(docs) {}
  std::vector<float> score;
  std::vector<float> covered;
  std::vector<uint32_t> last_word;  // 1 + the last word that covered it
  std::vector<DocId> touched;
};

void AddTerm(const SearchIndex& index, TermId id, float weight, float cover, uint32_t word,
             Scores& out) {
  const SearchIndex::Term& term = index.term(id);
  const float top = weight * term.idf * (SearchIndex::kSaturation + 1);
  for (const SearchIndex::Posting& posting : term.postings) {
    float& score = out.score[posting.doc];
    if (score == 0) out.touched.push_back(posting.doc);
    score += top * posting.frequency / (index.docs()[posting.doc].length_norm + posting.frequency);
    if (out.last_word[posting.doc] != word) {
      out.last_word[posting.doc] = word;
      out.covered[posting.doc] += cover;
    }
  }
}

float IdfOf(const SearchIndex& index, const Word& word) {
  if (word.term != SearchIndex::kNoTerm) return index.term(word.term).idf;
  if (!word.near.empty()) return index.term(word.near.front()).idf;
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
    if (word.term != SearchIndex::kNoTerm) AddTerm(index, word.term, weight, idf, number, out);
    for (const TermId near : word.near) {
      AddTerm(index, near, weight * kNearWeight, idf * kNearWeight, number, out);
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
      AddTerm(index, id, share, idf * kCoverageOfSynonym, number, out);
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
      : index_(index), trigrams_(Trigrams(text)), norm_(Norm(trigrams_)) {}

  float Of(DocId doc) const {
    const std::vector<uint32_t> name = Trigrams(index_.docs()[doc].name());
    float shared = 0;
    auto a = trigrams_.begin();
    for (const uint32_t trigram : name) {
      a = std::lower_bound(a, trigrams_.end(), trigram);
      if (a == trigrams_.end()) break;
      if (*a == trigram) {
        const float idf = index_.TrigramIdf(trigram);
        shared += idf * idf;
      }
    }
    const float norms = norm_ * Norm(name);
    return norms > 0 ? shared / norms : 0;
  }

 private:
  float Norm(const std::vector<uint32_t>& trigrams) const {
    float sum = 0;
    for (const uint32_t trigram : trigrams) {
      const float idf = index_.TrigramIdf(trigram);
      sum += idf * idf;
    }
    return std::sqrt(sum);
  }

  const SearchIndex& index_;
  const std::vector<uint32_t> trigrams_;
  const float norm_;
};

void DivideByMax(std::vector<Ranked>& ranked) {
  float max = 0;
  for (const Ranked& one : ranked) max = std::max(max, one.score);
  if (max == 0) return;
  for (Ranked& one : ranked) one.score /= max;
}

// For requests of several sentences: half the whole, half the best sentence.
void MixSentences(const SearchIndex& index, absl::string_view text, std::vector<Ranked>& ranked) {
  const std::vector<absl::string_view> sentences = SentencesOf(text);
  if (sentences.size() < 2) return;
  std::vector<float> best(ranked.size());
  for (const absl::string_view sentence : sentences) {
    const std::vector<Word> words = WordsOf(index, sentence);
    if (words.empty()) continue;
    Scores scores(index.docs().size());
    AddWords(index, words, false, scores);
    float max = 0;
    for (const Ranked& one : ranked) max = std::max(max, scores.score[one.doc]);
    if (max == 0) continue;
    for (size_t i = 0; i < ranked.size(); ++i) {
      best[i] = std::max(best[i], scores.score[ranked[i].doc] / max);
    }
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
      // The whole name goes before a part of it.
      std::stable_partition(out.begin(), out.end(), [&](DocId doc) {
        return absl::EqualsIgnoreCase(index.docs()[doc].name(), form);
      });
      return out;
    }
  }
  return {};
}

bool HasWord(const SearchIndex& index, const Word& word, DocId doc) {
  if (word.term != SearchIndex::kNoTerm) return index.FrequencyIn(word.term, doc) > 0;
  return std::any_of(word.near.begin(), word.near.end(),
                     [&](TermId term) { return index.FrequencyIn(term, doc) > 0; });
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
    if (word.term == SearchIndex::kNoTerm) word.near = index.NearTerms(word.surface, kMaxNear);
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
  Scores scores(index.docs().size());
  const float total = AddWords(index, query.words, is_short, scores);

  std::vector<Ranked> ranked;
  for (const DocId doc : scores.touched) {
    if (!visible(doc)) continue;
    float score = scores.score[doc];
    if (is_short && total > 0) score *= std::pow(scores.covered[doc] / total, kCoverPower);
    ranked.push_back({doc, score, false});
  }
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
