// The daemon's tools that are there when they are configured, through real stubs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "registry/base/errors.h"
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
