#include "registry/search/index.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "registry/search/tokens.h"

namespace toolrack {
namespace {

// A segment is merged into the one before it unless that is so many times larger: few segments to
// look into, and each tool is moved a few times only.
constexpr size_t kGrowth = 4;

bool IsMostlyGone(const SegmentPart& part) { return part.segment->size() > 2 * part.size(); }

}  // namespace

size_t SearchIndex::doc_limit() const {
  return parts_.empty() ? 0 : parts_.back().first + parts_.back().segment->size();
}

float SearchIndex::mean_length() const {
  if (size_ == 0) return 1;
  return std::max(1.0f, static_cast<float>(length_) / static_cast<float>(size_));
}

const SegmentPart& SearchIndex::PartOf(DocId doc) const {
  const SegmentPart* part = &parts_.front();
  for (const SegmentPart& other : parts_) {
    if (other.first > doc) break;
    part = &other;
  }
  return *part;
}

const Segment::Doc& SearchIndex::doc(DocId doc) const {
  const SegmentPart& part = PartOf(doc);
  return part.segment->doc(doc - part.first);
}

void SearchIndex::ForEach(absl::FunctionRef<void(DocId)> take) const {
  for (const SegmentPart& part : parts_) {
    for (uint32_t doc = 0; doc < part.segment->size(); ++doc) {
      if (part.alive(doc)) take(part.first + doc);
    }
  }
}

float SearchIndex::IdfOf(uint32_t docs) const {
  const double all = static_cast<double>(size_), with = docs;
  return static_cast<float>(std::log(1 + (all - with + 0.5) / (with + 0.5)));
}

SearchIndex::Term SearchIndex::FindTerm(absl::string_view stem) const {
  Term term;
  for (const SegmentPart& part : parts_) {
    const uint32_t number = part.segment->FindTerm(stem);
    term.in_part.push_back(number);
    if (number != Segment::kNone) term.docs += part.docs_with_term(number);
  }
  term.idf = IdfOf(term.docs);
  return term;
}

const Segment::Posting* SearchIndex::FindPosting(const Term& term, DocId doc) const {
  const SegmentPart& part = PartOf(doc);
  const uint32_t number = term.in_part[static_cast<size_t>(&part - parts_.data())];
  if (number == Segment::kNone) return nullptr;
  const auto postings = part.segment->postings(number);
  const auto at = absl::c_lower_bound(
      postings, doc - part.first,
      [](const Segment::Posting& posting, uint32_t d) { return posting.doc < d; });
  return at != postings.end() && at->doc == doc - part.first ? &*at : nullptr;
}

void SearchIndex::ForEachPosting(
    const Term& term, absl::FunctionRef<bool(DocId, const Segment::Posting&)> take) const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (term.in_part[i] == Segment::kNone) continue;
    for (const Segment::Posting& posting : parts_[i].segment->postings(term.in_part[i])) {
      if (parts_[i].alive(posting.doc) && !take(parts_[i].first + posting.doc, posting)) return;
    }
  }
}

std::vector<SearchIndex::NearWord> SearchIndex::NearWords(absl::string_view word) const {
  std::map<std::string, NearWord> near;  // by word
  for (const SegmentPart& part : parts_) {
    part.segment->speller().Near(word, [&](uint32_t number, size_t distance) {
      if (part.docs_with_word(number) == 0) return;
      const Segment::Word& found = part.segment->words()[number];
      near.try_emplace(*found.text,
                       NearWord{*found.text, part.segment->stem(found.term), distance, 0});
    });
  }
  std::vector<NearWord> out;
  out.reserve(near.size());
  for (auto& [text, one] : near) {
    one.docs = FindTerm(one.stem).docs;
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(), [](const NearWord& a, const NearWord& b) {
    return a.distance != b.distance ? a.distance < b.distance : a.docs > b.docs;
  });
  return out;
}

std::vector<SearchIndex::DocId> SearchIndex::FindByFoldedName(absl::string_view folded) const {
  std::vector<DocId> out;
  for (const SegmentPart& part : parts_) {
    part.segment->FindFolded(folded, [&](uint32_t doc) {
      if (part.alive(doc) &&
          absl::c_linear_search(FoldedNames(*part.segment->doc(doc).definition), folded)) {
        out.push_back(part.first + doc);
      }
    });
  }
  std::sort(out.begin(), out.end(),
            [this](DocId a, DocId b) { return NameBefore(name(a), name(b)); });
  return out;
}

