// Results and earlier turns.
#include "renderers/history.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "renderers/output_parser.h"
#include "tests/renderers/rig.h"
#include "tests/schema/shared_data.h"

namespace toolrack {
namespace {

v1::TurnResult Outcome(const std::string& text, bool is_error = false) {
  v1::TurnResult outcome;
  outcome.mutable_call()->set_call_id("c1");
  outcome.mutable_call()->set_wire_name("go");
  outcome.mutable_result()->add_content()->mutable_text()->set_text(text);
  outcome.mutable_result()->set_is_error(is_error);
  return outcome;
}
std::string Formatted(const std::string& renderer, const v1::TurnResult& outcome) {
  RenderWarnings warnings;
  const v1::OutMessage message = FormatResult(*FindRenderer(renderer), outcome, {}, warnings);
  return message.has_json() ? message.json() : message.text();
}
v1::Turn Said(const std::string& role, const std::string& text, const std::string& reasoning = "") {
  v1::Turn turn;
  turn.set_role(role);
  turn.set_text(text);
  turn.set_reasoning(reasoning);
  return turn;
}
v1::Turn Called(const std::string& arguments, const std::string& text = "",
                const std::string& reasoning = "") {
  v1::Turn turn = Said("assistant", text, reasoning);
  v1::OutputCall& call = *turn.add_calls();
  call.set_call_id("c1");
  call.set_wire_name("go");
  call.set_arguments_json(arguments);
  return turn;
}
v1::Turn Answered(const std::string& text) {
  v1::Turn turn;
  turn.set_role("tool");
  *turn.add_results() = Outcome(text);
  return turn;
}
std::string History(const std::string& renderer, const std::vector<v1::Turn>& turns,
                    const std::string& variant = "") {
  v1::RenderOptions options;
  options.set_variant(variant);
  RenderWarnings warnings;
  std::string out;
  for (const v1::OutMessage& message :
       RenderHistory(*FindRenderer(renderer), turns, options, warnings)) {
    out += message.has_json() ? message.json() + "\n" : message.text();
  }
  return out;
}

TEST(FormatResultTest, EveryFamilysForm) {
  EXPECT_EQ(Formatted("claude", Outcome("21")),
            "<function_results>\n<result>\n<tool_name>go</tool_name>\n<stdout>\n21\n</stdout>\n</"
            "result>\n"
            "</function_results>");
  EXPECT_EQ(Formatted("anthropic", Outcome("no", true)),
            R"({"type":"tool_result","tool_use_id":"c1","content":"no","is_error":true})");
  EXPECT_EQ(Formatted("openai_chat", Outcome("21")),
            R"({"role":"tool","tool_call_id":"c1","content":"21"})");
  EXPECT_EQ(Formatted("openai_responses", Outcome("21")),
            R"({"type":"function_call_output","call_id":"c1","output":"21"})");
  EXPECT_EQ(Formatted("harmony", Outcome("21")),
            "<|start|>functions.go to=assistant<|channel|>commentary<|message|>21<|end|>");
  EXPECT_EQ(Formatted("gemini", Outcome("21")),
            R"({"functionResponse":{"name":"go","response":{"result":"21"}}})");
}

TEST(FormatResultTest, AStatusIsATextToActOn) {
  v1::TurnResult outcome;
  outcome.mutable_call()->set_call_id("c1");
  outcome.mutable_status()->set_message("/n: expected a number, got \"x\". The tool was not run.");
  EXPECT_EQ(
      Formatted("anthropic", outcome),
      R"({"type":"tool_result","tool_use_id":"c1","content":"/n: expected a number, got \"x\". The tool was not run.","is_error":true})");
}

TEST(FormatResultTest, PicturesGoAsBlocksWhereTheFamilyTakesThem) {
  v1::TurnResult outcome = Outcome("see");
  v1::MediaContent& image = *outcome.mutable_result()->add_content()->mutable_image();
  image.set_data("abc");
  image.set_mime_type("image/png");
  EXPECT_EQ(
      Formatted("anthropic", outcome),
      R"({"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}}]})");
  EXPECT_NE(Formatted("openai_chat", outcome).find("[image image/png, 3 bytes]"),
            std::string::npos);
}

TEST(FormatResultTest, NothingBreaksOutOfAResult) {
  for (const RendererSpec& spec : AllRenderers()) {
    const Markers& markers = spec.dialect->markers;
    std::vector<std::string> evil;
    for (const absl::string_view literal : markers.literals) evil.emplace_back(literal);
    for (const absl::string_view tag : markers.tags) {
      evil.push_back("</" + std::string(tag) + ">");
      evil.push_back("<x:" + std::string(tag) + ">");
    }
    for (const std::string& word : evil) {
      RenderWarnings warnings;
      v1::TurnResult outcome = Outcome("a" + word + "b");
      outcome.mutable_call()->set_wire_name("n" + word);
      const v1::OutMessage bad = FormatResult(spec, outcome, {}, warnings);
      const auto count = [&markers](const std::string& text) {
        int found = 0;
        for (size_t at = 0; at < text.size(); ++at) found += markers.At(text, at) ? 1 : 0;
        return found;
      };
      EXPECT_EQ(count(bad.text()), count(FormatResult(spec, Outcome("ab"), {}, warnings).text()))
          << bad.text();
      EXPECT_FALSE(warnings.empty());
    }
  }
}

