// `toolrack dispatch` and `toolrack session open` against a stand-in for the daemon.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>

#include "client/cli/exit_code.h"
#include "tests/client/command_line_test.h"
#include "tests/client/fake_rack.h"

namespace toolrack {
namespace {

using ::testing::HasSubstr;

class DispatchCommandTest : public CommandLineTest {
 protected:
  DispatchCommandTest() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder_ + "/agent.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(&dispatcher_);
    builder.RegisterService(&sessions_);
    server_ = builder.BuildAndStart();
  }
  ~DispatchCommandTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  int Run(std::vector<std::string> arguments, const std::string& input) {
    input_ = input;
    return CommandLineTest::Run(std::move(arguments));
  }
  v1::DispatchOutcome& Add(const std::string& tool) {
    v1::DispatchOutcome& outcome = *dispatcher_.response.add_outcomes();
    outcome.set_tool(tool);
    outcome.mutable_call()->set_call_id("c");
    outcome.mutable_call()->set_arguments_json("{}");
    return outcome;
  }

  FakeDispatcher dispatcher_;
  FakeSessions sessions_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(DispatchCommandTest, OpensASessionForOneOutputAndClosesIt) {
  Add("t").mutable_result()->add_content()->mutable_text()->set_text("first line\nsecond");
  EXPECT_EQ(Run({"dispatch", "--renderer", "harmony"}, "what it wrote"), kExitOk) << err_;
  EXPECT_EQ(sessions_.opened.renderer(), "harmony");
  EXPECT_EQ(dispatcher_.dispatched.session_id(), "s1");
  EXPECT_EQ(dispatcher_.dispatched.text(), "what it wrote");
  EXPECT_EQ(sessions_.closed, "s1");
  EXPECT_EQ(out_, "call      c t {}\nresult    first line\n");
}

TEST_F(DispatchCommandTest, ASummaryStandsForTheResult) {
  v1::ToolResult& result = *Add("t").mutable_result();
  result.add_content()->mutable_text()->set_text("long");
  result.set_summary("short");
  EXPECT_EQ(Run({"dispatch", "--session", "mine", "--provider"}, "{}"), kExitOk);
  EXPECT_EQ(dispatcher_.dispatched.session_id(), "mine");
  EXPECT_EQ(dispatcher_.dispatched.provider_json(), "{}");
  EXPECT_EQ(sessions_.closed, "");
  EXPECT_THAT(out_, HasSubstr("result    short\n"));
}

TEST_F(DispatchCommandTest, EndsAsTheCallWouldHave) {
  for (const auto& [status, exit] : std::vector<std::pair<absl::StatusCode, int>>{
           {absl::StatusCode::kInvalidArgument, kExitInvalid},
           {absl::StatusCode::kNotFound, kExitNotFound},
           {absl::StatusCode::kFailedPrecondition, kExitRefused},
           {absl::StatusCode::kUnavailable, kExitUnavailable},
           {absl::StatusCode::kUnknown, kExitOutcomeUnknown}}) {
    dispatcher_.response.Clear();
    Add("good").mutable_result();
    v1::CallStatus& refused = *Add("bad").mutable_status();
    refused.set_code(static_cast<int>(status));
    refused.set_reason("WHY");
    EXPECT_EQ(Run({"dispatch", "--session", "s"}, "x"), exit);
    EXPECT_THAT(out_, HasSubstr("not run   WHY: "));
  }
  dispatcher_.response.Clear();
  Add("failed").mutable_result()->set_is_error(true);
  EXPECT_EQ(Run({"dispatch", "--session", "s"}, "x"), kExitToolFailed);
}

TEST_F(DispatchCommandTest, SaysWhatItNeeds) {
  EXPECT_EQ(Run({"dispatch"}, "x"), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("--session"));
  EXPECT_EQ(Run({"dispatch", "--session", "s", "/no/such/file"}, ""), kExitUsage);
  EXPECT_THAT(err_, HasSubstr("/no/such/file"));
}

TEST_F(DispatchCommandTest, ASessionIsOpenedForARendererOrAModel) {
  EXPECT_EQ(Run({"session", "open", "--renderer", "harmony"}, ""), kExitOk) << err_;
  EXPECT_EQ(sessions_.opened.renderer(), "harmony");
  EXPECT_EQ(out_, "s1\n");
  EXPECT_EQ(Run({"session", "open", "--model", "m"}, ""), kExitOk);
  EXPECT_EQ(sessions_.opened.model(), "m");
  EXPECT_EQ(Run({"session", "open", "--model", "m", "--renderer", "harmony"}, ""), kExitUsage);
}

}  // namespace
}  // namespace toolrack
