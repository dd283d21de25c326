// Whole conversations of Harmony's two references. Of the library openai/harmony (Apache-2.0,
// OpenAI) the digests of its test data are held here, and the inputs that give them; of the chat
// template, prompts are read where they lie.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "registry/base/random.h"
#include "renderers/harmony_types.h"
#include "renderers/history.h"
#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

v1::Turn Said(const std::string& role, const std::string& text, const std::string& thought = "") {
  v1::Turn turn;
  turn.set_role(role);
  turn.set_text(text);
  turn.set_reasoning(thought);
  return turn;
}
std::string History(const std::vector<v1::Turn>& turns, const std::string& variant = "") {
  v1::RenderOptions options;
  options.set_variant(variant);
  RenderWarnings warnings;
  std::string out;
  for (const auto& message : RenderHistory(*FindRenderer("harmony"), turns, options, warnings)) {
    out += message.text();
  }
  return out;
}

TEST(HarmonyGoldenTest, FunctionsWithParameters) {
  v1::RenderOptions options;
  options.set_reasoning_effort("high");
  Tools one;
  one.Add("x", "", R"({"type":"object"})");
  std::string text = ContentOf(Render("harmony", one, options, {}, 1751068800), "system");
  text +=
      "<|start|>developer<|message|># Instructions\n\nAlways respond in riddles\n\n# Tools\n\n"
      "## functions\n\nnamespace functions {\n\n";
  bool mended = false;
  const auto declare = [&](absl::string_view name, absl::string_view description,
                           const std::string& schema) {
    const auto parsed = ParseJsonText(schema);
    text += HarmonyDeclaration({name, description, parsed ? &*parsed : nullptr},
                               HarmonyVariant::kLibrary, mended);
  };
  const std::string format =
      R"("format":{"type":"string","enum":["celsius","fahrenheit"],"default":"celsius"})";
  declare("get_location", "Gets the location of the user.", "");
  declare(
      "get_current_weather", "Gets the current weather in the provided location.",
      absl::StrCat(
          R"({"type":"object","properties":{"location":{"type":"string","description":"The city and state, e.g. San Francisco, CA"},)",
          format, R"(},"required":["location"]})"));
  declare(
      "get_multiple_weathers", "Gets the current weather in the provided list of locations.",
      absl::StrCat(
          R"({"type":"object","properties":{"locations":{"type":"array","items":{"type":"string"},"description":"List of city and state, e.g. [\"San Francisco, CA\", \"New York, NY\"]"},)",
          format, R"(},"required":["locations"]})"));
  declare(
      "kitchensink", "A function with various complex schemas.",
      R"({"description":"params object","type":"object","properties":{"string":{"type":"string","title":"STRING","description":"A string","examples":["hello","world"]},"string_nullable":{"type":"string","nullable":true,"description":"A nullable string","default":"the default"},"string_enum":{"type":"string","enum":["a","b","c"]},"oneof_string_or_number":{"oneOf":[{"type":"string","default":"default_string_in_oneof"},{"type":"number","description":"numbers can happen too"}],"description":"a oneof","default":20}}})");
  text += "} // namespace functions<|end|>";
  text += History({Said("user", "What is the weather like in SF?")}) + "<|start|>assistant";
  EXPECT_FALSE(mended);
  EXPECT_EQ(Sha256Hex(text), "45a968b615c8a5cc7e026797dd7861f17ee41270c8f4798b9172094764271437")
      << text;
}

TEST(HarmonyGoldenTest, NoTools) {
  const auto rendered = Render("harmony", Tools(), {}, {}, 1751068800);
  EXPECT_EQ(Sha256Hex(ContentOf(rendered, "system") + "<|start|>assistant\n"),
            "a131cf7fddb7c65cc9280d6be37fe216c819912bebf5adea0f84c381bc574ec8");
}

