#include "registry/search/answer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "registry/search/restrict.h"

namespace toolrack {
namespace {

constexpr size_t kSnippetCharacters = 200;
// Of them, for the names of required parameters.
constexpr size_t kNeedsCharacters = 80;

size_t CharactersOf(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// The first `max` characters; `…` counts as one of them.
std::string CutToCharacters(absl::string_view text, size_t max) {
  size_t characters = 0, keep = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) == 0x80) continue;
    if (characters == max - 1) keep = i;
    if (++characters > max) return absl::StrCat(text.substr(0, keep), "…");
  }
  return std::string(text);
}

std::string OnOneLine(absl::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return absl::ascii_iscntrl(c); }, ' ');
  return line;
}

template <typename Names>
std::vector<std::string> ToVector(const Names& names) {
  return {names.begin(), names.end()};
}

void Append(std::string& message, absl::string_view sentence) {
  absl::StrAppend(&message, message.empty() ? "" : " ", sentence);
}

}  // namespace

SearchScope::SearchScope(const Snapshot& snapshot, const SearchIndexes& indexes,
                         const v1::SearchToolsRequest& request, const ToolVisibility& visible)
    : snapshot_(snapshot),
      indexes_(indexes),
      request_(request),
      view_(*indexes.tools, visible),
      held_(*indexes.held, visible),
      filtered_(FilterDocs(*indexes.tools, ToVector(request.categories()),
                           ToVector(request.namespaces()))),
      asked_results_(std::min<size_t>(static_cast<size_t>(request.max_results()), kMaxResults)) {
  std::vector<float> vector =
      Normalized(std::vector<float>(request.vector().begin(), request.vector().end()));
  const auto fits = [&vector](const Segment::Doc& doc) {
    return doc.vector != nullptr && doc.vector->size() == vector.size();
  };
  if (vector.empty()) return;
  for (const SegmentPart& part : index().parts()) {
    if (part.segment->vectors() == 0) continue;
    for (uint32_t doc = 0; doc < part.segment->size(); ++doc) {
      if (!part.alive(doc) || !fits(part.segment->doc(doc))) continue;
      vector_ = std::move(vector);
      return;
    }
  }
}

bool SearchScope::May(SearchIndex::DocId doc) const {
  return (filtered_ == nullptr || filtered_->Has(doc)) && view_.Knows(doc);
}

void SearchScope::ForEach(absl::FunctionRef<void(SearchIndex::DocId)> take) const {
  index().ForEach([&](SearchIndex::DocId doc) {
    if (May(doc)) take(doc);
  });
}

v1::SearchToolsResponse SearchScope::NewResponse() const {
  v1::SearchToolsResponse response;
  response.set_revision(indexes_.revision);
  return response;
}

v1::SearchHit* SearchScope::Add(v1::SearchToolsResponse& response, SearchIndex::DocId doc,
                                double score, const char* match, size_t limit) const {
  const std::string& name = index().name(doc);
  // The index knows definitions; the state is the snapshot's, which may be newer.
  const ToolEntry* entry = snapshot_.Find(name);
  if (entry == nullptr || entry->definition->quarantined || !view_.Knows(*entry->definition)) {
    return nullptr;
  }
  if (static_cast<size_t>(response.hits_size()) >= limit) {
    if (response.more_names_size() < kMaxMoreNames) response.add_more_names(name);
    return nullptr;
  }
  v1::SearchHit* hit = response.add_hits();
  *hit->mutable_tool() = entry->ToProto(request_.detail());
  hit->set_score(score);
  hit->set_match(match);
  return hit;
}

void SearchScope::SetSnippet(SearchIndex::DocId doc,
                             absl::FunctionRef<float(absl::string_view)> worth,
                             v1::SearchHit& hit) const {
  std::string needs;
  const SegmentPart& part = index().PartOf(doc);
  const absl::string_view required = part.segment->required(doc - part.first);
  if (request_.detail() != v1::TOOL_VIEW_FULL && !required.empty()) {
    needs = absl::StrCat(
        " (needs ",
        CutToCharacters(OnOneLine(absl::StrReplaceAll(required, {{"\n", ", "}})), kNeedsCharacters),
        ")");
  }
  std::string sentence = Snippet(index().definition(doc).tool.description(),
                                 kSnippetCharacters - CharactersOf(needs), worth);
  absl::StrAppend(&sentence, sentence.empty() && !needs.empty() ? needs.substr(1) : needs);
  hit.set_snippet(std::move(sentence));
}

std::string SearchScope::HowMany() const {
  const size_t all = view_.Count();
  if (!filters()) return absl::StrCat(all, all == 1 ? " tool" : " tools");
  size_t may = 0;
  ForEach([&may](SearchIndex::DocId) { ++may; });
  return absl::StrCat(may, may == 1 ? " tool" : " tools", " of these categories and ",
                      "namespaces (", all, " in all)");
}

void SearchScope::Say(v1::SearchToolsResponse& response, std::string message) const {
  std::vector<std::string> off, away;
  for (const v1::SearchHit& hit : response.hits()) {
    if (hit.tool().state() == v1::TOOL_STATE_DISABLED) off.push_back(hit.tool().name());
    if (hit.tool().state() == v1::TOOL_STATE_UNAVAILABLE) away.push_back(hit.tool().name());
  }
  if (!off.empty()) {
    Append(message, absl::StrCat("Switched off, an administrator can switch on: ",
                                 absl::StrJoin(off, ", "), "."));
  }
  if (!away.empty()) {
    Append(message, absl::StrCat("Not available just now, what runs it is away: ",
                                 absl::StrJoin(away, ", "), "."));
  }
  if (request_.vector_size() > 0 && vector() == nullptr) {
    Append(message, absl::StrCat("`vector` was not used: no tool has an embedding (", kVectorKey,
                                 " in its meta_json) of ", request_.vector_size(), " numbers."));
  }
  if (indexes_.waiting > 0) {
    Append(message, absl::StrCat(indexes_.waiting, indexes_.waiting == 1 ? " tool" : " tools",
                                 " that came or changed just now cannot be found yet: search again "
                                 "in a moment."));
  }
  response.set_message(std::move(message));
}

std::string Snippet(absl::string_view text, size_t max,
                    absl::FunctionRef<float(absl::string_view)> worth) {
  absl::string_view best;
  float most = -1;
  for (const absl::string_view sentence : SentencesOf(text)) {
    const absl::string_view trimmed = absl::StripAsciiWhitespace(sentence);
    if (trimmed.empty()) continue;
    const float value = worth(trimmed);
    if (value > most) {
      most = value;
      best = trimmed;
    }
  }
  return CutToCharacters(OnOneLine(best), max);
}

}  // namespace toolrack
