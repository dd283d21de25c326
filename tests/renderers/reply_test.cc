// What is appended behind an output, family by family.
#include "renderers/reply.h"

#include <gtest/gtest.h>

#include "renderers/render.h"
#include "renderers/signature.h"

namespace toolrack {
namespace {

RendererSpec Spec(const char* name) { return *FindRenderer(name); }

Reply Of(const std::string& id, const std::string& wire, const std::string& text) {
  Reply reply;
  reply.outcome.mutable_call()->set_call_id(id);
  reply.outcome.mutable_call()->set_wire_name(wire);
  reply.outcome.mutable_result()->add_content()->mutable_text()->set_text(text);
  return reply;
}

Reply Note(const std::string& text) {
  Reply reply;
  reply.note = true;
  reply.outcome.mutable_status()->set_message(text);
  return reply;
}

std::vector<std::string> Contents(const char* renderer, const std::vector<Reply>& replies) {
  v1::RenderToolLoadResponse unused;
  std::vector<std::string> out;
  for (const v1::OutMessage& message :
       RenderReplies(Spec(renderer), replies, {}, *unused.mutable_warnings())) {
    out.push_back(message.has_json() ? message.json() : message.text());
  }
  return out;
}

Reply Search(const char* renderer) {
  v1::Tool tool;
  tool.set_name("weather__now");
  tool.set_description("The weather.");
  tool.set_input_schema(R"({"type":"object","properties":{"city":{"type":"string"}}})");
  const v1::Tool* tools[] = {&tool};
  Reply reply = Of("s1", "__tool_search", "Found.");
  const v1::RenderToolLoadResponse load =
      RenderToolLoad(Spec(renderer), {tools, {}, 0, {}, nullptr}, {"weather__now"}, "s1");
  reply.loaded.assign(load.fragments().begin(), load.fragments().end());
  return reply;
}

using Strings = std::vector<std::string>;

TEST(ReplyTest, NothingIsNothing) {
  for (const RendererSpec& spec : AllRenderers()) {
    v1::RenderToolLoadResponse unused;
    EXPECT_TRUE(RenderReplies(spec, {}, {}, *unused.mutable_warnings()).empty()) << spec.name();
  }
}

TEST(ReplyTest, AnthropicIsOneMessageWithTheNotesLast) {
  EXPECT_EQ(
      Contents("anthropic_deferred",
               {Note("Again."), Of("t1", "echo", "hi"), Search("anthropic_deferred")}),
      Strings{
          R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"hi"},)"
          R"({"type":"tool_result","tool_use_id":"s1","content":[{"type":"tool_reference","tool_name":"weather__now"}]},)"
          R"({"type":"text","text":"Again."}]})"});
}

TEST(ReplyTest, ChatHasOneMessageForEachAndDefinitionsInTheirs) {
  const Strings out = Contents("openai_chat_deferred", {Note("Again."), Of("t1", "echo", "hi"),
                                                        Search("openai_chat_deferred")});
  ASSERT_EQ(out.size(), 3u);
  EXPECT_EQ(out[0], R"({"role":"tool","tool_call_id":"t1","content":"hi"})");
  EXPECT_NE(out[1].find(R"(Found.\n{\"name\":\"weather__now\")"), std::string::npos) << out[1];
  EXPECT_EQ(out[2], R"({"role":"user","content":"Again."})");
}

TEST(ReplyTest, ResponsesAnswersASearchWithTools) {
  const Strings out = Contents("openai_responses_deferred",
                               {Search("openai_responses_deferred"), Of("t1", "echo", "hi")});
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].find(R"({"type":"tool_search_output")"), 0u) << out[0];
  EXPECT_EQ(out[1], R"({"type":"function_call_output","call_id":"t1","output":"hi"})");
  // Nothing found: an empty list, and the words beside it.
  EXPECT_EQ(
      Contents("openai_responses_deferred", {Of("s1", "__tool_search", "Try other words.")}),
      (Strings{
          R"({"type":"tool_search_output","execution":"client","call_id":"s1","status":"completed","tools":[]})",
          R"({"role":"user","content":"Try other words."})"}));
}

TEST(ReplyTest, ClaudeTextHasOneBlockOfResultsThenDefinitions) {
  const Strings out = Contents("claude_deferred",
                               {Of("c0", "echo", "hi"), Search("claude_deferred"), Note("Again.")});
  ASSERT_EQ(out.size(), 1u);
  const size_t end = out[0].find("</function_results>");
  const size_t functions = out[0].find("<functions>");
  ASSERT_NE(end, std::string::npos);
  ASSERT_NE(functions, std::string::npos) << out[0];
  EXPECT_LT(end, functions);
  EXPECT_LT(functions, out[0].find("Again."));
  EXPECT_EQ(out[0].find("<function_results>", 1), std::string::npos);
}

TEST(ReplyTest, HarmonyHasDefinitionsInTheResult) {
  const Strings out = Contents("harmony_deferred", {Search("harmony_deferred")});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].find("<|start|>functions.__tool_search to=assistant"), 0u) << out[0];
  EXPECT_NE(out[0].find("type weather__now = "), std::string::npos) << out[0];
}

TEST(ReplyTest, GeminiIsOneMessage) {
  const Strings out = Contents("gemini", {Of("a", "echo", "hi"), Of("b", "echo", "ho")});
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].find(R"({"role":"user","parts":[{"functionResponse")"), 0u) << out[0];
}

TEST(SignatureTest, OneLineInTheOrderOfTheSchema) {
  EXPECT_EQ(
      Signature("f", R"({"type":"object","properties":{"b":{"type":"string"},)"
                     R"("a":{"enum":["x",1]},"c":{"type":"array","items":{"type":"integer"}},)"
                     R"("d":{"anyOf":[]},"e":{"type":["string","null"]}},"required":["b"]})"),
      R"(f(b: string, a?: "x" | 1, c?: array of integer, d?: any, e?: string | null))");
  EXPECT_EQ(Signature("f", R"({"type":"object"})"), "f()");
  EXPECT_EQ(Signature("f", ""), "f(…)");
}

TEST(SignatureTest, ExcerptOfWhatPointersLeadTo) {
  constexpr char kSchema[] =
      R"({"properties":{"a":{"type":"object","properties":{"x":{}}},"b/c":{"type":"string"},"d":{}}})";
  EXPECT_EQ(SchemaExcerpt(kSchema, {"/a/x", "/b~1c", "/a", "", "/none"}),
            "a: {\"type\":\"object\",\"properties\":{\"x\":{}}}\nb/c: {\"type\":\"string\"}");
  EXPECT_EQ(SchemaExcerpt(kSchema, {"/b~1c"}, 6), "b/c: {\"type…");
}

}  // namespace
}  // namespace toolrack
