// The open families: one machine for every row, and what is spelled is read back.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <memory>

#include "renderers/families.h"
#include "renderers/family_text.h"
#include "renderers/history.h"
#include "tests/renderers/parse_rig.h"

namespace toolrack {
namespace {

class Offer {
 public:
  explicit Offer(absl::string_view renderer) {
    tools_.Add("put", "",
               R"({"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"}}})");
    view_ = tools_.View();
    offered_ = std::make_unique<OfferedTools>(*FindRenderer(renderer), view_);
  }
  const OfferedTools& operator*() const { return *offered_; }

 private:
  Tools tools_;
  std::vector<const v1::Tool*> view_;
  std::unique_ptr<OfferedTools> offered_;
};

// What texts of a family are made of.
std::vector<std::string> Pieces(const Family& family) {
  std::vector<std::string> pieces = {"put",       "\"put\"",   "nobody",
                                     "{",         "}",         "[",
                                     "]",         "(",         ")",
                                     "\"",        "'",         ":",
                                     "=",         ",",         ";",
                                     "<",         ">",         "\n",
                                     " ",         "é",         "\xff",
                                     "\xe2\x82",  "12",        "True",
                                     "text",      "\"name\":", "\"arguments\":",
                                     "null",      "\\",        "\\u12",
                                     "call:put{", "put(",      "s=",
                                     "</",        "\"s\": 1",  "{\"s\": \"a\"}"};
  const CallFormat& calls = family.calls;
  for (const auto* list : {&calls.open, &calls.close, &calls.section_open, &calls.section_close,
                           &calls.think_open, &calls.think_close, &calls.noise}) {
    for (const absl::string_view text : *list) {
      pieces.emplace_back(text);
      pieces.emplace_back(text.substr(0, text.size() / 2));
    }
  }
  const Dialect& dialect = *FindDialect(family.name);
  const auto whole = FamilyCall(dialect, "put", R"({"s":"x","n":2})");
  if (whole) {
    pieces.push_back(*whole);
    pieces.push_back(whole->substr(0, whole->size() / 2));
    pieces.push_back(whole->substr(whole->size() / 2));
    pieces.push_back(whole->substr(0, whole->size() * 3 / 4));
    pieces.push_back(FamilyCalls(dialect, {*whole, *whole}));
  }
  if (!calls.quote.empty()) pieces.emplace_back(calls.quote);
  return pieces;
}

const Family& AnyFamily() {
  return AllFamilies()[*rc::gen::inRange<size_t>(0, AllFamilies().size())];
}

RC_GTEST_PROP(FamilyPropertyTest, AnySplitOfAnyFamilysOutputIsTheSame, ()) {
  const Family& family = AnyFamily();
  const Offer offered(family.name);
  const std::vector<std::string> pieces = Pieces(family);
  std::string text;
  const int count = *rc::gen::inRange(0, 20);
  for (int i = 0; i < count; ++i) text += pieces[*rc::gen::inRange<size_t>(0, pieces.size())];
  std::vector<std::string> split;
  for (size_t at = 0; at < text.size();) {
    const size_t length = *rc::gen::inRange<size_t>(1, 9);
    split.push_back(text.substr(at, length));
    at += length;
  }
  const std::string whole = Events(*offered, {text});
  const std::string pieced = Events(*offered, split);
  if (pieced != whole)
    RC_FAIL(absl::StrCat(family.name, "\n", text, "\n---\n", whole, "---\n", pieced));
  const v1::ParseOutputResponse parsed = ParseText(*offered, text);
  for (const v1::OutputEvent& event : parsed.events()) {
    if (event.has_call() && event.call().complete()) {
      const auto arguments = ParseJsonText(event.call().arguments_json());
      RC_ASSERT(arguments.has_value());
      RC_ASSERT(arguments->is_object());
    }
  }
}

JsonText AnyValue(const std::vector<std::string>& texts, int depth) {
  switch (*rc::gen::inRange(0, depth > 0 ? 7 : 5)) {
    case 0:
      return JsonText::String(texts[*rc::gen::inRange<size_t>(0, texts.size())]);
    case 1:
      return JsonText::Number("12345678901234567891");
    case 2:
      return JsonText::Number("-1.50");
    case 3:
      return JsonText::Bool(*rc::gen::inRange(0, 2) == 1);
    case 4:
      return JsonText();
    case 5: {
      JsonText list = JsonText::Array();
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        list.items.push_back(AnyValue(texts, depth - 1));
      }
      return list;
    }
    default: {
      JsonText object = JsonText::Object();
      for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
        object.Set(absl::StrCat("k", i), AnyValue(texts, depth - 1));
      }
      return object;
    }
  }
}

