// The inverted index over a set of tools: segments, and what has been withdrawn from them.
#ifndef TOOLRACK_REGISTRY_SEARCH_INDEX_H_
#define TOOLRACK_REGISTRY_SEARCH_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "registry/search/params.h"
#include "registry/search/segment.h"

namespace toolrack {

// A set of documents of one index.
class DocSet {
 public:
  DocSet(size_t docs, bool all) : bits_((docs + 63) / 64, all ? ~uint64_t{0} : 0) {
    if (all && docs % 64 != 0) bits_.back() = (uint64_t{1} << docs % 64) - 1;
  }
  bool Has(uint32_t doc) const { return (bits_[doc / 64] >> (doc % 64) & 1) != 0; }
  void Add(uint32_t doc) { bits_[doc / 64] |= uint64_t{1} << (doc % 64); }
  void Remove(uint32_t doc) { bits_[doc / 64] &= ~(uint64_t{1} << (doc % 64)); }
  void IntersectWith(const DocSet& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= other.bits_[i];
  }
  void Subtract(const DocSet& other) {
    for (size_t i = 0; i < bits_.size(); ++i) bits_[i] &= ~other.bits_[i];
  }

  // Calls `take` in rising order, until it returns false.
  template <typename Take>
  void ForEach(Take take) const {
    for (size_t i = 0; i < bits_.size(); ++i) {
      for (uint64_t bits = bits_[i]; bits != 0; bits &= bits - 1) {
        if (!take(static_cast<uint32_t>(64 * i) + static_cast<uint32_t>(__builtin_ctzll(bits)))) {
          return;
        }
      }
    }
  }

 private:
  std::vector<uint64_t> bits_;
};

// Immutable, thread-safe. What it answers depends on the tools that it holds alone, not on the
// order in which they came or on how they lie in segments: all sums are over whole numbers or in
// the order of the query.
class SearchIndex {
 public:
  // Numbers of documents mean something within one index only.
  using DocId = uint32_t;

  // An index without tools.
  explicit SearchIndex(const SearchParams& params = {}) : params_(params) {}

  const SearchParams& params() const { return params_; }
  // Tools that are in it.
  size_t size() const { return size_; }
  // All DocIds are smaller.
  size_t doc_limit() const;
  // Weighted length of a tool in the mean, in tenths; at least 1.
  float mean_length() const;
  // Those that are alive; null: all.
  const DocSet* alive() const { return alive_.get(); }
  const Segment::Doc& doc(DocId doc) const;
  const ToolDefinition& definition(DocId id) const { return *doc(id).definition; }
  const std::string& name(DocId doc) const { return definition(doc).tool.name(); }
  const std::vector<SegmentPart>& parts() const { return parts_; }
  const SegmentPart& PartOf(DocId doc) const;
  // Calls `take` for each tool, in no order that means anything.
  void ForEach(absl::FunctionRef<void(DocId)> take) const;

  // A stem in this index.
  struct Term {
    uint32_t docs = 0;  // that have it; 0: nobody
    float idf = 0;
    absl::InlinedVector<uint32_t, 4> in_part;  // its number in each part, or kNone
  };
  Term FindTerm(absl::string_view stem) const;
  // Of a term that so many tools have.
  float IdfOf(uint32_t docs) const;
  // Null when the document does not have it.
  const Segment::Posting* FindPosting(const Term& term, DocId doc) const;
  // Calls `take(doc, posting)` for each tool that has it, until it returns false.
  void ForEachPosting(const Term& term,
                      absl::FunctionRef<bool(DocId, const Segment::Posting&)> take) const;

  // Words of the tools that are near to this one, each with how far it is: the nearest, then the
  // most frequent, then bytewise.
  struct NearWord {
    std::string word;
    std::string stem;
    size_t distance;
    uint32_t docs;  // that have its stem
  };
  std::vector<NearWord> NearWords(absl::string_view word) const;

  // Documents of which FoldedNames has this, by length of the name and bytewise.
  std::vector<DocId> FindByFoldedName(absl::string_view folded) const;
  // The tool of this canonical name.
  bool FindByName(absl::string_view canonical, DocId& out) const;

  // This index with these tools withdrawn and those put in; names are told apart by the caller:
  // what is put in must not be there already. Merges segments so that there stay few, but none of
  // more than `max_merge` documents together: NeedsMerge tells when that left something to do.
  std::shared_ptr<const SearchIndex> With(const std::vector<DocId>& gone,
                                          const std::vector<DefinitionPtr>& added,
                                          size_t max_merge) const;
  bool NeedsMerge() const;
  size_t bytes() const;

 private:
  void Settle();  // numbers and sums
  // Merges what should be merged; whether nothing is left to do.
  bool MergeTail(size_t max_merge);

  SearchParams params_;
  std::vector<SegmentPart> parts_;
  size_t size_ = 0;
  uint64_t length_ = 0;
  std::shared_ptr<const DocSet> alive_;
};

// Shorter names first, then bytewise: the last word among equals.
inline bool NameBefore(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_INDEX_H_
