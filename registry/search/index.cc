#include "registry/search/index.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/edit_distance.h"
#include "registry/name.h"
#include "registry/search/fields.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

// Weights of the fields, in tenths.
constexpr uint32_t kNameWeight = 30;
constexpr uint32_t kTitleWeight = 30;
constexpr uint32_t kDescriptionWeight = 10;
constexpr uint32_t kParameterWeight = 10;
constexpr uint32_t kOwnerWeight = 10;  // namespace and categories
constexpr uint32_t kParameterTextWeight = 7;
constexpr uint32_t kExampleWeight = 7;
constexpr uint32_t kValueWeight = 5;
constexpr float kTenths = 10;
constexpr float kLengthShare = 0.75f;  // BM25's b

constexpr size_t kTrigramBuckets = 1 << 16;
constexpr SearchIndex::TermId kStopWord = SearchIndex::kNoTerm - 1;

uint64_t LettersOf(absl::string_view word) {
  uint64_t letters = 0;
  for (const char c : word) letters |= uint64_t{1} << (static_cast<unsigned char>(c) & 63);
  return letters;
}

}  // namespace

// Collects the postings of all documents.
class IndexBuilder {
 public:
  explicit IndexBuilder(SearchIndex& index) : index_(index) {
    trigram_counts_.assign(kTrigramBuckets, 0);
  }

  void Add(const ToolEntry& entry) {
    const auto doc = static_cast<SearchIndex::DocId>(index_.docs_.size());
    SearchIndex::Doc& added = index_.docs_.emplace_back();
    added.definition = entry.definition;
    const v1::Tool& tool = entry.definition->tool;
    const SchemaWords schema = ReadSchemaWords(tool.input_schema());
    added.parameters = absl::StrJoin(schema.names, "\n");

    length_ = 0;
    Field(entry.definition->bare_name, kNameWeight);
    Field(tool.title(), kTitleWeight);
    Field(tool.description(), kDescriptionWeight);
    Field(tool.namespace_(), kOwnerWeight);
    // The default category is no choice of the author's and says nothing.
    for (const std::string& category : tool.categories()) {
      if (category != "basic") Field(category, kOwnerWeight);
    }
    for (const std::string& name : schema.names) Field(name, kParameterWeight);
    for (const std::string& text : schema.descriptions) Field(text, kParameterTextWeight);
    for (const std::string& value : schema.values) Field(value, kValueWeight);
    for (const std::string& example : tool.examples()) Field(example, kExampleWeight);
    lengths_.push_back(length_);

    for (const SearchIndex::TermId term : touched_) {
      index_.terms_[term].postings.push_back(
          {doc, static_cast<float>(frequencies_[term]) / kTenths});
      frequencies_[term] = 0;
    }
    touched_.clear();
    added.trigrams = Trigrams(tool.name());
    for (const uint16_t trigram : added.trigrams) ++trigram_counts_[trigram];
    AddNames(doc);
  }

  void Finish() {
    // Whole tenths, so that the sum does not depend on the order.
    uint64_t total = 0;
    for (const uint32_t length : lengths_) total += length;
    const float mean =
        lengths_.empty() ? 1 : std::max(1.0f, static_cast<float>(total) / lengths_.size());
    for (const uint32_t length : lengths_) {
      index_.length_norms_.push_back(
          SearchIndex::kSaturation *
          (1 - kLengthShare + kLengthShare * static_cast<float>(length) / mean));
    }
    const auto docs = static_cast<double>(index_.docs_.size());
    for (SearchIndex::Term& term : index_.terms_) {
      const auto with = static_cast<double>(term.postings.size());
      term.idf = static_cast<float>(std::log(1 + (docs - with + 0.5) / (with + 0.5)));
      term.postings.shrink_to_fit();
    }
    FinishWords();
    FinishTrigrams();
  }

 private:
  void Field(absl::string_view text, uint32_t weight) {
    SplitWords(text, [this, weight](absl::string_view word) {
      const SearchIndex::TermId term = TermOf(word);
      if (term == kStopWord) return;
      if (frequencies_[term] == 0) touched_.push_back(term);
      frequencies_[term] += weight;
      length_ += weight;
    });
  }

  SearchIndex::TermId TermOf(absl::string_view word) {
    const auto known = words_.find(word);
    if (known != words_.end()) return known->second;
    SearchIndex::TermId term = kStopWord;
    if (!IsStopWord(word)) {
      const auto next = static_cast<SearchIndex::TermId>(index_.terms_.size());
      term = index_.by_stem_.try_emplace(Stem(word), next).first->second;
      if (term == next) {
        index_.terms_.emplace_back().surface = std::string(word);
        frequencies_.push_back(0);
      }
    }
    words_.emplace(std::string(word), term);
    return term;
  }

  void AddNames(SearchIndex::DocId doc) {
    const std::string& name = index_.docs_[doc].name();
    const std::string& bare = index_.docs_[doc].definition->bare_name;
    std::vector<std::string> folded = {FoldName(name), FoldName(bare)};
    for (const absl::string_view separator : {"__", "."}) {
      const size_t at = bare.rfind(std::string(separator));
      if (at != std::string::npos) folded.push_back(FoldName(bare.substr(at + separator.size())));
    }
    std::sort(folded.begin(), folded.end());
    folded.erase(std::unique(folded.begin(), folded.end()), folded.end());
    for (std::string& key : folded) {
      if (!key.empty()) index_.by_folded_name_[std::move(key)].push_back(doc);
    }
  }

