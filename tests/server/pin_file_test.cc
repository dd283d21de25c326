#include "server/pin_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/testing/fakes.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(PinFileTest, WhatIsKnownOutlivesTheDaemon) {
  TempDir dir;
  const std::string folder = dir.path() + "/state";
  ManualExecutor executor;
  PinFile file(folder, &executor);
  Pins pins(PinMode::kEnforce, 10);
  ASSERT_TRUE(file.Load(pins).ok());
  std::string before;
  pins.Check("a", "1", &before);
  pins.Check("b\"\\", "2", &before);
  file.Changed(pins);
  file.Changed(pins);
  EXPECT_EQ(executor.queued(), 1u);
  executor.RunAll();
  file.Changed(pins);
  EXPECT_EQ(executor.queued(), 1u);

  struct stat info;
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(::stat((folder + "/pins.json").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(::access((folder + "/pins.json.new").c_str(), F_OK), 0);

  Pins again(PinMode::kEnforce, 10);
  ASSERT_TRUE(PinFile(folder, &executor).Load(again).ok());
  EXPECT_EQ(again.size(), 2u);
  EXPECT_EQ(again.Check("b\"\\", "3", &before), Pins::Verdict::kChanged);
  EXPECT_EQ(before, "2");
}

TEST(PinFileTest, WithoutAFolderNothingIsKept) {
  ManualExecutor executor;
  PinFile file("", &executor);
  Pins pins(PinMode::kEnforce, 10);
  EXPECT_TRUE(file.Load(pins).ok());
  file.Changed(pins);
  EXPECT_EQ(executor.queued(), 0u);
}

// A guard that forgets silently is none.
TEST(PinFileTest, WhatCannotBeReadStopsTheStart) {
  TempDir dir;
  const std::string folder = dir.path() + "/state";
  ASSERT_EQ(::mkdir(folder.c_str(), 0700), 0);
  ManualExecutor executor;
  Pins pins(PinMode::kEnforce, 10);
  for (const std::string text :
       {"", "{", "[]", "{\"version\":2,\"pins\":[]}", "{\"version\":1,\"pins\":[[\"a\"]]}",
        "{\"version\":1,\"pins\":[[\"a\",1]]}", "{\"version\":1}"}) {
    WriteFile(folder + "/pins.json", text);
    const absl::Status status = PinFile(folder, &executor).Load(pins);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << text;
    EXPECT_NE(status.message().find("pins.json"), absl::string_view::npos) << status;
  }
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_FALSE(PinFile(folder, &executor).Load(pins).ok());
  WriteFile(dir.path() + "/file", "");
  EXPECT_FALSE(PinFile(dir.path() + "/file", &executor).Load(pins).ok());
}

}  // namespace
}  // namespace toolrack
