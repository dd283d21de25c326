// Kept results that memory has no room for.
#include "registry/call/result_spill.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "registry/base/errors.h"
#include "registry/call/result_store.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

class SpillTest : public testing::Test {
 protected:
  SpillTest() {
    std::string pattern = testing::TempDir() + "/spillXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SpillTest() override { std::filesystem::remove_all(folder_); }
  static v1::ResultsConfig Config() {
    v1::ResultsConfig config;
    config.set_max_stored_bytes(100);
    config.set_max_spill_bytes(250);
    config.mutable_ttl()->set_seconds(60);
    return config;
  }
  static v1::ReadResultRequest Range(const std::string& handle, uint64_t offset = 0,
                                     uint64_t length = 0) {
    v1::ReadResultRequest request;
    request.set_handle(handle);
    request.set_offset(offset);
    request.set_length(length);
    return request;
  }
  std::string folder_;
  FakeClock clock_;
};

TEST_F(SpillTest, WhatMemoryHasNoRoomForLiesInFilesWithoutNames) {
  ResultStore store(&clock_, Config(), *MakeFileSpill(folder_ + "/spill"));
  const std::string first = store.Put(std::string(80, 'a'), "u");
  const std::string second = store.Put(std::string(50, 'b') + std::string(70, 'c'), "u");
  EXPECT_EQ(store.bytes(), 80u);
  EXPECT_EQ(store.spilled(), 120u);
  EXPECT_EQ(store.Read(Range(first), "u")->data(), std::string(80, 'a'));
  const v1::ReadResultResponse range = *store.Read(Range(second, 48, 4), "u");
  EXPECT_EQ(range.data(), "bbcc");
  EXPECT_EQ(range.total_bytes(), 120u);
  EXPECT_FALSE(range.eof());
  EXPECT_TRUE(store.Read(Range(second, 100, 100), "u")->eof());
  EXPECT_EQ(store.Read(Range(second, 1000), "u")->data(), "");
  EXPECT_EQ(ReasonOf(store.Read(Range(second), "v").status()), v1::ERROR_REASON_RESULT_NOT_FOUND);
  EXPECT_TRUE(std::filesystem::is_empty(folder_ + "/spill"));
  struct stat info;
  ASSERT_EQ(::stat((folder_ + "/spill").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);

  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(store.spilled(), 0u);
  EXPECT_EQ(store.count(), 0u);
}

TEST_F(SpillTest, WhenFilesAreFullTooTheOldestInMemoryGo) {
  ResultStore store(&clock_, Config(), *MakeFileSpill(folder_));
  const std::string first = store.Put(std::string(80, 'a'), "u");
  const std::string second = store.Put(std::string(200, 'b'), "u");
  const std::string third = store.Put(std::string(90, 'c'), "u");
  EXPECT_EQ(store.spilled(), 200u);
  EXPECT_EQ(store.bytes(), 90u);
  EXPECT_FALSE(store.Read(Range(first), "u").ok());
  EXPECT_TRUE(store.Read(Range(second), "u").ok());
  EXPECT_TRUE(store.Read(Range(third), "u").ok());
  EXPECT_EQ(store.Put(std::string(300, 'd'), "u"), "");
}

TEST_F(SpillTest, ASessionsFilesGoWithIt) {
  ResultStore store(&clock_, Config(), *MakeFileSpill(folder_));
  store.Put(std::string(80, 'a'), "u", "s");
  store.Put(std::string(80, 'b'), "u", "s");
  EXPECT_EQ(store.spilled(), 80u);
  store.CloseSession("s");
  EXPECT_EQ(store.spilled(), 0u);
  EXPECT_EQ(store.bytes(), 0u);
}

// A disk that is full: the store goes on in memory, and counts right.
TEST_F(SpillTest, AFullDiskIsNoLossOfTheNewest) {
  struct FullDisk : ResultSpill {
    absl::StatusOr<std::shared_ptr<const ResultBody>> Write(absl::string_view) override {
      ++tries;
      return absl::ResourceExhaustedError("No space left on device");
    }
    int tries = 0;
  };
  auto disk = std::make_unique<FullDisk>();
  FullDisk* const full = disk.get();
  ResultStore store(&clock_, Config(), std::move(disk));
  store.Put(std::string(80, 'a'), "u");
  const std::string second = store.Put(std::string(80, 'b'), "u");
  EXPECT_EQ(full->tries, 1);
  EXPECT_EQ(store.spilled(), 0u);
  EXPECT_EQ(store.bytes(), 80u);
  EXPECT_EQ(store.Read(Range(second), "u")->data(), std::string(80, 'b'));
}

TEST_F(SpillTest, AFolderThatOthersCanWriteToIsRefused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  EXPECT_EQ(MakeFileSpill(folder_).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MakeFileSpill("/proc/no/such").status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace toolrack
