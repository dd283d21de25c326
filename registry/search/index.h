// The inverted index over the tools of one snapshot.
#ifndef TOOLRACK_REGISTRY_SEARCH_INDEX_H_
#define TOOLRACK_REGISTRY_SEARCH_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "registry/snapshot.h"

namespace toolrack {

// Immutable, thread-safe. Quarantined tools are not in it. Documents are numbered in the order of
// their names. Ranking is BM25F with one weighted length (Robertson and Zaragoza 2009,
// section 3.6).
class SearchIndex {
 public:
  // Some 20 µs a tool.
  static std::shared_ptr<const SearchIndex> Build(const Snapshot& snapshot);

  using DocId = uint32_t;
  using TermId = uint32_t;
  static constexpr TermId kNoTerm = UINT32_MAX;

  struct Doc {
    std::shared_ptr<const ToolDefinition> definition;
    std::string parameters;          // names, one a line
    float length_norm = 1;           // k1 * (1 - b + b * length / mean length)
    std::vector<uint16_t> trigrams;  // of the name
    float trigram_norm = 0;
    const std::string& name() const { return definition->tool.name(); }
  };
  struct Posting {
    DocId doc;
    float frequency;  // weighted over the fields
  };
  struct Term {
    std::string surface;            // a word that was cut down to this stem, for people
    std::vector<Posting> postings;  // by doc
    float idf = 0;
  };

  uint64_t definitions_revision() const { return definitions_revision_; }
  const std::vector<Doc>& docs() const { return docs_; }
  // k1 * (1 - b + b * length / mean length) of BM25.
  float length_norm(DocId doc) const { return length_norms_[doc]; }
  const Term& term(TermId id) const { return terms_[id]; }
  // `stem` as Stem() gives it.
  TermId FindTerm(absl::string_view stem) const;
  // A word of the tools, as it is written there, and its term.
  struct NearWord {
    std::string word;
    TermId term;
  };
  // At most `max` terms of words that are within one edit of `word` (two from eight letters on),
  // the nearest and then the most frequent first. Looks at the whole vocabulary: some 0.2 ms at
  // 40,000 words.
  std::vector<NearWord> NearWords(absl::string_view word, size_t max) const;
  // How much the term counts in this document; 0 when it is not there.
  float FrequencyIn(TermId id, DocId doc) const;

  // Documents whose canonical name, or its part after the namespace or the last `.`, folds to this.
  const std::vector<DocId>* FindByFoldedName(const std::string& folded) const;

  // How rare a trigram of names is.
  float TrigramIdf(uint16_t trigram) const { return trigram_idf_[trigram]; }

  // BM25's k1.
  static constexpr float kSaturation = 1.2f;

 private:
  SearchIndex() = default;
  friend class IndexBuilder;

  uint64_t definitions_revision_ = 0;
  std::vector<Doc> docs_;
  std::vector<float> length_norms_;
  std::vector<Term> terms_;
  std::vector<std::pair<std::string, TermId>> words_;  // sorted
  std::vector<uint64_t> letters_;                      // which characters each word has
  absl::flat_hash_map<std::string, TermId> by_stem_;
  absl::flat_hash_map<std::string, std::vector<DocId>> by_folded_name_;
  std::vector<float> trigram_idf_;  // by hash
};

// The trigrams of a name or a query: of its words, each with a gap around it, hashed. Sorted, each
// once.
std::vector<uint16_t> Trigrams(absl::string_view text);

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_INDEX_H_