bool SearchIndex::FindByName(absl::string_view canonical, DocId& out) const {
  const std::string folded = FoldName(canonical);
  bool found = false;
  for (const SegmentPart& part : parts_) {
    part.segment->FindFolded(folded, [&](uint32_t doc) {
      if (!part.alive(doc) || part.segment->doc(doc).definition->tool.name() != canonical) return;
      out = part.first + doc;
      found = true;
    });
  }
  return found;
}

std::shared_ptr<const SearchIndex> SearchIndex::With(const std::vector<DocId>& gone,
                                                     const std::vector<DefinitionPtr>& added,
                                                     size_t max_merge) const {
  auto next = std::make_shared<SearchIndex>(*this);
  std::vector<std::vector<uint32_t>> of_part(parts_.size());
  for (const DocId doc : gone) {
    const auto part = static_cast<size_t>(&PartOf(doc) - parts_.data());
    of_part[part].push_back(doc - parts_[part].first);
  }
  for (size_t i = 0; i < of_part.size(); ++i) {
    SegmentPart& part = next->parts_[i];
    if (of_part[i].empty()) continue;
    if (of_part[i].size() == part.size()) {
      part.segment = nullptr;  // all of it
    } else {
      part.withdrawn = part.segment->Withdraw(part.withdrawn.get(), of_part[i]);
    }
  }
  std::erase_if(next->parts_, [](const SegmentPart& part) { return part.segment == nullptr; });
  if (!added.empty()) {
    // The largest segment knows most words.
    const Segment* memo = parts_.empty() ? nullptr : parts_.front().segment.get();
    next->parts_.push_back({Segment::Build(added, params_, memo), nullptr, 0});
  }
  next->MergeTail(max_merge);
  next->Settle();
  return next;
}

bool SearchIndex::MergeTail(size_t max_merge) {
  bool done = true;
  for (SegmentPart& part : parts_) {
    if (!IsMostlyGone(part)) continue;
    if (part.size() > max_merge) {
      done = false;
    } else {
      part = {Segment::Merge({&part, 1}), nullptr, 0};
    }
  }
  for (size_t i = parts_.size(); i-- > 1;) {
    const size_t before = parts_[i - 1].size(), here = parts_[i].size();
    if (before >= kGrowth * here) continue;
    if (before + here > max_merge) {
      done = false;
      continue;
    }
    const auto both = absl::MakeConstSpan(parts_).subspan(i - 1, 2);
    SegmentPart merged = {Segment::Merge(both), nullptr, 0};
    parts_[i - 1] = std::move(merged);
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(i));
    i = parts_.size();  // the ones behind it may be too near in size now
  }
  return done;
}

bool SearchIndex::NeedsMerge() const {
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (IsMostlyGone(parts_[i])) return true;
    if (i > 0 && parts_[i - 1].size() < kGrowth * parts_[i].size()) return true;
  }
  return false;
}

void SearchIndex::Settle() {
  size_ = 0;
  length_ = 0;
  size_t first = 0;
  for (SegmentPart& part : parts_) {
    part.first = static_cast<uint32_t>(first);
    first += part.segment->size();
    size_ += part.size();
    length_ += part.length();
  }
  alive_ = nullptr;
  if (absl::c_all_of(parts_, [](const SegmentPart& part) { return part.withdrawn == nullptr; })) {
    return;
  }
  const auto alive = std::make_shared<DocSet>(first, true);
  for (const SegmentPart& part : parts_) {
    for (uint32_t doc = 0; part.withdrawn != nullptr && doc < part.segment->size(); ++doc) {
      if (!part.alive(doc)) alive->Remove(part.first + doc);
    }
  }
  alive_ = alive;
}

size_t SearchIndex::bytes() const {
  size_t sum = 0;
  for (const SegmentPart& part : parts_) {
    sum += part.segment->bytes();
    if (part.withdrawn == nullptr) continue;
    sum += part.withdrawn->docs.size() / 8 +
           4 * (part.withdrawn->of_term.size() + part.withdrawn->of_word.size());
  }
  return sum;
}

}  // namespace toolrack
