#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/utf8.h"
#include "tests/search/search_rig.h"

namespace toolrack {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(SearchTest, WordsFindWhatTheyDescribe) {
  EXPECT_EQ(First("find a repository on GitHub"), "github__search_repositories");
  EXPECT_EQ(First("what will the weather be tomorrow"), "weather__get_forecast");
  EXPECT_EQ(First("triage"), "github__create_issue") << "descriptions of parameters are searched";
  EXPECT_EQ(First("labels"), "github__create_issue") << "names of parameters are searched";
  EXPECT_EQ(First("air quality"), "weather__getAirQuality") << "camelCase is split";
}

TEST_F(SearchTest, AToolsOwnNameIsAlwaysFirst) {
  registry_.Peek().ForEach("", [this](const ToolEntryPtr& entry) {
    for (const std::string& form : {entry->name(), entry->definition->bare_name}) {
      const auto response = Search(form.c_str());
      EXPECT_GT(response.hits_size(), 0) << form;
      if (response.hits_size() == 0) continue;
      EXPECT_EQ(response.hits(0).tool().name(), entry->name()) << form;
      EXPECT_EQ(response.hits(0).match(), "exact_name") << form;
    }
    return true;
  });
  EXPECT_EQ(First("get forecast"), "weather__get_forecast") << "spaces count as separators";
  EXPECT_EQ(First("GETAIRQUALITY"), "weather__getAirQuality");
  EXPECT_EQ(First("please use mcp__github__create_issue for it"), "github__create_issue");
}

TEST_F(SearchTest, SeveralNamesComeInTheirOrder) {
  std::vector<std::string> names = Names(Search("write_file, create_issue read_file"));
  ASSERT_GE(names.size(), 3u);
  names.resize(3);
  EXPECT_THAT(names, ElementsAre("fs__write_file", "github__create_issue", "fs__read_file"));
}

TEST_F(SearchTest, AnOrdinaryWordThatIsAlsoANameDoesNotTakeOver) {
  EXPECT_EQ(First("search the weather forecast of a city"), "weather__get_forecast");
  EXPECT_EQ(First("search"), "fs__search");
}

TEST_F(SearchTest, OtherLanguagesAreFound) { EXPECT_EQ(First("上海天气情况"), "zh__tianqi"); }

TEST_F(SearchTest, HitsSayWhyTheyAreThere) {
  const auto response = Search("forecast frobnication days");
  ASSERT_GT(response.hits_size(), 0);
  const auto& hit = response.hits(0);
  EXPECT_EQ(hit.match(), "name");
  EXPECT_THAT(hit.matched_terms(), ElementsAre("forecast", "days"));
  EXPECT_THAT(hit.unmatched_terms(), ElementsAre("frobnication"));
  EXPECT_THAT(hit.snippet(), AnyOf("Weather forecast for a city", "Covers the next seven days"));
  EXPECT_EQ(hit.tool().input_schema(), "");
  EXPECT_EQ(response.revision(), registry_.Peek().revision());
  v1::SearchToolsRequest full;
  full.set_query("forecast");
  full.set_detail(v1::TOOL_VIEW_FULL);
  EXPECT_NE(Search(full).hits(0).tool().input_schema(), "");
}

TEST_F(SearchTest, ScoresFall) {
  const auto response = Search("file");
  ASSERT_GE(response.hits_size(), 3);
  for (int i = 1; i < response.hits_size(); ++i) {
    EXPECT_LE(response.hits(i).score(), response.hits(i - 1).score());
  }
}

TEST_F(SearchTest, TyposAreForgivenAndTold) {
  const auto response = Search("reposotories on githb");
  ASSERT_GT(response.hits_size(), 0);
  EXPECT_EQ(response.hits(0).tool().name(), "github__search_repositories");
  EXPECT_THAT(response.suggestions(), Contains("repositories"));
}

TEST_F(SearchTest, NothingFoundNeverReadsAsNoSuchTool) {
  const auto response = Search("zzzyx qqqwv");
  EXPECT_EQ(response.hits_size(), 0);
  EXPECT_THAT(response.message(), HasSubstr("does not mean that there is no such tool"));
  EXPECT_THAT(response.message(), HasSubstr("9 tools"));
  EXPECT_THAT(response.message(), HasSubstr("zzzyx"));
  EXPECT_THAT(response.message(), HasSubstr("Try other words"));
}

TEST_F(SearchTest, AWeakHitIsCalledWeak) {
  const auto response = Search("paint elephants purple near a city");
  ASSERT_GT(response.hits_size(), 0);
  EXPECT_THAT(response.message(), HasSubstr("only some of the words"));
  EXPECT_THAT(Search("weather forecast city").message(), IsEmpty());
}

TEST_F(SearchTest, MoreResultsAreNamed) {
  v1::SearchToolsRequest request;
  request.set_query("file disk contents repository");
  request.set_max_results(2);
  const auto response = Search(request);
  EXPECT_EQ(response.hits_size(), 2);
  EXPECT_GT(response.more_names_size(), 0);
  EXPECT_THAT(response.more_names(), Not(Contains(response.hits(0).tool().name())));
}

TEST_F(SearchTest, FiltersHoldBeforeTheBestAreChosen) {
  v1::SearchToolsRequest request;
  request.set_query("search file repository weather");
  request.add_namespaces("weather");
  request.set_max_results(100);
  for (const std::string& name : Names(Search(request))) EXPECT_THAT(name, HasSubstr("weather__"));
  request.set_query("zzzyx");
  EXPECT_THAT(Search(request).message(),
              HasSubstr("2 tools of these categories and namespaces (9 in all)"));
}

TEST_F(SearchTest, TheBestOfSeveralPhrasingsCounts) {
  v1::SearchToolsRequest request;
  request.set_query("weather forecast");
  request.add_queries("write a file to disk");
  request.set_max_results(100);
  const auto names = Names(Search(request));
  EXPECT_THAT(names, Contains("weather__get_forecast"));
  EXPECT_THAT(names, Contains("fs__write_file"));
  request.clear_query();
  EXPECT_EQ(Names(Search(request)).front(), "fs__write_file");
}

TEST_F(SearchTest, SelectGivesExactlyTheNamedTools) {
  const auto response = Search("select:fs__write_file,github__create_issue, fs__reed_file");
  EXPECT_THAT(Names(response), ElementsAre("fs__write_file", "github__create_issue"));
  EXPECT_EQ(response.hits(0).match(), "select");
  EXPECT_THAT(response.message(), HasSubstr("fs__reed_file is no tool's exact name"));
  EXPECT_THAT(response.suggestions(), Contains("fs__read_file"));
  v1::SearchToolsRequest request;
  request.set_mode(v1::SEARCH_MODE_SELECT);
  request.set_query(
      "fs__write_file fs__read_file fs__search github__create_issue github__get_file_contents "
      "weather__get_forecast");
  EXPECT_THAT(Names(Search(request)), SizeIs(6))
      << "all that were named, without a limit asked for";
  request.set_max_results(1);
  EXPECT_THAT(Search(request).more_names(), SizeIs(5));
}

TEST_F(SearchTest, RegularExpressionsLookAtNamesTitlesParametersAndDescriptions) {
  v1::SearchToolsRequest request;
  request.set_mode(v1::SEARCH_MODE_REGEX);
  request.set_query("^FS__.*file$");
  EXPECT_THAT(Names(Search(request)), ElementsAre("fs__read_file", "fs__write_file"));
  EXPECT_EQ(Search(request).hits(0).match(), "regex");
  request.set_query("^labels$");
  EXPECT_THAT(Names(Search(request)), ElementsAre("github__create_issue"));
  request.set_query("seven d.ys");
  EXPECT_EQ(Search(request).hits(0).snippet(), "Covers the next seven days");
  request.set_query("no(thing)+here");
  EXPECT_THAT(Search(request).message(), HasSubstr("9 tools"));
}

TEST_F(SearchTest, BadRequestsAreRefusedByField) {
  const auto field = [this](const v1::SearchToolsRequest& request) {
    const absl::Status status = searcher_.Search(request).status();
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_REQUEST_INVALID);
    return MetadataOf(status)["field"];
  };
  v1::SearchToolsRequest request;
  request.set_query("x");
  request.set_max_results(-1);
  EXPECT_EQ(field(request), "max_results");
  request.clear_max_results();
  request.set_query(std::string(17 << 10, 'x'));
  EXPECT_EQ(field(request), "query");
  request.set_mode(v1::SEARCH_MODE_REGEX);
  for (const std::string& bad :
       {std::string("(unclosed"), std::string(513, 'a'),
        std::string("(((a{1,100}){1,100}){1,100})"), std::string("(?=x)")}) {
    request.set_query(bad);
    EXPECT_EQ(field(request), "query") << bad.substr(0, 40);
  }
}

