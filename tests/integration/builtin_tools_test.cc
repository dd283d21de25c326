// The daemon's tools that are there when they are configured, through real stubs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/testing/daemon_process.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using nlohmann::json;
using testing::HasSubstr;

absl::StatusOr<v1::ToolResult> CallOn(v1::ToolService::Stub& stub, const std::string& name,
                                      const json& arguments) {
  v1::CallToolRequest request;
  request.set_name(name);
  request.set_arguments_json(arguments.dump());
  v1::CallToolResponse response;
  const grpc::Status status = stub.CallTool(NewContext().get(), request, &response);
  if (!status.ok()) return FromGrpc(status);
  return response.result();
}

TEST(BuiltinTools, ForFilesWorkThroughTheDaemon) {
  TempDir dir;
  std::filesystem::create_directories(dir.path() + "/root");
  std::ofstream(dir.path() + "/secret") << "canary";
  v1::Config config;
  config.mutable_builtin()->mutable_files()->set_root(dir.path() + "/root");
  config.mutable_builtin()->mutable_files()->set_write(true);
  TestServer server(config);
  const auto stub = server.Tools();
  ASSERT_FALSE(CallOn(*stub, "file_write",
                      {{"path", "a/n.txt"}, {"content", "one\ntwo\n"}, {"create_parents", true}})
                   ->is_error());
  ASSERT_FALSE(
      CallOn(*stub, "file_edit", {{"path", "a/n.txt"}, {"old_text", "two"}, {"new_text", "2"}})
          ->is_error());
  EXPECT_EQ(CallOn(*stub, "file_read", {{"path", "a/n.txt"}})->content(0).text().text(),
            "one\n2\n");
  EXPECT_THAT(CallOn(*stub, "file_list", {{"depth", 2}})->structured_json(),
              HasSubstr(R"({"path":"a/n.txt","kind":"file","size":6})"));
  EXPECT_THAT(CallOn(*stub, "file_search", {{"query", "2"}})->structured_json(),
              HasSubstr(R"({"path":"a/n.txt","line":2,"text":"2"})"));
  const auto out = CallOn(*stub, "file_read", {{"path", "../secret"}});
  EXPECT_EQ(out->error().reason(), "TOOL_INVALID_ARGUMENT");
  EXPECT_EQ(out->DebugString().find("canary"), std::string::npos);
}

// Waits until the file has a line, and gives it as a number.
pid_t PidFrom(const std::string& file) {
  for (std::string line;; absl::SleepFor(absl::Milliseconds(2))) {
    std::ifstream in(file);
    if (std::getline(in, line) && !in.eof()) return std::stoi(line);
  }
}

// Nobody tells when a process that is not our child has gone. One whose parent has ended may stay a
// zombie when no init is there.
bool WaitUntilGone(pid_t pid) {
  for (const absl::Time end = absl::Now() + kHung; absl::Now() < end;
       absl::SleepFor(absl::Milliseconds(2))) {
    std::string stat;
    if (::kill(pid, 0) != 0) return true;
    std::getline(std::ifstream(absl::StrCat("/proc/", pid, "/stat")), stat);
    if (stat.find(") Z ") != std::string::npos) return true;
  }
  return false;
}

v1::Config WithCommand(std::vector<std::string> argv) {
  v1::Config config;
  v1::CommandToolConfig& command = *config.mutable_builtin()->add_commands();
  command.set_name("run");
  command.set_description("Runs a program.");
  for (std::string& one : argv) command.add_argv(std::move(one));
  return config;
}

