// The index after any changes answers like one made anew of what is left.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "registry/base/utf8.h"
#include "registry/search/operators.h"
#include "registry/search/search.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

constexpr const char* kWords[] = {
    "send",   "mail", "read", "file",  "files",  "weather", "query",  "table",     "tables",
    "delete", "天气", "城市", "issue", "github", "chart",   "charts", "translate", "translation"};

rc::Gen<std::string> AnyWord() {
  return rc::gen::map(rc::gen::inRange<size_t>(0, std::size(kWords)),
                      [](size_t number) { return std::string(kWords[number]); });
}

rc::Gen<std::string> Words(size_t min, size_t max) {
  return rc::gen::map(
      rc::gen::mapcat(rc::gen::inRange(min, max + 1),
                      [](size_t count) {
                        return rc::gen::container<std::vector<std::string>>(count, AnyWord());
                      }),
      [](const std::vector<std::string>& words) { return absl::StrJoin(words, " "); });
}

// A set of tools of few names, so that most changes meet what is there. A schema that is none
// quarantines its tool.
std::vector<v1::Tool> AnyTools() {
  std::vector<v1::Tool> tools;
  const int count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    v1::Tool tool = MakeToolDefinition(absl::StrCat(*AnyWord().as("name"), "_", i), *Words(0, 12));
    for (char& c : *tool.mutable_name()) {
      if ((c & 0x80) != 0) c = 'x';
    }
    const int kind = *rc::gen::inRange(0, 8);
    if (kind == 0) tool.set_input_schema("{");
    if (kind == 1) tool.add_examples(*Words(1, 4));
    if (kind == 2) tool.add_categories("network");
    tools.push_back(std::move(tool));
  }
  return tools;
}

std::string AnyQuery() {
  switch (*rc::gen::inRange(0, 8)) {
    case 0:
      return absl::StrCat("+", *AnyWord(), " ", *Words(1, 3));
    case 1:
      return absl::StrCat(*Words(1, 4), " -", *AnyWord());
    case 2:
      return absl::StrCat("\"", *Words(2, 2), "\" ", *AnyWord());
    case 3:
      return absl::StrCat("name:", *AnyWord(), " ", *Words(0, 2));
    case 4:
      return absl::StrCat(*AnyWord(), "x ", *AnyWord());  // misspelled
    case 5:
      return absl::StrCat(*Words(10, 20), ". ", *Words(5, 9));
    case 6:
      return absl::StrCat("/", *AnyWord(), "/");
    default:
      return *Words(0, 5);
  }
}

RC_GTEST_PROP(SearchProperty, AfterAnyChangesItAnswersLikeOneMadeAnew, ()) {
  Registry registry{RegistryOptions{}};
  Searcher searcher(&registry);
  const auto worker = MakeWorker("w");
  const int changes = *rc::gen::inRange(1, 25);
  for (int i = 0; i < changes; ++i) {
    const std::string ns = absl::StrCat("n", *rc::gen::inRange(0, 4));
    RC_ASSERT(registry.Publish(worker, ns, AnyTools(), v1::PUBLISH_MODE_BEST_EFFORT).ok());
    if (*rc::gen::inRange(0, 2) == 0) searcher.Indexes();
  }
  Searcher anew(&registry);
  anew.Indexes();
  for (int i = 0; i < 5; ++i) {
    v1::SearchToolsRequest request;
    request.set_query(AnyQuery());
    request.set_max_results(100);
    auto old_answer = searcher.Search(request);
    auto new_answer = anew.Search(request);
    RC_ASSERT(old_answer.ok() && new_answer.ok());
    RC_ASSERT(old_answer->SerializeAsString() == new_answer->SerializeAsString());
    RC_ASSERT(old_answer->hits_size() > 0 || !old_answer->message().empty());
  }
}

RC_GTEST_PROP(SearchProperty, AnyBytesAreAQuery, (const std::string& bytes)) {
  Registry registry{RegistryOptions{}};
  Searcher searcher(&registry);
  RC_ASSERT(registry
                .Publish(MakeWorker("w"), "n", {MakeToolDefinition("read_file", "Reads a file.")},
                         v1::PUBLISH_MODE_BEST_EFFORT)
                .ok());
  const std::string query = *rc::gen::map(
      rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
          "+", "-", "\"", ":", "/", "name:", "select:", " ", "read", "file", "\xff", bytes)),
      [](const std::vector<std::string>& parts) { return absl::StrJoin(parts, ""); });
  v1::SearchToolsRequest request;
  request.set_query(query);
  const auto answer = searcher.Search(request);
  if (answer.ok()) {
    RC_ASSERT(IsUtf8(answer->message()));
    RC_ASSERT(answer->hits_size() > 0 || !answer->message().empty());
    for (const std::string& suggestion : answer->suggestions()) RC_ASSERT(IsUtf8(suggestion));
    for (const auto& hit : answer->hits()) {
      for (const auto& term : hit.matched_terms()) RC_ASSERT(IsUtf8(term));
      for (const auto& term : hit.unmatched_terms()) RC_ASSERT(IsUtf8(term));
    }
  } else {
    RC_ASSERT(ReadOperators(query).kind == QueryOperators::Kind::kRegex);
  }
}

}  // namespace
}  // namespace toolrack
