// What a model reads when its arguments do not fit. The wording is a promise: change it on purpose.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/schema/schema.h"

namespace toolrack {
namespace {

using Lines = std::vector<std::string>;

// Each fault as "pointer: text".
Lines Explain(absl::string_view schema, absl::string_view value, size_t max = 16) {
  const auto compiled = Schema::Compile(schema, SchemaLimits(), false);
  EXPECT_NE(compiled.schema, nullptr) << schema;
  if (compiled.schema == nullptr) return {};
  Lines out;
  for (const FieldFault& fault : compiled.schema->Explain(ParseJsonOrStatus(value).value(), max)) {
    out.push_back(absl::StrCat(fault.field, ": ", fault.description));
  }
  return out;
}

TEST(Explain, SaysNothingOfWhatFits) {
  EXPECT_EQ(Explain(R"({"type":"string"})", "\"a\""), Lines{});
}

TEST(Explain, NamesTheTypeWantedAndTheOneThatCame) {
  EXPECT_EQ(Explain(R"({"type":"integer"})", R"("5")"),
            Lines{R"(: expected integer, got "5" (a string))"});
  EXPECT_EQ(Explain(R"({"type":"integer"})", "1.5"),
            Lines{": expected integer, got 1.5 (a number)"});
  EXPECT_EQ(Explain(R"({"type":"string"})", "5"), Lines{": expected string, got 5 (an integer)"});
  EXPECT_EQ(Explain(R"({"type":"boolean"})", R"("true")"),
            Lines{R"(: expected boolean, got "true" (a string))"});
  EXPECT_EQ(Explain(R"({"type":"object"})", R"("{\"a\":1}")"),
            Lines{R"(: expected object, got "{\"a\":1}" (a string))"});
  EXPECT_EQ(Explain(R"({"type":"string"})", R"({"a":1})"),
            Lines{": expected string, got an object"});
  EXPECT_EQ(Explain(R"({"type":["string","null"]})", "[1]"),
            Lines{": expected string or null, got an array"});
  EXPECT_EQ(Explain(R"({"type":["integer","string","null"]})", "true"),
            Lines{": expected string, integer or null, got true (a boolean)"});
}

TEST(Explain, ShortensWhatCame) {
  const std::string line =
      Explain(R"({"type":"integer"})", "\"" + std::string(1000, 'x') + "\"")[0];
  EXPECT_LT(line.size(), 120u);
  EXPECT_NE(line.find("…"), std::string::npos);
}

TEST(Explain, ListsTheAllowedValuesAndTheNearest) {
  EXPECT_EQ(Explain(R"({"enum":["low","medium","high"]})", R"("hihg")"),
            Lines{R"(: expected one of "low", "medium", "high"; got "hihg" (nearest: "high"))"});
  EXPECT_EQ(Explain(R"({"enum":["low","high"]})", R"("purple")"),
            Lines{R"(: expected one of "low", "high"; got "purple")"});
  EXPECT_EQ(Explain(R"({"enum":["LOW","HIGH"]})", R"("low")"),
            Lines{R"(: expected one of "LOW", "HIGH"; got "low" (nearest: "LOW"))"});
  EXPECT_EQ(Explain(R"({"type":"string","enum":["a","b"]})", "5"),
            Lines{R"(: expected one of "a", "b"; got 5 (an integer))"});
  EXPECT_EQ(Explain(R"({"enum":[1,null,"x"]})", R"("y")"),
            Lines{R"(: expected one of 1, null, "x"; got "y" (a string))"});
  EXPECT_EQ(Explain(R"({"const":"a"})", R"("b")"), Lines{R"(: expected "a"; got "b")"});
  EXPECT_EQ(Explain(R"({"enum":[]})", "1"), Lines{": no value is allowed here"});
  EXPECT_EQ(Explain(R"({"enum":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]})", "0"),
            Lines{": expected one of 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, "
                  "18, 19, 20 and 2"
                  " more; got 0 (an integer)"});
}

TEST(Explain, PointsAtWhatIsMissing) {
  EXPECT_EQ(Explain(R"({"required":["path"],"properties":{"path":{"type":"string"}}})", "{}"),
            Lines{"/path: is required but missing (expected string)"});
  EXPECT_EQ(Explain(R"({"required":["mode"],"properties":{"mode":{"enum":["r","w"]}}})", "{}"),
            Lines{R"(/mode: is required but missing (expected one of "r", "w"))"});
  EXPECT_EQ(Explain(R"({"required":["a/b"]})", "{}"), Lines{"/a~1b: is required but missing"});
  EXPECT_EQ(Explain(R"({"dependentRequired":{"card":["address"]}})", R"({"card":1})"),
            Lines{R"(/address: is required but missing, because "card" is given)"});
  EXPECT_EQ(
      Explain(
          R"({"required":["x"],"properties":{"x":{"anyOf":[{"type":"string"},{"type":"array"}]}}})",
          "{}"),
      Lines{"/x: is required but missing (expected string or array)"});
}

TEST(Explain, ASlipInARequiredNameIsSaidOnce) {
  const char* open = R"({"required":["path"],"properties":{"path":{"type":"string"},"mode":{}}})";
  EXPECT_EQ(
      Explain(open, R"({"pth":"x","mode":1})"),
      Lines{R"(/path: is required but missing (expected string); did you mean it by "pth"?)"});
  EXPECT_EQ(Explain(open, R"({"mode":1,"colour":2})"),
            Lines{"/path: is required but missing (expected string)"});
  EXPECT_EQ(Explain(R"({"required":["path"],"properties":{"path":{"type":"string"}},
                        "additionalProperties":false})",
                    R"({"pth":"x"})"),
            (Lines{"/path: is required but missing (expected string)",
                   R"(/pth: unknown property "pth"; did you mean "path"?)"}));
}

TEST(Explain, PointsAtWhatIsUnknown) {
  const char* schema = R"({"properties":{"limit":{},"offset":{}},"additionalProperties":false})";
  EXPECT_EQ(Explain(schema, R"({"limt":5})"),
            Lines{R"(/limt: unknown property "limt"; did you mean "limit"?)"});
  EXPECT_EQ(Explain(schema, R"({"colour":5})"),
            Lines{R"(/colour: unknown property "colour"; the known ones are "limit", "offset")"});
  EXPECT_EQ(Explain(R"({"additionalProperties":false})", R"({"a":5})"),
            Lines{R"(/a: unknown property "a"; no properties are allowed here)"});
  EXPECT_EQ(Explain(R"({"allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false})",
                    R"({"a":1,"b":2})"),
            Lines{R"(/b: unknown property "b")"});
}

TEST(Explain, NamesBounds) {
  EXPECT_EQ(Explain(R"({"minimum":1})", "0"), Lines{": must be at least 1, got 0"});
  EXPECT_EQ(Explain(R"({"maximum":10})", "10.5"), Lines{": must be at most 10, got 10.5"});
  EXPECT_EQ(Explain(R"({"exclusiveMinimum":0})", "0"), Lines{": must be more than 0, got 0"});
  EXPECT_EQ(Explain(R"({"exclusiveMaximum":1})", "1"), Lines{": must be less than 1, got 1"});
  EXPECT_EQ(Explain(R"({"multipleOf":0.05})", "0.12"),
            Lines{": must be a multiple of 0.05, got 0.12"});
  EXPECT_EQ(Explain(R"({"minLength":1})", R"("")"),
            Lines{": must have at least 1 character, got 0"});
  EXPECT_EQ(Explain(R"({"maxLength":2})", R"("日本語")"),
            Lines{": must have at most 2 characters, got 3"});
  EXPECT_EQ(Explain(R"({"minItems":2})", "[1]"), Lines{": must have at least 2 items, got 1"});
  EXPECT_EQ(Explain(R"({"maxItems":1})", "[1,2]"), Lines{": must have at most 1 item, got 2"});
  EXPECT_EQ(Explain(R"({"minProperties":1})", "{}"),
            Lines{": must have at least 1 property, got 0"});
  EXPECT_EQ(Explain(R"({"prefixItems":[{}],"items":false})", "[1,2]"),
            Lines{": must have at most 1 item, got 2"});
  EXPECT_EQ(Explain(R"({"pattern":"^[a-z]+$"})", R"("A1")"),
            Lines{R"(: must match the pattern ^[a-z]+$, got "A1")"});
  EXPECT_EQ(Explain(R"({"uniqueItems":true})", "[1,2,1.0]"),
            Lines{": must not have equal items; items 0 and 2 are equal"});
  EXPECT_EQ(Explain(R"({"contains":{"type":"string"}})", "[1]"),
            Lines{": must contain at least 1 item (string), got 0"});
  EXPECT_EQ(Explain(R"({"contains":{"minimum":5},"maxContains":1})", "[6,7]"),
            Lines{": must contain at most 1 item of the right form, got 2"});
  EXPECT_EQ(
      Explain(R"({"propertyNames":{"maxLength":2}})", R"({"abc":1})"),
      Lines{
          R"(/abc: the property name "abc" is not allowed: must have at most 2 characters, got 3)"});
}

TEST(Explain, TellsToLeaveOutANullThatIsOptional) {
  const char* schema =
      R"({"properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["b"]})";
  EXPECT_EQ(Explain(schema, R"({"a":null,"b":null})"),
            (Lines{"/a: expected string, got null; omit it, it is optional",
                   "/b: expected string, got null"}));
}

