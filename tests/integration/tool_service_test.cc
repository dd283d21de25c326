// ToolService through real stubs.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "registry/base/errors.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

class ToolServiceTest : public testing::Test {
 protected:
  v1::CallToolRequest Call(const std::string& name, const std::string& arguments) {
    v1::CallToolRequest request;
    request.set_name(name);
    request.set_arguments_json(arguments);
    return request;
  }
  absl::Status Ask(const v1::CallToolRequest& request, v1::CallToolResponse* response) {
    return FromGrpc(stub_->CallTool(NewContext().get(), request, response));
  }

  TestServer server_;
  std::unique_ptr<v1::ToolService::Stub> stub_ = server_.Tools();
};

TEST_F(ToolServiceTest, ListsTheBuiltInToolsInOrder) {
  v1::ListToolsResponse response;
  ASSERT_TRUE(stub_->ListTools(NewContext().get(), {}, &response).ok());
  std::vector<std::string> names;
  for (const v1::Tool& tool : response.tools()) names.push_back(tool.name());
  EXPECT_EQ(names,
            (std::vector<std::string>{"calculator", "counter", "current_time", "echo", "sleep"}));
  EXPECT_EQ(response.total_size(), 5);
  EXPECT_EQ(response.epoch(), server_->registry().epoch());
  EXPECT_EQ(response.next_page_token(), "");
}

TEST_F(ToolServiceTest, GivesTheSameOverEveryListener) {
  std::string first;
  for (const char* scope : {"agent", "worker", "control", "tcp"}) {
    v1::ListToolsRequest request;
    request.set_view(v1::TOOL_VIEW_FULL);
    v1::ListToolsResponse response;
    const grpc::Status status =
        server_.Tools(scope)->ListTools(NewContext().get(), request, &response);
    ASSERT_TRUE(status.ok()) << scope << ": " << status.error_message();
    if (first.empty()) first = response.SerializeAsString();
    EXPECT_EQ(response.SerializeAsString(), first) << scope;
  }
}

TEST_F(ToolServiceTest, PagesThroughAllToolsEachOnce) {
  TestTools tools(server_->registry(), "many");
  auto tool = std::make_shared<HeldTool>();
  for (int i = 0; i < 40; ++i) tools.Add(BareTool(absl::StrCat("t", i)), tool);
  v1::ListToolsRequest request;
  request.set_page_size(7);
  std::vector<std::string> names;
  do {
    v1::ListToolsResponse page;
    ASSERT_TRUE(stub_->ListTools(NewContext().get(), request, &page).ok());
    EXPECT_LE(page.tools_size(), 7);
    for (const v1::Tool& one : page.tools()) names.push_back(one.name());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_EQ(names.size(), 45u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 45u);
}

TEST_F(ToolServiceTest, RefusesAPageTokenThatIsNotOurs) {
  v1::ListToolsRequest request;
  request.set_page_token("garbage");
  v1::ListToolsResponse response;
  const absl::Status status = FromGrpc(stub_->ListTools(NewContext().get(), request, &response));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(MetadataOf(status)["field"], "page_token");
}

TEST_F(ToolServiceTest, DescribesAToolWhole) {
  v1::DescribeToolRequest request;
  request.set_name("echo");
  v1::Tool tool;
  ASSERT_TRUE(stub_->DescribeTool(NewContext().get(), request, &tool).ok());
  EXPECT_EQ(tool.name(), "echo");
  EXPECT_FALSE(tool.input_schema().empty());
  EXPECT_EQ(tool.digest().size(), 64u);
  EXPECT_EQ(tool.state(), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(tool.source().kind(), "builtin");
}

TEST_F(ToolServiceTest, NamesTheNearestToolsWhenThereIsNone) {
  v1::DescribeToolRequest request;
  request.set_name("calculater");
  v1::Tool tool;
  absl::Status status = FromGrpc(stub_->DescribeTool(NewContext().get(), request, &tool));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(status)["nearest"], "calculator");

  v1::CallToolResponse response;
  status = Ask(Call("calculater", "{}"), &response);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(status)["executed"], "no");
}

TEST_F(ToolServiceTest, FindsAToolByItsExactName) {
  v1::SearchToolsRequest request;
  request.set_query("calculator");
  v1::SearchToolsResponse response;
  ASSERT_TRUE(stub_->SearchTools(NewContext().get(), request, &response).ok());
  ASSERT_GE(response.hits_size(), 1);
  EXPECT_EQ(response.hits(0).tool().name(), "calculator");
}

TEST_F(ToolServiceTest, CallsATool) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  std::thread answer([&held] {
    if (held->WaitFor(1)) held->Answer("done");
  });
  v1::CallToolRequest request = Call("test__held", "{}");
  request.set_call_id("my-call");
  v1::CallToolResponse response;
  const absl::Status status = Ask(request, &response);
  answer.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(response.call_id(), "my-call");
  EXPECT_EQ(response.result().content(0).text().text(), "done");
}

