#include "registry/base/json_rpc.h"

#include <gtest/gtest.h>

namespace toolrack {
namespace {

JsonRpcMessage Good(absl::string_view text) {
  const auto parsed = ParseJsonRpc(text, {});
  const auto* message = std::get_if<JsonRpcMessage>(&parsed);
  EXPECT_NE(message, nullptr) << text << ": " << std::get<JsonRpcFault>(parsed).message;
  return message == nullptr ? JsonRpcMessage{} : *message;
}

JsonRpcFault Bad(absl::string_view text) {
  const auto parsed = ParseJsonRpc(text, {});
  const auto* fault = std::get_if<JsonRpcFault>(&parsed);
  EXPECT_NE(fault, nullptr) << text;
  return fault == nullptr ? JsonRpcFault{} : *fault;
}

TEST(JsonRpc, KeepsIdsAndParametersAsTheyWereSpelt) {
  const JsonRpcMessage message = Good(
      R"( {"jsonrpc" : "2.0", "params" : {"b":1.0, "a":[12345678901234567890,"}\""]} ,"id":1.50,"method":"a\u002fb"} )");
  EXPECT_EQ(message.kind, JsonRpcMessage::Kind::kRequest);
  EXPECT_EQ(message.id, "1.50");
  EXPECT_EQ(message.method, "a/b");
  EXPECT_EQ(message.params, R"({"b":1.0, "a":[12345678901234567890,"}\""]})");
  EXPECT_EQ(Good(R"({"jsonrpc":"2.0","id":"\u0061","method":"m"})").id, R"("\u0061")");
}

TEST(JsonRpc, TellsTheKindsApart) {
  EXPECT_EQ(Good(R"({"jsonrpc":"2.0","method":"m"})").kind, JsonRpcMessage::Kind::kNotification);
  const JsonRpcMessage result = Good(R"({"jsonrpc":"2.0","id":"x","result":null})");
  EXPECT_EQ(result.kind, JsonRpcMessage::Kind::kResult);
  EXPECT_EQ(result.result, "null");
  const JsonRpcMessage error =
      Good(R"({"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"no","data":[1]}})");
  EXPECT_EQ(error.kind, JsonRpcMessage::Kind::kError);
  EXPECT_EQ(error.error_code, -32601);
  EXPECT_EQ(error.error_message, "no");
  EXPECT_EQ(error.error_data, "[1]");
}

TEST(JsonRpc, SaysWhatIsWrongAndToWhom) {
  EXPECT_EQ(Bad("{").code, kJsonRpcParseError);
  EXPECT_EQ(Bad("{").id, "null");
  EXPECT_EQ(Bad("[]").code, kJsonRpcInvalidRequest);
  EXPECT_EQ(Bad("7").code, kJsonRpcInvalidRequest);
  EXPECT_EQ(Bad(R"({"id":5,"method":"m"})").id, "5");
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":null,"method":"m"})").id, "null");
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":5,"method":7})").id, "5");
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":5,"method":"m","params":1})").id, "5");
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":5})").code, kJsonRpcInvalidRequest);
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":5,"result":1,"error":{}})").id, "5");
  EXPECT_EQ(Bad(R"({"jsonrpc":"2.0","id":5,"error":{"code":"x"}})").id, "5");
}

TEST(JsonRpc, WritesOneLineThatItReadsAgain) {
  const std::string text = JsonRpcRequest("\"i\"", "tools/call", "{\n \"a\": \"\\n\"\r\n}");
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const JsonRpcMessage message = Good(text);
  EXPECT_EQ(message.params, "{  \"a\": \"\\n\"  }");
  EXPECT_EQ(Good(JsonRpcResult("1", "{}")).result, "{}");
  EXPECT_EQ(Good(JsonRpcError("1", -32602, "a \"b\"", "{}")).error_message, "a \"b\"");
  EXPECT_EQ(Good(JsonRpcNotification("n")).params, "");
}

TEST(JsonRpc, FindsMembersByTheirDecodedKeys) {
  const std::string text = R"({"\u0061" : {"x":[{}]}, "b":"]},", "c":-1.5e3 })";
  const auto members = JsonMembers(text);
  ASSERT_EQ(members.size(), 3u);
  EXPECT_EQ(FindMember(members, "a"), R"({"x":[{}]})");
  EXPECT_EQ(FindMember(members, "b"), R"("]},")");
  EXPECT_EQ(FindMember(members, "c"), "-1.5e3");
  EXPECT_EQ(FindMember(members, "d"), "");
  EXPECT_TRUE(JsonMembers("{}").empty());
  EXPECT_TRUE(JsonMembers("[1]").empty());
}

TEST(JsonRpcLines, AreTheSameHoweverTheBytesCome) {
  const std::string stream = "{}\r\n\n  \nabc\n0123456789\nlast\npart";
  for (size_t step = 1; step <= stream.size(); ++step) {
    JsonRpcLines lines(8);
    std::vector<std::string> got;
    for (size_t at = 0; at < stream.size(); at += step) {
      lines.Append(absl::string_view(stream).substr(at, step));
      while (const auto line = lines.Next()) got.push_back(line->too_long ? "(long)" : line->text);
    }
    EXPECT_EQ(got, (std::vector<std::string>{"{}", "abc", "(long)", "last"})) << step;
    EXPECT_EQ(lines.pending(), 4u);
  }
}

}  // namespace
}  // namespace toolrack
