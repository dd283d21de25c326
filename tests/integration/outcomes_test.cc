// Every way in which a call can end, produced for real: over the sockets of a daemon, with its
// code, its reason, whether the tool ran, and whether to come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/call/hook.h"
#include "tests/integration/worker_harness.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

// A tool that ends as it is told.
class EndingTool : public Tool {
 public:
  explicit EndingTool(std::function<absl::StatusOr<v1::ToolResult>()> end) : end_(std::move(end)) {}
  void Execute(ToolCall, ToolDone done) override { done(end_()); }

 private:
  const std::function<absl::StatusOr<v1::ToolResult>()> end_;
};

struct Expected {
  absl::StatusCode code;
  v1::ErrorReason reason;
  const char* executed;  // empty: it is not a matter of running
  bool retry_delay = false;
};

class OutcomeTest : public testing::Test {
 protected:
  void Start(v1::Config config = {}) {
    server_ = std::make_unique<TestServer>(std::move(config));
    stub_ = server_->Tools();
    tools_ = std::make_unique<TestTools>((*server_)->registry(), "test");
  }
  void TearDown() override { tools_.reset(); }

  void Add(const std::string& name, absl::StatusOr<v1::ToolResult> end,
           const std::string& output_schema = "") {
    v1::Tool tool = PlainTool(name);
    tool.set_output_schema(output_schema);
    tools_->Add(tool, std::make_shared<EndingTool>([end] { return end; }));
  }
  std::shared_ptr<Hook> AddHook(v1::HookPoint point, HookVerdict verdict, bool fail = false) {
    HookSpec spec;
    spec.name = "guard";
    spec.points = {point};
    auto hook = MakeHook(spec, [verdict, fail](const v1::HookEvent&, const v1::Tool&) {
      if (fail) throw std::runtime_error("lost my mind");
      return verdict;
    });
    EXPECT_TRUE((*server_)->core().hooks->Add(hook).ok());
    return hook;
  }
  static v1::CallToolRequest Request(const std::string& tool, const std::string& arguments = "{}") {
    v1::CallToolRequest request;
    request.set_name(tool);
    request.set_arguments_json(arguments);
    return request;
  }
  absl::Status Call(const v1::CallToolRequest& request, const std::string& scope = "agent") {
    response_.Clear();
    return FromGrpc(server_->Tools(scope)->CallTool(NewContext().get(), request, &response_));
  }
  absl::Status Call(const std::string& tool, const std::string& arguments = "{}") {
    return Call(Request(tool, arguments));
  }
  static void Expect(const absl::Status& status, const Expected& expected) {
    EXPECT_EQ(status.code(), expected.code) << status;
    EXPECT_EQ(ReasonName(ReasonOf(status)), ReasonName(expected.reason)) << status;
    const ErrorMetadata metadata = MetadataOf(status);
    const auto executed = metadata.find("executed");
    EXPECT_EQ(executed == metadata.end() ? "" : executed->second, expected.executed) << status;
    EXPECT_EQ(RetryDelayOf(status).has_value(), expected.retry_delay) << status;
  }
  // The tool ran and its result is an error of this reason.
  void ExpectError(const std::string& tool, const char* reason) {
    const absl::Status status = Call(tool);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(response_.result().is_error());
    EXPECT_EQ(response_.result().error().reason(), reason);
    EXPECT_FALSE(response_.result().content(0).text().text().empty());
  }

  std::unique_ptr<TestServer> server_;
  std::unique_ptr<v1::ToolService::Stub> stub_;
  std::unique_ptr<TestTools> tools_;
  v1::CallToolResponse response_;
};

TEST_F(OutcomeTest, Ok) {
  Start();
  Add("fine", TextResult(std::string("done")));
  EXPECT_TRUE(Call("test__fine").ok());
  EXPECT_FALSE(response_.result().is_error());
  EXPECT_FALSE(response_.result().has_error());
  EXPECT_EQ(response_.result().content(0).text().text(), "done");
}

TEST_F(OutcomeTest, TheToolFailed) {
  Start();
  Add("fails", absl::NotFoundError("no such page"));
  Add("breaks", absl::InternalError("out of cheese"));
  Add("refuses", absl::InvalidArgumentError("not that page"));
  ExpectError("test__fails", "EXECUTION_FAILED");
  ExpectError("test__breaks", "TOOL_INTERNAL");
  ExpectError("test__refuses", "TOOL_INVALID_ARGUMENT");
}