TEST_F(ToolServiceTest, TellsEachFaultOfTheArguments) {
  v1::CallToolResponse response;
  const absl::Status status = Ask(Call("sleep", R"({"seconds":"x"})"), &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_ARGUMENTS_INVALID);
  ASSERT_EQ(FaultsOf(status).size(), 1u);
  EXPECT_EQ(FaultsOf(status)[0].field, "/seconds");
  EXPECT_EQ(MetadataOf(status)["executed"], "no");
}

TEST_F(ToolServiceTest, PassesTheCallersUserAsThePrincipal) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  for (const char* scope : {"agent", "tcp"}) {
    std::string principal;
    std::thread answer([&] {
      if (!held->WaitFor(1)) return;
      principal = held->front().context.principal;
      held->Answer("done");
    });
    v1::CallToolResponse response;
    const grpc::Status status =
        server_.Tools(scope)->CallTool(NewContext().get(), Call("test__held", "{}"), &response);
    answer.join();
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(principal,
              absl::string_view(scope) == "tcp" ? "tcp" : absl::StrCat("uid:", ::getuid()));
  }
}

TEST_F(ToolServiceTest, TellsTheToolWhenTheCallerLeaves) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  auto context = NewContext();
  absl::Notification ended;
  v1::CallToolRequest request = Call("test__held", "{}");
  v1::CallToolResponse response;
  grpc::Status status;
  stub_->async()->CallTool(context.get(), &request, &response, [&](grpc::Status s) {
    status = std::move(s);
    ended.Notify();
  });
  ASSERT_TRUE(held->WaitFor(1));
  context->TryCancel();
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
  ASSERT_TRUE(ended.WaitForNotificationWithTimeout(kHung));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ToolServiceTest, TellsTheToolWhenTheDeadlinePasses) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Milliseconds(300)));
  v1::CallToolResponse response;
  const grpc::Status status = stub_->CallTool(&context, Call("test__held", "{}"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(held->WaitForStop(), StopReason::kDeadline);
}

TEST_F(ToolServiceTest, GivesTheDetailsOfATimeoutThatTheRequestAskedFor) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  v1::CallToolRequest request = Call("test__held", "{}");
  request.mutable_timeout()->set_nanos(50000000);
  v1::CallToolResponse response;
  const absl::Status status = Ask(request, &response);
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TIMEOUT);
  EXPECT_EQ(MetadataOf(status)["executed"], "maybe");
}

TEST_F(ToolServiceTest, StreamsProgressThenTheResponseLast) {
  v1::CallToolStreamRequest request;
  request.set_name("sleep");
  request.set_arguments_json(R"({"seconds":0.02,"steps":4})");
  auto context = NewContext();
  auto reader = stub_->CallToolStream(context.get(), request);
  std::vector<v1::CallToolStreamResponse> events;
  for (v1::CallToolStreamResponse event; reader->Read(&event);) events.push_back(event);
  const grpc::Status status = reader->Finish();
  ASSERT_TRUE(status.ok()) << status.error_message();
  ASSERT_GE(events.size(), 2u);
  double last = -1;
  for (size_t i = 0; i + 1 < events.size(); ++i) {
    ASSERT_TRUE(events[i].has_progress());
    EXPECT_GT(events[i].progress().progress(), last);
    last = events[i].progress().progress();
  }
  EXPECT_TRUE(events.back().has_response());
}

TEST_F(ToolServiceTest, KeepsTheNewestProgressForASlowReader) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  v1::CallToolStreamRequest request;
  request.set_name("test__held");
  auto context = NewContext();
  auto reader = stub_->CallToolStream(context.get(), request);
  ASSERT_TRUE(held->WaitFor(1));
  // Far more than the flow-control window holds, while nobody reads.
  const std::string pad(1000, 'x');
  for (int i = 0; i < 100000; ++i) {
    v1::Progress progress;
    progress.set_progress(i);
    progress.set_message(pad);
    held->front().reporter->OnProgress(std::move(progress));
  }
  held->Answer("done");
  size_t count = 0;
  double last = -1;
  v1::CallToolStreamResponse event;
  while (reader->Read(&event)) {
    ++count;
    if (!event.has_progress()) continue;
    EXPECT_GT(event.progress().progress(), last);
    last = event.progress().progress();
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(last, 99999);
  EXPECT_LT(count, 100000u);
  EXPECT_TRUE(event.has_response());
}

