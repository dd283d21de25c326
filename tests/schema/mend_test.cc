// Arguments as models write them: mended where the schema leaves no doubt, and nowhere else.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/schema/schema.h"

namespace toolrack {
namespace {

// The mended text and "pointer kind before -> after" of each repair; the first line alone is "-"
// when nothing is mended.
std::vector<std::string> Mend(absl::string_view schema, absl::string_view text) {
  const auto compiled = Schema::Compile(schema, SchemaOptions());
  EXPECT_NE(compiled.schema, nullptr) << schema;
  if (compiled.schema == nullptr) return {};
  const Json value = ParseJsonOrStatus(text).value();
  const std::optional<Mended> mended = compiled.schema->Mend(text, value);
  if (!mended) return {"-"};
  EXPECT_EQ(*mended->value, ParseJsonOrStatus(mended->text).value());
  EXPECT_TRUE(compiled.schema->Accepts(*mended->value));
  std::vector<std::string> out = {mended->text};
  for (const SchemaRepair& each : mended->repairs) {
    out.push_back(absl::StrCat(each.pointer, " ", each.kind, " ", each.before, " -> ", each.after));
  }
  return out;
}

using Lines = std::vector<std::string>;
const Lines kNothing = {"-"};

std::string Of(absl::string_view property) {
  return absl::StrCat(R"({"type":"object","properties":{"a":)", property, "}}");
}

TEST(Mend, TakesTheValueThatAStringHolds) {
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":"5"})"),
            (Lines{R"({"a":5})", R"(/a string_to_integer "5" -> 5)"}));
  EXPECT_EQ(Mend(Of(R"({"type":"number"})"), R"({"a":"-1.50e2"})"),
            (Lines{R"({"a":-1.50e2})", R"(/a string_to_number "-1.50e2" -> -1.50e2)"}));
  EXPECT_EQ(Mend(Of(R"({"type":"boolean"})"), R"({"a":"true"})"),
            (Lines{R"({"a":true})", R"(/a string_to_boolean "true" -> true)"}));
  EXPECT_EQ(Mend(Of(R"({"type":"array","items":{"type":"integer"}})"), R"({"a":"[1, 2]"})"),
            (Lines{R"({"a":[1, 2]})", R"(/a string_to_array "[1, 2]" -> [1, 2])"}));
  EXPECT_EQ(Mend(Of(R"({"type":"object"})"), R"({"a":" {\"b\":\"\\u00e9\"} "})"),
            (Lines{R"({"a":{"b":"\u00e9"}})",
                   R"(/a string_to_object " {\"b\":\"\\u00e9\"} " -> {"b":"\u00e9"})"}));
  // Digit for digit, beyond what a double holds.
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":"9007199254740993"})")[0],
            R"({"a":9007199254740993})");
  EXPECT_EQ(Mend(Of(R"({"enum":[1,2]})"), R"({"a":"2"})")[0], R"({"a":2})");
  EXPECT_EQ(Mend(Of(R"({"anyOf":[{"type":"integer"},{"type":"null"}]})"), R"({"a":"2"})")[0],
            R"({"a":2})");
}

TEST(Mend, NeverTouchesWhereAStringIsTaken) {
  for (const char* property :
       {R"({"type":"string","maxLength":0})", R"({"type":["string","integer"],"maxLength":0})",
        R"({"maxLength":0})", R"({"anyOf":[{"type":"integer"},{"type":"string","maxLength":0}]})",
        R"({"enum":["x",5]})", R"({"const":"x"})"}) {
    EXPECT_EQ(Mend(Of(property), R"({"a":"5"})"), kNothing) << property;
  }
  // Right as it is: not a byte changes.
  EXPECT_EQ(Mend(Of(R"({"type":"string"})"), R"({"a":"5"})"), kNothing);
}

TEST(Mend, GuessesNothing) {
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":"5.5"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":" 5"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":"5 apples"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":"0x5"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":""})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"integer"})"), R"({"a":true})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"boolean"})"), R"({"a":"yes"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"boolean"})"), R"({"a":1})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"string"})"), R"({"a":5})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"array"})"), R"({"a":"a,b"})"), kNothing);
  EXPECT_EQ(Mend(Of(R"({"type":"object"})"), R"({"a":"{\"b\":1,\"b\":2}"})"), kNothing);
  // What would still not fit is left alone, all of it.
  EXPECT_EQ(Mend(R"({"properties":{"a":{"type":"integer"}},"required":["b"]})", R"({"a":"5"})"),
            kNothing);
}

