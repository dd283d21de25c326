// The meta tools through real stubs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "absl/strings/match.h"
#include "registry/base/errors.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"
#include "toolrack/v1/session_service.grpc.pb.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class MetaToolsTest : public testing::Test {
 protected:
  explicit MetaToolsTest(v1::Config config = {}) : server_(std::move(config)) {}

  absl::StatusOr<v1::CallToolResponse> Call(const std::string& name, const std::string& arguments,
                                            const std::string& session_id = "") {
    v1::CallToolRequest request;
    request.set_name(name);
    request.set_arguments_json(arguments);
    request.set_session_id(session_id);
    v1::CallToolResponse response;
    const absl::Status status = FromGrpc(tools_->CallTool(NewContext().get(), request, &response));
    if (!status.ok()) return status;
    return response;
  }
  static std::string Text(const absl::StatusOr<v1::CallToolResponse>& response) {
    if (!response.ok()) return response.status().ToString();
    return response->result().content(0).text().text();
  }
  std::string Open(const std::string& renderer) {
    v1::OpenSessionRequest request;
    request.set_renderer(renderer);
    v1::Session session;
    EXPECT_TRUE(sessions_->OpenSession(NewContext().get(), request, &session).ok());
    return session.session_id();
  }
  std::vector<std::string> Loaded(const std::string& id) {
    v1::GetSessionRequest request;
    request.set_session_id(id);
    v1::Session session;
    EXPECT_TRUE(sessions_->GetSession(NewContext().get(), request, &session).ok());
    std::vector<std::string> names;
    for (const v1::LoadedTool& tool : session.loaded_tools()) names.push_back(tool.name());
    return names;
  }

  TestServer server_;
  std::unique_ptr<v1::ToolService::Stub> tools_ = server_.Tools();
  std::unique_ptr<v1::SessionService::Stub> sessions_ = server_.Sessions();
};

TEST_F(MetaToolsTest, AreThereAndHidden) {
  v1::ListToolsRequest list;
  v1::ListToolsResponse listed;
  ASSERT_TRUE(tools_->ListTools(NewContext().get(), list, &listed).ok());
  for (const v1::Tool& tool : listed.tools()) EXPECT_THAT(tool.name(), Not(HasSubstr("__")));
  for (const char* name : {"__tool_search", "__tool_describe", "__tool_call", "__result_read"}) {
    v1::DescribeToolRequest request;
    request.set_name(name);
    v1::Tool tool;
    EXPECT_TRUE(tools_->DescribeTool(NewContext().get(), request, &tool).ok()) << name;
    EXPECT_EQ(tool.state(), v1::TOOL_STATE_ACTIVE) << name;
  }
}

TEST_F(MetaToolsTest, SearchFindsAndLoadsWhereToolsAreDeferred) {
  const std::string deferred = Open("claude_deferred");
  const std::string upfront = Open("claude");
  for (const std::string& id : {deferred, upfront, std::string()}) {
    const auto found = Call("__tool_search", R"({"query":"square root","limit":1})", id);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_THAT(Text(found), HasSubstr("calculator(expression: string): Evaluates"));
    EXPECT_THAT(found->result().structured_json(), HasSubstr(R"("name":"calculator")"));
  }
  EXPECT_THAT(Loaded(deferred), ElementsAre("calculator"));
  EXPECT_TRUE(Loaded(upfront).empty());
  // Again: it is loaded already.
  EXPECT_THAT(Call("__tool_search", R"({"query":"select:calculator,echo"})", deferred)
                  ->result()
                  .structured_json(),
              HasSubstr(R"("loaded":["echo"],"already_loaded":["calculator"])"));
}

TEST_F(MetaToolsTest, DescribeGivesSignatureAndSchema) {
  const auto both = Call("__tool_describe", R"({"names":["echo","ecko","echo"]})");
  EXPECT_THAT(Text(both), HasSubstr("echo(text: string): "));
  EXPECT_THAT(Text(both), HasSubstr(R"({"type":"object")"));
  EXPECT_THAT(Text(both), HasSubstr("no tool named ecko. The nearest names are: echo."));
  EXPECT_FALSE(both->result().is_error());
  EXPECT_TRUE(Call("__tool_describe", R"({"names":["ecko"]})")->result().is_error());
}

TEST_F(MetaToolsTest, CallsTheInnerToolWhateverTheForm) {
  for (const auto& [name, arguments] : std::vector<std::pair<std::string, std::string>>{
           {"__tool_call", R"({"name":"echo","arguments":{"text":"hi"}})"},
           {"__tool_call", R"({"server":"","tool":"echo","args":{"text":"hi"}})"},
           {"call_mcp", R"({"server":"","tool":"echo","args":{"text":"hi"}})"},
           {"call_mcp", R"({"name":"echo","arguments":{"text":"hi"}})"}}) {
    EXPECT_EQ(Text(Call(name, arguments)), "hi") << arguments;
  }
  TestTools tools(server_->registry(), "files");
  v1::Tool definition = BareTool("read");
  definition.set_input_schema(R"({"type":"object","properties":{"n":{"type":"number"}}})");
  const auto held = std::make_shared<HeldTool>();
  tools.Add(definition, held);
  for (const char* arguments : {R"({"server":"files","tool":"read","args":{"n":1.50}})",
                                R"({"server":"files","tool":"files__read","args":{"n":1.50}})",
                                R"({"name":"files__read","arguments":{"n":1.50}})"}) {
    auto caller = std::async(std::launch::async, [&] { return Call("__tool_call", arguments); });
    ASSERT_TRUE(held->WaitFor(1));
    // Byte for byte, and the inner tool's own.
    EXPECT_EQ(held->front().arguments_json, R"({"n":1.50})");
    EXPECT_EQ(held->front().tool->name(), "files__read");
    held->Answer("done");
    EXPECT_EQ(Text(caller.get()), "done");
  }
}