TEST_F(OutcomeTest, TheOutputIsNotAsDeclared) {
  Start();
  v1::ToolResult result = TextResult(std::string("x"));
  result.set_structured_json(R"({"n":"one"})");
  Add("liar", result, R"({"type":"object","properties":{"n":{"type":"integer"}}})");
  ExpectError("test__liar", "OUTPUT_INVALID");
}

TEST_F(OutcomeTest, AHookWithholdsTheResult) {
  Start();
  AddHook(v1::HOOK_POINT_POST_CALL, Deny("it names customers"));
  ExpectError("counter", "RESULT_WITHHELD");
  EXPECT_THAT(response_.result().content(0).text().text(), HasSubstr("it names customers"));
}

TEST_F(OutcomeTest, TheArgumentsAreWrong) {
  v1::Config config;
  config.mutable_limits()->set_max_arguments_bytes(2000);
  Start(config);
  const absl::StatusCode code = absl::StatusCode::kInvalidArgument;
  Expect(Call("echo", "{"), {code, v1::ERROR_REASON_ARGUMENTS_NOT_JSON, "no"});
  Expect(Call("echo", R"({"text":"a","text":"b"})"),
         {code, v1::ERROR_REASON_ARGUMENTS_NOT_JSON, "no"});
  Expect(Call("echo", "{}"), {code, v1::ERROR_REASON_ARGUMENTS_INVALID, "no"});
  EXPECT_EQ(FaultsOf(Call("echo", "{}")).size(), 1u);
  Expect(Call("echo", absl::StrCat(R"({"text":")", std::string(3000, 'x'), "\"}")),
         {code, v1::ERROR_REASON_ARGUMENTS_TOO_LARGE, "no"});
  Expect(Call("", "{}"), {code, v1::ERROR_REASON_REQUEST_INVALID, "no"});
}

TEST_F(OutcomeTest, ThereIsNoSuchToolSessionOrResult) {
  Start();
  const absl::StatusCode code = absl::StatusCode::kNotFound;
  const absl::Status status = Call("ecko");
  Expect(status, {code, v1::ERROR_REASON_TOOL_NOT_FOUND, "no"});
  EXPECT_EQ(MetadataOf(status).at("nearest"), "echo");
  v1::CallToolRequest request = Request("counter");
  request.set_session_id("none");
  Expect(Call(request), {code, v1::ERROR_REASON_SESSION_NOT_FOUND, "no"});
  v1::ReadResultRequest read;
  read.set_handle("none");
  v1::ReadResultResponse part;
  Expect(FromGrpc(stub_->ReadResult(NewContext().get(), read, &part)),
         {code, v1::ERROR_REASON_RESULT_NOT_FOUND, ""});
}

TEST_F(OutcomeTest, QuarantinedDisabledChanged) {
  Start();
  RawWorker worker(*server_);
  v1::Tool broken = PlainTool("broken");
  broken.set_input_schema(R"({"type":"array"})");
  worker.Attach("w", "w", {broken, PlainTool("good")});
  const absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  Expect(Call("w__broken"), {code, v1::ERROR_REASON_TOOL_QUARANTINED, "no"});
  ASSERT_TRUE((*server_)->registry().SetToolEnabled("w__good", false).ok());
  Expect(Call("w__good"), {code, v1::ERROR_REASON_TOOL_DISABLED, "no"});
  v1::CallToolRequest request = Request("counter");
  request.set_expected_digest(std::string(64, '0'));
  Expect(Call(request), {code, v1::ERROR_REASON_DEFINITION_CHANGED, "no"});
}

TEST_F(OutcomeTest, TheNameIsTaken) {
  Start();
  ToolServer other(&(*server_)->registry(), "other", "test");
  Add("fine", TextResult(std::string("done")));
  ToolRegistrar registrar = *other.TakeRegistrar();
  const absl::Status status = registrar.Register([] {
    return std::make_pair(PlainTool("fine", "Another one."),
                          std::shared_ptr<Tool>(std::make_shared<EndingTool>(
                              [] { return TextResult(std::string("x")); })));
  });
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists) << status;
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NAME_TAKEN);
}

