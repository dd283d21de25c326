// The door: what compiles, what is refused and under which name, and what a compiled schema
// accepts.
#include "registry/schema/schema.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

Json Parse(absl::string_view text) {
  return ParseJsonOrStatus(text, {1 << 20, 4096, SIZE_MAX}).value();
}

Schema::Compiled Compile(absl::string_view text, bool object_root = false) {
  return Schema::Compile(text, SchemaLimits(), object_root);
}

// "rule pointer" of each ERROR.
std::vector<std::string> Errors(const Schema::Compiled& compiled) {
  std::vector<std::string> out;
  for (const v1::Finding& finding : compiled.findings) {
    if (finding.severity() != v1::FINDING_SEVERITY_ERROR) continue;
    EXPECT_FALSE(finding.message().empty());
    out.push_back(absl::StrCat(finding.rule(), " ", finding.pointer()));
  }
  EXPECT_EQ(out.empty(), compiled.schema != nullptr);
  return out;
}

bool Accepts(absl::string_view schema, absl::string_view value) {
  const Schema::Compiled compiled = Compile(schema);
  EXPECT_NE(compiled.schema, nullptr) << schema << " " << compiled.findings.at(0).message();
  const Json parsed = Parse(value);
  const bool accepts = compiled.schema->Accepts(parsed);
  EXPECT_EQ(compiled.schema->Explain(parsed).empty(), accepts) << schema << " on " << value;
  return accepts;
}

struct Refused {
  const char* schema;
  const char* error;  // rule and pointer of the only ERROR
};

void ExpectRefusals(const std::vector<Refused>& cases) {
  for (const Refused& each : cases) {
    const std::vector<std::string> errors = Errors(Compile(each.schema));
    EXPECT_EQ(errors, std::vector<std::string>{each.error}) << each.schema;
  }
}

TEST(SchemaCompile, RefusesWhatIsNoSchema) {
  ExpectRefusals({
      {"", "not_json "},
      {"{", "not_json "},
      {R"({"type":"object","type":"string"})", "not_json "},
      {"\"true\"", "not_a_schema "},
      {"5", "not_a_schema "},
      {"[]", "not_a_schema "},
      {"null", "not_a_schema "},
  });
}

TEST(SchemaCompile, RefusesFaultyFormsByKeywordAndPointer) {
  ExpectRefusals({
      {R"({"type":"dict"})", "invalid_keyword /type"},
      {R"({"type":"any"})", "invalid_keyword /type"},
      {R"({"type":"String"})", "invalid_keyword /type"},
      {R"({"type":null})", "invalid_keyword /type"},
      {R"({"type":[]})", "invalid_keyword /type"},
      {R"({"type":["string",5]})", "invalid_keyword /type"},
      {R"({"minimum":"5"})", "invalid_keyword /minimum"},
      {R"({"exclusiveMinimum":true})", "invalid_keyword /exclusiveMinimum"},
      {R"({"exclusiveMaximum":null})", "invalid_keyword /exclusiveMaximum"},
      {R"({"multipleOf":0})", "invalid_keyword /multipleOf"},
      {R"({"multipleOf":0.0})", "invalid_keyword /multipleOf"},
      {R"({"multipleOf":-1})", "invalid_keyword /multipleOf"},
      {R"({"maxLength":"5"})", "invalid_keyword /maxLength"},
      {R"({"maxLength":-1})", "invalid_keyword /maxLength"},
      {R"({"minItems":1.5})", "invalid_keyword /minItems"},
      {R"({"pattern":5})", "invalid_keyword /pattern"},
      {R"({"pattern":"["})", "invalid_keyword /pattern"},
      {R"({"patternProperties":{"(":{}}})", "invalid_keyword /patternProperties/("},
      {R"({"enum":"a"})", "invalid_keyword /enum"},
      {R"({"required":"a"})", "invalid_keyword /required"},
      {R"({"required":[1]})", "invalid_keyword /required"},
      {R"({"properties":{"a":{"required":true}}})", "invalid_keyword /properties/a/required"},
      {R"({"properties":null})", "invalid_keyword /properties"},
      {R"({"properties":{"a/b~c":5}})", "invalid_keyword /properties/a~1b~0c"},
      {R"({"additionalProperties":"false"})", "invalid_keyword /additionalProperties"},
      {R"({"items":null})", "invalid_keyword /items"},
      {R"({"items":[{}]})", "invalid_keyword /items"},
      {R"({"prefixItems":[]})", "invalid_keyword /prefixItems"},
      {R"({"anyOf":[]})", "invalid_keyword /anyOf"},
      {R"({"anyOf":{}})", "invalid_keyword /anyOf"},
      {R"({"oneOf":[{},7]})", "invalid_keyword /oneOf/1"},
      {R"({"not":[]})", "invalid_keyword /not"},
      {R"({"if":1})", "invalid_keyword /if"},
      {R"({"uniqueItems":"true"})", "invalid_keyword /uniqueItems"},
      {R"({"dependentRequired":{"a":"b"}})", "invalid_keyword /dependentRequired/a"},
      {R"({"dependencies":[]})", "invalid_keyword /dependencies"},
      {R"({"$defs":{"a":{"type":"int"}}})", "invalid_keyword /$defs/a/type"},
      {R"({"$ref":5})", "invalid_keyword /$ref"},
      {R"({"$id":5})", "invalid_keyword /$id"},
      {R"({"$anchor":"1a"})", "invalid_keyword /$anchor"},
      {R"({"$defs":{"a":{"$anchor":"x"},"b":{"$anchor":"x"}}})",
       "invalid_keyword /$defs/b/$anchor"},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":5,"minimum":1})",
       "invalid_keyword /exclusiveMinimum"},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":true}})",
       "invalid_keyword /properties/a"},
  });
}

