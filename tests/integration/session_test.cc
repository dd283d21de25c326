// SessionService through real stubs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "registry/base/errors.h"
#include "tests/integration/worker_harness.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class SessionServiceTest : public testing::Test {
 protected:
  v1::Session Open(v1::SessionService::Stub& stub, const v1::OpenSessionRequest& request = {}) {
    v1::Session session;
    const grpc::Status status = stub.OpenSession(NewContext().get(), request, &session);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return session;
  }
  absl::StatusOr<std::string> Count(const std::string& session_id,
                                    const std::string& tool = "counter") {
    v1::CallToolRequest request;
    request.set_name(tool);
    request.set_session_id(session_id);
    v1::CallToolResponse response;
    const grpc::Status status = tools_->CallTool(NewContext().get(), request, &response);
    if (!status.ok()) return FromGrpc(status);
    return response.result().structured_json();
  }
  absl::Status Close(v1::SessionService::Stub& stub, const std::string& id) {
    v1::CloseSessionRequest request;
    request.set_session_id(id);
    v1::CloseSessionResponse response;
    return FromGrpc(stub.CloseSession(NewContext().get(), request, &response));
  }
  absl::StatusOr<v1::Session> Get(v1::SessionService::Stub& stub, const std::string& id) {
    v1::GetSessionRequest request;
    request.set_session_id(id);
    v1::Session session;
    const grpc::Status status = stub.GetSession(NewContext().get(), request, &session);
    if (!status.ok()) return FromGrpc(status);
    return session;
  }

  TestServer server_;
  std::unique_ptr<v1::ToolService::Stub> tools_ = server_.Tools();
  std::unique_ptr<v1::SessionService::Stub> sessions_ = server_.Sessions();
};

TEST_F(SessionServiceTest, EachSessionHasItsOwnCounter) {
  const std::string a = Open(*sessions_).session_id();
  const std::string b = Open(*sessions_).session_id();
  EXPECT_EQ(*Count(a), R"({"value":1})");
  EXPECT_EQ(*Count(a), R"({"value":2})");
  EXPECT_EQ(*Count(b), R"({"value":1})");
  EXPECT_EQ(*Count(""), R"({"value":1})");
  const absl::StatusOr<v1::Session> session = Get(*sessions_, a);
  ASSERT_TRUE(session.ok());
  EXPECT_EQ(session->counters().calls(), 2u);
  EXPECT_THAT(session->instances(), ElementsAre("counter"));
  v1::GetStatusResponse status;
  ASSERT_TRUE(server_.Admin()->GetStatus(NewContext().get(), {}, &status).ok());
  EXPECT_EQ(status.sessions(), 2u);
  ASSERT_TRUE(Close(*sessions_, a).ok());
  const absl::Status gone = Count(a).status();
  EXPECT_EQ(gone.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ReasonOf(gone), v1::ERROR_REASON_SESSION_NOT_FOUND);
  EXPECT_EQ(MetadataOf(gone)["ended"], "closed");
  EXPECT_EQ(*Count(b), R"({"value":2})");
}

TEST_F(SessionServiceTest, StrangersSeeNothingAndControlSeesAll) {
  const std::string mine = Open(*sessions_).session_id();
  const auto stranger = server_.Sessions("tcp");  // another principal
  const std::string theirs = Open(*stranger).session_id();
  EXPECT_EQ(MetadataOf(Get(*stranger, mine).status())["ended"], "unknown");
  EXPECT_EQ(ReasonOf(Close(*stranger, mine)), v1::ERROR_REASON_SESSION_NOT_FOUND);
  EXPECT_EQ(ReasonOf(Count(theirs).status()), v1::ERROR_REASON_SESSION_NOT_FOUND);
  const auto list = [](v1::SessionService::Stub& stub) {
    v1::ListSessionsResponse page;
    EXPECT_TRUE(stub.ListSessions(NewContext().get(), {}, &page).ok());
    std::vector<std::string> ids;
    for (const v1::Session& session : page.sessions()) ids.push_back(session.session_id());
    return ids;
  };
  EXPECT_THAT(list(*sessions_), ElementsAre(mine));
  EXPECT_THAT(list(*stranger), ElementsAre(theirs));
  const auto control = server_.Sessions("control");
  EXPECT_THAT(list(*control), ElementsAre(mine, theirs));
  EXPECT_TRUE(Close(*control, theirs).ok());
  EXPECT_EQ(MetadataOf(Get(*stranger, theirs).status())["ended"], "closed");
}

