// The whole command against a stand-in for the daemon.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "client/cli/command_line.h"
#include "client/cli/exit_code.h"
#include "registry/base/errors.h"
#include "tests/client/command_line_test.h"
#include "tests/client/fake_rack.h"

namespace toolrack {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CommandTest : public CommandLineTest {
 protected:
  CommandTest() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    for (const char* name : {"agent", "control"}) {
      builder.AddListeningPort("unix:" + folder_ + "/" + name + ".sock",
                               grpc::InsecureServerCredentials());
    }
    builder.RegisterService(&tools_);
    builder.RegisterService(&admin_);
    server_ = builder.BuildAndStart();
    AddTool("echo", "Says it again.");
    AddTool("eco__検索", "Finds\x1b[2Jthings.\nSecond line.");
    AddTool("zoom", "");
    tools_.on_call = [this](const v1::CallToolRequest& request, v1::CallToolResponse& response) {
      request_ = request;
      response.set_call_id("c1");
      response.mutable_result()->add_content()->mutable_text()->set_text("said");
      return absl::OkStatus();
    };
  }
  ~CommandTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  void AddTool(const std::string& name, const std::string& description) {
    v1::Tool& tool = tools_.tools.emplace_back();
    tool.set_name(name);
    tool.set_description(description);
    tool.set_state(v1::TOOL_STATE_ACTIVE);
    tool.set_risk(v1::RISK_LEVEL_SAFE);
    tool.add_categories("basic");
    tool.set_input_schema("{\"type\": \"object\"}");
  }

  FakeTools tools_;
  FakeAdmin admin_;
  std::unique_ptr<grpc::Server> server_;
  v1::CallToolRequest request_;
};

TEST_F(CommandTest, ListShowsEveryPageInOneTable) {
  EXPECT_EQ(Run({"list"}), kExitOk);
  EXPECT_EQ(out_,
            "NAME       STATE   RISK  CATEGORIES  DESCRIPTION\n"
            "echo       active  safe  basic       Says it again.\n"
            "eco__検索  active  safe  basic       Finds\\x1b[2Jthings. Second line.\n"
            "zoom       active  safe  basic       -\n");
  EXPECT_EQ(err_, "");
}

TEST_F(CommandTest, ListStopsAtItsLimitAndSaysSo) {
  EXPECT_EQ(Run({"list", "--limit", "1"}), kExitOk);
  EXPECT_THAT(out_, Not(HasSubstr("zoom")));
  EXPECT_EQ(err_, "1 of 3 tools\n");
}

