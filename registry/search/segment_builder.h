// The making of segments. Nothing but segment.cc includes this.
#ifndef TOOLRACK_REGISTRY_SEARCH_SEGMENT_BUILDER_H_
#define TOOLRACK_REGISTRY_SEARCH_SEGMENT_BUILDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/search/segment.h"

namespace toolrack {

// Collects documents one after the other; Finish inverts them.
class SegmentBuilder {
 public:
  SegmentBuilder() : segment_(new Segment()) {}

  void Add(const DefinitionPtr& definition, const SearchParams& params, const Segment* memo);
  // The living documents of a part.
  void Add(const SegmentPart& part);
  std::shared_ptr<const Segment> Finish();

 private:
  // A posting before it is sorted by term.
  struct Raw {
    uint32_t term;
    Segment::Posting posting;
  };
  // Of the document that is being added.
  struct Count {
    uint32_t tenths = 0;
    uint16_t fields = 0;
  };

  // kNone for a stop word.
  uint32_t WordOf(absl::string_view word, const Segment* memo);
  uint32_t TermOf(absl::string_view stem);
  uint32_t AddWord(absl::string_view text, uint32_t term);
  void AddDoc(Segment::Doc doc, absl::string_view parameters, absl::string_view required,
              absl::Span<const uint16_t> trigrams);
  void AddLists(const ToolDefinition& definition, uint32_t doc);

  std::unique_ptr<Segment> segment_;
  std::vector<Raw> raw_;
  std::vector<Count> counts_;       // by term
  std::vector<uint32_t> touched_;   // terms of the document
  std::vector<uint32_t> last_doc_;  // by word, the last document that had it, and 1
};

}  // namespace toolrack

#endif  // TOOLRACK_REGISTRY_SEARCH_SEGMENT_BUILDER_H_
