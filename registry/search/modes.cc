#include "registry/search/modes.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "registry/base/clock.h"
#include "registry/base/errors.h"
#include "registry/name.h"
#include "registry/search/rank.h"

namespace toolrack {
namespace {

using DocId = SearchIndex::DocId;

constexpr size_t kMaxPatternBytes = 512;
constexpr int64_t kMaxPatternMemory = 8 << 20;
// A scan of 100,000 tools takes some 50 ms on a free machine.
constexpr absl::Duration kRegexDeadline = absl::Milliseconds(250);
constexpr size_t kDocsBetweenLooks = 64;

using Patterns = std::vector<std::unique_ptr<RE2>>;

absl::StatusOr<Patterns> Compile(const std::vector<std::string>& patterns) {
  RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  options.set_max_mem(kMaxPatternMemory);
  Patterns out;
  for (const std::string& pattern : patterns) {
    if (pattern.size() > kMaxPatternBytes) {
      return RequestInvalid(
          "query", pattern,
          absl::StrCat("a regular expression has at most ", kMaxPatternBytes, " bytes"));
    }
    auto compiled = std::make_unique<RE2>(pattern, options);
    if (!compiled->ok()) {
      return RequestInvalid(
          "query", pattern,
          absl::StrCat("a regular expression as RE2 takes it (", compiled->error(), ")"));
    }
    out.push_back(std::move(compiled));
  }
  return out;
}

bool AnyMatches(const Patterns& patterns, absl::string_view text) {
  const re2::StringPiece piece(text.data(), text.size());
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& pattern) { return RE2::PartialMatch(piece, *pattern); });
}

// Name, title, parameters, description: the earlier, the more telling. 0: no match.
float FieldScore(const Patterns& patterns, const SegmentPart& part, uint32_t doc) {
  const v1::Tool& tool = part.segment->doc(doc).definition->tool;
  if (AnyMatches(patterns, tool.name())) return 4;
  if (AnyMatches(patterns, tool.title())) return 3;
  for (const absl::string_view parameter :
       absl::StrSplit(part.segment->parameters(doc), '\n', absl::SkipEmpty())) {
    if (AnyMatches(patterns, parameter)) return 2;
  }
  return AnyMatches(patterns, tool.description()) ? 1 : 0;
}

std::vector<std::string> NamesIn(const std::vector<std::string>& queries) {
  std::vector<std::string> out;
  for (const std::string& query : queries) {
    for (const absl::string_view name :
         absl::StrSplit(query, absl::ByAnyChar(", \t\r\n\"'`[]"), absl::SkipEmpty())) {
      if (std::find(out.begin(), out.end(), name) == out.end()) out.emplace_back(name);
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<v1::SearchToolsResponse> SearchByRegex(const SearchScope& scope,
                                                      const std::vector<std::string>& patterns) {
  absl::StatusOr<Patterns> compiled = Compile(patterns);
  if (!compiled.ok()) return compiled.status();
  const SearchIndex& index = scope.index();
  const absl::Duration end = Clock::Real().SteadyNow() + kRegexDeadline;
  std::vector<Ranked> found;
  size_t looked = 0;
  bool late = false;
  scope.ForEach([&](DocId doc) {
    late = late || (looked % kDocsBetweenLooks == 0 && Clock::Real().SteadyNow() > end);
    if (late) return;
    ++looked;
    const SegmentPart& part = index.PartOf(doc);
    const float score = FieldScore(*compiled, part, doc - part.first);
    if (score > 0) found.push_back({doc, score, false});
  });
  SortRanked(index, found);

  v1::SearchToolsResponse response = scope.NewResponse();
  for (const Ranked& one : found) {
    v1::SearchHit* hit = scope.Add(response, one.doc, one.score, "regex", scope.max_results());
    if (hit == nullptr) continue;
    scope.SetSnippet(
        one.doc,
        [&](absl::string_view sentence) { return AnyMatches(*compiled, sentence) ? 1.0f : 0.0f; },
        *hit);
  }
  std::string message;
  if (found.empty()) {
    message = absl::StrCat("No name, title, description or parameter matches this expression; ",
                           "there are ", scope.HowMany(),
                           ". Try a shorter expression, or plain words with mode RANKED.");
  }
  if (late) {
    absl::StrAppend(&message, message.empty() ? "" : " ", "Time was up after ", looked,
                    " tools: the rest was not looked at.");
  }
  scope.Say(response, std::move(message));
  return response;
}

v1::SearchToolsResponse SearchByNames(const SearchScope& scope,
                                      const std::vector<std::string>& queries) {
  const std::vector<std::string> names = NamesIn(queries);
  // Who names ten tools wants ten tools.
  const size_t limit =
      scope.asked_results() > 0
          ? scope.asked_results()
          : std::clamp(names.size(), SearchScope::kDefaultResults, SearchScope::kMaxResults);
  v1::SearchToolsResponse response = scope.NewResponse();
  absl::flat_hash_set<DocId> given;
  std::vector<std::string> problems;
  for (const std::string& name : names) {
    bool found = false;
    for (const DocId doc : FindNamed(scope.index(), name)) {
      if (!scope.May(doc)) continue;
      found = true;
      if (given.insert(doc).second) scope.Add(response, doc, 1, "select", limit);
    }
    if (found) continue;
    const ToolEntry* entry = scope.snapshot().Find(name);
    if (entry != nullptr && entry->definition->quarantined &&
        scope.view().Knows(*entry->definition)) {
      problems.push_back(absl::StrCat(ForMessage(name), " is quarantined (DescribeTool says why)"));
      continue;
    }
    std::vector<absl::string_view> all;
    scope.ForEach([&](DocId doc) { all.push_back(scope.index().name(doc)); });
    const std::vector<std::string> nearest = NearestNames(name, all, 3);
    problems.push_back(
        absl::StrCat(ForMessage(name), " is no tool's exact name",
                     nearest.empty() ? "" : "; near: ", absl::StrJoin(nearest, ", ")));
    for (const std::string& near : nearest) {
      if (response.suggestions_size() < SearchScope::kMaxSuggestions)
        response.add_suggestions(near);
    }
    constexpr size_t kMaxProblems = 10;
    if (problems.size() >= kMaxProblems) break;
  }
  std::string message = absl::StrJoin(problems, ". ");
  if (!problems.empty()) {
    absl::StrAppend(&message, ". There are ", scope.HowMany(),
                    "; search for what the tool does with mode RANKED.");
  } else if (names.empty()) {
    message =
        absl::StrCat("Nothing was named. There are ", scope.HowMany(), "; write select:NAME,NAME.");
  }
  scope.Say(response, std::move(message));
  return response;
}

}  // namespace toolrack