TEST(Mend, DropsANullThatMayBeLeftOut) {
  const char* schema = R"({"type":"object","required":["r"],"additionalProperties":false,
    "properties":{"r":{"type":"string"},"a":{"type":"string"},"b":{"type":"integer"},
                  "n":{"type":["string","null"]}}})";
  EXPECT_EQ(Mend(schema, R"({ "a" : null , "r" : "x" , "b" : null })"),
            (Lines{R"({ "r" : "x" })", "/a dropped_null null -> ", "/b dropped_null null -> "}));
  EXPECT_EQ(Mend(schema, R"({"r":"x","a":null,"n":null})")[0], R"({"r":"x","n":null})");
  EXPECT_EQ(Mend(schema, R"({"r": "x", "a": null, "b": "1"})")[0], R"({"r": "x", "b": 1})");
  EXPECT_EQ(Mend(schema, R"({"r":null})"), kNothing);
  EXPECT_EQ(Mend(schema, R"({"r":"x","z":null})"), kNothing) << "nobody knows z";
  EXPECT_EQ(Mend(Of(R"({"type":"string"})"), R"({"a":null})")[0], "{}");
  EXPECT_EQ(Mend(Of(R"({"type":"string"})"), "{\"a\" : null\n}")[0], "{\n}");
}

TEST(Mend, ReachesEveryPlace) {
  const char* schema = R"({"$defs":{"p":{"type":"object","properties":{"x/y":{"type":"integer"}}}},
    "type":"object","properties":{
      "list":{"type":"array","prefixItems":[{"type":"boolean"}],"items":{"$ref":"#/$defs/p"}},
      "maybe":{"anyOf":[{"$ref":"#/$defs/p"},{"type":"null"}]},
      "both":{"allOf":[{"$ref":"#/$defs/p"},{"required":["x/y"]}]},
      "shape":{"oneOf":[
        {"type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}}},
        {"type":"object","properties":{"kind":{"const":"square"},"side":{"type":"integer"}}}]}},
    "patternProperties":{"^n_":{"type":"number"}},"additionalProperties":{"type":"boolean"}})";
  EXPECT_EQ(Mend(schema, R"({"list":["true",{"x/y":"1"}, {"x/y": 2}]})"),
            (Lines{R"({"list":[true,{"x/y":1}, {"x/y": 2}]})",
                   R"(/list/0 string_to_boolean "true" -> true)",
                   R"(/list/1/x~1y string_to_integer "1" -> 1)"}));
  EXPECT_EQ(Mend(schema, R"({"maybe":{"x/y":"1"}})")[0], R"({"maybe":{"x/y":1}})");
  EXPECT_EQ(Mend(schema, R"({"both":"{\"x/y\":\"1\"}"})")[0], R"({"both":{"x/y":1}})");
  EXPECT_EQ(Mend(schema, R"({"shape":{"kind":"square","side":"3"}})")[0],
            R"({"shape":{"kind":"square","side":3}})");
  EXPECT_EQ(Mend(schema, R"({"n_1":"1.5","other":"false"})")[0], R"({"n_1":1.5,"other":false})");
  EXPECT_EQ(Mend(schema, R"({"l\u0069st":["true"]})")[0], R"({"l\u0069st":[true]})");
}

TEST(Mend, IsBoundedLikeValidation) {
  // Ten branches in each of ten levels.
  std::string schema = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 10; ++i) {
    absl::StrAppend(&schema, "\"", i, R"(":{"anyOf":[)");
    for (int j = 0; j < 10; ++j) {
      absl::StrAppend(&schema, j > 0 ? "," : "", R"({"minimum":)", j, R"(,"$ref":"#/$defs/)", i + 1,
                      "\"}");
    }
    schema += "]},";
  }
  schema += R"("10":{"type":"integer"}}})";
  EXPECT_EQ(Mend(schema, "\"5\""), kNothing);
}

}  // namespace
}  // namespace toolrack