TEST_F(SearchTest, OddQueriesAreHarmless) {
  for (const char* odd :
       {"the", "???", "\"", "a\xff\xfe", "+-*/(", "select:", "天", "😀", "__", "..."}) {
    const auto response = searcher_.Search([odd] {
      v1::SearchToolsRequest request;
      request.set_query(odd);
      return request;
    }());
    ASSERT_TRUE(response.ok()) << odd;
    EXPECT_TRUE(response->hits_size() > 0 || !response->message().empty()) << odd;
    EXPECT_TRUE(IsUtf8(response->message())) << odd;
  }
}

TEST_F(SearchTest, VectorsAreSaidToBeUnused) {
  v1::SearchToolsRequest request;
  request.set_query("weather");
  request.add_vector(0.5);
  EXPECT_THAT(Search(request).message(), HasSubstr("`vector` was not used"));
}

TEST_F(SearchTest, AChangeOfTheRegistryIsSeenByTheNextSearch) {
  EXPECT_THAT(Search("zeppelin").hits(), IsEmpty());
  Publish("new", {Described("fly", "Books a zeppelin.")});
  EXPECT_EQ(First("zeppelin"), "new__fly");
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  EXPECT_EQ(Search("zeppelin").hits(0).tool().state(), v1::TOOL_STATE_UNAVAILABLE);
  Publish("new", {});
  EXPECT_THAT(Search("zeppelin").hits(), IsEmpty());
}