TEST_F(OutcomeTest, NotAllowedOrNotKnown) {
  v1::Config config;
  v1::PolicyRule& rule = *config.mutable_policy()->add_rules();
  rule.add_tools("sleep");
  rule.set_action("deny");
  config.add_principals()->set_name("bot");
  config.mutable_principals(0)->add_token_sha256(std::string(64, 'a'));
  Start(config);
  const absl::StatusCode denied = absl::StatusCode::kPermissionDenied;
  Expect(Call("sleep", R"({"seconds":0})"), {denied, v1::ERROR_REASON_POLICY_DENIED, "no"});
  Expect(Call(Request("echo"), "tcp"),
         {absl::StatusCode::kUnauthenticated, v1::ERROR_REASON_TOKEN_INVALID, "no"});
  const auto hook = AddHook(v1::HOOK_POINT_PRE_CALL, Deny("not on a Friday"));
  const absl::Status status = Call("counter");
  Expect(status, {denied, v1::ERROR_REASON_HOOK_DENIED, "no"});
  EXPECT_EQ(MetadataOf(status).at("hook_reason"), "not on a Friday");
  // Administration on the agents' socket.
  v1::GetStatusResponse answer;
  Expect(FromGrpc(v1::AdminService::NewStub(server_->Channel("agent"))
                      ->GetStatus(NewContext().get(), {}, &answer)),
         {denied, v1::ERROR_REASON_WRONG_SOCKET, "no"});
}

TEST_F(OutcomeTest, AHookFailedClosed) {
  Start();
  AddHook(v1::HOOK_POINT_PRE_CALL, PassVerdict(), /*fail=*/true);
  Expect(Call("counter"),
         {absl::StatusCode::kUnavailable, v1::ERROR_REASON_HOOK_UNAVAILABLE, "no", true});
}

TEST_F(OutcomeTest, ApprovalIsNeededOrOver) {
  v1::Config config;
  v1::PolicyRule& rule = *config.mutable_policy()->add_rules();
  rule.add_tools("counter");
  rule.set_action("ask");
  Start(config);
  const absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  const absl::Status status = Call("counter");
  Expect(status, {code, v1::ERROR_REASON_APPROVAL_REQUIRED, "no"});
  EXPECT_FALSE(MetadataOf(status).at("approval_id").empty());
  v1::CallToolRequest request = Request("counter");
  request.set_approval_id("none");
  Expect(Call(request), {code, v1::ERROR_REASON_APPROVAL_EXPIRED, "no"});
}

TEST_F(OutcomeTest, TheKeyIsReused) {
  Start();
  v1::CallToolRequest request = Request("echo", R"({"text":"a"})");
  request.set_idempotency_key("k");
  EXPECT_TRUE(Call(request).ok());
  EXPECT_TRUE(Call(request).ok());
  EXPECT_TRUE(response_.cached());
  request.set_arguments_json(R"({"text":"b"})");
  Expect(Call(request),
         {absl::StatusCode::kAlreadyExists, v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED, "no"});
}

TEST_F(OutcomeTest, BusyByConcurrencyAndQueue) {
  v1::Config config;
  config.mutable_limits()->set_max_queue_per_tool(1);
  v1::ToolConfig& setting = *config.add_tools();
  setting.set_name("test__held");
  setting.set_max_concurrency(1);
  config.mutable_limits()->set_max_calls_in_flight(3);
  Start(config);
  const auto held = tools_->AddHeld("held");
  SideCall running(*server_, "test__held");
  ASSERT_TRUE(held->WaitFor(1));
  SideCall waiting(*server_, "test__held");
  const absl::Time end = absl::Now() + kHung;
  while ((*server_)->core().pipeline->calls_in_flight() < 2 && absl::Now() < end) {
  }
  // One place is taken and the queue of one is full.
  Expect(Call("test__held"),
         {absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_QUEUE_FULL, "no", true});
  // And with a third one running, nobody else comes in at all.
  const auto other = tools_->AddHeld("other");
  SideCall third(*server_, "test__other");
  ASSERT_TRUE(other->WaitFor(1));
  Expect(Call("counter"),
         {absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_CONCURRENCY, "no", true});
  held->Answer("x");
  ASSERT_TRUE(held->WaitFor(1));
  held->Answer("x");
  other->Answer("x");
}

TEST_F(OutcomeTest, BusyByRate) {
  v1::Config config;
  config.mutable_limits()->set_max_calls_per_minute(1);
  config.mutable_limits()->set_call_burst(1);
  Start(config);
  EXPECT_TRUE(Call("counter").ok());
  Expect(Call("counter"),
         {absl::StatusCode::kResourceExhausted, v1::ERROR_REASON_RATE, "no", true});
}

