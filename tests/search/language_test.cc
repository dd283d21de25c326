// The query language, and what an answer says.
#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "registry/search/operators.h"
#include "tests/search/search_rig.h"

namespace toolrack {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LanguageTest : public SearchTest {};

TEST_F(LanguageTest, AWordWithPlusMustBeInTheNameTitleOrServer) {
  EXPECT_THAT(Names(Search("+github find file")), Each(HasSubstr("github__")));
  EXPECT_EQ(First("+github create"), "github__create_issue");
  EXPECT_THAT(Names(Search("+file +write")), ElementsAre("fs__write_file"));
  EXPECT_THAT(Names(Search("+air")), ElementsAre("weather__getAirQuality"))
      << "alone it is also what is looked for";
  EXPECT_THAT(Names(Search("+airqual index")), ElementsAre("weather__getAirQuality"))
      << "a part of a name will do";
}

TEST_F(LanguageTest, AWordWithPlusIsNotRankedBy) {
  Publish(
      "amazon-browser-mcp",
      {Described("browser_navigate", "Goes to a page."),
       Described("browser_evaluate", "Evaluates a script in the browser of Amazon, the browser.")});
  const auto names = Names(Search("+amazon-browser-mcp evaluate"));
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(names.front(), "amazon-browser-mcp__browser_evaluate");
}

TEST_F(LanguageTest, AnUnmetPlusFindsNothingButTellsWhatThereIs) {
  const auto response = Search("+slack file");
  EXPECT_THAT(response.hits(), IsEmpty());
  EXPECT_THAT(response.message(), HasSubstr("No tool has +slack in its name"));
  EXPECT_THAT(response.more_names(), Contains("fs__read_file"));
}

TEST_F(LanguageTest, AWordWithMinusMustBeNowhere) {
  EXPECT_THAT(Names(Search("file -write -search")), Not(Contains("fs__write_file")));
  EXPECT_THAT(Names(Search("file -write -search")), Contains("fs__read_file"));
  EXPECT_THAT(Names(Search("file -disk")), Not(Contains("fs__read_file")));
}

TEST_F(LanguageTest, APhraseGoesUpWordForWord) {
  Publish("a", {Described("first", "Opens a garden gate when it rains."),
                Described("second_with_a_long_name", "When the gate of a garden: a gate garden.")});
  EXPECT_EQ(First("\"gate garden\""), "a__second_with_a_long_name");
  EXPECT_EQ(First("\"garden gate\""), "a__first");
  EXPECT_EQ(First("read \"no such thing\" file"), "fs__read_file") << "else its words count";
}

TEST_F(LanguageTest, FieldsAreLookedAtAlone) {
  EXPECT_THAT(Names(Search("name:file")), Not(Contains("fs__search")));
  EXPECT_THAT(Names(Search("name:file")), Contains("fs__read_file"));
  EXPECT_THAT(Names(Search("desc:content")), Contains("fs__search"));
  EXPECT_THAT(Names(Search("param:labels")), ElementsAre("github__create_issue"));
  EXPECT_THAT(Names(Search("server:fs search")), Each(HasSubstr("fs__")));
  EXPECT_THAT(Names(Search("server:\"git\" contents")), Each(HasSubstr("github__")));
  const auto response = Search("name:zeppelin file");
  EXPECT_THAT(Names(response), Contains("fs__read_file"));
  EXPECT_THAT(response.message(), HasSubstr("No tool has name:zeppelin"));
  EXPECT_THAT(Search("server:nowhere file").message(), HasSubstr("No tool is of server nowhere"));
}

TEST_F(LanguageTest, CategoriesAreFilters) {
  v1::Tool tool = Described("ping", "Pings a host.");
  tool.add_categories("network");
  Publish("net", {tool});
  EXPECT_THAT(Names(Search("category:Network host file")), ElementsAre("net__ping"));
  EXPECT_THAT(Names(Search("tag:network,browser ping")), ElementsAre("net__ping"));
  EXPECT_THAT(Names(Search("category:network")), ElementsAre("net__ping"));
}

TEST_F(LanguageTest, SlashesAreARegularExpression) {
  EXPECT_THAT(Names(Search("/^fs__.*FILE$/i")), ElementsAre("fs__read_file", "fs__write_file"));
  v1::SearchToolsRequest request;
  request.set_query("/(/");
  EXPECT_FALSE(searcher_.Search(request).ok());
  EXPECT_THAT(Names(Search("read / write file")), Contains("fs__read_file"));
}

TEST_F(LanguageTest, WhatLooksLikeAnOperatorAndIsNoneIsAWord) {
  for (const char* query : {"read file -5", "C++ read file", "note: read file", "read file foo:bar",
                            "read file +", "read - file", "read file \"", "read file name:",
                            "read file +\"", "read -- file", "http://read/file"}) {
    EXPECT_THAT(Names(Search(query)), Contains("fs__read_file")) << query;
  }
  EXPECT_FALSE(ReadOperators("b=-3, -5 + 4 +1").Filters());
}

// The forms that models of several vendors write.
TEST_F(LanguageTest, FormsOfOtherToolSearchesWorkAsTheyAre) {
  EXPECT_THAT(Names(Search("select:mcp__github__create_issue,mcp__fs__read_file")),
              ElementsAre("github__create_issue", "fs__read_file"));
  EXPECT_THAT(Names(Search("select: [\"create_issue\", \"read_file\"]")),
              ElementsAre("github__create_issue", "fs__read_file"));
  EXPECT_EQ(First("+github issue"), "github__create_issue");
  v1::SearchToolsRequest request;
  request.set_mode(v1::SEARCH_MODE_REGEX);
  request.set_query("(?i)GET_.*contents|air");
  EXPECT_THAT(Names(Search(request)),
              ElementsAre("weather__getAirQuality", "github__get_file_contents"));
  EXPECT_EQ(First("weather|forecast"), "weather__get_forecast");
  EXPECT_EQ(First("github.create_issue"), "github__create_issue");
}

TEST_F(LanguageTest, AnEmptyQueryBrowses) {
  v1::Tool tool = Described("ping", "Pings a host.");
  tool.add_categories("network");
  Publish("net", {tool});
  const auto response = Search("");
  EXPECT_THAT(response.hits(), IsEmpty());
  EXPECT_THAT(response.message(), HasSubstr("There are 10 tools"));
  EXPECT_THAT(response.message(), HasSubstr("network (1)"));
  EXPECT_THAT(response.message(), HasSubstr("github (3)"));
  EXPECT_THAT(response.suggestions(), Contains("category:network"));
  v1::SearchToolsRequest request;
  request.add_namespaces("fs");
  EXPECT_THAT(Names(Search(request)), ElementsAre("fs__read_file", "fs__search", "fs__write_file"));
}

TEST_F(LanguageTest, RequiredParametersAreNamed) {
  Publish("mail", {Described("send", "Sends a letter.",
                             R"({"type":"object","properties":{"to":{"type":"string"},
                                "text":{"type":"string"}},"required":["to","text"]})")});
  EXPECT_EQ(Search("letter").hits(0).snippet(), "Sends a letter (needs to, text)");
}

TEST_F(LanguageTest, WeakMatchesAreMarked) {
  EXPECT_EQ(Search("paint elephants purple near a city").hits(0).match(), "weak");
}

TEST_F(LanguageTest, ToolsThatCannotBeCalledAreToldApart) {
  registry_.SetToolEnabled("fs__read_file", false).IgnoreError();
  const auto off = Search("read file disk");
  EXPECT_THAT(off.message(),
              HasSubstr("Switched off, an administrator can switch on: fs__read_file."));
  const auto other = MakeWorker("other");
  ASSERT_TRUE(registry_
                  .Publish(other, "far", {Described("fetch", "Fetches a zeppelin.")},
                           v1::PUBLISH_MODE_BEST_EFFORT)
                  .ok());
  other->set_available(false);
  registry_.RefreshState(other);
  EXPECT_THAT(Search("zeppelin").message(), HasSubstr("is away: far__fetch."));
}

TEST_F(LanguageTest, ExamplesAreSearched) {
  v1::Tool tool = Described("brew", "Makes a beverage.");
  tool.add_examples("I am thirsty for an espresso");
  Publish("kitchen", {tool});
  EXPECT_EQ(First("thirsty espresso"), "kitchen__brew");
}

TEST_F(LanguageTest, VectorsOfTheCallerCount) {
  v1::Tool left = Described("left", "Turns.");
  left.set_meta_json(R"({"toolrack.dev/embedding": [1, 0, 0]})");
  v1::Tool right = Described("right", "Turns.");
  right.set_meta_json(R"({"toolrack.dev/embedding": [0, 2, 0]})");
  v1::Tool broken = Described("broken", "Turns.");
  broken.set_meta_json(R"({"toolrack.dev/embedding": ["x"]})");
  Publish("v", {left, right, broken});
  v1::SearchToolsRequest request;
  for (const float number : {0.1f, 0.9f, 0.0f}) request.add_vector(number);
  EXPECT_THAT(Names(Search(request)), ElementsAre("v__right", "v__left")) << "without words";
  request.set_query("turns");
  EXPECT_EQ(Names(Search(request)).front(), "v__right");
  EXPECT_THAT(Search(request).message(), Not(HasSubstr("vector")));
  request.add_vector(1);
  EXPECT_THAT(Search(request).message(), HasSubstr("no tool has an embedding"));
}

// Words of tools that the caller may not know of must not come out anywhere.
TEST_F(LanguageTest, HiddenToolsLeakNothing) {
  Publish("secret", {Described("zeppelin", "Encryptions of zeppelins."),
                     Described("other", "Zeppelins, again.")});
  Publish("open", {Described("lock", "Encrypts a file.")});
  const ToolVisibility visible = [](const ToolDefinition& definition) {
    return definition.tool.namespace_() != "secret";
  };
  for (const char* query : {"zepelin", "zeppelin", "zeppelins again", "encryptoins", "encryption",
                            "+zeppelin", "name:zeppelin", "server:secret", "category:secret", "",
                            "select:secret__zepelin", "/zeppelin/", "-zeppelin file",
                            "select:secret__zeppelin", "+secret file", "secret__zeppelin"}) {
    v1::SearchToolsRequest request;
    request.set_query(query);
    request.set_max_results(100);
    const auto response = searcher_.Search(request, visible);
    ASSERT_TRUE(response.ok()) << query;
    v1::SearchToolsResponse without = *response;
    // What the caller wrote may be repeated.
    std::string text = absl::StrCat(" ", without.ShortDebugString(), " ");
    EXPECT_THAT(text, Not(HasSubstr("secret__other"))) << query;
    EXPECT_THAT(text, Not(HasSubstr("secret (2)"))) << query;
    EXPECT_THAT(text, Not(HasSubstr("12 tools"))) << query;
    EXPECT_THAT(response->suggestions(), Not(Contains("zeppelin"))) << query;
    EXPECT_THAT(response->suggestions(), Not(Contains("zeppelins"))) << query;
    EXPECT_THAT(response->suggestions(), Not(Contains("encryptions"))) << query;
    EXPECT_THAT(Names(*response), Each(Not(HasSubstr("secret")))) << query;
    EXPECT_THAT(response->more_names(), Each(Not(HasSubstr("secret")))) << query;
  }
  // A word that only hidden tools have is as unknown as one that nobody has.
  v1::SearchToolsRequest hidden, nowhere;
  hidden.set_query("zeppelin");
  nowhere.set_query("qwxvkjhz");
  std::string message = searcher_.Search(hidden, visible)->message();
  message.replace(message.find("zeppelin"), 8, "qwxvkjhz");
  EXPECT_EQ(message, searcher_.Search(nowhere, visible)->message());
}

}  // namespace
}  // namespace toolrack
