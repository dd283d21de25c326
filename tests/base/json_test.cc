// What counts as JSON here, and the limits.
#include "registry/base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/base/utf8.h"

namespace toolrack {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

JsonFault FaultOf(absl::string_view text, const JsonLimits& limits = {}) {
  Json out = "untouched";
  const auto outcome = ParseJson(text, limits, out);
  const auto* fault = std::get_if<JsonFault>(&outcome);
  EXPECT_NE(fault, nullptr) << text;
  EXPECT_EQ(out, "untouched") << "a refused text leaves the value alone";
  if (fault == nullptr) return {};
  EXPECT_FALSE(fault->message.empty());
  EXPECT_EQ(fault->message.find('\n'), std::string::npos) << fault->message;
  EXPECT_LE(fault->offset, text.size());
  return *fault;
}

TEST(ParseJson, TakesEveryKindOfValue) {
  for (const char* text :
       {"null", "true", "false", "0", "-0", "-1.5e-3", "18446744073709551615", "\"\"", "[]", "{}",
        " \t\r\n[1, 2]\n", R"({"a":{"b":[null]}})", R"("\u0000\ud83d\ude00\n\/")"}) {
    Json out;
    EXPECT_TRUE(std::holds_alternative<std::monostate>(ParseJson(text, {}, out))) << text;
  }
}

TEST(ParseJson, RefusesWhatIsNotRfc8259) {
  const std::vector<std::string> bad = {"",
                                        " ",
                                        "nul",
                                        "True",
                                        "NaN",
                                        "Infinity",
                                        "-Infinity",
                                        "+1",
                                        "01",
                                        "1.",
                                        ".5",
                                        "1e",
                                        "0x10",
                                        "'a'",
                                        "\"a",
                                        "[1,]",
                                        "[1 2]",
                                        "{\"a\":1,}",
                                        "{a:1}",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "[1]]",
                                        "1 2",
                                        "// x\n1",
                                        "/* x */1",
                                        "\"\x01\"",
                                        "\"\t\"",
                                        "\"\\x41\"",
                                        "\"\\u12\"",
                                        "\"\\ud800\"",
                                        "\"\\udc00\"",
                                        "\"\\ude00\\ud83d\"",
                                        "\"\\ud800\\u0041\"",
                                        "1e400",
                                        "-1e400",
                                        "\xEF\xBB\xBF{}",
                                        "\xFE\xFF",
                                        std::string("[1]\0", 4),
                                        "\"\xFF\"",
                                        "\"\xC0\xAF\"",
                                        "\"\xED\xA0\x80\"",
                                        "\"\xF4\x90\x80\x80\"",
                                        "\"\xE2\x82\"",
                                        "{\"\xFF\":1}"};
  for (const std::string& text : bad) {
    const JsonFault fault = FaultOf(text);
    EXPECT_EQ(fault.limit, "") << ::testing::PrintToString(text);
    EXPECT_TRUE(IsUtf8(fault.message)) << ::testing::PrintToString(text);
  }
}

TEST(ParseJson, RefusesDuplicateKeysAtEveryDepth) {
  EXPECT_EQ(FaultOf(R"({"a":1,"a":1})").message, R"(duplicate key "a")");
  FaultOf(R"([{"x":{"b":1,"c":2,"b":3}}])");
  FaultOf(R"({"a":1,"\u0061":2})");
  FaultOf(R"({"a\u0000":1,"a\u0000":2})");
  Json out;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(
      ParseJson(R"({"a":{"a":1},"A":2,"a\u0000":3,"b":[{"a":1},{"a":1}]})", {}, out)));
}

TEST(ParseJson, SaysWhereItStopped) {
  EXPECT_EQ(FaultOf("[1,2,x]").offset, 5u);
  EXPECT_EQ(FaultOf("[1").offset, 2u);
  EXPECT_EQ(FaultOf("\"a\xFF\"").offset, 2u);
  // Just after the second name.
  EXPECT_EQ(FaultOf(R"({"a":1,"a":1})").offset, 10u);
  EXPECT_EQ(FaultOf("[[[1]]]", {100, 2, 100}).offset, 3u);
}

TEST(ParseJson, CountsBytesDepthAndNodes) {
  Json out;
  const auto fits = [&out](absl::string_view text, const JsonLimits& limits) {
    return std::holds_alternative<std::monostate>(ParseJson(text, limits, out));
  };
  EXPECT_TRUE(fits("[1,2]", {5, 9, 9}));
  const JsonFault bytes = FaultOf("[1,2]", {4, 9, 9});
  EXPECT_EQ(bytes.limit, "max_bytes");
  EXPECT_EQ(bytes.allowed, 4u);
  EXPECT_EQ(bytes.actual, 5u);
  EXPECT_TRUE(fits("[[1]]", {99, 2, 9}));
  const JsonFault depth = FaultOf("[{\"a\":[1]}]", {99, 2, 9});
  EXPECT_EQ(depth.limit, "max_depth");
  EXPECT_EQ(depth.allowed, 2u);
  EXPECT_EQ(depth.actual, 3u);
  EXPECT_TRUE(fits("7", {99, 0, 9})) << "a scalar has no depth";
  EXPECT_TRUE(fits("{\"a\":[1,2]}", {99, 9, 4}));
  const JsonFault nodes = FaultOf("{\"a\":[1,2,3]}", {99, 9, 4});
  EXPECT_EQ(nodes.limit, "max_nodes");
  EXPECT_EQ(nodes.allowed, 4u);
  EXPECT_EQ(nodes.actual, 5u);
}