TEST(SchemaCompile, RefusesWhatCannotBeEnforced) {
  ExpectRefusals({
      {R"x({"pattern":"(?=a)"})x", "unsupported_pattern /pattern"},
      {R"x({"properties":{"a":{"pattern":"(a)\\1"}}})x",
       "unsupported_pattern /properties/a/pattern"},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","dependentRequired":{"a":["b"]}})",
       "unsupported_keyword /dependentRequired"},
      {R"({"$schema":"http://json-schema.org/draft-07/schema#","prefixItems":[{}]})",
       "unsupported_keyword /prefixItems"},
      {R"({"$schema":"http://json-schema.org/draft-04/schema#","const":1})",
       "unsupported_keyword /const"},
      {R"({"$schema":"http://json-schema.org/draft-06/schema#","if":{}})",
       "unsupported_keyword /if"},
  });
}

TEST(SchemaCompile, RefusesReferencesThatLeadNowhere) {
  ExpectRefusals({
      {R"({"properties":{"a":{"$ref":"http://169.254.169.254/x.json"}}})",
       "unresolved_reference /properties/a/$ref"},
      {R"({"$ref":"file:///etc/passwd"})", "unresolved_reference /$ref"},
      {R"({"$ref":"http://json-schema.org/draft-07/schema#"})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/$defs/missing"})", "unresolved_reference /$ref"},
      {R"({"$ref":"#missing"})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/$defs/a%zz","$defs":{"a%zz":{}}})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/$defs/a~2","$defs":{"a~2":{}}})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/title","title":"x"})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/allOf/00","allOf":[{}]})", "unresolved_reference /$ref"},
      {R"({"$ref":"#/allOf/1","allOf":[{}]})", "unresolved_reference /$ref"},
  });
}

TEST(SchemaCompile, RefusesCyclesThatConsumeNothing) {
  ExpectRefusals({
      {R"({"$ref":"#"})", "reference_cycle "},
      {R"({"allOf":[{"$ref":"#"}]})", "reference_cycle "},
      {R"({"anyOf":[{"type":"string"},{"not":{"$ref":"#"}}]})", "reference_cycle "},
      {R"({"if":{"$ref":"#"},"then":{}})", "reference_cycle "},
      {R"({"dependentSchemas":{"a":{"$ref":"#"}}})", "reference_cycle "},
      {R"({"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})",
       "reference_cycle /$defs/a"},
  });
  EXPECT_TRUE(Accepts(R"({"properties":{"child":{"$ref":"#"}},"additionalProperties":false})",
                      R"({"child":{"child":{}}})"));
}

TEST(SchemaCompile, RefusesUnknownDialects) {
  ExpectRefusals({
      {R"({"$schema":"http://json-schema.org/draft-03/schema#"})", "unknown_dialect /$schema"},
      {R"({"$schema":"https://example.com/mine"})", "unknown_dialect /$schema"},
      {R"({"$schema":5})", "unknown_dialect /$schema"},
      {R"({"$defs":{"a":{"$id":"x","$schema":"http://json-schema.org/draft-07/schema#"}}})",
       "unknown_dialect /$defs/a/$schema"},
  });
}

TEST(SchemaCompile, NamesEveryFaultAtOnce) {
  EXPECT_EQ(Errors(Compile(R"({"type":"dict","minimum":"5","properties":{"a":{"type":"x"}}})")),
            (std::vector<std::string>{"invalid_keyword /minimum", "invalid_keyword /type",
                                      "invalid_keyword /properties/a/type"}));
}

TEST(SchemaCompile, HoldsItsLimits) {
  SchemaLimits limits;
  limits.max_bytes = 20;
  EXPECT_EQ(Errors(Schema::Compile(R"({"title":"longer than that"})", limits, false)),
            std::vector<std::string>{"schema_too_large "});
  limits = SchemaLimits();
  limits.max_nodes = 3;
  EXPECT_EQ(Errors(Schema::Compile(R"({"enum":[1,2,3]})", limits, false)),
            std::vector<std::string>{"schema_too_large "});
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += R"({"not":)";
  EXPECT_EQ(Errors(Compile(deep)), std::vector<std::string>{"schema_too_large "});
  // A chain of references is as deep for the validator as nesting.
  std::string chain = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 1000; ++i)
    absl::StrAppend(&chain, "\"", i, "\":{\"$ref\":\"#/$defs/", i + 1, "\"},");
  chain += R"("1000":{}}})";
  const std::vector<std::string> errors = Errors(Compile(chain));
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].substr(0, 17), "schema_too_large ");
}

TEST(SchemaCompile, StopsListingFaultsSomewhere) {
  std::string schema = R"({"allOf":[)";
  for (int i = 0; i < 1000; ++i) schema += R"({"type":"x"},)";
  schema += "{}]}";
  EXPECT_EQ(Errors(Compile(schema)).size(), 32u);
}

TEST(SchemaCompile, AnnotationsAndUnknownKeywordsDoNotMatter) {
  const char* schema =
      R"({"title":"","description":"x","default":[],"examples":[],"deprecated":true,
    "$comment":"","format":"y","contentEncoding":"z","x-order":1,"nullable":true,"optional":{},
    "example":5,"then":false,"maxContains":0,"type":"string"})";
  EXPECT_TRUE(Accepts(schema, "\"a\""));
  EXPECT_FALSE(Accepts(schema, "null"));
}

TEST(SchemaCompile, AnnotationsMustHaveTheFormThatTheirDialectDemands) {
  ExpectRefusals({
      {R"({"title":5})", "invalid_keyword /title"},
      {R"({"properties":{"a":{"description":null}}})", "invalid_keyword /properties/a/description"},
      {R"({"format":7})", "invalid_keyword /format"},
      {R"({"examples":"x"})", "invalid_keyword /examples"},
      {R"({"readOnly":"true"})", "invalid_keyword /readOnly"},
  });
  // Unknown to draft-04.
  EXPECT_TRUE(Accepts(
      R"({"$schema":"http://json-schema.org/draft-04/schema#","examples":"x","readOnly":1})", "1"));
}

// With the text at hand.
bool AcceptsText(absl::string_view schema, absl::string_view value) {
  const auto compiled = Compile(schema);
  EXPECT_NE(compiled.schema, nullptr) << schema;
  const Json parsed = Parse(value);
  const bool accepts = compiled.schema->AcceptsText(value, parsed);
  EXPECT_EQ(compiled.schema->ExplainText(value, parsed).empty(), accepts) << schema << value;
  return accepts;
}

TEST(SchemaAccepts, NumbersBeyondSixtyFourBitsAndSeventeenDigitsAreExact) {
  const char* kBig = R"({"maximum":36893488147419103232})";  // 2^65
  EXPECT_TRUE(AcceptsText(kBig, "36893488147419103232"));
  EXPECT_FALSE(AcceptsText(kBig, "36893488147419103233"));
  EXPECT_TRUE(AcceptsText(kBig, "-36893488147419103233"));
  EXPECT_FALSE(AcceptsText(R"({"exclusiveMaximum":36893488147419103232})", "36893488147419103232"));
  EXPECT_FALSE(AcceptsText(R"({"const":18446744073709551617})", "18446744073709551616"));
  EXPECT_TRUE(AcceptsText(R"({"const":18446744073709551617})", "18446744073709551617.000"));
  EXPECT_FALSE(AcceptsText(R"({"enum":[0.3]})", "0.3000000000000000000000001"));
  EXPECT_TRUE(AcceptsText(R"({"enum":[0.3]})", "0.300000000000000000000"));
  EXPECT_TRUE(AcceptsText(R"({"type":"integer"})", "123456789012345678901234567890"));
  EXPECT_FALSE(AcceptsText(R"({"type":"integer"})", "123456789012345678901234567890.5"));
  EXPECT_TRUE(AcceptsText(R"({"multipleOf":3})", "111111111111111111111"));
  EXPECT_FALSE(AcceptsText(R"({"multipleOf":3})", "111111111111111111112"));
  EXPECT_TRUE(AcceptsText(R"({"multipleOf":0.01})", "1234567890123456789012.34"));
  EXPECT_FALSE(AcceptsText(R"({"multipleOf":0.01})", "1234567890123456789012.345"));
  EXPECT_TRUE(
      AcceptsText(R"({"uniqueItems":true})", "[36893488147419103232,36893488147419103233]"));
  EXPECT_FALSE(
      AcceptsText(R"({"uniqueItems":true})", "[36893488147419103233,36893488147419103233.0]"));
  EXPECT_FALSE(
      AcceptsText(R"({"properties":{"a":{"type":"string"}}})", R"({"a":36893488147419103233})"));
  EXPECT_TRUE(AcceptsText(R"({"exclusiveMinimum":0,"maximum":0.1})", "1e-99999999999999999999"));
  EXPECT_EQ(Errors(Compile(R"({"multipleOf":36893488147419103233})")),
            std::vector<std::string>{"unsupported_keyword /multipleOf"});
  EXPECT_EQ(Errors(Compile(R"({"maxLength":-36893488147419103233})")),
            std::vector<std::string>{"invalid_keyword /maxLength"});
  const auto compiled = Compile(kBig);
  const char* value = "36893488147419103233";
  EXPECT_EQ(compiled.schema->ExplainText(value, Parse(value)).at(0).description,
            "must be at most 36893488147419103232, got 36893488147419103233");
}

TEST(SchemaAccepts, OpenApiIsReadOnlyWhereItIsAskedFor) {
  const char* schema = R"({"type":"object","properties":{
      "a":{"type":"string","nullable":true,"example":"x"},
      "b":{"type":"integer","minimum":0,"exclusiveMinimum":true},
      "c":{"nullable":true,"allOf":[{"type":"string"}]}}})";
  EXPECT_EQ(Errors(Compile(schema)),
            std::vector<std::string>{"invalid_keyword /properties/b/exclusiveMinimum"});
  SchemaOptions options;
  options.openapi = true;
  const auto compiled = Schema::Compile(schema, options);
  ASSERT_NE(compiled.schema, nullptr);
  EXPECT_TRUE(compiled.schema->Accepts(Parse(R"({"a":null,"b":1})")));
  EXPECT_FALSE(compiled.schema->Accepts(Parse(R"({"b":0})")));
  // It adds to `type`; without one it says nothing.
  EXPECT_FALSE(compiled.schema->Accepts(Parse(R"({"c":null})")));
  EXPECT_EQ(Errors(Schema::Compile(R"({"type":"string","nullable":"yes"})", options)),
            std::vector<std::string>{"invalid_keyword /nullable"});

  const auto plain = Compile(R"({"type":"string","nullable":true})");
  ASSERT_NE(plain.schema, nullptr);
  EXPECT_FALSE(plain.schema->Accepts(Parse("null")));
  ASSERT_EQ(plain.findings.size(), 1u);
  EXPECT_EQ(plain.findings[0].rule(), "ignored_keyword");
  EXPECT_EQ(plain.findings[0].pointer(), "/nullable");
}

TEST(SchemaAccepts, DynamicReferencesDependOnTheWayToThem) {
  // The same list, reached by two ways that bind its anchor differently.
  const char* schema = R"({"$id":"http://x/main","properties":{
      "numbers":{"$ref":"numbers"},"texts":{"$ref":"texts"},"any":{"$ref":"list"}},
    "$defs":{
      "list":{"$id":"list","items":{"$dynamicRef":"#item"},
        "$defs":{"any":{"$dynamicAnchor":"item"}}},
      "numbers":{"$id":"numbers","$ref":"list",
        "$defs":{"item":{"$dynamicAnchor":"item","type":"number"}}},
      "texts":{"$id":"texts","$ref":"list",
        "$defs":{"item":{"$dynamicAnchor":"item","type":"string"}}}}})";
  EXPECT_TRUE(Accepts(schema, R"({"numbers":[1],"texts":["a"],"any":[1,"a"]})"));
  EXPECT_FALSE(Accepts(schema, R"({"numbers":["a"]})"));
  EXPECT_FALSE(Accepts(schema, R"({"texts":[1]})"));
  const char* recursive = R"({"$schema":"https://json-schema.org/draft/2019-09/schema",
    "$id":"http://x/strict","$recursiveAnchor":true,"$ref":"tree","unevaluatedProperties":false,
    "$defs":{"tree":{"$id":"tree","$recursiveAnchor":true,
      "properties":{"child":{"$recursiveRef":"#"}}}}})";
  EXPECT_TRUE(Accepts(recursive, R"({"child":{"child":{}}})"));
  EXPECT_FALSE(Accepts(recursive, R"({"child":{"other":{}}})"));
}

