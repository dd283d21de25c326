// Claude's calls in raw text.
#include <gtest/gtest.h>

#include "tests/renderers/parse_rig.h"

namespace toolrack {
namespace {

class XmlParserTest : public testing::Test {
 protected:
  XmlParserTest() {
    tools_.Add(
        "put", "",
        R"({"type":"object","properties":{"s":{"type":"string"},"n":{"type":"number"},"b":{"type":"boolean"},"o":{"type":"object"},"u":{"anyOf":[{"type":"integer"},{"type":"null"}]},"m":{"type":["integer","string"]},"e":{"enum":["1","2"]},"r":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"array"}}})");
    tools_.Add("srv__do.it", "", R"({"type":"object"})");
    view_ = tools_.View();
    offered_ = std::make_unique<OfferedTools>(*FindRenderer("claude"), view_);
  }
  v1::ParseOutputResponse Parse(const std::string& text) { return ParseText(*offered_, text); }
  std::string ArgumentsOf(const std::string& parameters) {
    const auto out = Parse("<function_calls>\n<invoke name=\"put\">\n" + parameters +
                           "\n</invoke>\n</function_calls>");
    if (out.events_size() != 1 || !out.events(0).call().complete()) return out.DebugString();
    return out.events(0).call().arguments_json();
  }

  Tools tools_;
  std::vector<const v1::Tool*> view_;
  std::unique_ptr<OfferedTools> offered_;
};

TEST_F(XmlParserTest, TextAndCalls) {
  const auto out = Parse(
      "I look.\n<function_calls>\n<invoke name=\"put\">\n<parameter "
      "name=\"s\">a</parameter>\n</invoke>\n"
      "<invoke name=\"srv__do_it_" +
      WireNameFor(*FindDialect("claude"), "srv__do.it").substr(11) +
      "\">\n</invoke>\n</function_calls>");
  ASSERT_EQ(out.events_size(), 3) << out.DebugString();
  EXPECT_EQ(out.events(0).text(), "I look.\n");
  EXPECT_EQ(out.events(1).call().arguments_json(), R"({"s":"a"})");
  EXPECT_EQ(out.events(2).call().name(), "srv__do.it");
  EXPECT_EQ(out.events(2).call().arguments_json(), "{}");
  EXPECT_EQ(out.repairs_size(), 0);
}

TEST_F(XmlParserTest, TheSchemaDecidesWhatAValueIs) {
  EXPECT_EQ(ArgumentsOf("<parameter name=\"s\">12</parameter>"), R"({"s":"12"})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"s\">\n a \"q\" &lt;\n</parameter>"),
            R"({"s":"\n a \"q\" &lt;\n"})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"n\"> 1.50 </parameter>"), R"({"n":1.50})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"b\">True</parameter>"), R"({"b":true})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"o\">{\"k\": [1]}</parameter>"), R"({"o":{"k": [1]}})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"u\">null</parameter>"), R"({"u":null})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"u\">none</parameter>"), R"({"u":"none"})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"m\">7</parameter>"), R"({"m":7})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"m\">7 a</parameter>"), R"({"m":"7 a"})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"e\">1</parameter>"), R"({"e":"1"})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"r\">[1]</parameter>"), R"({"r":[1]})");
  EXPECT_EQ(ArgumentsOf("<parameter name=\"x\">12</parameter><parameter name=\"y\">z</parameter>"),
            R"({"x":12,"y":"z"})");
}

TEST_F(XmlParserTest, AValueEndsOnlyWhereTheCallGoesOn) {
  EXPECT_EQ(ArgumentsOf("<parameter name=\"s\">a</parameter> b <invoke name=\"x\"></parameter>"),
            R"({"s":"a</parameter> b <invoke name=\"x\">"})");
}

TEST_F(XmlParserTest, AnyPrefixAndNone) {
  const auto out = Parse(
      "<ns:function_calls><ns:invoke name='put'><ns:parameter name='s'>a</ns:parameter></ns:invoke>"
      "</ns:function_calls>");
  ASSERT_EQ(out.events_size(), 1);
  EXPECT_EQ(out.events(0).call().arguments_json(), R"({"s":"a"})");
}

TEST_F(XmlParserTest, ABareInvokeOfAKnownToolIsACall) {
  const auto out =
      Parse("count\n<invoke name=\"put\">\n<parameter name=\"s\">a</parameter>\n</invoke>");
  ASSERT_EQ(out.events_size(), 2);
  EXPECT_TRUE(out.events(1).call().complete());
  EXPECT_EQ(out.repairs(0).kind(), "missing_opener");
  const auto other = Parse("court\n<invoke name=\"nobody\">\n</invoke>");
  ASSERT_EQ(other.events_size(), 2);
  EXPECT_TRUE(other.events(1).has_malformed()) << other.DebugString();
}

TEST_F(XmlParserTest, NothingRunsOutOfACodeFence) {
  const std::string text =
      "Like this:\n```xml\n<function_calls>\n<invoke "
      "name=\"put\">\n</invoke>\n</function_calls>\n```\n";
  const auto out = Parse(text);
  ASSERT_EQ(out.events_size(), 1);
  EXPECT_EQ(out.events(0).text(), text);
}

TEST_F(XmlParserTest, ReasoningIsNotText) {
  const auto out = Parse("<thinking>Hm <invoke name=\"put\"> </thinking>Yes");
  ASSERT_EQ(out.events_size(), 2);
  EXPECT_EQ(out.events(0).reasoning(), "Hm <invoke name=\"put\"> ");
  EXPECT_EQ(out.events(1).text(), "Yes");
}

TEST_F(XmlParserTest, WhatIsCutIsIncompleteAndWhatIsOddIsMalformed) {
  auto out = Parse("<function_calls><invoke name=\"put\"><parameter name=\"s\">a");
  EXPECT_FALSE(out.events(0).call().complete());
  out = Parse("<function_calls><invoke name=\"put\">{\"s\": 1}</invoke></function_calls>");
  ASSERT_EQ(out.events_size(), 1);
  EXPECT_EQ(out.events(0).malformed().span(), "<invoke name=\"put\">{\"s\": 1}</invoke>");
  // The stop string may cut the block's end.
  out = Parse("<function_calls><invoke name=\"put\"></invoke>\n");
  EXPECT_TRUE(out.events(0).call().complete());
  // A missing </invoke>.
  out = Parse(
      "<function_calls><invoke name=\"put\"><parameter name=\"s\">a</parameter></function_calls>");
  EXPECT_TRUE(out.events(0).call().complete());
  EXPECT_EQ(out.repairs(0).kind(), "missing_closer");
}

}  // namespace
}  // namespace toolrack