// A call of the history is read back by its family's parser as it was, or it is told of in words.
RC_GTEST_PROP(FamilyPropertyTest, WhatIsSpelledIsReadBackOrIsANote, ()) {
  const Family& family = AnyFamily();
  const Dialect& dialect = *FindDialect(family.name);
  std::vector<std::string> texts = {"",           "a b",        "12",   "true", "null",
                                    "Köln 🫠", "it's \"x\"", "a\nb", "\\n",  "}]",
                                    "{'a':",      "<b>",        " x ",  "\n"};
  const size_t plain = texts.size();
  for (const absl::string_view marker : dialect.markers.literals) texts.emplace_back(marker);
  const bool with_markers = *rc::gen::inRange(0, 2) == 1;
  if (!with_markers) texts.resize(plain);
  JsonText arguments = JsonText::Object();
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    arguments.Set(absl::StrCat("p", i), AnyValue(texts, 2));
  }
  v1::Turn turn;
  turn.set_role("assistant");
  v1::OutputCall& call = *turn.add_calls();
  call.set_name("put");
  call.set_wire_name("put");
  call.set_arguments_json(WriteJson(arguments));
  call.set_complete(true);
  RenderWarnings warnings;
  const auto messages = RenderHistory({&dialect, Disclosure::kUpfront}, {turn}, {}, warnings);
  RC_ASSERT(messages.size() == 1u);
  RC_LOG() << family.name << "\n" << messages[0].text();
  const bool note = messages[0].text() == "(A call of put was made here.)";
  RC_ASSERT(note == !warnings.empty());
  // JSON can say everything.
  if (family.calls.shape == CallShape::kJson) RC_ASSERT(!note);
}

TEST(FamilyTest, LongOutputsAreLinearWork) {
  for (const Family& family : AllFamilies()) {
    const Offer offer(family.name);
    const auto call = FamilyCall(*FindDialect(family.name), "put", R"({"s":"x"})");
    ASSERT_TRUE(call.has_value()) << family.name;
    const std::string head = call->substr(0, call->find('x') + 1);
    for (const char* unit : {"{", "<", "\"", "[", "(", "</", "\\", "{\"a\":"}) {
      std::string text = head;
      while (text.size() < (8u << 10)) text += unit;
      Script script;
      const auto parser = MakeOutputParser(*offer, script);
      for (const char& c : text) parser->Feed(absl::string_view(&c, 1));
      parser->Finish();
      EXPECT_FALSE(script.ToString().empty());
    }
  }
}

TEST(FamilyTest, EveryFamilyHasItsOwnNameAndReadsItsOwnSpelling) {
  for (const Family& family : AllFamilies()) {
    const Dialect& dialect = *FindDialect(family.name);
    const auto call = FamilyCall(dialect, "put", R"({"s":"x","n":2})");
    ASSERT_TRUE(call.has_value()) << family.name;
    EXPECT_EQ(FindRenderer(family.name)->dialect->name, family.name);
    for (const absl::string_view alias : family.aliases) {
      EXPECT_EQ(FindRenderer(alias)->dialect->name, family.name) << alias;
    }
  }
}

TEST(ResolveTest, OpenModelsAndNamesOfParsers) {
  const auto first = [](const char* model) {
    const auto found = ResolveRenderer(model);
    return found.renderers_size() == 0 ? std::string() : found.renderers(0).dialect();
  };
  EXPECT_EQ(first("Qwen/Qwen3-32B"), "qwen3");
  EXPECT_EQ(first("Qwen3-Coder-30B-A3B-Instruct-Q4_K_M.gguf"), "qwen3_coder");
  EXPECT_EQ(first("mistralai/Mistral-Small-3.2-24B-Instruct-2506"), "mistral_v11");
  EXPECT_EQ(first("meta-llama/Llama-3.1-8B-Instruct"), "llama3_json");
  EXPECT_EQ(first("moonshotai/Kimi-K2-Instruct-0905"), "kimi_k2");
  EXPECT_EQ(first("deepseek-ai/DeepSeek-R1-0528"), "deepseek_r1");
  EXPECT_EQ(first("nvidia/Llama-3_3-Nemotron-Super-49B-v1_5"), "nemotron_v2");
  EXPECT_EQ(first("hermes"), "hermes");
  EXPECT_EQ(first("qwen3_coder"), "qwen3_coder");
  EXPECT_EQ(first("llama3_json"), "llama3_json");
  EXPECT_EQ(first("glm45"), "glm4_5");
}

}  // namespace
}  // namespace toolrack