  void FinishWords() {
    for (const auto& [word, term] : words_) {
      if (term != kStopWord) index_.words_.emplace_back(word, term);
    }
    std::sort(index_.words_.begin(), index_.words_.end());
    for (const auto& [word, term] : index_.words_) index_.letters_.push_back(LettersOf(word));
  }

  void FinishTrigrams() {
    const auto docs = static_cast<float>(index_.docs_.size());
    index_.trigram_idf_.reserve(kTrigramBuckets);
    for (const uint32_t count : trigram_counts_) {
      const auto with = static_cast<float>(count);
      index_.trigram_idf_.push_back(std::log(1 + (docs - with + 0.5f) / (with + 0.5f)));
    }
    for (SearchIndex::Doc& doc : index_.docs_) {
      float sum = 0;
      for (const uint16_t trigram : doc.trigrams) {
        sum += index_.trigram_idf_[trigram] * index_.trigram_idf_[trigram];
      }
      doc.trigram_norm = std::sqrt(sum);
    }
  }

  SearchIndex& index_;
  absl::flat_hash_map<std::string, SearchIndex::TermId> words_;
  std::vector<uint32_t> trigram_counts_;  // by hash
  std::vector<uint32_t> frequencies_;     // by term, of the current document
  std::vector<SearchIndex::TermId> touched_;
  std::vector<uint32_t> lengths_;
  uint32_t length_ = 0;
};

std::shared_ptr<const SearchIndex> SearchIndex::Build(const Snapshot& snapshot) {
  std::shared_ptr<SearchIndex> index(new SearchIndex());
  index->definitions_revision_ = snapshot.definitions_revision();
  index->docs_.reserve(snapshot.size());
  IndexBuilder builder(*index);
  snapshot.ForEach("", [&builder](const ToolEntryPtr& entry) {
    if (!entry->definition->quarantined && !IsReservedName(entry->name())) builder.Add(*entry);
    return true;
  });
  builder.Finish();
  return index;
}

SearchIndex::TermId SearchIndex::FindTerm(absl::string_view stem) const {
  const auto found = by_stem_.find(stem);
  return found == by_stem_.end() ? kNoTerm : found->second;
}

std::vector<SearchIndex::NearWord> SearchIndex::NearWords(absl::string_view word,
                                                          size_t max) const {
  constexpr size_t kShortest = 4, kLong = 8;
  if (word.size() < kShortest) return {};
  const size_t edits = word.size() >= kLong ? 2 : 1;
  const uint64_t letters = LettersOf(word);
  struct Near {
    size_t distance;
    size_t at;
  };
  std::vector<Near> near;
  for (size_t at = 0; at < words_.size(); ++at) {
    // An edit changes at most two of the characters that are there.
    const std::string& candidate = words_[at].first;
    if (static_cast<size_t>(__builtin_popcountll(letters ^ letters_[at])) > 2 * edits ||
        candidate.size() + edits < word.size() || word.size() + edits < candidate.size()) {
      continue;
    }
    const size_t distance = BoundedEditDistance(word, candidate, edits);
    if (distance <= edits) near.push_back({distance, at});
  }
  std::sort(near.begin(), near.end(), [this](const Near& a, const Near& b) {
    const size_t docs_a = terms_[words_[a.at].second].postings.size();
    const size_t docs_b = terms_[words_[b.at].second].postings.size();
    if (a.distance != b.distance) return a.distance < b.distance;
    if (docs_a != docs_b) return docs_a > docs_b;
    return a.at < b.at;
  });
  std::vector<NearWord> out;
  for (const Near& one : near) {
    const auto& [text, term] = words_[one.at];
    const bool known = std::any_of(out.begin(), out.end(),
                                   [t = term](const NearWord& other) { return other.term == t; });
    if (!known) out.push_back({text, term});
    if (out.size() == max) break;
  }
  return out;
}

float SearchIndex::FrequencyIn(TermId id, DocId doc) const {
  const std::vector<Posting>& postings = terms_[id].postings;
  const auto at = std::lower_bound(postings.begin(), postings.end(), doc,
                                   [](const Posting& posting, DocId d) { return posting.doc < d; });
  return at != postings.end() && at->doc == doc ? at->frequency : 0;
}

const std::vector<SearchIndex::DocId>* SearchIndex::FindByFoldedName(
    const std::string& folded) const {
  const auto found = by_folded_name_.find(folded);
  return found == by_folded_name_.end() ? nullptr : &found->second;
}

std::vector<uint16_t> Trigrams(absl::string_view text) {
  std::string spaced = " ";
  SplitWords(text, [&spaced](absl::string_view word) { absl::StrAppend(&spaced, word, " "); });
  std::vector<uint16_t> out;
  for (size_t i = 0; i + 3 <= spaced.size(); ++i) {
    uint32_t hash = 2166136261u;  // FNV-1a
    for (size_t j = i; j < i + 3; ++j) {
      hash = (hash ^ static_cast<unsigned char>(spaced[j])) * 16777619u;
    }
    out.push_back(static_cast<uint16_t>(hash ^ hash >> 16));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace toolrack