TEST_F(OutcomeTest, TheMessageIsTooLarge) {
  v1::Config config;
  config.mutable_limits()->set_max_message_bytes(65536);
  config.mutable_limits()->set_max_arguments_bytes(60000);
  Start(config);
  // gRPC itself refuses it, before there is a call.
  EXPECT_EQ(Call("echo", absl::StrCat(R"({"text":")", std::string(70000, 'x'), "\"}")).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(OutcomeTest, TheResultIsTooLarge) {
  v1::Config config;
  config.mutable_results()->set_max_result_bytes(65536);
  Start(config);
  RawWorker worker(*server_);
  worker.Attach("w", "w", {PlainTool("t")});
  SideCall call(*server_, "w__t");
  worker.AnswerText(worker.TakeInvocation().invocation_id(), std::string(100'000, 'x'));
  ASSERT_TRUE(call.Status().ok()) << call.Status();
  // The tool ran: that is told, and why there is nothing to see.
  EXPECT_TRUE(call.response().result().is_error());
  EXPECT_EQ(call.response().result().error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(call.Text(), HasSubstr("65536"));
}

TEST_F(OutcomeTest, Draining) {
  Start();
  const auto held = tools_->AddHeld("held");
  SideCall running(*server_, "test__held");
  ASSERT_TRUE(held->WaitFor(1));
  (*server_)->BeginDrain(absl::Seconds(30));
  Expect(Call("counter"), {absl::StatusCode::kUnavailable, v1::ERROR_REASON_DRAINING, "no", true});
  held->Answer("x");
  EXPECT_EQ(running.Text(), "x");
}

TEST_F(OutcomeTest, TheBackendIsAwayOrLostInMidCall) {
  Start(QuickConfig());
  auto worker = std::make_unique<RawWorker>(*server_);
  worker->Attach("w", "w", {PlainTool("t")});
  ChangeLog changes((*server_)->registry());
  SideCall lost(*server_, "w__t");
  EXPECT_NE(worker->TakeInvocation().invocation_id(), 0u);
  worker->Break();
  Expect(lost.Status(), {absl::StatusCode::kUnknown, v1::ERROR_REASON_OUTCOME_UNKNOWN, "maybe"});
  ASSERT_TRUE(changes.WaitFor("w__t", v1::TOOL_STATE_UNAVAILABLE));
  Expect(Call("w__t"),
         {absl::StatusCode::kUnavailable, v1::ERROR_REASON_BACKEND_UNAVAILABLE, "no", true});
}

TEST_F(OutcomeTest, TheCircuitIsOpen) {
  v1::Config config;
  config.mutable_breaker()->set_failures(2);
  Start(config);
  Add("breaks", absl::InternalError("out of cheese"));
  ExpectError("test__breaks", "TOOL_INTERNAL");
  ExpectError("test__breaks", "TOOL_INTERNAL");
  Expect(Call("test__breaks"),
         {absl::StatusCode::kUnavailable, v1::ERROR_REASON_CIRCUIT_OPEN, "no", true});
  EXPECT_TRUE(Call("counter").ok());
}

TEST_F(OutcomeTest, TooLate) {
  Start();
  v1::CallToolRequest request = Request("sleep", R"({"seconds":600})");
  request.mutable_timeout()->set_nanos(20'000'000);
  Expect(Call(request), {absl::StatusCode::kDeadlineExceeded, v1::ERROR_REASON_TIMEOUT, "maybe"});
}

TEST_F(OutcomeTest, TheCallerLeftOrAnAdministratorEndedIt) {
  Start();
  const auto held = tools_->AddHeld("held");
  SideCall left(*server_, "test__held");
  ASSERT_TRUE(held->WaitFor(1));
  left.Cancel();
  EXPECT_EQ(left.Status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(held->WaitForStop(), StopReason::kCaller);
  held->Answer("x");
  SideCall ended(*server_, "test__held");
  ASSERT_TRUE(held->WaitFor(1));
  v1::ListCallsResponse calls;
  ASSERT_TRUE(server_->Admin()->ListCalls(NewContext().get(), {}, &calls).ok());
  v1::CancelCallRequest cancel;
  cancel.set_call_id(calls.calls(0).call_id());
  v1::CancelCallResponse cancelled;
  ASSERT_TRUE(server_->Admin()->CancelCall(NewContext().get(), cancel, &cancelled).ok());
  Expect(ended.Status(), {absl::StatusCode::kCancelled, v1::ERROR_REASON_CANCELLED, "maybe"});
  EXPECT_EQ(MetadataOf(ended.Status()).at("by"), "admin");
}

}  // namespace
}  // namespace toolrack
