#include "registry/search/answer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

constexpr size_t kSnippetCharacters = 200;

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

}  // namespace

SearchScope::SearchScope(const Snapshot& snapshot, const SearchIndex& index,
                         const v1::SearchToolsRequest& request, const ToolVisibility& visible)
    : snapshot_(snapshot),
      index_(index),
      request_(request),
      filter_(request.categories(), request.namespaces()),
      visible_(visible),
      asked_results_(std::min<size_t>(static_cast<size_t>(request.max_results()), kMaxResults)) {}

bool SearchScope::Visible(SearchIndex::DocId doc) const {
  const ToolDefinition& definition = *index_.docs()[doc].definition;
  return filter_.Matches(definition) && Knows(definition);
}

v1::SearchToolsResponse SearchScope::NewResponse() const {
  v1::SearchToolsResponse response;
  response.set_revision(snapshot_.revision());
  return response;
}

v1::SearchHit* SearchScope::Add(v1::SearchToolsResponse& response, SearchIndex::DocId doc,
                                double score, const char* match, size_t limit) const {
  const std::string& name = index_.docs()[doc].name();
  if (static_cast<size_t>(response.hits_size()) >= limit) {
    if (response.more_names_size() < kMaxMoreNames) response.add_more_names(name);
    return nullptr;
  }
  // The index knows definitions; the state is the snapshot's. Both are of one definitions_revision.
  const ToolEntry* entry = snapshot_.Find(name);
  if (entry == nullptr) return nullptr;
  v1::SearchHit* hit = response.add_hits();
  *hit->mutable_tool() = entry->ToProto(request_.detail());
  hit->set_score(score);
  hit->set_match(match);
  return hit;
}

std::string SearchScope::HowMany() const {
  size_t all = index_.docs().size();
  if (visible_) {
    all = 0;
    for (const SearchIndex::Doc& doc : index_.docs()) all += visible_(*doc.definition) ? 1 : 0;
  }
  if (filter_.empty()) return absl::StrCat(all, all == 1 ? " tool" : " tools");
  size_t visible = 0;
  for (SearchIndex::DocId doc = 0; doc < index_.docs().size(); ++doc) visible += Visible(doc);
  return absl::StrCat(visible, visible == 1 ? " tool" : " tools", " of these categories and ",
                      "namespaces (", all, " in all)");
}

void SearchScope::Say(v1::SearchToolsResponse& response, std::string message) const {
  if (request_.vector_size() > 0) {
    absl::StrAppend(&message, message.empty() ? "" : " ",
                    "This build keeps no embeddings; `vector` was not used.");
  }
  response.set_message(std::move(message));
}

std::string Snippet(absl::string_view text, absl::FunctionRef<float(absl::string_view)> worth) {
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
  std::string line(best);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return absl::ascii_iscntrl(c); }, ' ');
  return CutToCharacters(line, kSnippetCharacters);
}

}  // namespace toolrack