TEST(BuiltinTools, ThatRunProgramsWorkThroughTheDaemon) {
  TestServer server(WithCommand({"/usr/bin/printf", "%s|%s", "{a}", "x{b}"}));
  const auto stub = server.Tools();
  EXPECT_EQ(CallOn(*stub, "run", {{"a", "$(id) *"}, {"b", " y"}})->content(0).text().text(),
            "$(id) *|x y");
  EXPECT_EQ(ReasonOf(CallOn(*stub, "run", {{"a", "1"}}).status()),
            v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST(BuiltinTools, AProgramIsKilledWhenItsCallerLeaves) {
  TempDir dir;
  const std::string file = dir.path() + "/pid";
  TestServer server(WithCommand({"/bin/sh", "-c", "echo $$ > \"$0\"; exec sleep 1000", file}));
  const auto stub = server.Tools();
  const auto context = NewContext();
  v1::CallToolRequest request;
  request.set_name("run");
  std::thread caller([&] {
    v1::CallToolResponse response;
    EXPECT_EQ(stub->CallTool(context.get(), request, &response).error_code(),
              grpc::StatusCode::CANCELLED);
  });
  const pid_t pid = PidFrom(file);
  context->TryCancel();
  caller.join();
  EXPECT_TRUE(WaitUntilGone(pid));
}

TEST(BuiltinTools, AProgramDiesWithTheDaemon) {
  TempDir dir;
  const std::string file = dir.path() + "/pid", config = dir.path() + "/c.yaml";
  std::ofstream(config) << "builtin: {commands: [{name: run, description: d, argv: [/bin/sh, -c, "
                           "'echo $$ > \"$0\"; exec sleep 1000', \""
                        << file << "\"]}]}\n";
  const auto daemon = DaemonProcess::Serve({"--config", config});
  ASSERT_TRUE(daemon->WaitUntilServing()) << daemon->Output();
  const auto stub = v1::ToolService::NewStub(daemon->Channel("agent"));
  std::thread caller([&] {
    EXPECT_EQ(CallOn(*stub, "run", json::object()).status().code(), absl::StatusCode::kUnavailable);
  });
  const pid_t pid = PidFrom(file);
  daemon->Signal(SIGKILL);
  caller.join();
  daemon->WaitForExit();
  EXPECT_TRUE(WaitUntilGone(pid));
}

TEST(BuiltinTools, AProgramIsKilledAtItsTimeout) {
  v1::Config config = WithCommand({"/bin/sleep", "1000"});
  config.mutable_builtin()->mutable_commands(0)->mutable_timeout()->set_nanos(50'000'000);
  TestServer server(config);
  const absl::Status status = CallOn(*server.Tools(), "run", json::object()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_TIMEOUT);
}

TEST(BuiltinTools, NotesAreTheirPrincipalsAlone) {
  v1::Config config;
  config.mutable_builtin()->mutable_memory()->set_enabled(true);
  config.mutable_builtin()->mutable_memory()->set_max_notes(2);
  TestServer server(config);
  const auto mine = server.Tools(), theirs = server.Tools("tcp");  // another principal
  ASSERT_FALSE(CallOn(*mine, "memory_store", {{"key", "k"}, {"text", "my tea"}})->is_error());
  ASSERT_FALSE(CallOn(*theirs, "memory_store", {{"key", "k"}, {"text", "their tea"}})->is_error());
  const auto text = [](v1::ToolService::Stub& stub, const json& arguments) {
    const json data = json::parse(CallOn(stub, "memory_recall", arguments)->structured_json());
    return data["notes"].dump();
  };
  EXPECT_THAT(text(*mine, {{"query", "tea"}}), HasSubstr("my tea"));
  EXPECT_EQ(text(*mine, {{"query", "their"}}), "[]");
  EXPECT_THAT(text(*theirs, {{"key", "k"}}), HasSubstr("their tea"));
  // A bound that one of them meets is not the other's.
  for (const char* key : {"a", "b"}) {
    ASSERT_FALSE(CallOn(*mine, "memory_store", {{"key", key}, {"text", "x"}})->is_error());
  }
  EXPECT_TRUE(CallOn(*mine, "memory_recall", {{"key", "k"}})->is_error());
  EXPECT_FALSE(CallOn(*theirs, "memory_recall", {{"key", "k"}})->is_error());
}

TEST(BuiltinTools, AreNotThereUnlessConfigured) {
  TestServer server;
  const auto stub = server.Tools();
  EXPECT_EQ(ReasonOf(CallOn(*stub, "file_read", {{"path", "x"}}).status()),
            v1::ERROR_REASON_TOOL_NOT_FOUND);
  v1::Config config;
  config.mutable_builtin()->mutable_files()->set_root("/nowhere/at/all");
  const absl::Status status = Server::Create(config).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("builtin.files.root: /nowhere/at/all"));
}

}  // namespace
}  // namespace toolrack
