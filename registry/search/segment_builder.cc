#include "registry/search/segment_builder.h"

#include <algorithm>

#include "absl/hash/hash.h"
#include "absl/strings/str_join.h"
#include "registry/search/tokens.h"

namespace toolrack {

uint32_t SegmentBuilder::TermOf(absl::string_view stem) {
  const auto next = static_cast<uint32_t>(segment_->stems_.size());
  const auto [at, is_new] = segment_->by_stem_.try_emplace(std::string(stem), next);
  if (is_new) {
    segment_->stems_.push_back(&at->first);
    counts_.emplace_back();
  }
  return at->second;
}

uint32_t SegmentBuilder::AddWord(absl::string_view text, uint32_t term) {
  const auto next = static_cast<uint32_t>(segment_->words_.size());
  const auto [at, is_new] = segment_->by_word_.try_emplace(std::string(text), next);
  if (is_new) {
    segment_->words_.push_back({&at->first, term, 0});
    last_doc_.push_back(0);
  }
  return at->second;
}

uint32_t SegmentBuilder::WordOf(absl::string_view word, const Segment* memo) {
  const auto known = segment_->by_word_.find(word);
  if (known != segment_->by_word_.end()) return known->second;
  if (memo != nullptr) {
    const auto there = memo->by_word_.find(word);
    if (there != memo->by_word_.end()) {
      return AddWord(word, TermOf(memo->stem(memo->words_[there->second].term)));
    }
  }
  if (IsStopWord(word)) return Segment::kNone;
  return AddWord(word, TermOf(Stem(word)));
}

void SegmentBuilder::Add(const DefinitionPtr& definition, const SearchParams& params,
                         const Segment* memo) {
  const auto doc = static_cast<uint32_t>(segment_->docs_.size());
  const SchemaWords schema = ReadSchemaWords(definition->tool.input_schema());
  Segment::Doc added;
  added.definition = definition;
  ForEachField(*definition, schema, [&](absl::string_view text, SearchField field) {
    const uint32_t tenths = TenthsOf(field, params);
    SplitWords(text, [&](absl::string_view word) {
      const uint32_t number = WordOf(word, memo);
      if (number == Segment::kNone) return;
      if (last_doc_[number] != doc + 1) {
        last_doc_[number] = doc + 1;
        ++segment_->words_[number].docs;
      }
      const uint32_t term = segment_->words_[number].term;
      Count& count = counts_[term];
      if (count.fields == 0) touched_.push_back(term);
      count.tenths += tenths;
      count.fields |= field;
      added.length += tenths;
    });
  });
  for (const uint32_t term : touched_) {
    Count& count = counts_[term];
    raw_.push_back(
        {term,
         {doc, static_cast<uint16_t>(std::min<uint32_t>(count.tenths, UINT16_MAX)), count.fields}});
    count = Count();
  }
  touched_.clear();
  std::vector<float> vector = VectorOf(definition->tool);
  if (!vector.empty()) {
    added.vector = std::make_shared<const std::vector<float>>(std::move(vector));
  }
  AddDoc(std::move(added), absl::StrJoin(schema.names, "\n"), absl::StrJoin(schema.required, "\n"),
         Trigrams(definition->tool.name()));
}

void SegmentBuilder::AddDoc(Segment::Doc doc, absl::string_view parameters,
                            absl::string_view required, absl::Span<const uint16_t> trigrams) {
  Segment& segment = *segment_;
  const auto number = static_cast<uint32_t>(segment.docs_.size());
  segment.parameters_.append(parameters.data(), parameters.size());
  segment.parameter_at_.push_back(static_cast<uint32_t>(segment.parameters_.size()));
  segment.required_.append(required.data(), required.size());
  segment.required_at_.push_back(static_cast<uint32_t>(segment.required_.size()));
  segment.lengths_.push_back(doc.length);
  segment.trigrams_.insert(segment.trigrams_.end(), trigrams.begin(), trigrams.end());
  segment.trigram_at_.push_back(static_cast<uint32_t>(segment.trigrams_.size()));
  segment.length_ += doc.length;
  if (doc.vector != nullptr) ++segment.vectors_;
  AddLists(*doc.definition, number);
  segment.docs_.push_back(std::move(doc));
}

void SegmentBuilder::AddLists(const ToolDefinition& definition, uint32_t doc) {
  for (const std::string& name : FoldedNames(definition)) {
    segment_->folded_.emplace_back(absl::HashOf(absl::string_view(name)), doc);
  }
  segment_->by_namespace_[definition.tool.namespace_()].push_back(doc);
  for (const std::string& category : definition.tool.categories()) {
    std::vector<uint32_t>& list = segment_->by_category_[category];
    if (list.empty() || list.back() != doc) list.push_back(doc);
  }
}

void SegmentBuilder::Add(const SegmentPart& part) {
  const Segment& from = *part.segment;
  std::vector<uint32_t> new_doc(from.size(), Segment::kNone);
  for (uint32_t doc = 0; doc < from.size(); ++doc) {
    if (!part.alive(doc)) continue;
    new_doc[doc] = static_cast<uint32_t>(segment_->docs_.size());
    AddDoc(from.doc(doc), from.parameters(doc), from.required(doc), from.trigrams(doc));
  }
  std::vector<uint32_t> new_term(from.stems_.size(), Segment::kNone);
  for (uint32_t term = 0; term < from.stems_.size(); ++term) {
    if (part.docs_with_term(term) == 0) continue;
    new_term[term] = TermOf(from.stem(term));
    for (Segment::Posting posting : from.postings(term)) {
      posting.doc = new_doc[posting.doc];
      if (posting.doc != Segment::kNone) raw_.push_back({new_term[term], posting});
    }
  }
  for (uint32_t word = 0; word < from.words_.size(); ++word) {
    const uint32_t docs = part.docs_with_word(word);
    if (docs == 0) continue;
    const Segment::Word& old = from.words_[word];
    segment_->words_[AddWord(*old.text, new_term[old.term])].docs += docs;
  }
}

std::shared_ptr<const Segment> SegmentBuilder::Finish() {
  Segment& segment = *segment_;
  // By term; documents come in order already.
  segment.posting_at_.assign(segment.stems_.size() + 1, 0);
  for (const Raw& raw : raw_) ++segment.posting_at_[raw.term + 1];
  for (size_t i = 1; i < segment.posting_at_.size(); ++i) {
    segment.posting_at_[i] += segment.posting_at_[i - 1];
  }
  std::vector<uint32_t> next(segment.posting_at_.begin(), segment.posting_at_.end() - 1);
  segment.postings_.resize(raw_.size());
  for (const Raw& raw : raw_) segment.postings_[next[raw.term]++] = raw.posting;

  std::sort(segment.folded_.begin(), segment.folded_.end());
  std::vector<const std::string*> texts;
  texts.reserve(segment.words_.size());
  for (const Segment::Word& word : segment.words_) texts.push_back(word.text);
  segment.speller_ = Speller(texts);
  segment.docs_.shrink_to_fit();
  segment.lengths_.shrink_to_fit();
  segment.trigrams_.shrink_to_fit();
  segment.parameters_.shrink_to_fit();
  segment.words_.shrink_to_fit();
  segment.folded_.shrink_to_fit();
  return std::shared_ptr<const Segment>(segment_.release());
}

}  // namespace toolrack