TEST_F(CommandTest, JsonIsOneDocumentWithProtoNames) {
  EXPECT_EQ(Run({"list", "--json"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("\"input_schema\": \"{\\\"type\\\": \\\"object\\\"}\""));
  EXPECT_THAT(out_, HasSubstr("\"state\": \"TOOL_STATE_ACTIVE\""));
  EXPECT_THAT(out_, HasSubstr("\"total_size\": 3"));
}

TEST_F(CommandTest, DescribeShowsTheSchemaByteForByte) {
  tools_.tools[0].set_input_schema("{ \"b\":1,\n\"a\" : 1.0 }");
  EXPECT_EQ(Run({"describe", "echo", "--schema"}), kExitOk);
  EXPECT_EQ(out_, "{ \"b\":1,\n\"a\" : 1.0 }\n");
  EXPECT_EQ(Run({"describe", "echo"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("\ninput schema:\n{ \"b\":1,\n\"a\" : 1.0 }\n"));
}

TEST_F(CommandTest, AnUnknownToolIsNotFoundWithItsNeighboursAndANextStep) {
  EXPECT_EQ(Run({"describe", "eco"}), kExitNotFound);
  EXPECT_THAT(err_, HasSubstr("TOOL_NOT_FOUND"));
  EXPECT_THAT(err_, HasSubstr("echo"));
  EXPECT_THAT(err_, HasSubstr("toolrack search"));
  EXPECT_EQ(out_, "");
}

TEST_F(CommandTest, WithJsonAnErrorIsADocumentToo) {
  EXPECT_EQ(Run({"--json", "describe", "eco"}), kExitNotFound);
  EXPECT_THAT(out_, HasSubstr("{\"error\":{\"code\":\"NOT_FOUND\",\"reason\":\"TOOL_NOT_FOUND\""));
  EXPECT_THAT(out_, HasSubstr("\"nearest\":\"echo\""));
}

TEST_F(CommandTest, SearchPassesItsWordsAndShowsHits) {
  auto* hit = tools_.found.add_hits();
  *hit->mutable_tool() = tools_.tools[0];
  hit->set_score(1.5);
  hit->set_match("name");
  hit->set_snippet("Says it again.");
  tools_.found.add_more_names("zoom");
  EXPECT_EQ(Run({"search", "say", "again", "-n", "3"}), kExitOk);
  EXPECT_EQ(tools_.searched.query(), "say again");
  EXPECT_EQ(tools_.searched.max_results(), 3);
  EXPECT_EQ(out_, "NAME  SCORE  MATCH  SNIPPET\necho  1.50   name   Says it again.\n");
  EXPECT_EQ(err_, "more: zoom\n");
  EXPECT_EQ(Run({"search", "--select", "a", "b"}), kExitOk);
  EXPECT_EQ(tools_.searched.query(), "a,b");
  EXPECT_EQ(tools_.searched.mode(), v1::SEARCH_MODE_SELECT);
  EXPECT_EQ(Run({"search", "--regex", "[a-c,x]"}), kExitOk);
  EXPECT_EQ(tools_.searched.query(), "[a-c,x]");
}

TEST_F(CommandTest, ACallSendsItsArgumentsAndPrintsTheText) {
  input_ = "{\"n\": 9007199254740993}";
  EXPECT_EQ(Run({"call", "echo", "-d", "-", "--timeout", "5s", "--call-id", "mine"}), kExitOk);
  EXPECT_EQ(request_.arguments_json(), input_);
  EXPECT_EQ(request_.call_id(), "mine");
  EXPECT_EQ(request_.timeout().seconds(), 5);
  EXPECT_EQ(out_, "said\n");
}

TEST_F(CommandTest, AResultReachesAPipeRawAndATerminalMadeHarmless) {
  tools_.on_call = [](const v1::CallToolRequest&, v1::CallToolResponse& response) {
    response.mutable_result()->add_content()->mutable_text()->set_text("a\x1b]0;owned\x07");
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"call", "echo"}), kExitOk);
  EXPECT_EQ(out_, "a\x1b]0;owned\x07\n");
  tty_ = true;
  EXPECT_EQ(Run({"call", "echo"}), kExitOk);
  EXPECT_EQ(out_, "a\\x1b]0;owned\\x07\n");
}

TEST_F(CommandTest, AFailedToolEndsWithOneAndACutResultNamesItsHandle) {
  tools_.on_call = [](const v1::CallToolRequest&, v1::CallToolResponse& response) {
    v1::ToolResult& result = *response.mutable_result();
    result.add_content()->mutable_json()->set_json("{\"x\":1}");
    result.set_is_error(true);
    result.mutable_error()->set_reason("EXECUTION_FAILED");
    result.set_truncated(true);
    result.set_total_bytes(1536);
    result.set_result_handle("h");
    return absl::OkStatus();
  };
  EXPECT_EQ(Run({"call", "echo"}), kExitToolFailed);
  EXPECT_EQ(out_, "{\"x\":1}\n");
  EXPECT_EQ(err_,
            "cut: the whole has 1.5 KiB; `toolrack read-result h` gives it\n"
            "the tool failed (EXECUTION_FAILED)\n");
}

TEST_F(CommandTest, EveryKindOfRefusalHasItsExitCode) {
  const std::vector<std::pair<absl::Status, int>> cases = {
      {ArgumentsInvalid("echo", "d", {{"/a", "expected string, got 1"}}), kExitInvalid},
      {ToolNotFound("x", {}), kExitNotFound},
      {ToolDisabled("echo"), kExitRefused},
      {WrongSocket("AdminService", "control.sock"), kExitRefused},
      {QueueFull("queue", 3, "worker"), kExitBusy},
      {BackendUnavailable("echo", "w"), kExitUnavailable},
      {OutcomeUnknown("echo", "w"), kExitOutcomeUnknown},
      {CallTimeout("echo", absl::Seconds(1), Executed::kMaybe), kExitTimeout},
      {CallCancelled("echo", "admin", Executed::kMaybe), kExitCancelled},
      {InternalError("here", "bug"), kExitInternal},
  };
  for (const auto& [status, code] : cases) {
    tools_.on_call = [&status = status](const v1::CallToolRequest&, v1::CallToolResponse&) {
      return status;
    };
    EXPECT_EQ(Run({"call", "echo"}), code) << status;
    EXPECT_THAT(err_, HasSubstr(std::string(ReasonName(ReasonOf(status)))));
    EXPECT_EQ(out_, "");
  }
}

TEST_F(CommandTest, AnErrorSaysWhetherTheToolRanAndWhenToTryAgain) {
  tools_.on_call = [](const v1::CallToolRequest&, v1::CallToolResponse&) {
    return BackendUnavailable("echo", "w");
  };
  Run({"call", "echo"});
  EXPECT_THAT(err_, HasSubstr("not run"));
  EXPECT_THAT(err_, HasSubstr("try again in 1s"));
}

TEST_F(CommandTest, CtrlCCancelsTheCall) {
  std::thread presses([this] {
    tools_.waiting.WaitForNotification();
    stop_.RequestStop(StopReason::kCaller);
  });
  EXPECT_EQ(Run({"call", "wait"}), kExitCancelled);
  presses.join();
  EXPECT_TRUE(tools_.left.WaitForNotificationWithTimeout(absl::Minutes(1)));
}

TEST_F(CommandTest, ADaemonThatDiesUnderACallLeavesTheOutcomeUnknown) {
  std::thread dies([this] {
    tools_.waiting.WaitForNotification();
    server_->Shutdown(std::chrono::system_clock::now());
  });
  EXPECT_EQ(Run({"call", "wait"}), kExitOutcomeUnknown);
  EXPECT_THAT(err_, HasSubstr("whether the tool ran is not known"));
  dies.join();
}

TEST_F(CommandTest, NobodyThereIsUnavailableWithTheAddressLookedAt) {
  server_->Shutdown();
  EXPECT_EQ(Run({"call", "echo"}), kExitUnavailable);
  EXPECT_THAT(err_, HasSubstr("is toolrackd running?"));
  EXPECT_THAT(err_, HasSubstr(folder_ + "/agent.sock"));
}

TEST_F(CommandTest, AStreamShowsProgressAndThenTheResult) {
  v1::CallToolStreamResponse event;
  event.mutable_progress()->set_progress(1);
  event.mutable_progress()->set_total(2);
  event.mutable_progress()->set_message("half");
  tools_.events.push_back(event);
  event.mutable_log()->set_level("info");
  event.mutable_log()->set_message("a line");
  tools_.events.push_back(event);
  event.mutable_response()->mutable_result()->add_content()->mutable_text()->set_text("done");
  tools_.events.push_back(event);

  EXPECT_EQ(Run({"call", "echo", "--stream"}), kExitOk);
  EXPECT_EQ(out_, "done\n");
  EXPECT_EQ(err_, "progress 1/2 half\ninfo: a line\n");

  EXPECT_EQ(Run({"call", "echo", "--stream", "--json"}), kExitOk);
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 3);

  tty_ = true;
  columns_ = 40;
  EXPECT_EQ(Run({"call", "echo", "--stream"}), kExitOk);
  EXPECT_THAT(err_, HasSubstr("[##########----------] 1/2 half"));
  EXPECT_TRUE(absl::EndsWith(err_, "\r\x1b[K"));
}

TEST_F(CommandTest, AStreamWithoutAResponseIsNoSuccess) {
  EXPECT_EQ(Run({"call", "echo", "--stream"}), kExitOutcomeUnknown);
}

TEST_F(CommandTest, ExplainGivesTheCodeThatTheCallWouldGive) {
  auto* step = tools_.explained.add_steps();
  step->set_name("validation");
  step->set_outcome(v1::EXPLAIN_OUTCOME_REFUSE);
  step->set_detail("1 fault");
  auto* verdict = tools_.explained.mutable_verdict();
  verdict->set_code(3);
  verdict->set_reason("ARGUMENTS_INVALID");
  verdict->set_message("no");
  verdict->add_faults()->set_message("missing \"a\"");
  EXPECT_EQ(Run({"explain", "echo"}), kExitInvalid);
  EXPECT_EQ(out_,
            "STEP        OUTCOME  DETAIL\nvalidation  refuse   1 fault\n"
            "it would be refused: INVALID_ARGUMENT, ARGUMENTS_INVALID: no\n"
            "  (root): missing \"a\"\n");
  tools_.explained.Clear();
  tools_.explained.mutable_verdict()->set_would_run(true);
  EXPECT_EQ(Run({"explain", "echo"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("it would run"));
}

TEST_F(CommandTest, AWatchGoesOnAfterItWasDropped) {
  for (uint64_t revision = 1; revision <= 3; ++revision) {
    v1::WatchToolsResponse& change = tools_.changes.emplace_back();
    change.set_epoch("e");
    change.set_revision(revision);
    change.mutable_added()->set_name("t" + std::to_string(revision));
  }
  EXPECT_EQ(Run({"watch", "--count", "3"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("1      added    t1"));
  EXPECT_THAT(out_, HasSubstr("3      added    t3"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 3);
}

TEST_F(CommandTest, AStoredResultIsReadWholeInParts) {
  tools_.stored = "a long result in many parts";
  EXPECT_EQ(Run({"read-result", "h"}), kExitOk);
  EXPECT_EQ(out_, tools_.stored);
  EXPECT_EQ(Run({"read-result", "h", "--offset", "2", "--length", "11"}), kExitOk);
  EXPECT_EQ(out_, "long result");
  EXPECT_EQ(Run({"read-result", "other"}), kExitNotFound);
}

TEST_F(CommandTest, AdministrationAsksAndShows) {
  EXPECT_EQ(Run({"workers"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("first   attached  0      0/64"));
  EXPECT_THAT(out_, HasSubstr("second  attached"));
  EXPECT_EQ(Run({"cancel", "c9"}), kExitNotFound);
  EXPECT_EQ(Run({"disable", "echo"}), kExitOk);
  EXPECT_EQ(out_, "echo is disabled\n");
  EXPECT_EQ(Run({"disable"}), kExitUsage);
  EXPECT_EQ(Run({"drain", "w1", "--grace", "1m30s"}), kExitOk);
  EXPECT_EQ(admin_.drained.worker_name(), "w1");
  EXPECT_EQ(admin_.drained.grace().seconds(), 90);
  EXPECT_EQ(out_, "draining, 3 running\n");
  EXPECT_EQ(Run({"drain", "--grace", "soon"}), kExitUsage);
  // Not implemented by the stand-in: a code without an exit code of its own.
  EXPECT_EQ(Run({"status"}), kExitInternal);
}

TEST_F(CommandTest, HealthTellsAliveFromReady) {
  EXPECT_EQ(Run({"health"}), kExitOk);
  EXPECT_EQ(out_, "SERVING\n");
  server_->GetHealthCheckService()->SetServingStatus(false);
  EXPECT_EQ(Run({"health", "--ready"}), kExitUnavailable);
  EXPECT_EQ(Run({"health", "--live"}), kExitOk);
  EXPECT_EQ(out_, "NOT_SERVING\n");
  EXPECT_EQ(Run({"health", "--service", "no.such"}), kExitNotFound);
  server_->Shutdown();
  EXPECT_EQ(Run({"health", "--live"}), kExitUnavailable);
}

TEST_F(CommandTest, AWrongCommandLineEndsWithTwo) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"nonsense"},
                                                    {"call"},
                                                    {"call", "x", "--timeout", "long"},
                                                    {"call", "x", "neither"},
                                                    {"call", "x", "[]"},
                                                    {"call", "x", "[1,2]"},
                                                    {"call", "x", "{}", "-d", "{}"},
                                                    {"health", "--live", "--ready"},
                                                    {"watch", "--from", "3"}}) {
    EXPECT_EQ(Run(arguments), kExitUsage);
    EXPECT_NE(err_, "");
  }
  EXPECT_EQ(Run({"--help"}), kExitOk);
  EXPECT_THAT(out_, HasSubstr("8 outcome unknown"));
  EXPECT_EQ(Run({"version"}), kExitOk);
}

}  // namespace
}  // namespace toolrack