TEST(SchemaCompile, ReachesTheDocumentsThatItIsGivenAndNoOthers) {
  SchemaOptions options;
  options.documents = {{"http://x/text.json", R"({"type":"string","$defs":{"n":{"type":"null"}}})"},
                       {"http://x/broken.json", "{"}};
  const char* schema = R"({"properties":{"a":{"$ref":"http://x/text.json"},
      "b":{"$ref":"http://x/text.json#/$defs/n"}}})";
  const auto compiled = Schema::Compile(schema, options);
  ASSERT_NE(compiled.schema, nullptr);
  EXPECT_TRUE(compiled.schema->Accepts(Parse(R"({"a":"x","b":null})")));
  EXPECT_FALSE(compiled.schema->Accepts(Parse(R"({"a":1})")));
  EXPECT_FALSE(compiled.schema->Accepts(Parse(R"({"b":1})")));
  EXPECT_EQ(Errors(Schema::Compile(R"({"$ref":"http://x/broken.json"})", options)),
            std::vector<std::string>{"unresolved_reference /$ref"});
  EXPECT_EQ(Errors(Schema::Compile(R"({"$ref":"http://x/other.json"})", options)),
            std::vector<std::string>{"unresolved_reference /$ref"});
}

TEST(SchemaCompile, RefusesDynamicScopesThatMultiplyBeyondTheLimit) {
  // 2^10 ways, each with other bindings.
  std::string schema = R"({"$id":"http://x/main","anyOf":[{"$ref":"a0"},{"$ref":"b0"}],"$defs":{)";
  for (int i = 0; i < 10; ++i) {
    for (const char* side : {"a", "b"}) {
      absl::StrAppend(&schema, R"(")", side, i, R"(":{"$id":")", side, i,
                      R"(","anyOf":[{"$ref":"a)", i + 1, R"("},{"$ref":"b)", i + 1,
                      R"("}],"$defs":{"x":{"$dynamicAnchor":"n)", i, R"("}}},)");
    }
  }
  schema += R"("a10":{"$id":"a10"},"b10":{"$id":"b10"}}})";
  SchemaOptions options;
  options.limits.max_nodes = 1000;
  EXPECT_EQ(Errors(Schema::Compile(schema, options)),
            std::vector<std::string>{"schema_too_large "});
}

TEST(SchemaCompile, TellsThatOldDialectsIgnoreWhatStandsBesideARef) {
  const auto compiled = Compile(R"({"$schema":"http://json-schema.org/draft-07/schema#",
      "definitions":{"a":{"type":"string"}},
      "properties":{"x":{"$ref":"#/definitions/a","maxLength":1,"description":"fine"}}})");
  ASSERT_NE(compiled.schema, nullptr);
  ASSERT_EQ(compiled.findings.size(), 1u);
  EXPECT_EQ(compiled.findings[0].rule(), "ignored_keyword");
  EXPECT_EQ(compiled.findings[0].pointer(), "/properties/x/maxLength");
  EXPECT_EQ(compiled.findings[0].severity(), v1::FINDING_SEVERITY_WARNING);
  EXPECT_TRUE(compiled.schema->Accepts(Parse(R"({"x":"long"})")));
}

