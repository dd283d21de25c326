// The TypeScript of Harmony, one test for each construct. Expected texts follow the rules of the
// reference library openai/harmony (Apache-2.0, OpenAI); DeveloperMessageOfTheReference reproduces
// its test datum test_render_functions_with_parameters from the same inputs.
#include "renderers/harmony_types.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

std::string TypeOf(const std::string& schema, HarmonyVariant variant = HarmonyVariant::kLibrary) {
  const JsonText parsed = *ParseJsonText(schema);
  bool mended = false;
  const std::string text = HarmonyDeclaration({"f", "", &parsed}, variant, mended);
  EXPECT_FALSE(mended) << text;
  const std::string head = "type f = (_: ", tail = ") => any;\n\n";
  EXPECT_EQ(text.substr(0, head.size()), head);
  return text.substr(head.size(), text.size() - head.size() - tail.size());
}
// The line or lines of one property `p`.
std::string PropertyOf(const std::string& schema, const std::string& more = "") {
  const std::string type =
      TypeOf(R"({"type":"object","properties":{"p":)" + schema + "}" + more + "}");
  EXPECT_EQ(type.substr(0, 2), "{\n");
  return type.substr(2, type.size() - 3);
}

TEST(HarmonyTypesTest, NoParametersAtAll) {
  bool mended = false;
  EXPECT_EQ(HarmonyDeclaration({"f", "Says\nhello", nullptr}, HarmonyVariant::kLibrary, mended),
            "// Says\n// hello\ntype f = () => any;\n\n");
}
TEST(HarmonyTypesTest, AnObjectWithoutProperties) {
  EXPECT_EQ(TypeOf(R"({"type":"object","properties":{}})"), "{\n}");
  EXPECT_EQ(TypeOf(R"({"type":"object"})"), "{\n}");
}
TEST(HarmonyTypesTest, ScalarTypes) {
  EXPECT_EQ(PropertyOf(R"({"type":"string"})"), "p?: string,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"number"})"), "p?: number,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"integer"})"), "p?: number,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"boolean"})"), "p?: boolean,\n");
}
TEST(HarmonyTypesTest, EnumsOfTextOnly) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","enum":["a","b",3]})"), "p?: \"a\" | \"b\",\n");
  EXPECT_EQ(PropertyOf(R"({"type":"string","enum":["say \"x\""]})"), "p?: \"say \"x\"\",\n");
  EXPECT_EQ(PropertyOf(R"({"type":"integer","enum":[1,2]})"), "p?: number,\n");
  EXPECT_EQ(PropertyOf(R"({"enum":["a"]})"), "p?: any,\n");
}
TEST(HarmonyTypesTest, TypeListsAreJoinedAsTheyAre) {
  EXPECT_EQ(PropertyOf(R"({"type":["string","null"]})"), "p?: string | null,\n");
  EXPECT_EQ(PropertyOf(R"({"type":["integer","array","object"]})"),
            "p?: number | array | object,\n");
}
TEST(HarmonyTypesTest, NullableAddsNullOnce) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","nullable":true})"), "p?: string | null,\n");
  EXPECT_EQ(PropertyOf(R"({"type":["string","null"],"nullable":true})"), "p?: string | null,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"string","enum":["a"],"nullable":true})"), "p?: \"a\" | null,\n");
}
TEST(HarmonyTypesTest, Arrays) {
  EXPECT_EQ(PropertyOf(R"({"type":"array","items":{"type":"string"}})"), "p?: string[],\n");
  EXPECT_EQ(PropertyOf(R"({"type":"array","items":{"type":"string","enum":["p","q"]}})"),
            "p?: \"p\" | \"q\"[],\n");
  EXPECT_EQ(PropertyOf(R"({"type":"array"})"), "p?: Array<any>,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"array","prefixItems":[{"type":"string"}]})"),
            "p?: Array<any>,\n");
}
TEST(HarmonyTypesTest, NestedObjectsCloseAtTheInnerIndent) {
  EXPECT_EQ(
      PropertyOf(R"({"type":"object","properties":{"q":{"type":"number"}},"required":["q"]})"),
      "p?: {\n    q: number,\n    },\n");
}
TEST(HarmonyTypesTest, ANestedDescriptionStandsTwice) {
  EXPECT_EQ(PropertyOf(R"({"type":"object","description":"d","properties":{}})"),
            "// d\np?:     // d\n{\n    },\n");
}
TEST(HarmonyTypesTest, ARootDescriptionStandsBeforeTheBrace) {
  EXPECT_EQ(TypeOf(R"({"type":"object","description":"d"})"), "// d\n{\n}");
}
TEST(HarmonyTypesTest, RequiredAndOptional) {
  EXPECT_EQ(PropertyOf(R"({"type":"string"})", R"(,"required":["p"])"), "p: string,\n");
  EXPECT_EQ(PropertyOf(R"({"type":"string"})", R"(,"required":["q"])"), "p?: string,\n");
}
TEST(HarmonyTypesTest, TitleDescriptionAndExamplesStandAbove) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","title":"T","description":"d","examples":["x",1,"y"]})"),
            "// T\n//\n// d\n// Examples:\n// - \"x\"\n// - \"y\"\np?: string,\n");
}
TEST(HarmonyTypesTest, LineFeedsOfAPropertyLeakAsInTheReference) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","description":"one\ntwo"})"),
            "// one\ntwo\np?: string,\n");
}
TEST(HarmonyTypesTest, Defaults) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","default":"x"})"), "p?: string, // default: \"x\"\n");
  EXPECT_EQ(PropertyOf(R"({"type":"string","enum":["x","y"],"default":"x"})"),
            "p?: \"x\" | \"y\", // default: x\n");
  EXPECT_EQ(PropertyOf(R"({"type":"array","items":{"type":"string"},"default":["a", "b"]})"),
            "p?: string[], // default: [\"a\",\"b\"]\n");
  EXPECT_EQ(PropertyOf(R"({"type":"boolean","default":false})"),
            "p?: boolean, // default: false\n");
  EXPECT_EQ(PropertyOf(R"({"type":"string","default":null})"), "p?: string, // default: null\n");
}
TEST(HarmonyTypesTest, OneOfOfAProperty) {
  EXPECT_EQ(PropertyOf(R"({"description":"d","default":20,"oneOf":[{"type":"string","default":"s",
                "description":"first"},{"type":"number","description":"n"}]})"),
            "// d\n// default: 20\np?:\n | string // default: \"s\"\n | number // n\n,\n");
  // The same words are not said twice.
  EXPECT_EQ(PropertyOf(R"({"description":"d","oneOf":[{"type":"string","description":"d"},
                {"type":"null"}]})"),
            "p?:\n | string\n | any\n,\n");
}
TEST(HarmonyTypesTest, OneOfElsewhere) {
  EXPECT_EQ(PropertyOf(R"({"type":"array","items":{"oneOf":[{"type":"string","description":"s"},
                {"type":"integer","default":3}]}})"),
            "p?: \n     | string // s\n     | number // default: 3[],\n");
}
TEST(HarmonyTypesTest, WhatIsNotKnownIsAny) {
  for (const char* schema :
       {R"({"anyOf":[{"type":"string"},{"type":"null"}]})", R"({"allOf":[{"type":"string"}]})",
        R"({"$ref":"#/$defs/x"})", R"({"const":1})", "{}", R"({"type":"file"})", "true"}) {
    EXPECT_EQ(PropertyOf(schema), "p?: any,\n") << schema;
  }
  EXPECT_EQ(PropertyOf(R"({"anyOf":[{"type":"string"},{"type":"null"}],"default":null})"),
            "p?: any, // default: null\n");
  EXPECT_EQ(PropertyOf(R"({"anyOf":[{"type":"string"}],"type":"string"})"), "p?: string,\n");
}
TEST(HarmonyTypesTest, BoundsAndFormatsAreNotShown) {
  EXPECT_EQ(PropertyOf(R"({"type":"string","format":"date","pattern":"x","minLength":1})"),
            "p?: string,\n");
}
TEST(HarmonyTypesTest, OddPropertyNamesStandUnquoted) {
  EXPECT_EQ(TypeOf(R"({"type":"object","properties":{"a-b":{"type":"string"},"a.b":{}}})"),
            "{\na-b?: string,\na.b?: any,\n}");
}

TEST(HarmonyTypesTest, DeveloperMessageOfTheReference) {
  Tools tools;
  // Sorted by name: the reference's own test gives another order, which the rack never keeps.
  tools.Add(
      "get_current_weather", "Gets the current weather in the provided location.",
      R"({"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},"format":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"}},"required":["location"]})");
  tools.Add(
      "get_multiple_weathers", "Gets the current weather in the provided list of locations.",
      R"({"type":"object","properties":{"locations":{"type":"array","items":{"type":"string"},"description":"List of city and state, e.g. [\"San Francisco, CA\", \"New York, NY\"]"},"format":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"}},"required":["locations"]})");
  tools.Add(
      "kitchensink", "A function with various complex schemas.",
      R"({"description":"params object","type":"object","properties":{"string":{"type":"string","title":"STRING","description":"A string","examples":["hello","world"]},"string_nullable":{"type":"string","nullable":true,"description":"A nullable string","default":"the default"},"string_enum":{"type":"string","enum":["a","b","c"]},"oneof_string_or_number":{"oneOf":[{"type":"string","default":"default_string_in_oneof"},{"type":"number","description":"numbers can happen too"}],"description":"a oneof","default":20}}})");
  v1::RenderOptions options;
  options.set_instructions("Always respond in riddles");
  options.set_reasoning_effort("high");
  const auto rendered = Render("harmony_upfront", tools, options, {}, 1751068800);
  EXPECT_EQ(ContentOf(rendered, "system"),
            R"(<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.
Knowledge cutoff: 2024-06
Current date: 2025-06-28

Reasoning: high

# Valid channels: analysis, commentary, final. Channel must be included for every message.
Calls to these tools must go to the commentary channel: 'functions'.<|end|>)");
  EXPECT_EQ(ContentOf(rendered, "developer"), R"(<|start|>developer<|message|># Instructions

Always respond in riddles

# Tools

## functions

namespace functions {

// Gets the current weather in the provided location.
type get_current_weather = (_: {
// The city and state, e.g. San Francisco, CA
location: string,
format?: "celsius" | "fahrenheit", // default: celsius
}) => any;

// Gets the current weather in the provided list of locations.
type get_multiple_weathers = (_: {
// List of city and state, e.g. ["San Francisco, CA", "New York, NY"]
locations: string[],
format?: "celsius" | "fahrenheit", // default: celsius
}) => any;

// A function with various complex schemas.
type kitchensink = (_: // params object
{
// STRING
//
// A string
// Examples:
// - "hello"
// - "world"
string?: string,
// A nullable string
string_nullable?: string | null, // default: "the default"
string_enum?: "a" | "b" | "c",
// a oneof
// default: 20
oneof_string_or_number?:
 | string // default: "default_string_in_oneof"
 | number // numbers can happen too
,
}) => any;

} // namespace functions<|end|>)");
  EXPECT_EQ(rendered.warnings_size(), 0);
}

TEST(HarmonyTypesTest, AToolOfTheReferenceWithoutParameters) {
  bool mended = false;
  EXPECT_EQ(HarmonyDeclaration({"get_location", "Gets the location of the user.", nullptr},
                               HarmonyVariant::kLibrary, mended),
            "// Gets the location of the user.\ntype get_location = () => any;\n\n");
}

// --- without the oddities

TEST(HarmonyTypesTest, PlainlyANestedDescriptionStandsOnceAndTheBraceUnderItsLine) {
  EXPECT_EQ(TypeOf(R"({"type":"object","properties":{"p":{"type":"object","description":"d",
                "properties":{"q":{"type":"number"}}}}})",
                   HarmonyVariant::kPlain),
            "{\n// d\np?: {\n    q?: number,\n},\n}");
  EXPECT_EQ(TypeOf(R"({"type":"object","description":"d"})", HarmonyVariant::kPlain), "{ // d\n}");
  EXPECT_EQ(TypeOf(R"({"type":"object","properties":{"p":{"type":"array","description":"above",
                "items":{"type":"object","description":"d","properties":{}}}}})",
                   HarmonyVariant::kPlain),
            "{\n// above\np?: { // d\n}[],\n}");
}
TEST(HarmonyTypesTest, PlainlyUnionsOfItemsAreInParentheses) {
  EXPECT_EQ(TypeOf(R"({"type":"array","items":{"type":"string","enum":["p","q"]}})",
                   HarmonyVariant::kPlain),
            "(\"p\" | \"q\")[]");
  EXPECT_EQ(
      TypeOf(R"({"type":"array","items":{"type":["string","null"]}})", HarmonyVariant::kPlain),
      "(string | null)[]");
  EXPECT_EQ(TypeOf(R"({"type":"array","items":{"type":"string"}})", HarmonyVariant::kPlain),
            "string[]");
  EXPECT_EQ(TypeOf(R"({"type":"array","items":{"type":"object","properties":{"p":{"type":
                ["string","null"]}}}})",
                   HarmonyVariant::kPlain),
            "{\np?: string | null,\n}[]");
}