TEST_F(MetaToolsTest, WhatIsWrongIsTheInnerToolsOrSaysWhere) {
  const auto reason = [this](const std::string& arguments) {
    return ReasonOf(Call("__tool_call", arguments).status());
  };
  const auto bad = Call("__tool_call", R"({"name":"echo","arguments":{"txt":1}})");
  EXPECT_EQ(ReasonOf(bad.status()), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(MetadataOf(bad.status())["tool"], "echo");
  EXPECT_EQ(reason(R"({"name":"nobody"})"), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(reason(R"({"name":"echo","text":"hi"})"), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(reason(R"({"name":"echo","name":"echo"})"), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(reason(R"({"name":1})"), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(reason("{}"), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(reason("[]"), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(reason("{"), v1::ERROR_REASON_ARGUMENTS_NOT_JSON);
  for (const char* inner : {"__tool_call", "call_mcp", "__tool_search"}) {
    const auto status = Call("__tool_call", absl::StrCat(R"({"name":")", inner, R"("})")).status();
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_ARGUMENTS_INVALID) << inner;
    EXPECT_EQ(FaultsOf(status)[0].field, "/name");
  }
}

TEST_F(MetaToolsTest, ExplainTellsOfTheInnerTool) {
  v1::ExplainCallRequest request;
  request.set_name("__tool_call");
  request.set_arguments_json(R"({"name":"echo","arguments":{"txt":1}})");
  v1::ExplainCallResponse response;
  ASSERT_TRUE(tools_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.verdict().reason(), "ARGUMENTS_INVALID");
  EXPECT_THAT(response.verdict().message(), HasSubstr("arguments of echo"));
  const auto unwrap =
      std::find_if(response.steps().begin(), response.steps().end(),
                   [](const v1::ExplainStep& step) { return step.name() == "unwrap"; });
  ASSERT_NE(unwrap, response.steps().end());
  EXPECT_EQ(unwrap->outcome(), v1::EXPLAIN_OUTCOME_PASS);
  EXPECT_THAT(unwrap->detail(), HasSubstr("echo by way of __tool_call"));
}

TEST_F(MetaToolsTest, OneIdempotencyKeyIsOneRunWhateverTheForm) {
  TestTools tools(server_->registry(), "files");
  const auto held = tools.AddHeld("write");
  const auto call = [this](const std::string& name, const std::string& arguments) {
    v1::CallToolRequest request;
    request.set_name(name);
    request.set_arguments_json(arguments);
    request.set_idempotency_key("once");
    v1::CallToolResponse response;
    EXPECT_TRUE(tools_->CallTool(NewContext().get(), request, &response).ok());
    return response;
  };
  auto first = std::async(std::launch::async, [&] { return call("files__write", "{}"); });
  ASSERT_TRUE(held->WaitFor(1));
  held->Answer("written");
  first.get();
  const v1::CallToolResponse again =
      call("__tool_call", R"({"name":"files__write","arguments":{}})");
  EXPECT_TRUE(again.cached());
  EXPECT_EQ(again.result().content(0).text().text(), "written");
}

TEST_F(MetaToolsTest, LongArgumentsOfTheInnerToolComeThrough) {
  const std::string text(100'000, 'x');
  EXPECT_EQ(Text(Call("__tool_call",
                      absl::StrCat(R"({"name":"echo","arguments":{"text":")", text, R"("}})")))
                .substr(0, 100),
            text.substr(0, 100));
}

v1::Config Denying() {
  v1::Config config;
  v1::PolicyRule& rule = *config.mutable_policy()->add_rules();
  rule.set_name("no-echo");
  rule.set_action("deny");
  rule.add_tools("echo");
  return config;
}

class DeniedMetaToolsTest : public MetaToolsTest {
 protected:
  DeniedMetaToolsTest() : MetaToolsTest(Denying()) {}
};

TEST_F(DeniedMetaToolsTest, WhatIsDeniedIsNotThere) {
  const std::string id = Open("claude_deferred");
  EXPECT_THAT(Text(Call("__tool_search", R"({"query":"select:echo"})", id)),
              Not(HasSubstr("echo(")));
  EXPECT_THAT(Text(Call("__tool_search", R"({"query":"say the text back unchanged"})", id)),
              Not(HasSubstr("echo(")));
  EXPECT_THAT(Text(Call("__tool_describe", R"({"names":["echo"]})", id)),
              HasSubstr("no tool named"));
  EXPECT_EQ(ReasonOf(Call("__tool_call", R"({"name":"echo","arguments":{"text":"x"}})").status()),
            v1::ERROR_REASON_POLICY_DENIED);
}

v1::Config FewLoaded() {
  v1::Config config;
  config.mutable_limits()->set_max_loaded_tools(1);
  return config;
}

class FewLoadedMetaToolsTest : public MetaToolsTest {
 protected:
  FewLoadedMetaToolsTest() : MetaToolsTest(FewLoaded()) {}
};

TEST_F(FewLoadedMetaToolsTest, TheLimitIsSaid) {
  const std::string id = Open("anthropic_deferred");
  EXPECT_THAT(Text(Call("__tool_search", R"({"query":"select:echo,calculator"})", id)),
              HasSubstr("limits.max_loaded_tools"));
  EXPECT_EQ(Loaded(id).size(), 1u);
}

}  // namespace
}  // namespace toolrack
