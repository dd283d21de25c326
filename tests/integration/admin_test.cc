// AdminService through real stubs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/notification.h"
#include "registry/base/errors.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

// One asynchronous call of a held tool.
class Calling {
 public:
  Calling(v1::ToolService::Stub& stub, const std::string& tool, const std::string& call_id) {
    request_.set_name(tool);
    request_.set_call_id(call_id);
    stub.async()->CallTool(context_.get(), &request_, &response_, [this](grpc::Status status) {
      status_ = std::move(status);
      ended_.Notify();
    });
  }
  ~Calling() {
    context_->TryCancel();
    ended_.WaitForNotification();
  }
  absl::Status Wait() {
    ended_.WaitForNotification();
    return FromGrpc(status_);
  }

 private:
  std::unique_ptr<grpc::ClientContext> context_ = NewContext();
  v1::CallToolRequest request_;
  v1::CallToolResponse response_;
  grpc::Status status_;
  absl::Notification ended_;
};

class AdminTest : public testing::Test {
 protected:
  TestServer server_;
  std::unique_ptr<v1::AdminService::Stub> admin_ = server_.Admin();
  std::unique_ptr<v1::ToolService::Stub> tools_ = server_.Tools();
};

TEST_F(AdminTest, ShowsTheDaemonAtAGlance) {
  v1::GetStatusResponse status;
  ASSERT_TRUE(admin_->GetStatus(NewContext().get(), {}, &status).ok());
  EXPECT_EQ(status.version(), Version());
  EXPECT_EQ(status.epoch(), server_->registry().epoch());
  EXPECT_EQ(status.state(), "serving");
  EXPECT_EQ(status.tools().at("active"), 5u);
  EXPECT_EQ(status.pid(), ::getpid());
  EXPECT_GT(status.rss_bytes(), 1u << 20);
  EXPECT_GT(status.threads(), 1u);
  EXPECT_GT(status.open_fds(), 3u);
  EXPECT_GT(status.start_time().seconds(), 1700000000);
}

TEST_F(AdminTest, ListsRunningCallsInPagesTheOldestFirst) {
  TestTools tools(server_->registry(), "test");
  auto held = tools.AddHeld("held");
  std::vector<std::unique_ptr<Calling>> calls;
  for (int i = 0; i < 5; ++i) {
    calls.push_back(std::make_unique<Calling>(*tools_, "test__held", absl::StrCat("c", i)));
    ASSERT_TRUE(held->WaitFor(static_cast<size_t>(i) + 1));
  }
  v1::ListCallsRequest request;
  request.set_page_size(2);
  std::vector<std::string> ids;
  int pages = 0;
  do {
    v1::ListCallsResponse page;
    ASSERT_TRUE(admin_->ListCalls(NewContext().get(), request, &page).ok());
    for (const v1::CallInfo& call : page.calls()) {
      ids.push_back(call.call_id());
      EXPECT_EQ(call.tool(), "test__held");
      EXPECT_EQ(call.principal(), absl::StrCat("uid:", ::getuid()));
    }
    request.set_page_token(page.next_page_token());
    ++pages;
  } while (!request.page_token().empty());
  EXPECT_EQ(ids, (std::vector<std::string>{"c0", "c1", "c2", "c3", "c4"}));
  EXPECT_EQ(pages, 3);
  held->AnswerAll("done");
  for (auto& call : calls) EXPECT_TRUE(call->Wait().ok());
}

TEST_F(AdminTest, ShowsTheLastRefusalsWithTheirReasons) {
  v1::CallToolRequest call;
  call.set_name("no_such_tool");
  v1::CallToolResponse response;
  const absl::Status status = FromGrpc(tools_->CallTool(NewContext().get(), call, &response));
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TOOL_NOT_FOUND) << status;
  v1::ListCallsResponse list;
  ASSERT_TRUE(admin_->ListCalls(NewContext().get(), {}, &list).ok());
  ASSERT_EQ(list.refusals_size(), 1);
  EXPECT_EQ(list.refusals(0).reason(), "TOOL_NOT_FOUND");
  EXPECT_EQ(list.refusals(0).tool(), "no_such_tool");
}