TEST(Explain, FollowsThePathIntoTheValue) {
  EXPECT_EQ(Explain(R"({"properties":{"a":{"items":{"properties":{"b/c":{"type":"integer"}}}}}})",
                    R"({"a":[{},{"b/c":"x"}]})"),
            Lines{R"(/a/1/b~1c: expected integer, got "x" (a string))"});
}

TEST(Explain, ExplainsTheBestBranchOnly) {
  EXPECT_EQ(Explain(R"({"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]})", "true"),
            Lines{": expected string, integer or null, got true (a boolean)"});
  EXPECT_EQ(
      Explain(R"({"anyOf":[{"type":"string","maxLength":1},{"type":"integer"}]})", R"("long")"),
      Lines{": must have at most 1 character, got 4"});
  EXPECT_EQ(Explain(R"({"anyOf":[{"const":"a"},{"const":"b"}]})", R"("c")"),
            Lines{R"(: expected one of "a", "b"; got "c")"});
  const char* tagged = R"({"oneOf":[
    {"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}},"required":["kind","radius"]},
    {"properties":{"kind":{"const":"square"},"side":{"type":"number"}},"required":["kind","side"]}]})";
  EXPECT_EQ(Explain(tagged, R"({"kind":"square"})"),
            Lines{"/side: is required but missing (expected number)"});
  EXPECT_EQ(
      Explain(tagged, R"({"kind":"circel","radius":1})"),
      Lines{R"(/kind: expected one of "circle", "square"; got "circel" (nearest: "circle"))"});
  EXPECT_EQ(Explain(tagged, R"({"radius":1,"side":2})"),
            Lines{R"(/kind: is required but missing (expected "circle"))"});
  EXPECT_EQ(Explain(R"({"oneOf":[{"type":"integer"},{"type":"number"},{"type":"string"}]})", "1"),
            Lines{": must fit exactly one of 3 forms, but fits 2 of them (numbers 1 and 2)"});
}