TEST_F(ToolServiceTest, LeavesLogsOutAndSaysSoWhenTheyComeTooFast) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  v1::CallToolStreamRequest request;
  request.set_name("test__held");
  auto context = NewContext();
  auto reader = stub_->CallToolStream(context.get(), request);
  ASSERT_TRUE(held->WaitFor(1));
  for (int i = 0; i < 20000; ++i) {
    v1::LogLine line;
    line.set_level("info");
    line.set_message(std::string(1000, 'x'));
    held->front().reporter->OnLog(std::move(line));
  }
  held->Answer("done");
  uint64_t logs = 0, told = 0;
  v1::CallToolStreamResponse event;
  while (reader->Read(&event)) {
    if (!event.has_log()) continue;
    if (event.log().level() == "warning") {
      told += std::stoul(event.log().message());
    } else {
      ++logs;
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_GT(told, 0u);
  EXPECT_EQ(logs + told, 20000u);
  EXPECT_TRUE(event.has_response());
}

TEST_F(ToolServiceTest, EndsAStreamWithTheErrorOfTheCall) {
  v1::CallToolStreamRequest request;
  request.set_name("no_such_tool");
  auto context = NewContext();
  auto reader = stub_->CallToolStream(context.get(), request);
  v1::CallToolStreamResponse event;
  EXPECT_FALSE(reader->Read(&event));
  EXPECT_EQ(ReasonOf(FromGrpc(reader->Finish())), v1::ERROR_REASON_TOOL_NOT_FOUND);
}

TEST_F(ToolServiceTest, StopsTheToolWhenTheStreamIsCancelled) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  v1::CallToolStreamRequest request;
  request.set_name("test__held");
  auto context = NewContext();
  auto reader = stub_->CallToolStream(context.get(), request);
  ASSERT_TRUE(held->WaitFor(1));
  context->TryCancel();
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ToolServiceTest, ExplainsACallWithoutMakingIt) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  v1::ExplainCallRequest request;
  request.set_name("test__held");
  v1::ExplainCallResponse response;
  ASSERT_TRUE(stub_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_TRUE(response.verdict().would_run());
  EXPECT_EQ(held->held(), 0u);
  request.set_name("sleep");
  request.set_arguments_json(R"({"seconds":[]})");
  ASSERT_TRUE(stub_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_FALSE(response.verdict().would_run());
  EXPECT_EQ(response.verdict().reason(), "ARGUMENTS_INVALID");
}

TEST_F(ToolServiceTest, KeepsALargeResultForReadResult) {
  auto held = std::make_shared<HeldTool>();
  TestTools tools(server_->registry(), "test");
  tools.Add(BareTool("held"), held);
  std::string text;
  for (int i = 0; text.size() < (300 << 10); ++i) absl::StrAppend(&text, i, " ");
  std::thread answer([&] {
    if (held->WaitFor(1)) held->Answer(text);
  });
  v1::CallToolResponse response;
  const absl::Status status = Ask(Call("test__held", "{}"), &response);
  answer.join();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_TRUE(response.result().truncated());
  EXPECT_EQ(response.result().total_bytes(), text.size());
  v1::ReadResultRequest request;
  request.set_handle(response.result().result_handle());
  std::string whole;
  v1::ReadResultResponse part;
  do {
    request.set_offset(whole.size());
    ASSERT_TRUE(stub_->ReadResult(NewContext().get(), request, &part).ok());
    whole += part.data();
  } while (!part.eof());
  EXPECT_TRUE(absl::StrContains(whole, text));
  // Another principal does not get it.
  const absl::Status other =
      FromGrpc(server_.Tools("tcp")->ReadResult(NewContext().get(), request, &part));
  EXPECT_EQ(ReasonOf(other), v1::ERROR_REASON_RESULT_NOT_FOUND);
}

TEST_F(ToolServiceTest, RefusesAMessageOverTheLimit) {
  v1::CallToolResponse response;
  const grpc::Status status =
      stub_->CallTool(NewContext().get(), Call("echo", std::string(5 << 20, ' ')), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  v1::ListToolsResponse list;
  EXPECT_TRUE(stub_->ListTools(NewContext().get(), {}, &list).ok());
}

TEST_F(ToolServiceTest, CountsItsMethods) {
  v1::ListToolsResponse list;
  ASSERT_TRUE(stub_->ListTools(NewContext().get(), {}, &list).ok());
  v1::DescribeToolRequest request;
  request.set_name("nothing");
  v1::Tool tool;
  EXPECT_FALSE(stub_->DescribeTool(NewContext().get(), request, &tool).ok());
  const v1::GetStatusResponse status = server_->Status();
  std::map<std::string, v1::MethodStatus> methods;
  for (const v1::MethodStatus& method : status.methods()) methods[method.method()] = method;
  EXPECT_EQ(methods["ToolService/ListTools"].ended(), 1u);
  EXPECT_TRUE(methods["ToolService/ListTools"].failed().empty());
  EXPECT_EQ(methods["ToolService/DescribeTool"].failed().at("NOT_FOUND"), 1u);
}

}  // namespace
}  // namespace toolrack