TEST(SchemaCompile, AnObjectRootMustSaySo) {
  for (const char* good : {R"({"type":"object"})", R"({"type":["object"]})", R"({"properties":{}})",
                           R"({"type":"object","additionalProperties":false})"}) {
    const auto compiled = Compile(good, true);
    ASSERT_NE(compiled.schema, nullptr) << good;
    EXPECT_TRUE(compiled.schema->Accepts(Parse("{}")));
    EXPECT_FALSE(compiled.schema->Accepts(Parse("[]"))) << good;
  }
  for (const char* bad :
       {"{}", "true", "false", R"({"$schema":"http://json-schema.org/draft-07/schema#"})",
        R"({"type":"array"})", R"({"type":["object","null"]})", R"({"anyOf":[{"type":"object"}]})",
        R"({"type":"string","properties":{}})"}) {
    const std::vector<std::string> errors = Errors(Compile(bad, true));
    ASSERT_EQ(errors.size(), 1u) << bad;
    EXPECT_EQ(errors[0].substr(0, 16), "root_not_object ") << bad;
  }
}

TEST(SchemaAccepts, EachDialectReadsItsOwnKeywords) {
  const char* k4 =
      R"({"$schema":"http://json-schema.org/draft-04/schema#","minimum":5,"exclusiveMinimum":true})";
  EXPECT_FALSE(Accepts(k4, "5"));
  EXPECT_TRUE(Accepts(k4, "6"));
  EXPECT_FALSE(
      Accepts(R"({"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],
                          "additionalItems":false})",
              R"(["a",1])"));
  EXPECT_TRUE(Accepts(R"({"items":{"type":"string"},"additionalItems":false})", R"(["a"])"));
  EXPECT_FALSE(Accepts(R"({"prefixItems":[{"type":"string"}],"items":false})", R"(["a",1])"));
  EXPECT_FALSE(Accepts(R"({"dependencies":{"a":["b"]}})", R"({"a":1})"));
}

