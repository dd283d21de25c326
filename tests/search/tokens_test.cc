#include "registry/search/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "registry/search/fields.h"
#include "registry/search/synonyms.h"

namespace toolrack {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> Words(absl::string_view text) {
  std::vector<std::string> words;
  SplitWords(text, [&words](absl::string_view word) { words.emplace_back(word); });
  return words;
}

TEST(TokensTest, IdentifiersFallIntoTheirWords) {
  EXPECT_THAT(Words("get_current-weather.v2"), ElementsAre("get", "current", "weather", "v", "2"));
  EXPECT_THAT(Words("bitable_v1_appTableRecord_search"),
              ElementsAre("bitable", "v", "1", "app", "table", "record", "search"));
  EXPECT_THAT(Words("HTTPServerError"), ElementsAre("http", "server", "error"));
  EXPECT_THAT(Words("base64 GPT4o"), ElementsAre("base", "64", "gpt", "4", "o"));
}

TEST(TokensTest, PossessivesAreDropped) {
  EXPECT_THAT(Words("today's user’s it's"), ElementsAre("today", "user", "it"));
  EXPECT_THAT(Words("'start"), ElementsAre("start"));
}

TEST(TokensTest, OtherScriptsAreWordsToo) {
  EXPECT_THAT(Words("Покажи мой ПОРТФЕЛЬ"), ElementsAre("покажи", "мой", "портфель"));
  EXPECT_THAT(Words("café ÉCOLE"), ElementsAre("café", "école"));
  EXPECT_THAT(Words("ＡＢＣ１"), ElementsAre("abc", "1"));
}

TEST(TokensTest, ChineseAndJapaneseGiveCharactersAndPairs) {
  EXPECT_THAT(Words("查天气 now"), ElementsAre("查", "天", "查天", "气", "天气", "now"));
  EXPECT_THAT(Words("カメラ"), ElementsAre("カ", "メ", "カメ", "ラ", "メラ"));
}

TEST(TokensTest, BytesThatAreNotUtf8AreGaps) {
  EXPECT_THAT(Words("a\xff\xfe"
                    "b \xe5\xa4"),
              ElementsAre("a", "b"));
  EXPECT_THAT(Words(""), IsEmpty());
}

TEST(TokensTest, StemsAreThoseOfSnowball) {
  EXPECT_EQ(Stem("searching"), "search");
  EXPECT_EQ(Stem("repositories"), "repositori");
  EXPECT_EQ(Stem("天气"), "天气");
  EXPECT_EQ(Stem("go"), "go");
}

TEST(TokensTest, FoldedNamesForgetCaseAndSeparators) {
  EXPECT_EQ(FoldName("getWeather"), FoldName("Get Weather"));
  EXPECT_EQ(FoldName("get-weather"), "getweather");
  EXPECT_EQ(FoldName("天气_查询"), "天气查询");
}

TEST(TokensTest, SynonymsGoBothWaysAndAreNotTheWordItself) {
  EXPECT_THAT(SynonymsOf(Stem("delete")), Contains(Stem("remove")));
  EXPECT_THAT(SynonymsOf(Stem("remove")), Contains(Stem("delete")));
  EXPECT_THAT(SynonymsOf(Stem("delete")), Not(Contains(Stem("delete"))));
  EXPECT_THAT(SynonymsOf("zzz"), IsEmpty());
}

TEST(FieldsTest, SchemasAreReadFromTheRootDown) {
  const SchemaWords words = ReadSchemaWords(R"({
    "type": "object", "title": "Root", "description": "of all",
    "properties": {
      "city": {"type": "string", "description": "where", "enum": ["Oslo", "Rome"]},
      "description": {"type": "string", "default": "no word"},
      "list": {"type": "array", "items": {"anyOf": [
        {"properties": {"deep": {"const": "fixed", "examples": ["none"]}}}, true]}}
    },
    "$defs": {"Hidden": {"description": "in definitions"}},
    "required": ["city"]
  })");
  EXPECT_THAT(words.names, ElementsAre("city", "description", "list", "deep"));
  EXPECT_THAT(words.descriptions, ElementsAre("Root", "of all", "where", "in definitions"));
  EXPECT_THAT(words.values, ElementsAre("Oslo", "Rome", "fixed"));
}

TEST(FieldsTest, TextsThatAreNoJsonGiveNothingMore) {
  EXPECT_THAT(ReadSchemaWords("").names, IsEmpty());
  EXPECT_THAT(ReadSchemaWords("nonsense").names, IsEmpty());
}

}  // namespace
}  // namespace toolrack