TEST_F(AdminTest, EndsACallByItsId) {
  TestTools tools(server_->registry(), "test");
  auto held = tools.AddHeld("held");
  Calling call(*tools_, "test__held", "stuck");
  ASSERT_TRUE(held->WaitFor(1));
  v1::CancelCallRequest request;
  request.set_call_id("stuck");
  v1::CancelCallResponse response;
  ASSERT_TRUE(admin_->CancelCall(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.cancelled(), 1u);
  const absl::Status status = call.Wait();
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(MetadataOf(status)["by"], "admin");
  EXPECT_EQ(held->WaitForStop(), StopReason::kAdmin);

  request.set_call_id("nobody");
  const absl::Status none = FromGrpc(admin_->CancelCall(NewContext().get(), request, &response));
  EXPECT_EQ(ReasonOf(none), v1::ERROR_REASON_CALL_NOT_FOUND);
}

TEST_F(AdminTest, SwitchesAToolOffAndOn) {
  v1::SetToolEnabledRequest request;
  request.set_name("echo");
  v1::SetToolEnabledResponse response;
  ASSERT_TRUE(admin_->SetToolEnabled(NewContext().get(), request, &response).ok());
  ASSERT_EQ(response.tools_size(), 1);
  EXPECT_EQ(response.tools(0).state(), v1::TOOL_STATE_DISABLED);
  v1::CallToolRequest call;
  call.set_name("echo");
  call.set_arguments_json(R"({"text":"x"})");
  v1::CallToolResponse answer;
  EXPECT_EQ(ReasonOf(FromGrpc(tools_->CallTool(NewContext().get(), call, &answer))),
            v1::ERROR_REASON_TOOL_DISABLED);
  request.set_enabled(true);
  ASSERT_TRUE(admin_->SetToolEnabled(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.tools(0).state(), v1::TOOL_STATE_ACTIVE);
}

TEST_F(AdminTest, SwitchesACategoryOffAlsoForToolsThatComeLater) {
  v1::SetToolEnabledRequest request;
  request.set_category("late");
  v1::SetToolEnabledResponse response;
  ASSERT_TRUE(admin_->SetToolEnabled(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.tools_size(), 0);
  TestTools tools(server_->registry(), "test");
  v1::Tool definition = BareTool("late");
  definition.add_categories("late");
  tools.Add(definition, std::make_shared<HeldTool>());
  v1::DescribeToolRequest describe;
  describe.set_name("test__late");
  v1::Tool tool;
  ASSERT_TRUE(tools_->DescribeTool(NewContext().get(), describe, &tool).ok());
  EXPECT_EQ(tool.state(), v1::TOOL_STATE_DISABLED);
}

TEST_F(AdminTest, RefusesRequestsThatSayTooLittle) {
  v1::SetToolEnabledResponse switched;
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->SetToolEnabled(NewContext().get(), {}, &switched))),
            v1::ERROR_REASON_REQUEST_INVALID);
  v1::CancelCallResponse cancelled;
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->CancelCall(NewContext().get(), {}, &cancelled))),
            v1::ERROR_REASON_REQUEST_INVALID);
  v1::ListCallsRequest calls;
  calls.set_page_size(-1);
  v1::ListCallsResponse list;
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->ListCalls(NewContext().get(), calls, &list))),
            v1::ERROR_REASON_REQUEST_INVALID);
  calls.set_page_size(1);
  calls.set_page_token("§");
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->ListCalls(NewContext().get(), calls, &list))),
            v1::ERROR_REASON_REQUEST_INVALID);
  v1::DrainRequest drain;
  drain.mutable_grace()->set_seconds(-1);
  v1::DrainResponse drained;
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->Drain(NewContext().get(), drain, &drained))),
            v1::ERROR_REASON_REQUEST_INVALID);
  drain.clear_grace();
  drain.set_worker_name("nobody");
  EXPECT_EQ(ReasonOf(FromGrpc(admin_->Drain(NewContext().get(), drain, &drained))),
            v1::ERROR_REASON_WORKER_NOT_FOUND);
  EXPECT_EQ(server_->Status().state(), "serving");
}

TEST_F(AdminTest, HasNoWorkersToListWhenThereAreNone) {
  v1::ListWorkersResponse list;
  ASSERT_TRUE(admin_->ListWorkers(NewContext().get(), {}, &list).ok());
  EXPECT_EQ(list.workers_size(), 0);
  EXPECT_EQ(list.next_page_token(), "");
}

}  // namespace
}  // namespace toolrack