TEST_F(SearchTest, QuarantinedToolsAreNotFoundButToldOf) {
  v1::Tool bad = Described("zeppelin", "Books a zeppelin.");
  bad.set_input_schema("{");
  Publish("bad", {bad});
  const auto response = Search("zeppelin");
  EXPECT_THAT(response.hits(), IsEmpty());
  EXPECT_THAT(response.message(), HasSubstr("not callable (DescribeTool says why): bad__zeppelin"));
  EXPECT_THAT(Search("select:bad__zeppelin").message(), HasSubstr("quarantined"));
  EXPECT_THAT(Search("weather").message(), Not(HasSubstr("uarantined")));
}

TEST_F(SearchTest, TheSameQuestionGivesTheSameBytes) {
  for (const char* query : {"file", "repository issue", "zzz", "select:fs__search"}) {
    EXPECT_EQ(Search(query).SerializeAsString(), Search(query).SerializeAsString());
  }
}

TEST_F(SearchTest, SnippetsAreCutBetweenCharacters) {
  std::string description;
  for (int i = 0; i < 300; ++i) description += "天";
  Publish("long", {Described("zeppelin", (description + " zeppelin").c_str())});
  const auto response = Search("zeppelin");
  ASSERT_GT(response.hits_size(), 0);
  EXPECT_TRUE(IsUtf8(response.hits(0).snippet()));
  EXPECT_EQ(response.hits(0).snippet().size(), 199 * 3 + 3u);
}

TEST(SearchEmptyTest, AnEmptyRegistrySaysSo) {
  Registry registry{RegistryOptions{}};
  Searcher searcher(&registry);
  v1::SearchToolsRequest request;
  request.set_query("anything");
  const auto response = searcher.Search(request);
  ASSERT_TRUE(response.ok());
  EXPECT_THAT(response->message(), HasSubstr("none is registered yet"));
}

}  // namespace
}  // namespace toolrack