TEST(SchemaAccepts, ReferencesReachEveryPlace) {
  const char* schema = R"({"properties":{
      "a":{"type":"integer","properties":{"deep":{"type":"string"}}},
      "a/b~c":{"type":"boolean"}, "d e":{"type":"null"},
      "r1":{"$ref":"#/properties/a"}, "r2":{"$ref":"#/properties/a/properties/deep"},
      "r3":{"$ref":"#/properties/a~1b~0c"}, "r4":{"$ref":"#/properties/d%20e"},
      "r5":{"$ref":"#here"}, "r6":{"$ref":"other.json#/$defs/y"}, "r7":{"$ref":"#/x-store/z"},
      "r8":{"$ref":"#/$defs/list/0"}},
    "$defs":{"x":{"$anchor":"here","const":1},"o":{"$id":"other.json","$defs":{"y":{"const":2}}},
             "list":{}},
    "x-store":{"z":{"const":3}}})";
  // `list` has no member 0: refused, so it is taken out for the rest.
  EXPECT_EQ(Errors(Compile(schema)),
            std::vector<std::string>{"unresolved_reference /properties/r8/$ref"});
  std::string mended = schema;
  mended.replace(mended.find(R"(,
      "r8":{"$ref":"#/$defs/list/0"})"),
                 std::string(R"(,
      "r8":{"$ref":"#/$defs/list/0"})")
                     .size(),
                 "");
  EXPECT_TRUE(Accepts(mended, R"({"r1":1,"r2":"s","r3":true,"r4":null,"r5":1,"r6":2,"r7":3})"));
  for (const char* wrong : {R"({"r1":"1"})", R"({"r2":1})", R"({"r3":1})", R"({"r4":1})",
                            R"({"r5":2})", R"({"r6":1})", R"({"r7":1})"}) {
    EXPECT_FALSE(Accepts(mended, wrong)) << wrong;
  }
}

