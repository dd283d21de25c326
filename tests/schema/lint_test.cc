// What providers would refuse, in the shapes in which people met it. The findings are data that
// others rely on: change them on purpose.
#include "registry/schema/lint.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

using Lines = std::vector<std::string>;

// "target rule pointer: message" of each WARNING, for all targets or one.
Lines Lint(absl::string_view schema, absl::string_view target = "", absl::string_view name = "t",
           v1::FindingSeverity severity = v1::FINDING_SEVERITY_WARNING) {
  Lines out;
  for (const v1::Finding& each : LintForTargets(name, schema)) {
    if (each.severity() != severity || (!target.empty() && each.target() != target)) continue;
    out.push_back(
        absl::StrCat(each.target(), " ", each.rule(), " ", each.pointer(), ": ", each.message()));
  }
  return out;
}

Lines Strict(absl::string_view schema) {
  return Lint(schema, "openai_strict", "t", v1::FINDING_SEVERITY_INFO);
}

constexpr char kPlain[] = R"({"type":"object","properties":{"a":{"type":"string"}}})";

TEST(Lint, SaysNothingOfAPlainTool) { EXPECT_EQ(Lint(kPlain), Lines{}); }

TEST(Lint, AnArrayThatDoesNotSayWhatIsInItTakesTheWholeRequestDown) {
  const char* schema = R"({"type":"object","properties":{"config":{"type":"array"},
      "keys":{"type":["array","null"]},"fine":{"type":"array","items":{}}}})";
  EXPECT_EQ(Lint(schema, "openai"),
            Lines{"openai array_without_items /input_schema/properties/config: an array must have "
                  "`items`, be it `{}` (2 places)"});
  EXPECT_EQ(
      Lint(R"({"type":"object","properties":{"t":{"type":"array","prefixItems":[{}]}}})", "openai"),
      Lines{});
}

TEST(Lint, ACombinationAtTheRootIsRefusedOrDroppedUnseen) {
  const char* schema = R"({"type":"object","properties":{"a":{"type":"string"}},
      "allOf":[{"if":{"required":["a"]},"then":{"required":["b"]}}],"not":{"required":["c"]}})";
  EXPECT_EQ(Lint(schema, "anthropic"),
            Lines{"anthropic root_combination /input_schema/allOf: `allOf`: no `oneOf`, `anyOf` or "
                  "`allOf` at the root; move it into a property, or into the description"});
  EXPECT_EQ(
      Lint(schema, "openai"),
      Lines{"openai root_combination /input_schema/allOf: `allOf`, `not`: no `oneOf`, `anyOf`, "
            "`allOf`, `enum` or `not` at the root; move it into a property, or into the "
            "description (2 places)"});
  EXPECT_EQ(Lint(schema, "bedrock").size(), 1u);
  // Deeper down they are fine.
  EXPECT_EQ(Lint(R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"}]}}})"), Lines{});
}

TEST(Lint, FormsOfOlderDialectsAreNo2020_12) {
  const char* schema = R"({"$schema":"http://json-schema.org/draft-04/schema#","type":"object",
      "properties":{"p":{"type":"array","items":[{"type":"string"}]},
                    "n":{"type":"number","minimum":0,"exclusiveMinimum":true}}})";
  EXPECT_EQ(Lint(schema, "anthropic"),
            Lines{"anthropic other_dialect /input_schema/properties/n/exclusiveMinimum: "
                  "`exclusiveMinimum`, `items`: schemas are read as 2020-12, where this form is no "
                  "schema; rewrite it (2 places)"});
}

TEST(Lint, GeminiTakesOneTypeAndItsOwnKeywords) {
  EXPECT_EQ(
      Lint(R"({"type":"object","properties":{"a":{"type":["object","null"]}}})", "gemini"),
      (Lines{"gemini type_list /input_schema/properties/a/type: `type` must be one name; write "
             "null as `nullable`",
             "gemini empty_object /input_schema/properties/a: an object must have properties"}));
  EXPECT_EQ(
      Lint(R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
      "additionalProperties":false,"properties":{"a":{"const":1,"x-order":3},"b":{"const":2},
      "c":{"enum":[1,2]},"d":true}})",
           "gemini"),
      (Lines{"gemini unsupported_keyword /input_schema/$schema: `$schema`, "
             "`additionalProperties`, `const`, `x-order`: unknown to function declarations; "
             "leave them out (5 places)",
             "gemini enum_not_strings /input_schema/properties/c/enum: an `enum` holds strings "
             "only",
             "gemini boolean_schema /input_schema/properties/d: a schema must be an object"}));
}

