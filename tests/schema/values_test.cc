// Numbers by value, order, equality, counts, nearness of names.
#include "registry/schema/values.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace toolrack {
namespace {

Json Parse(absl::string_view text) { return ParseJsonOrStatus(text).value(); }

TEST(Values, NumbersAreOrderedByValueNotByStorage) {
  // Each line is smaller than the next; the members of a line are equal.
  const std::vector<std::vector<const char*>> ascending = {
      {"-1e300"},
      {"-9223372036854775809"},
      {"-9223372036854775808", "-9223372036854775808.0"},
      {"-9223372036854775807"},
      {"-1.5"},
      {"-1", "-1.0"},
      {"-0.5"},
      {"0", "-0", "0.0", "-0.0"},
      {"1e-320"},
      {"0.5"},
      {"1", "1.0"},
      {"1.5"},
      {"9007199254740992", "9007199254740992.0"},
      {"9007199254740993"},
      {"9223372036854775807"},
      {"9223372036854775808", "9223372036854775808.0"},
      {"9223372036854775809"},
      {"18446744073709551615"},
      {"18446744073709551616", "1.8446744073709552e19"},
      {"1e300"},
  };
  for (size_t i = 0; i < ascending.size(); ++i) {
    for (size_t j = 0; j < ascending.size(); ++j) {
      for (const char* a : ascending[i]) {
        for (const char* b : ascending[j]) {
          // One below the smallest int64 is a double already, equal to the smallest.
          if (i + j == 3 && (i == 1 || j == 1)) continue;
          const int order = CompareJson(Parse(a), Parse(b));
          EXPECT_EQ(order < 0, i < j) << a << " and " << b;
          EXPECT_EQ(order == 0, i == j) << a << " and " << b;
        }
      }
    }
  }
}

TEST(Values, KindsAreNeverEqualToEachOther) {
  const std::vector<const char*> values = {"null",      "false", "0",         "\"\"",  "[]",
                                           "{}",        "true",  "1",         "\"0\"", "[0]",
                                           "{\"a\":0}", "[[]]",  "{\"a\":[]}"};
  for (size_t i = 0; i < values.size(); ++i) {
    for (size_t j = 0; j < values.size(); ++j) {
      EXPECT_EQ(SameJson(Parse(values[i]), Parse(values[j])), i == j) << values[i] << values[j];
    }
  }
}

TEST(Values, StringsAreComparedBeyondANul) {
  EXPECT_FALSE(SameJson(Parse(R"("a\u0000b")"), Parse(R"("a\u0000c")")));
  EXPECT_FALSE(SameJson(Parse(R"("a\u0000b")"), Parse(R"("a")")));
  EXPECT_FALSE(SameJson(Parse(R"({"a\u0000b":1})"), Parse(R"({"a":1})")));
}

TEST(Values, ObjectsAreEqualWhateverTheOrderOfTheirMembers) {
  EXPECT_TRUE(
      SameJson(Parse(R"({"a":1,"b":[1.0,{"c":2}]})"), Parse(R"({"b":[1,{"c":2.0}],"a":1})")));
  EXPECT_FALSE(SameJson(Parse(R"({"a":1,"b":2})"), Parse(R"({"a":1,"c":2})")));
  EXPECT_FALSE(SameJson(Parse("[1,2]"), Parse("[2,1]")));
}

TEST(Values, OneIsAnIntegerHoweverItIsWritten) {
  EXPECT_EQ(TypeOf(Parse("1")), kIntegerType);
  EXPECT_EQ(TypeOf(Parse("1.0")), kIntegerType);
  EXPECT_EQ(TypeOf(Parse("1e2")), kIntegerType);
  EXPECT_EQ(TypeOf(Parse("1000000000000000000000000000000")), kIntegerType);
  EXPECT_EQ(TypeOf(Parse("18446744073709551615")), kIntegerType);
  EXPECT_EQ(TypeOf(Parse("1.5")), kFractionType);
  EXPECT_EQ(TypeOf(Parse("1e-3")), kFractionType);
  EXPECT_EQ(TypesNamed("number"), kIntegerType | kFractionType);
  EXPECT_EQ(TypesNamed("any"), 0);
  EXPECT_EQ(TypesNamed(""), 0);
}

TEST(Values, MultiplesAreDecimal) {
  struct Case {
    const char* value;
    const char* divisor;
    bool multiple;
  };
  for (const Case& each : std::vector<Case>{
           {"0.07", "0.01", true},
           {"4.35", "0.01", true},
           {"19.99", "0.01", true},
           {"1234567.89", "0.01", true},
           {"0.3", "0.1", true},
           {"0.075", "0.01", false},
           {"1.5", "1", false},
           {"4.7", "2", false},
           {"-4", "2", true},
           {"-3", "2", false},
           {"-9223372036854775808", "2", true},
           {"-9223372036854775808", "3", false},
           {"18446744073709551615", "5", true},
           {"18446744073709551615", "2", false},
           {"1e300", "2", true},
           {"1e300", "3", false},
           {"1e308", "0.123456789", false},
           {"0", "0.3", true},
           {"1e-300", "1", false},
           {"1e-300", "1e-301", true},
           {"12391239123", "1e-8", true},
           {"5", "1e300", false},
           {"9007199254740993", "1", true},
           {"9007199254740993", "2", false},
           {"0.0075", "0.0001", true},
           {"0.00751", "0.0001", false},
       }) {
    EXPECT_EQ(IsMultipleOf(ToDecimal(Parse(each.value)), ToDecimal(Parse(each.divisor))),
              each.multiple)
        << each.value << " of " << each.divisor;
  }
}

TEST(Values, CountsAreWholeAndNotNegative) {
  EXPECT_EQ(ToCount(Parse("0")), 0u);
  EXPECT_EQ(ToCount(Parse("2.0")), 2u);
  EXPECT_EQ(ToCount(Parse("18446744073709551615")), UINT64_MAX);
  EXPECT_EQ(ToCount(Parse("1e30")), UINT64_MAX);
  for (const char* bad : {"-1", "1.5", "\"5\"", "true", "null", "[]", "-1e30"}) {
    EXPECT_FALSE(ToCount(Parse(bad)).has_value()) << bad;
  }
}

TEST(Values, ADuplicateIsFoundWhereverItIs) {
  using Pair = std::pair<size_t, size_t>;
  EXPECT_EQ(FindDuplicate(Parse("[3,1,2,1.0]")), Pair(1, 3));
  EXPECT_EQ(FindDuplicate(Parse(R"([{"a":[1]},{"a":1},{"a":[1.0]}])")), Pair(0, 2));
  EXPECT_FALSE(FindDuplicate(Parse("[0,false,\"\",null,[],{}]")).has_value());
  EXPECT_FALSE(FindDuplicate(Parse("[9007199254740992,9007199254740993]")).has_value());
  EXPECT_FALSE(FindDuplicate(Parse("[]")).has_value());
}

TEST(Values, LengthIsInCodePoints) {
  EXPECT_EQ(CountCodePoints(""), 0u);
  EXPECT_EQ(CountCodePoints("abc"), 3u);
  EXPECT_EQ(CountCodePoints("é日😀"), 3u);
  EXPECT_EQ(CountCodePoints(absl::string_view("a\0b", 3)), 3u);
}

TEST(Values, EditDistanceCountsSwapsAsOneAndIgnoresCase) {
  EXPECT_EQ(EditDistance("limit", "limit", 5), 0u);
  EXPECT_EQ(EditDistance("Limit", "lIMIT", 5), 0u);
  EXPECT_EQ(EditDistance("limt", "limit", 5), 1u);
  EXPECT_EQ(EditDistance("limti", "limit", 5), 1u);
  EXPECT_EQ(EditDistance("userName", "user_name", 5), 1u);
  EXPECT_EQ(EditDistance("kitten", "sitting", 5), 3u);
  EXPECT_EQ(EditDistance("", "abc", 5), 3u);
  EXPECT_EQ(EditDistance("", "abc", 2), 3u) << "over the limit is the limit and one";
  EXPECT_EQ(EditDistance("abcdef", "uvwxyz", 2), 3u);
}

}  // namespace
}  // namespace toolrack