TEST(SchemaAccepts, RefSiblingsApplyFrom2019On) {
  EXPECT_FALSE(
      Accepts(R"({"$ref":"#/$defs/s","maxLength":1,"$defs":{"s":{"type":"string"}}})", "\"ab\""));
  EXPECT_TRUE(
      Accepts(R"({"$ref":"#/$defs/s","maxLength":1,"$defs":{"s":{"type":"string"}}})", "\"a\""));
}

TEST(SchemaAccepts, UnevaluatedSeesThroughWhatAppliesInPlace) {
  const char* schema = R"({"allOf":[{"properties":{"a":{}}}],"anyOf":[{"required":["k"],
    "properties":{"k":{"const":1},"one":{}}},{"properties":{"k":{"const":2},"two":{}}}],
    "unevaluatedProperties":false})";
  EXPECT_TRUE(Accepts(schema, R"({"a":1,"k":1,"one":1})"));
  EXPECT_TRUE(Accepts(schema, R"({"a":1,"k":2,"two":1})"));
  EXPECT_FALSE(Accepts(schema, R"({"k":2,"one":1})"));
  EXPECT_FALSE(Accepts(schema, R"({"zzz":1})"));
  EXPECT_FALSE(
      Accepts(R"({"prefixItems":[{}],"contains":{"type":"string"},"unevaluatedItems":false})",
              R"([1,"a",2])"));
}

