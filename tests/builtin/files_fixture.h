// The file tools over a folder of their own, with something secret beside it.
#ifndef TOOLRACK_TESTS_BUILTIN_FILES_FIXTURE_H_
#define TOOLRACK_TESTS_BUILTIN_FILES_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "registry/builtin/files/files.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {

inline constexpr char kCanary[] = "canary-that-nobody-may-read";

class FilesRig {
 public:
  explicit FilesRig(bool write = true, uint64_t max_bytes = 4096, uint32_t max_entries = 20)
      : server_(&rig_.registry, "toolrackd", "") {
    std::filesystem::create_directories(root());
    Put("../secret.txt", kCanary);
    std::filesystem::create_directories(dir_.path() + "/root-twin");
    Put("../root-twin/secret.txt", kCanary);
    v1::FileToolsConfig config;
    config.set_root(root());
    config.set_write(write);
    config.set_max_file_bytes(max_bytes);
    config.set_max_entries(max_entries);
    absl::StatusOr<std::vector<ToolFactory>> tools = MakeFileTools(config, &rig_.executor);
    EXPECT_TRUE(tools.ok()) << tools.status();
    const absl::Status status = server_.TakeRegistrar()->RegisterAll(*std::move(tools));
    EXPECT_TRUE(status.ok()) << status;
  }

  std::string root() const { return dir_.path() + "/root"; }
  std::string At(const std::string& path) const { return root() + "/" + path; }
  void Put(const std::string& path, const std::string& content) const {
    std::filesystem::create_directories(std::filesystem::path(At(path)).parent_path());
    std::ofstream(At(path), std::ios::binary) << content;
  }
  std::string Get(const std::string& path) const {
    std::ostringstream out;
    out << std::ifstream(At(path), std::ios::binary).rdbuf();
    return out.str();
  }
  void Link(const std::string& target, const std::string& path) const {
    std::filesystem::create_symlink(target, At(path));
  }

  v1::ToolResult Call(const std::string& name, const nlohmann::json& arguments) {
    Answer answer;
    rig_.Start(Rig::Request(name, arguments.dump()), answer);
    rig_.executor.RunAll();
    EXPECT_EQ(answer.times, 1);
    EXPECT_TRUE(answer.status().ok()) << answer.status();
    return answer.status().ok() ? answer.result() : v1::ToolResult();
  }
  // The same without the pipeline.
  v1::ToolResult Run(const std::string& name, const nlohmann::json& arguments, StopToken stop,
                     std::shared_ptr<CallReporter> reporter) {
    ToolCall call;
    call.arguments = std::make_shared<const nlohmann::json>(arguments);
    call.stop = std::move(stop);
    call.reporter = std::move(reporter);
    v1::ToolResult out;
    server_.handle().Get(name)->second->Execute(
        std::move(call), [&out](absl::StatusOr<v1::ToolResult> result) { out = *result; });
    rig_.executor.RunAll();
    return out;
  }
  ToolServer& server() { return server_; }

 private:
  Rig rig_;
  TempDir dir_;
  ToolServer server_;
};

inline std::string TextOf(const v1::ToolResult& result) {
  return result.content_size() == 0 ? "" : result.content(0).text().text();
}
inline std::string CodeOf(const v1::ToolResult& result) {
  const auto at = result.error().metadata().find("code");
  return at == result.error().metadata().end() ? "" : at->second;
}
inline nlohmann::json DataOf(const v1::ToolResult& result) {
  return nlohmann::json::parse(result.structured_json());
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_BUILTIN_FILES_FIXTURE_H_
