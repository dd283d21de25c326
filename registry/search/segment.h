// A part of the index: some tools, inverted. Never changes.
#ifndef TOOLRACK_REGISTRY_SEARCH_SEGMENT_H_
#define TOOLRACK_REGISTRY_SEARCH_SEGMENT_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "registry/search/document.h"
#include "registry/search/spelling.h"

namespace toolrack {

// What has been taken out of a segment since it was made. Immutable.
struct Withdrawn {
  std::vector<bool> docs;
  std::vector<uint32_t> of_term;  // how many of its documents are gone
  std::vector<uint32_t> of_word;
  size_t count = 0;
  uint64_t length = 0;  // of the documents that are gone, in tenths
};

struct SegmentPart;

// Immutable, thread-safe. Numbers of documents, terms and words are its own.
class Segment {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Doc {
    DefinitionPtr definition;
    uint32_t length = 0;                               // weighted, in tenths
    std::shared_ptr<const std::vector<float>> vector;  // null: none
  };
  struct Posting {
    uint32_t doc;
    uint16_t tenths;  // weighted over the fields; stops at 65,535
    uint16_t fields;  // SearchField
  };

  // `memo` (may be null) knows stems of words already: saves most of the stemming. Some 20 µs a
  // tool.
  static std::shared_ptr<const Segment> Build(const std::vector<DefinitionPtr>& definitions,
                                              const SearchParams& params, const Segment* memo);
  // One of several, without what was withdrawn. Some µs a tool.
  static std::shared_ptr<const Segment> Merge(absl::Span<const SegmentPart> parts);
  // `before` (null: nothing) and these documents too.
  std::shared_ptr<const Withdrawn> Withdraw(const Withdrawn* before,
                                            const std::vector<uint32_t>& docs) const;

  size_t size() const { return docs_.size(); }
  uint64_t length() const { return length_; }
  const Doc& doc(uint32_t number) const { return docs_[number]; }
  uint32_t length(uint32_t doc) const { return lengths_[doc]; }
  // Names of the parameters, one a line, and of those that must be given.
  absl::string_view parameters(uint32_t doc) const {
    return Range(parameters_, parameter_at_, doc);
  }
  absl::string_view required(uint32_t doc) const { return Range(required_, required_at_, doc); }
  absl::Span<const uint16_t> trigrams(uint32_t doc) const {
    return absl::MakeConstSpan(trigrams_).subspan(trigram_at_[doc],
                                                  trigram_at_[doc + 1] - trigram_at_[doc]);
  }
  size_t vectors() const { return vectors_; }

  // kNone when no document has it. By stem (tokens.h).
  uint32_t FindTerm(absl::string_view stem) const;
  // By document.
  absl::Span<const Posting> postings(uint32_t term) const {
    return absl::MakeConstSpan(postings_).subspan(posting_at_[term],
                                                  posting_at_[term + 1] - posting_at_[term]);
  }

  struct Word {
    const std::string* text;  // as it is written in the tools, lower case
    uint32_t term;
    uint32_t docs;  // how many have it
  };
  const std::vector<Word>& words() const { return words_; }
  const Speller& speller() const { return speller_; }
  const std::string& stem(uint32_t term) const { return *stems_[term]; }

  // Calls `take` with each document that may have this folded name; look at it to be sure.
  void FindFolded(absl::string_view folded, absl::FunctionRef<void(uint32_t)> take) const;
  // Documents by category and namespace.
  using Lists = absl::flat_hash_map<std::string, std::vector<uint32_t>>;
  const Lists& by_category() const { return by_category_; }
  const Lists& by_namespace() const { return by_namespace_; }

  // About how much memory it holds, the definitions apart.
  size_t bytes() const;

 private:
  friend class SegmentBuilder;
  Segment() = default;
  static absl::string_view Range(const std::string& text, const std::vector<uint32_t>& at,
                                 uint32_t doc) {
    return absl::string_view(text).substr(at[doc], at[doc + 1] - at[doc]);
  }

  std::vector<Doc> docs_;
  uint64_t length_ = 0;
  size_t vectors_ = 0;
  std::vector<uint32_t> lengths_;
  std::string parameters_, required_;
  std::vector<uint32_t> parameter_at_ = {0}, required_at_ = {0};
  std::vector<uint16_t> trigrams_;
  std::vector<uint32_t> trigram_at_ = {0};

  absl::node_hash_map<std::string, uint32_t> by_stem_, by_word_;
  std::vector<const std::string*> stems_;  // keys of by_stem_
  std::vector<Word> words_;                // texts are keys of by_word_
  std::vector<Posting> postings_;
  std::vector<uint32_t> posting_at_;
  Speller speller_;

  std::vector<std::pair<uint64_t, uint32_t>> folded_;  // hash of a folded name, document; sorted
  Lists by_category_, by_namespace_;
};

// A segment in an index.
struct SegmentPart {
  std::shared_ptr<const Segment> segment;
  std::shared_ptr<const Withdrawn> withdrawn;  // null: nothing
  uint32_t first = 0;                          // number in the index of its document 0

  bool alive(uint32_t doc) const { return withdrawn == nullptr || !withdrawn->docs[doc]; }
  size_t size() const { return segment->size() - (withdrawn == nullptr ? 0 : withdrawn->count); }
  uint64_t length() const {
    return segment->length() - (withdrawn == nullptr ? 0 : withdrawn->length);
  }
  uint32_t docs_with_term(uint32_t term) const {
    return static_cast<uint32_t>(segment->postings(term).size()) -
           (withdrawn == nullptr ? 0 : withdrawn->of_term[term]);
  }
  uint32_t docs_with_word(uint32_t word) const {
    return segment->words()[word].docs - (withdrawn == nullptr ? 0 : withdrawn->of_word[word]);
  }
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SEGMENT_H_