TEST(Lint, ARecursiveReferenceCannotBeWrittenOut) {
  const char* schema = R"({"type":"object","properties":{"tree":{"$ref":"#/$defs/node"},
      "leaf":{"$ref":"#/$defs/leaf"}},"$defs":{"leaf":{"type":"string"},"node":{"type":"object",
      "properties":{"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}})";
  EXPECT_EQ(
      Lint(schema, "gemini"),
      (Lines{"gemini unsupported_keyword /input_schema/$defs: `$defs`, `$ref`: unknown to "
             "function declarations; leave them out (4 places)",
             "gemini recursive_reference "
             "/input_schema/$defs/node/properties/children/items/$ref: there is no `$ref`, and "
             "this one refers back to what holds it, so it cannot be written out"}));
  EXPECT_EQ(
      Lint(R"({"type":"object","properties":{"a":{"$ref":"#/~9"},"b":{"$ref":"x"}}})", "openai"),
      Lines{});
}

TEST(Lint, PropertiesMayNotBeNull) {
  EXPECT_EQ(
      Lint(R"({"type":"object","properties":null})", "bedrock"),
      Lines{"bedrock null_properties /input_schema/properties: `properties` must be an object; "
            "write `{}`"});
}

TEST(Lint, NamesHaveTheirLimitsEverywhere) {
  const std::string long_name(65, 'a');
  EXPECT_EQ(
      Lint(kPlain, "", long_name),
      (Lines{"openai name_too_long /name: at most 64 characters; send another name for it",
             "gemini name_too_long /name: at most 64 characters; send another name for it",
             "bedrock name_too_long /name: at most 64 characters; send another name for it"}));
  EXPECT_EQ(Lint(kPlain, "anthropic", std::string(129, 'a')).size(), 1u);
  EXPECT_EQ(Lint(kPlain, "", "files.read").size(), 3u);  // Gemini takes the dot
  EXPECT_EQ(Lint(kPlain, "gemini", "9lives"),
            Lines{"gemini name_characters /name: a letter or `_` first, then letters, digits, `_`, "
                  "`.` and `-`; send another name for it"});
}

TEST(Lint, PropertyNamesHaveThemToo) {
  EXPECT_EQ(Lint(R"({"type":"object","properties":{"filter[name]":{"type":"string"}}})"),
            Lines{"anthropic property_name /input_schema/properties/filter[name]: `filter[name]`: "
                  "property names must be 1 to 64 letters, digits, `_`, `.` and `-`"});
}

TEST(Lint, StrictModeWantsEverythingSaid) {
  EXPECT_EQ(
      Strict(R"({"type":"object","properties":{"a":{"type":"string"},
      "b":{"type":"object","properties":{"c":{"type":"string","minLength":1,"format":"uri"}},
      "required":["c"],"additionalProperties":false}},"required":["b"]})"),
      (Lines{"openai_strict open_object /input_schema: every object needs "
             "`\"additionalProperties\": false`",
             "openai_strict optional_property /input_schema/properties/a: `a`: every property "
             "must be in `required`; an optional one takes null instead",
             "openai_strict unsupported_keyword "
             "/input_schema/properties/b/properties/c/format: `format: uri`, `minLength`: "
             "unknown to strict mode (2 places)"}));
  EXPECT_EQ(Strict(R"({"type":"object","properties":{"a":{"type":["string","null"]}},
      "required":["a"],"additionalProperties":false})"),
            Lines{});
  EXPECT_EQ(
      Strict(R"({"type":"object","additionalProperties":false,"properties":{"nullable_one":
      {"type":"string","nullable":true,"example":"x"}},"required":["nullable_one"]})"),
      Lines{"openai_strict unsupported_keyword /input_schema/properties/nullable_one/example: "
            "`example`, `nullable`: unknown to strict mode (2 places)"});
}

TEST(Lint, SurvivesWhatIsNoSchema) {
  for (const char* text : {"", "{", "5", "null", "true", "[]", R"({"properties":[1]})",
                           R"({"type":5,"items":7,"enum":{},"required":"x","$ref":[]})",
                           R"({"type":"object","properties":{"":{"$ref":"#/a~"}}})"}) {
    LintForTargets("t", text);
  }
}

}  // namespace
}  // namespace toolrack