TEST(ParseJson, AMillionBracketsAreRefusedWithoutRecursion) {
  EXPECT_EQ(FaultOf(std::string(1000000, '[')).limit, "max_depth");
  EXPECT_EQ(FaultOf(std::string(200000, '['), {2 << 20, SIZE_MAX, SIZE_MAX}).limit, "");
}

TEST(ParseJson, IntegersOf64BitsAreExact) {
  for (const char* text : {"0", "-1", "9223372036854775807", "-9223372036854775808",
                           "9223372036854775808", "18446744073709551615", "9007199254740993"}) {
    EXPECT_EQ(DumpJson(*ParseJsonOrStatus(text)), text);
  }
  EXPECT_TRUE(ParseJsonOrStatus("18446744073709551616")->is_number_float());
}

TEST(ParseJson, MembersAndElementsLandWhereTheyBelong) {
  const Json value =
      *ParseJsonOrStatus(R"({"z":[{"y":[[],{}]},2,[3,[4]]],"a":{"b":{"c":null}},"m":"x"})");
  EXPECT_EQ(value, Json::parse(R"({"z":[{"y":[[],{}]},2,[3,[4]]],"a":{"b":{"c":null}},"m":"x"})"));
}

TEST(ParseJsonOrStatus, NamesTheByte) {
  const absl::Status status = ParseJsonOrStatus("[1,x]").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message().substr(0, 8), "byte 3: ");
}

TEST(JsonQuote, EscapesAsJsonDoes) {
  EXPECT_EQ(JsonQuote("a\"b\\c\n\r\t\x01\x7Fé/"), "\"a\\\"b\\\\c\\n\\r\\t\\u0001\x7Fé/\"");
  EXPECT_EQ(JsonQuote(absl::string_view("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(JsonQuote("\xFF"), "\"\xEF\xBF\xBD\"");
  for (int c = 0; c < 256; ++c) {
    const std::string text(1, static_cast<char>(c));
    EXPECT_EQ(ParseJsonOrStatus(JsonQuote(text))->get<std::string>(), ReplaceInvalidUtf8(text))
        << c;
  }
}

TEST(DumpJson, IsCompactAndAlwaysUtf8) {
  EXPECT_EQ(DumpJson(Json{{"b", 1}, {"a", {1.5, nullptr}}}), R"({"a":[1.5,null],"b":1})");
  EXPECT_EQ(DumpJson(Json("\xFF")), "\"\xEF\xBF\xBD\"");
}

Struct OneField(const std::string& name, const Value& value) {
  Struct out;
  (*out.mutable_fields())[name] = value;
  return out;
}

TEST(StructToJson, WritesWholeNumbersWithoutAFraction) {
  const auto number = [](double n) {
    Value value;
    value.set_number_value(n);
    return StructToJson(OneField("n", value), 8).value();
  };
  EXPECT_EQ(number(1), R"({"n":1})");
  EXPECT_EQ(number(-0.0), R"({"n":0})");
  EXPECT_EQ(number(-42), R"({"n":-42})");
  EXPECT_EQ(number(9007199254740992.0), R"({"n":9007199254740992})");
  EXPECT_EQ(number(0.1), R"({"n":0.1})");
  EXPECT_EQ(number(1e300), R"({"n":1e+300})");
  for (const double n :
       {0.1, 1.0 / 3, 1e-320, 123456789.123, 1e21, -2.5e-7, 1.7976931348623157e308}) {
    EXPECT_EQ((*ParseJsonOrStatus(number(n)))["n"].get<double>(), n);
  }
}

TEST(StructToJson, RefusesWhatJsonCannotSay) {
  for (const double n : {std::nan(""), std::numeric_limits<double>::infinity(),
                         -std::numeric_limits<double>::infinity()}) {
    Value value;
    value.set_number_value(n);
    Value list;
    *list.mutable_list_value()->add_values() = value;
    EXPECT_EQ(StructToJson(OneField("n", list), 8).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST(StructToJson, SortsKeysAndBoundsDepth) {
  Struct value;
  for (const char* key : {"b", "a", "é", "A", "a\"b"})
    (*value.mutable_fields())[key].set_bool_value(true);
  EXPECT_EQ(*StructToJson(value, 1), R"({"A":true,"a":true,"a\"b":true,"b":true,"é":true})");
  EXPECT_EQ(*StructToJson(Struct(), 1), "{}");
  Value nested;
  nested.set_null_value(google::protobuf::NULL_VALUE);
  for (int i = 0; i < 3; ++i) {
    Value list;
    *list.mutable_list_value()->add_values() = nested;
    nested = list;
  }
  EXPECT_EQ(*StructToJson(OneField("n", nested), 4), R"({"n":[[[null]]]})");
  EXPECT_FALSE(StructToJson(OneField("n", nested), 3).ok());
  EXPECT_EQ(*StructToJson(OneField("unset", Value()), 1), R"({"unset":null})");
}

}  // namespace
}  // namespace toolrack