TEST_F(SessionServiceTest, PagesThroughMany) {
  std::set<std::string> opened, listed;
  for (int i = 0; i < 25; ++i) opened.insert(Open(*sessions_).session_id());
  v1::ListSessionsRequest request;
  request.set_page_size(10);
  std::vector<int> sizes;
  do {
    v1::ListSessionsResponse page;
    ASSERT_TRUE(sessions_->ListSessions(NewContext().get(), request, &page).ok());
    sizes.push_back(page.sessions_size());
    for (const v1::Session& session : page.sessions()) listed.insert(session.session_id());
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  EXPECT_THAT(sizes, ElementsAre(10, 10, 5));
  EXPECT_EQ(listed, opened);
  request.set_page_token("!");
  v1::ListSessionsResponse page;
  EXPECT_EQ(ReasonOf(FromGrpc(sessions_->ListSessions(NewContext().get(), request, &page))),
            v1::ERROR_REASON_REQUEST_INVALID);
}

TEST_F(SessionServiceTest, LoadsAndRebuilds) {
  v1::OpenSessionRequest request;
  request.add_loaded_tools("echo");
  const v1::Session first = Open(*sessions_, request);
  v1::LoadToolsRequest load;
  load.set_session_id(first.session_id());
  load.add_categories("system");
  v1::LoadToolsResponse loaded;
  ASSERT_TRUE(sessions_->LoadTools(NewContext().get(), load, &loaded).ok());
  ASSERT_EQ(loaded.loaded_size(), 1);
  EXPECT_EQ(loaded.loaded(0).name(), "current_time");
  const absl::StatusOr<v1::Session> before = Get(*sessions_, first.session_id());
  v1::UnloadToolsRequest unload;
  unload.set_session_id(first.session_id());
  unload.add_names("echo");
  v1::UnloadToolsResponse unloaded;
  ASSERT_TRUE(sessions_->UnloadTools(NewContext().get(), unload, &unloaded).ok());
  EXPECT_THAT(unloaded.unloaded(), ElementsAre("echo"));

  // The daemon is gone and forgot everything: what its caller remembers is enough.
  server_.Restart();
  sessions_ = server_.Sessions();
  EXPECT_EQ(MetadataOf(Get(*sessions_, first.session_id()).status())["ended"], "unknown");
  v1::OpenSessionRequest again;
  for (const v1::LoadedTool& tool : before->loaded_tools()) again.add_loaded_tools(tool.name());
  const v1::Session second = Open(*sessions_, again);
  ASSERT_THAT(second.loaded_tools(), SizeIs(2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(second.loaded_tools(i).SerializeAsString(),
              before->loaded_tools(i).SerializeAsString());
  }
}

TEST_F(SessionServiceTest, AWorkerIsToldOfTheSessionsOfItsTools) {
  RawWorker worker(server_);
  v1::Tool tool = PlainTool("mine");
  tool.set_scope(v1::TOOL_SCOPE_SESSION);
  ASSERT_THAT(worker.Attach("w", "ns", {tool}).accepted(), ElementsAre("mine"));
  const std::string id = Open(*sessions_).session_id();
  EXPECT_EQ(worker.Take(RawWorker::Response::kSessionOpened).session_opened().session_id(), id);
  v1::CallToolRequest request;
  request.set_name("ns__mine");
  request.set_session_id(id);
  v1::CallToolResponse response;
  grpc::Status status;
  std::thread caller([&] { status = tools_->CallTool(NewContext().get(), request, &response); });
  const v1::WorkerInvocations invocations =
      worker.Take(RawWorker::Response::kInvocations).invocations();
  EXPECT_EQ(invocations.invocations(0).session_id(), id);
  worker.AnswerText(invocations.invocations(0).invocation_id(), "ok");
  caller.join();
  EXPECT_TRUE(status.ok()) << status.error_message();
  ASSERT_TRUE(Close(*sessions_, id).ok());
  EXPECT_EQ(worker.Take(RawWorker::Response::kSessionClosed).session_closed().session_id(), id);
}

TEST_F(SessionServiceTest, ExplainsTheSession) {
  const std::string id = Open(*sessions_).session_id();
  v1::ExplainCallRequest request;
  request.set_name("counter");
  request.set_session_id(id);
  v1::ExplainCallResponse response;
  ASSERT_TRUE(tools_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_TRUE(response.verdict().would_run());
  EXPECT_EQ(Get(*sessions_, id)->counters().calls(), 0u);
  request.set_session_id("nobody");
  ASSERT_TRUE(tools_->ExplainCall(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.verdict().reason(), "SESSION_NOT_FOUND");
}

TEST(SessionLimitTest, RefusesOneTooManyByNameAndValue) {
  v1::Config config;
  config.mutable_limits()->set_max_sessions(3);
  TestServer server(config);
  const auto sessions = server.Sessions();
  v1::Session session;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(sessions->OpenSession(NewContext().get(), {}, &session).ok());
  }
  const absl::Status full = FromGrpc(sessions->OpenSession(NewContext().get(), {}, &session));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MetadataOf(full)["limit"], "limits.max_sessions");
  EXPECT_EQ(MetadataOf(full)["allowed"], "3");
  EXPECT_TRUE(RetryDelayOf(full).has_value());
}

}  // namespace
}  // namespace toolrack