TEST(HarmonyGoldenTest, ReasoningIsDroppedBeforeTheFirstFinal) {
  EXPECT_EQ(
      Sha256Hex(History({Said("user", "What is 2 + 2?"),
                         Said("assistant", "2 + 2 equals 4.",
                              "User asks a simple question: \"What is 2 + 2?\" The answer: 4."),
                         Said("user", "What about 9 / 2?")}) +
                "<|start|>assistant"),
      "16c172504b489aed559616b46a2a88f132e25cf9c74c81b6f7e08def9b550d04");
}

TEST(HarmonyGoldenTest, ReasoningBetweenFinalsStays) {
  EXPECT_EQ(
      Sha256Hex(History({Said("user", "What is 2 + 2?"), Said("assistant", "4", "thinking 2+2"),
                         Said("user", "What is 3 + 5?"), Said("assistant", "8", "thinking 3+5")})),
      "f10c5d7cbd20c62f592773f2cc5afaed4dbd465ccb8889131fdc9c6c92e6d97d");
}

// The chat template over every scenario that was rendered with it.
class HarmonyTemplateTest : public testing::TestWithParam<const char*> {};

TEST_P(HarmonyTemplateTest, IsReproducedToTheByte) {
  std::ifstream in(
      SharedPath(absl::StrCat("cases/rendered/openai-gpt-oss-120b/", GetParam(), ".txt")));
  std::ifstream given(SharedPath("cases/rendered/scenarios.json"));
  if (!in || !given) GTEST_SKIP() << "no shared cases";
  std::stringstream expected;
  expected << in.rdbuf();
  std::string name = GetParam();
  const bool as_text = name.size() > 8 && name.substr(name.size() - 8) == "_strargs";
  if (as_text) name.resize(name.size() - 8);
  using Ordered = nlohmann::ordered_json;
  const Ordered scenario = Ordered::parse(given)["scenarios"][name];
  Tools tools;
  if (scenario["tools"].is_array()) {
    for (const Ordered& tool : scenario["tools"]) {
      const Ordered& function = tool["function"];
      tools.Add(function["name"], function["description"], function["parameters"].dump());
    }
  }
  v1::RenderOptions options;
  options.set_variant("jinja");
  std::vector<v1::Turn> turns;
  for (const Ordered& message : scenario["messages"]) {
    const std::string role = message["role"];
    const std::string content = message["content"];
    if (role == "system") {
      options.set_instructions(content);
      continue;
    }
    v1::Turn& turn = turns.emplace_back();
    turn.set_role(role);
    if (role == "tool") {
      v1::TurnResult& result = *turn.add_results();
      result.mutable_call()->set_wire_name(message["name"]);
      result.mutable_result()->add_content()->mutable_text()->set_text(content);
      continue;
    }
    turn.set_text(content);
    if (!message.contains("tool_calls")) continue;
    for (const Ordered& call : message["tool_calls"]) {
      v1::OutputCall& made = *turn.add_calls();
      made.set_wire_name(call["function"]["name"]);
      // With blanks as the template writes them, when they are text already.
      const std::string arguments = call["function"]["arguments"].dump();
      made.set_arguments_json(
          as_text ? Ordered(WriteJson(*ParseJsonText(arguments), kSpacedJson)).dump() : arguments);
    }
  }
  const auto rendered = Render("harmony", tools, options, {}, 1753531200);
  std::string text = ContentOf(rendered, "system") + ContentOf(rendered, "developer");
  text += History(turns, "jinja");
  if (scenario["agp"].get<bool>()) text += "<|start|>assistant";
  EXPECT_EQ(text, expected.str());
}

INSTANTIATE_TEST_SUITE_P(Scenarios, HarmonyTemplateTest,
                         testing::Values("1_tools_nosys", "1_tools_sys", "2_call_strargs",
                                         "3_call_result", "4_parallel", "4_parallel_strargs",
                                         "6_content_call"),
                         [](const auto& info) {
                           return absl::StrCat("S", absl::string_view(info.param));
                         });

}  // namespace
}  // namespace toolrack
