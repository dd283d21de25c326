#include "registry/base/log.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"

namespace toolrack {
namespace {

std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> out;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

class LogTest : public testing::Test {
 protected:
  LogTest() {
    std::string folder = testing::TempDir() + "logXXXXXX";
    folder_ = mkdtemp(folder.data());
    path_ = folder_ + "/log";
  }
  ~LogTest() override {
    StopLog();
    std::filesystem::remove_all(folder_);
  }
  void Start(LogLevel level, bool json) {
    LogOptions options;
    options.level = level;
    options.file = path_;
    options.json = json;
    ASSERT_TRUE(StartLog(options).ok());
  }

  std::string folder_, path_;
};

TEST_F(LogTest, WritesLinesOfItsLevelAndAbove) {
  Start(LogLevel::kInfo, false);
  LogDebug("hidden");
  LogInfo("shown");
  LogError("worse");
  EXPECT_FALSE(LogEnabled(LogLevel::kDebug));
  EXPECT_TRUE(LogEnabled(LogLevel::kWarning));
  StopLog();
  const auto lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(absl::EndsWith(lines[0], " info shown")) << lines[0];
  EXPECT_TRUE(absl::EndsWith(lines[1], " error worse")) << lines[1];
}

TEST_F(LogTest, GoesOnInANewFileWhenTheOldOneWasMovedAway) {
  Start(LogLevel::kInfo, false);
  LogWarning("one");
  std::filesystem::rename(path_, path_ + ".1");
  LogWarning("two");
  ASSERT_TRUE(ReopenLog().ok());
  LogWarning("three");
  EXPECT_EQ(LinesOf(path_ + ".1").size(), 2u);
  ASSERT_EQ(LinesOf(path_).size(), 1u);
  EXPECT_TRUE(absl::EndsWith(LinesOf(path_)[0], " warning three"));
}

TEST_F(LogTest, StaysWithTheOldFileWhenItCannotBeOpenedAgain) {
  Start(LogLevel::kInfo, false);
  std::filesystem::rename(path_, path_ + ".1");
  std::filesystem::create_directory(path_);
  EXPECT_EQ(ReopenLog().code(), absl::StatusCode::kFailedPrecondition);
  LogWarning("one");
  EXPECT_EQ(LinesOf(path_ + ".1").size(), 1u);
}

TEST_F(LogTest, TheLevelMayChange) {
  Start(LogLevel::kError, false);
  LogInfo("hidden");
  SetLogLevel(LogLevel::kInfo);
  LogInfo("shown");
  StopLog();
  EXPECT_EQ(LinesOf(path_).size(), 1u);
}

TEST_F(LogTest, AWarningIsInTheFileAtOnce) {
  Start(LogLevel::kInfo, false);
  LogWarning("now");
  EXPECT_EQ(LinesOf(path_).size(), 1u);
}

TEST_F(LogTest, OneLineStaysOneLine) {
  Start(LogLevel::kInfo, false);
  LogWarning("a\nb\x1b[31m\rc");
  const auto lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(absl::EndsWith(lines[0], "a b [31m c")) << lines[0];
}

TEST_F(LogTest, JsonLinesAreJson) {
  Start(LogLevel::kInfo, true);
  LogWarning("quote \" and\nbreak and \xFF");
  const auto lines = LinesOf(path_);
  ASSERT_EQ(lines.size(), 1u);
  const nlohmann::json line = nlohmann::json::parse(lines[0]);
  EXPECT_EQ(line["level"], "warning");
  EXPECT_EQ(line["message"], "quote \" and\nbreak and \xEF\xBF\xBD");
}

TEST_F(LogTest, AfterStopLogNothingMoreGoesToTheFile) {
  Start(LogLevel::kInfo, false);
  LogInfo("last");
  StopLog();
  LogWarning("goes to standard error");
  EXPECT_EQ(LinesOf(path_).size(), 1u);
}

TEST_F(LogTest, AFileThatCannotBeOpenedLeavesTheOldLog) {
  Start(LogLevel::kInfo, false);
  LogOptions options;
  options.file = folder_ + "/log/below-a-file";
  EXPECT_EQ(StartLog(options).code(), absl::StatusCode::kFailedPrecondition);
  LogWarning("still here");
  EXPECT_EQ(LinesOf(path_).size(), 1u);
}

}  // namespace
}  // namespace toolrack