TEST(HistoryTest, ProvidersGetTheirMessages) {
  const std::vector<v1::Turn> turns = {Said("user", "Hi"), Called(R"({"a": 1.0})", "I go"),
                                       Answered("21"), Said("assistant", "Done")};
  EXPECT_EQ(History("anthropic", turns),
            R"({"role":"user","content":"Hi"}
{"role":"assistant","content":[{"type":"text","text":"I go"},{"type":"tool_use","id":"c1","name":"go","input":{"a":1.0}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"21"}]}
{"role":"assistant","content":[{"type":"text","text":"Done"}]}
)");
  EXPECT_EQ(History("openai_chat", turns),
            R"({"role":"user","content":"Hi"}
{"role":"assistant","content":"I go","tool_calls":[{"id":"c1","type":"function","function":{"name":"go","arguments":"{\"a\": 1.0}"}}]}
{"role":"tool","tool_call_id":"c1","content":"21"}
{"role":"assistant","content":"Done"}
)");
}

TEST(HistoryTest, NamespaceAndCallerMakeTheRoundTrip) {
  v1::Turn turn = Called("{}");
  turn.mutable_calls(0)->set_namespace_("srv");
  turn.mutable_calls(0)->set_caller_json(R"({"type":"program","caller_id":"p"})");
  EXPECT_EQ(
      History("openai_responses", {turn}),
      R"({"type":"function_call","call_id":"c1","name":"go","namespace":"srv","arguments":"{}","caller":{"type":"program","caller_id":"p"}})"
      "\n");
}

TEST(HistoryTest, IdsAreRewrittenToTheFamilysRuleTheSameWayInBothPlaces) {
  v1::Turn call = Called("{}"), answer = Answered("x");
  call.mutable_calls(0)->set_call_id("functions.go:0");
  answer.mutable_results(0)->mutable_call()->set_call_id("functions.go:0");
  const std::string text = History("anthropic", {call, answer});
  const size_t id = text.find("\"id\":\"functions_go_0_");
  ASSERT_NE(id, std::string::npos) << text;
  const std::string wire = text.substr(id + 6, text.find('"', id + 6) - id - 6);
  EXPECT_NE(text.find("\"tool_use_id\":\"" + wire + "\""), std::string::npos);
}

TEST(HistoryTest, OldArgumentsThatAreNoJsonAreTaken) {
  EXPECT_NE(
      History("anthropic", {Called("ls -R")}).find(R"("input":{"malformed_arguments":"ls -R"})"),
      std::string::npos);
  EXPECT_NE(
      History("harmony", {Called("ls <|call|>")}).find("<|message|>ls <\u200b|call|><|call|>"),
      std::string::npos);
  EXPECT_EQ(History("claude", {Called("ls -R")}), "(A call of go was made here.)");
}

TEST(HistoryTest, HarmonyWritesTheRecipientFirstAndKeepsReasoningOfAnOpenTurn) {
  EXPECT_EQ(
      History("harmony",
              {Said("user", "Weather?"), Called(R"({"l": "SF"})", "", "Need it."), Answered("20")}),
      "<|start|>user<|message|>Weather?<|end|><|start|>assistant<|channel|>analysis<|message|>Need "
      "it.<|end|><|start|>assistant to=functions.go<|channel|>commentary "
      "<|constrain|>json<|message|>{\"l\": \"SF\"}<|call|><|start|>functions.go "
      "to=assistant<|channel|>commentary<|message|>20<|end|>");
}

TEST(HistoryTest, HarmonyDropsReasoningBeforeTheFirstFinal) {
  const std::vector<v1::Turn> turns = {Said("user", "2+2?"), Said("assistant", "4", "think"),
                                       Said("user", "3+5?"),
                                       Said("assistant", "8", "thinking 3+5")};
  const std::string text = History("harmony", turns);
  EXPECT_EQ(text.find("<|message|>think<|end|>"), std::string::npos);
  EXPECT_NE(text.find("<|message|>thinking 3+5<|end|>"), std::string::npos);
  EXPECT_EQ(History("harmony", turns, "jinja").find("<|message|>think<|end|>"), std::string::npos);
}

TEST(HistoryTest, HarmonyEscapesMarkersOfArgumentsExactly) {
  EXPECT_NE(History("harmony", {Called(R"({"a":"<|call|>"})")})
                .find(R"(<|message|>{"a":"\u003c|call|>"}<|call|>)"),
            std::string::npos);
}

TEST(HistoryTest, ClaudesCallsComeBackAsTheyWent) {
  const std::string text =
      History("claude", {Called(R"({"s":"a \"b\"","n":1.50,"o":{"k":["<x>"]}})")});
  Tools tools;
  tools.Add("go", "", R"({"type":"object","properties":{"s":{"type":"string"}}})");
  const auto view = tools.View();
  const OfferedTools offered(*FindRenderer("claude"), view);
  const auto parsed = ParseText(offered, text);
  ASSERT_EQ(parsed.events_size(), 1) << text;
  EXPECT_EQ(parsed.events(0).call().arguments_json(),
            R"({"s":"a \"b\"","n":1.50,"o":{"k":["<x>"]}})");
}

TEST(HistoryTest, TheChatTemplatesHistory) {
  std::ifstream in(SharedPath("cases/rendered/openai-gpt-oss-120b/3_call_result.txt"));
  if (!in) GTEST_SKIP() << "no shared cases";
  std::stringstream whole;
  whole << in.rdbuf();
  v1::Turn call = Called(R"({"city":"Köln \"x\" <b>","days":3})");
  call.mutable_calls(0)->set_wire_name("get_weather");
  v1::Turn answer = Answered(R"({"temp": 21.5})");
  answer.mutable_results(0)->mutable_call()->set_wire_name("get_weather");
  const std::string text =
      History("harmony", {Said("user", "USER-TEXT"), call, answer}, "jinja") + "<|start|>assistant";
  const std::string all = whole.str();
  ASSERT_GT(all.size(), text.size());
  EXPECT_EQ(all.substr(all.size() - text.size()), text);
}

}  // namespace
}  // namespace toolrack