TEST(Explain, ExplainsTheRest) {
  EXPECT_EQ(Explain(R"({"not":{"type":"null"}})", "null"), Lines{": must not be null"});
  EXPECT_EQ(Explain(R"({"not":{"minimum":1}})", "1"),
            Lines{": has a form that is not allowed here"});
  EXPECT_EQ(Explain("false", "1"), Lines{": is not allowed"});
  EXPECT_EQ(Explain(R"({"properties":{"a":false}})", R"({"a":1})"), Lines{"/a: is not allowed"});
  EXPECT_EQ(Explain(R"({"if":{"required":["a"]},"then":{"required":["b"]}})", R"({"a":1})"),
            Lines{"/b: is required but missing"});
  EXPECT_EQ(Explain(R"({"prefixItems":[{}],"unevaluatedItems":false})", "[1,2]"),
            Lines{"/1: no item is allowed here"});
}

TEST(Explain, SaysEachFaultOnceAndNotMoreThanAsked) {
  EXPECT_EQ(Explain(R"({"allOf":[{"required":["a"]},{"required":["a"]}]})", "{}"),
            Lines{"/a: is required but missing"});
  const std::string many = "[" + std::string(99998, ' ') + "1" + [] {
    std::string rest;
    for (int i = 0; i < 1000; ++i) rest += ",1";
    return rest;
  }() + "]";
  EXPECT_EQ(Explain(R"({"items":{"type":"string"}})", many).size(), 16u);
  EXPECT_EQ(Explain(R"({"items":{"type":"string"}})", many, 3).size(), 3u);
  EXPECT_EQ(Explain(R"({"items":{"type":"string"}})", many, 0).size(), 1u)
      << "a refusal is never wordless";
}

}  // namespace
}  // namespace toolrack
