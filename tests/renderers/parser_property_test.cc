// One machine: any split gives the same, and what is read is linear work.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "tests/renderers/parse_rig.h"

namespace toolrack {
namespace {

const std::vector<std::string>& Pieces(const std::string& renderer) {
  static const std::vector<std::string> kHarmony = {"<|start|>",
                                                    "<|end|>",
                                                    "<|message|>",
                                                    "<|channel|>",
                                                    "<|constrain|>",
                                                    "<|return|>",
                                                    "<|call|>",
                                                    "assistant",
                                                    "analysis",
                                                    "commentary",
                                                    "final",
                                                    " to=functions.put",
                                                    " to=put",
                                                    " to=nobody",
                                                    " json",
                                                    "{\"s\": 1}",
                                                    "{\"s\": \"a\\u00e9\"",
                                                    "[",
                                                    "]",
                                                    "}",
                                                    ",",
                                                    "True",
                                                    "'x'",
                                                    "\n",
                                                    " ",
                                                    "é",
                                                    "\xf0\x9f",
                                                    "\xff",
                                                    "<",
                                                    "<|",
                                                    "text",
                                                    "null",
                                                    "\"{}\""};
  static const std::vector<std::string> kXml = {"<function_calls>",
                                                "</function_calls>",
                                                "<invoke name=\"put\">",
                                                "<invoke name='nobody'>",
                                                "</invoke>",
                                                "<parameter name=\"s\">",
                                                "<parameter name=\"n\">",
                                                "</parameter>",
                                                "<a:invoke name=",
                                                "\"put\">",
                                                "</a:invoke>",
                                                "<thinking>",
                                                "</thinking>",
                                                "```",
                                                "\n",
                                                " ",
                                                "<",
                                                "</",
                                                "text",
                                                "12",
                                                "{\"a\": 1}",
                                                "é",
                                                "\xe2\x82",
                                                "\xff",
                                                "\"",
                                                "name",
                                                ">",
                                                "`",
                                                "True"};
  return renderer == "harmony" ? kHarmony : kXml;
}

class Offer {
 public:
  explicit Offer(const std::string& renderer) {
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

void AnySplitIsTheSame(const std::string& renderer) {
  static const Offer harmony("harmony"), xml("claude");
  const OfferedTools& offered = renderer == "harmony" ? *harmony : *xml;
  const std::vector<std::string>& pieces = Pieces(renderer);
  std::string text;
  const int count = *rc::gen::inRange(0, 24);
  for (int i = 0; i < count; ++i) text += *rc::gen::elementOf(pieces);
  std::vector<std::string> split;
  for (size_t at = 0; at < text.size();) {
    const size_t length = *rc::gen::inRange<size_t>(1, 9);
    split.push_back(text.substr(at, length));
    at += length;
  }
  std::vector<std::string> whole_repairs, split_repairs;
  const std::string whole = Events(offered, {text}, &whole_repairs);
  RC_ASSERT(Events(offered, split, &split_repairs) == whole);
  RC_ASSERT(split_repairs == whole_repairs);
  // Only what was understood may be run.
  const v1::ParseOutputResponse parsed = ParseText(offered, text);
  for (const v1::OutputEvent& event : parsed.events()) {
    if (event.has_call() && event.call().complete()) {
      const auto arguments = ParseJsonText(event.call().arguments_json());
      RC_ASSERT(arguments.has_value());
      RC_ASSERT(arguments->is_object());
    }
  }
}

RC_GTEST_PROP(ParserPropertyTest, HarmonyInAnyPieces, ()) { AnySplitIsTheSame("harmony"); }
RC_GTEST_PROP(ParserPropertyTest, XmlInAnyPieces, ()) { AnySplitIsTheSame("claude"); }

// Long texts of the worst kinds, byte by byte: quadratic work would take minutes.
TEST(ParserPropertyTest, LongOutputsAreLinearWork) {
  for (const char* renderer : {"harmony", "claude"}) {
    const Offer offer(renderer);
    for (const char* unit :
         {"<", "<|", "<a", "{", "\"", "`", "<invoke name=\"", " to=", "\xf0\x9f"}) {
      std::string text = renderer == std::string("harmony")
                             ? "<|channel|>commentary to=functions.put<|message|>{\"s\":\""
                             : "<function_calls><invoke name=\"put\"><parameter name=\"n\">";
      while (text.size() < (24u << 10)) text += unit;
      Script script;
      const auto parser = MakeOutputParser(*offer, script);
      for (const char& c : text) parser->Feed(absl::string_view(&c, 1));
      parser->Finish();
      EXPECT_FALSE(script.ToString().empty());
    }
  }
}

}  // namespace
}  // namespace toolrack