TEST(SchemaAccepts, BoundsTheVisitsOfOneValidation) {
  std::string schema = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&schema, "\"", i, R"(":{"allOf":[{"$ref":"#/$defs/)", i + 1,
                    R"("},{"minimum":0,"$ref":"#/$defs/)", i + 1, "\"}]},");
  }
  schema += R"("30":{}}})";
  const auto compiled = Compile(schema);
  ASSERT_NE(compiled.schema, nullptr);
  EXPECT_FALSE(compiled.schema->Accepts(Parse("1")));
  const auto faults = compiled.schema->Explain(Parse("1"));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].description,
            "is too large or too deep to be checked against this schema; send less");
}

TEST(SchemaAccepts, TheSameSchemaTwiceCostsNothing) {
  std::string schema = R"({"$ref":"#/$defs/0","$defs":{)";
  for (int i = 0; i < 30; ++i) {
    absl::StrAppend(&schema, "\"", i, R"(":{"allOf":[{"$ref":"#/$defs/)", i + 1,
                    R"("},{"$ref":"#/$defs/)", i + 1, "\"}]},");
  }
  schema += R"("30":{"type":"integer"}}})";
  EXPECT_TRUE(Accepts(schema, "1"));
  EXPECT_FALSE(Accepts(schema, "\"1\""));
}

// Whether the value was given up, rather than judged.
bool IsGivenUp(absl::string_view schema, const Json& value) {
  const auto compiled = Compile(schema);
  EXPECT_NE(compiled.schema, nullptr);
  EXPECT_FALSE(compiled.schema->Accepts(value));
  const auto faults = compiled.schema->Explain(value);
  return faults.size() == 1 && faults[0].description.find("too large") != std::string::npos;
}

TEST(SchemaAccepts, BoundsTheWorkThatGrowsWithTheValue) {
  std::string patterns = R"({"allOf":[)", unique = patterns, constants = patterns, large = "[0";
  for (int i = 0; i < 200; ++i) absl::StrAppend(&large, ",", i);
  for (int i = 0; i < 1000; ++i) {
    patterns += R"({"pattern":"a.*b.*c"},)";
    unique += R"({"uniqueItems":true},)";
    constants += R"({"$ref":"#/$defs/c"},)";
  }
  EXPECT_TRUE(IsGivenUp(patterns + "{}]}", Json(std::string(1 << 20, 'a') + "bc")));
  Json numbers = Json::array();
  for (int i = 0; i < 10000; ++i) numbers.push_back(i);
  EXPECT_TRUE(IsGivenUp(unique + "{}]}", numbers));
  // As much work as that on small values is nothing.
  EXPECT_TRUE(Compile(unique + "{}]}").schema->Accepts(Parse("[1,2,3]")));
  const std::string schema = constants + R"({}],"$defs":{"c":{"const":)" + large + "]}}}";
  EXPECT_TRUE(Compile(schema).schema->Accepts(Parse(large + "]")));
}

TEST(SchemaAccepts, FindsAValueAmongManyAllowed) {
  std::string schema = R"({"enum":[[1,{"a":2}],null,"s",1.0)";
  for (int i = 4000; i > 1; --i) absl::StrAppend(&schema, ",", i, ",\"", i, "\"");
  schema += "]}";
  for (const char* good :
       {"1", "2", "4000", "2.0", "\"77\"", "null", "\"s\"", R"([1.0,{"a":2}])"}) {
    EXPECT_TRUE(Accepts(schema, good)) << good;
  }
  for (const char* bad : {"0", "4001", "2.5", "\"1\"", "true", "[]", R"([1,{"a":3}])"}) {
    EXPECT_FALSE(Accepts(schema, bad)) << bad;
  }
}

TEST(SchemaAccepts, DeepValuesEndInAVerdict) {
  const auto compiled = Compile(R"({"items":{"anyOf":[{"$ref":"#"},{"type":"string"}]}})");
  ASSERT_NE(compiled.schema, nullptr);
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(compiled.schema->Accepts(Parse(nested(64))));
  EXPECT_TRUE(compiled.schema->Explain(Parse(nested(64))).empty());
  EXPECT_FALSE(compiled.schema->Accepts(Parse(nested(4000)))) << "refused, not crashed";
  EXPECT_EQ(compiled.schema->Explain(Parse(nested(4000))).size(), 1u);
}

TEST(SchemaAccepts, OneSchemaServesManyThreads) {
  const auto compiled = Compile(R"({"type":"object","properties":{"a":{"pattern":"^[a-z]+$"},
    "b":{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#"}}]}},"patternProperties":{"^x-":{"type":"string"}}})");
  ASSERT_NE(compiled.schema, nullptr);
  const Json good = Parse(R"({"a":"abc","b":[{"a":"z","b":5}],"x-1":"s"})");
  const Json bad = Parse(R"({"a":"abc","b":[{"a":"Z"}]})");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        EXPECT_TRUE(compiled.schema->Accepts(good));
        EXPECT_FALSE(compiled.schema->Accepts(bad));
        EXPECT_EQ(compiled.schema->Explain(bad).size(), 1u);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SchemaAccepts, SaysRoughlyHowLargeItIs) {
  const auto small = Compile(R"({"type":"object"})");
  const auto large = Compile(
      R"({"type":"object","properties":{"a":{"pattern":"a"},"b":{"enum":[1,2,3]},"c":{"type":"string"}}})");
  EXPECT_GT(small.schema->ApproximateBytes(), 200u);
  EXPECT_GT(large.schema->ApproximateBytes(), small.schema->ApproximateBytes() + 4000);
  EXPECT_LT(large.schema->ApproximateBytes(), 100000u);
}

}  // namespace
}  // namespace toolrack
