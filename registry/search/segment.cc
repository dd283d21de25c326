#include "registry/search/segment.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "registry/search/segment_builder.h"
#include "registry/search/tokens.h"

namespace toolrack {

std::shared_ptr<const Segment> Segment::Build(const std::vector<DefinitionPtr>& definitions,
                                              const SearchParams& params, const Segment* memo) {
  SegmentBuilder builder;
  for (const DefinitionPtr& definition : definitions) builder.Add(definition, params, memo);
  return builder.Finish();
}

std::shared_ptr<const Segment> Segment::Merge(absl::Span<const SegmentPart> parts) {
  SegmentBuilder builder;
  for (const SegmentPart& part : parts) builder.Add(part);
  return builder.Finish();
}

std::shared_ptr<const Withdrawn> Segment::Withdraw(const Withdrawn* before,
                                                   const std::vector<uint32_t>& docs) const {
  auto out =
      before != nullptr ? std::make_shared<Withdrawn>(*before) : std::make_shared<Withdrawn>();
  if (before == nullptr) {
    out->docs.assign(docs_.size(), false);
    out->of_term.assign(stems_.size(), 0);
    out->of_word.assign(words_.size(), 0);
  }
  std::vector<uint32_t> numbers, terms;
  for (const uint32_t doc : docs) {
    if (out->docs[doc]) continue;
    out->docs[doc] = true;
    ++out->count;
    out->length += docs_[doc].length;
    // Which words it had is not kept: they are read again.
    const ToolDefinition& definition = *docs_[doc].definition;
    numbers.clear();
    ForEachField(definition, ReadSchemaWords(definition.tool.input_schema()),
                 [&](absl::string_view text, SearchField) {
                   SplitWords(text, [&](absl::string_view word) {
                     const auto found = by_word_.find(word);
                     if (found != by_word_.end()) numbers.push_back(found->second);
                   });
                 });
    std::sort(numbers.begin(), numbers.end());
    numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
    terms.clear();
    for (const uint32_t number : numbers) {
      ++out->of_word[number];
      terms.push_back(words_[number].term);
    }
    std::sort(terms.begin(), terms.end());
    terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
    for (const uint32_t term : terms) ++out->of_term[term];
  }
  return out;
}

uint32_t Segment::FindTerm(absl::string_view stem) const {
  const auto found = by_stem_.find(stem);
  return found == by_stem_.end() ? kNone : found->second;
}

void Segment::FindFolded(absl::string_view folded, absl::FunctionRef<void(uint32_t)> take) const {
  const uint64_t hash = absl::HashOf(folded);
  auto at = std::lower_bound(folded_.begin(), folded_.end(), std::make_pair(hash, uint32_t{0}));
  for (; at != folded_.end() && at->first == hash; ++at) take(at->second);
}

size_t Segment::bytes() const {
  const auto of = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
  size_t sum = of(docs_) + of(lengths_) + parameters_.capacity() + of(parameter_at_) +
               required_.capacity() + of(required_at_) + of(trigrams_) + of(trigram_at_) +
               of(stems_) + of(words_) + of(postings_) + of(posting_at_) + of(folded_) +
               speller_.bytes();
  // A node, its slot, and the text when it is too long for the string itself.
  constexpr size_t kNode = sizeof(std::pair<const std::string, uint32_t>) + 24;
  for (const auto* map : {&by_stem_, &by_word_}) {
    for (const auto& [text, number] : *map) {
      sum += kNode + (text.size() > 15 ? text.capacity() + 1 : 0);
    }
  }
  for (const Lists* lists : {&by_category_, &by_namespace_}) {
    for (const auto& [name, list] : *lists)
      sum += sizeof(std::pair<decltype(name), decltype(list)>) + of(list);
  }
  for (const Doc& doc : docs_) {
    if (doc.vector != nullptr) sum += sizeof(std::vector<float>) + of(*doc.vector);
  }
  return sum;
}

}  // namespace toolrack
