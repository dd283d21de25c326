// Going away without losing a call.
#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "internal/health.grpc.pb.h"
#include "registry/base/errors.h"
#include "tests/testing/daemon_process.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

namespace health = grpc::health::v1;

struct Outcome {
  grpc::Status status;
  v1::CallToolResponse response;
};

// Calls on a thread of its own.
std::thread CallOn(std::shared_ptr<grpc::Channel> channel, v1::CallToolRequest request,
                   Outcome* outcome) {
  return std::thread([channel = std::move(channel), request = std::move(request), outcome] {
    auto stub = v1::ToolService::NewStub(channel);
    outcome->status = stub->CallTool(NewContext().get(), request, &outcome->response);
  });
}

v1::CallToolRequest Request(const std::string& tool, const std::string& arguments = "") {
  v1::CallToolRequest request;
  request.set_name(tool);
  request.set_arguments_json(arguments);
  return request;
}

TEST(Drain, FinishesWhatRunsRefusesWhatIsNewAndSaysSoFirst) {
  TestServer server;
  TestTools tools(server->registry(), "test");
  auto held = tools.AddHeld("held");
  // Watches the health from before.
  auto health_stub = health::Health::NewStub(server.Channel("agent"));
  auto context = NewContext();
  health::HealthCheckRequest ask;
  ask.set_service("toolrack.v1.ToolService");
  auto health_reader = health_stub->Watch(context.get(), ask);
  health::HealthCheckResponse state;
  ASSERT_TRUE(health_reader->Read(&state));
  EXPECT_EQ(state.status(), health::HealthCheckResponse::SERVING);

  Outcome running;
  std::thread caller = CallOn(server.Channel("agent"), Request("test__held"), &running);
  ASSERT_TRUE(held->WaitFor(1));
  server->BeginDrain(absl::Minutes(5));
  std::thread waiter([&server] { server->Wait(); });
  ASSERT_TRUE(health_reader->Read(&state));
  EXPECT_EQ(state.status(), health::HealthCheckResponse::NOT_SERVING);
  EXPECT_EQ(server->Status().state(), "draining");

  v1::CallToolResponse refused;
  const absl::Status status =
      FromGrpc(server.Tools()->CallTool(NewContext().get(), Request("test__held"), &refused));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_DRAINING);
  EXPECT_TRUE(RetryDelayOf(status).has_value());
  // Reading goes on.
  v1::ListToolsResponse list;
  EXPECT_TRUE(server.Tools()->ListTools(NewContext().get(), {}, &list).ok());

  held->Answer("done");
  caller.join();
  EXPECT_TRUE(running.status.ok()) << running.status.error_message();
  EXPECT_EQ(running.response.result().content(0).text().text(), "done");
  waiter.join();
}

TEST(Drain, StopsWhatRunsWhenTheGraceIsOver) {
  TestServer server;
  TestTools tools(server->registry(), "test");
  auto held = tools.AddHeld("held");
  Outcome running;
  std::thread caller = CallOn(server.Channel("agent"), Request("test__held"), &running);
  ASSERT_TRUE(held->WaitFor(1));
  server->BeginDrain(absl::Milliseconds(50));
  server->Wait();
  caller.join();
  const absl::Status status = FromGrpc(running.status);
  EXPECT_EQ(status.code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(MetadataOf(status)["by"], "shutdown");
  EXPECT_EQ(held->WaitForStop(), StopReason::kShutdown);
}

TEST(Drain, MayBeShortenedByASecondOne) {
  TestServer server;
  TestTools tools(server->registry(), "test");
  auto held = tools.AddHeld("held");
  Outcome running;
  std::thread caller = CallOn(server.Channel("agent"), Request("test__held"), &running);
  ASSERT_TRUE(held->WaitFor(1));
  server->BeginDrain(absl::Hours(1));
  v1::DrainRequest request;
  request.mutable_grace()->set_seconds(0);
  v1::DrainResponse response;
  ASSERT_TRUE(server.Admin()->Drain(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.calls_in_flight(), 1u);
  server->Wait();
  caller.join();
  EXPECT_EQ(running.status.error_code(), grpc::StatusCode::CANCELLED);
}

TEST(Drain, NeedsNobodyToWaitWhenNothingRuns) {
  TestServer server;
  server->BeginDrain(absl::Hours(1));
  server->Wait();
}

TEST(DrainOfTheProgram, FinishesRunningCallsOnSigterm) {
  auto daemon = DaemonProcess::Serve();
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  // Progress tells that the call runs.
  auto stub = v1::ToolService::NewStub(daemon->Channel("agent"));
  v1::CallToolStreamRequest request;
  request.set_name("sleep");
  request.set_arguments_json(R"({"seconds":0.5,"steps":2})");
  auto context = NewContext();
  auto reader = stub->CallToolStream(context.get(), request);
  v1::CallToolStreamResponse event;
  ASSERT_TRUE(reader->Read(&event));
  daemon->Signal(SIGTERM);
  bool answered = false;
  while (reader->Read(&event)) answered = event.has_response();
  EXPECT_TRUE(answered);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(daemon->WaitForExit(), 0) << daemon->Output();
  EXPECT_TRUE(absl::StrContains(daemon->Output(), "drained")) << daemon->Output();
}

TEST(DrainOfTheProgram, EndsAtOnceOnTheSecondSignal) {
  auto daemon = DaemonProcess::Serve();
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  auto stub = v1::ToolService::NewStub(daemon->Channel("agent"));
  v1::CallToolStreamRequest request;
  request.set_name("sleep");
  request.set_arguments_json(R"({"seconds":600})");
  auto context = NewContext();
  auto reader = stub->CallToolStream(context.get(), request);
  v1::CallToolStreamResponse event;
  ASSERT_TRUE(reader->Read(&event));
  auto admin = v1::AdminService::NewStub(daemon->Channel("control"));
  daemon->Signal(SIGINT);
  v1::GetStatusResponse status;
  do {
    ASSERT_TRUE(admin->GetStatus(NewContext().get(), {}, &status).ok());
  } while (status.state() != "draining");
  daemon->Signal(SIGTERM);
  EXPECT_EQ(daemon->WaitForExit(), 1);
}

TEST(DrainOfTheProgram, EndsWithZeroWhenTheAdministratorDrainsIt) {
  auto daemon = DaemonProcess::Serve();
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  auto admin = v1::AdminService::NewStub(daemon->Channel("control"));
  v1::DrainResponse response;
  EXPECT_TRUE(admin->Drain(NewContext().get(), {}, &response).ok());
  EXPECT_EQ(daemon->WaitForExit(), 0);
}

}  // namespace
}  // namespace toolrack