TEST(HarmonyTypesTest, TheNormaliserSaysMore) {
  Tools tools;
  tools.Add(
      "t", "d",
      R"({"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null},"b":{"$ref":"#/$defs/x"},"c":{"type":"string","description":"one\ntwo"},"d":{"const":"k"}},"$defs":{"x":{"type":"integer"}}})");
  v1::RenderOptions options;
  options.set_normalise(true);
  const std::string text = ContentOf(Render("harmony", tools, options), "developer");
  EXPECT_NE(text.find("a?: string | null, // default: null\nb?: number,\n// one two\nc?: "
                      "string,\nd?: \"k\",\n"),
            std::string::npos)
      << text;
}

// Whole prompts of the official template: the part that is ours.
TEST(HarmonyTypesTest, TheJinjaVariantIsTheChatTemplates) {
  std::ifstream in(SharedPath("cases/rendered/openai-gpt-oss-120b/1_tools_sys.txt"));
  if (!in) GTEST_SKIP() << "no shared cases";
  std::stringstream whole;
  whole << in.rdbuf();
  Tools tools;
  tools.Add(
      "get_weather", "Weather for a city & <region>; it's in °C",
      R"({"type": "object", "properties": {"city": {"type": "string", "description": "City name"}, "days": {"type": "integer", "description": "Days ahead"}, "unit": {"type": "string", "enum": ["c", "f"]}}, "required": ["city"]})");
  tools.Add(
      "set_alarm", "Set an alarm",
      R"({"type": "object", "properties": {"when": {"type": "object", "properties": {"hour": {"type": "integer"}, "labels": {"type": "array", "items": {"type": "string"}}}}, "loud": {"type": "boolean"}}, "required": ["when"]})");
  v1::RenderOptions options;
  options.set_variant("jinja");
  options.set_instructions("SYSTEM-TEXT");
  const auto rendered = Render("harmony", tools, options, {}, 1753531200);
  EXPECT_EQ(ContentOf(rendered, "system") + ContentOf(rendered, "developer") +
                "<|start|>user<|message|>USER-TEXT<|end|><|start|>assistant",
            whole.str());
}

}  // namespace
}  // namespace toolrack
