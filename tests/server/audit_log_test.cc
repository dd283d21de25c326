#include "server/audit_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

using testing::ElementsAre;

CallRecord Record(const std::string& call_id) {
  CallRecord record;
  record.time = absl::FromUnixMicros(1'700'000'000'123'456);
  record.call_id = call_id;
  record.tool = "demo__add";
  record.principal = "uid:1";
  record.outcome = "ok";
  record.duration = absl::Microseconds(77);
  record.argument_bytes = 9;
  record.result_bytes = 2;
  return record;
}

std::vector<std::string> LinesOf(const std::string& file) {
  std::vector<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}
std::vector<std::string> CallsOf(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& line : LinesOf(file)) {
    out.push_back(nlohmann::json::parse(line)["call_id"].get<std::string>());
  }
  return out;
}

class AuditLogTest : public testing::Test {
 protected:
  std::unique_ptr<AuditLog> Open(const std::string& file) {
    absl::StatusOr<std::unique_ptr<AuditLog>> log = AuditLog::Open(file);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  const TempDir dir_;
  const std::string file_ = dir_.path() + "/audit.jsonl";
};

TEST(AuditLineTest, SaysWhoWhatAndWhatBecameOfIt) {
  EXPECT_EQ(FormatAuditLine(Record("c1")),
            R"({"time":"2023-11-14T22:13:20.123456Z","call_id":"c1","principal":"uid:1",)"
            R"("tool":"demo__add","outcome":"ok","duration_us":77,"argument_bytes":9,)"
            R"("result_bytes":2})"
            "\n");
  CallRecord whole = Record("c2");
  whole.arguments_sha256 = "ab";
  whole.tool_digest = "cd";
  whole.session_id = "s";
  whole.batch_id = "b";
  whole.backend = "worker:w";
  whole.attempts = 2;
  whole.cached = true;
  whole.hook = "h";
  whole.approval_id = "a";
  whole.traceparent = "t";
  const nlohmann::json line = nlohmann::json::parse(FormatAuditLine(whole));
  EXPECT_EQ(line.size(), 18u);
  EXPECT_EQ(line["arguments_sha256"], "ab");
  EXPECT_EQ(line["attempts"], 2);
  EXPECT_EQ(line["cached"], true);
}

TEST(AuditLineTest, WhateverCallersSendItStaysOneLineOfJson) {
  CallRecord record = Record("a\nb\"\\\xff\x01");
  record.tool = std::string(100'000, 'x');
  const std::string line = FormatAuditLine(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  EXPECT_LT(line.size(), 2000u);
  EXPECT_TRUE(nlohmann::json::accept(line));
}

TEST_F(AuditLogTest, AppendsAndKeepsWhatIsThere) {
  std::ofstream(file_) << R"({"call_id":"before"})"
                       << "\n";
  {
    const auto log = Open(file_);
    log->Add(Record("c1"));
    log->Flush();
    EXPECT_THAT(CallsOf(file_), ElementsAre("before", "c1"));
    log->Add(Record("c2"));
  }
  EXPECT_THAT(CallsOf(file_), ElementsAre("before", "c1", "c2"));
}

TEST_F(AuditLogTest, TheFileIsItsOwnersAlone) {
  const auto log = Open(file_);
  struct stat info;
  ASSERT_EQ(::stat(file_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(AuditLogTest, SaysWhyItCannotBeOpened) {
  const auto log = AuditLog::Open(dir_.path() + "/none/audit");
  EXPECT_EQ(log.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(log.status().message()), testing::HasSubstr("audit.file"));
}

TEST_F(AuditLogTest, GoesOnInANewFileWhenTheOldOneWasMovedAway) {
  const auto log = Open(file_);
  log->Add(Record("c1"));
  log->Flush();
  std::filesystem::rename(file_, file_ + ".1");
  log->Add(Record("c2"));  // still to the old one
  log->Flush();
  log->Reopen();
  log->Add(Record("c3"));
  log->Flush();
  EXPECT_THAT(CallsOf(file_ + ".1"), ElementsAre("c1", "c2"));
  EXPECT_THAT(CallsOf(file_), ElementsAre("c3"));
}

TEST_F(AuditLogTest, StaysWithTheOldFileWhenItCannotBeOpenedAgain) {
  const auto log = Open(file_);
  std::filesystem::rename(file_, file_ + ".1");
  std::filesystem::create_directory(file_);
  log->Reopen();
  log->Add(Record("c1"));
  log->Flush();
  EXPECT_TRUE(log->writable());
  EXPECT_THAT(CallsOf(file_ + ".1"), ElementsAre("c1"));
}

// A full disk: nothing is written, nothing is lost before the bound, and all of it is there when
// there is room again.
TEST_F(AuditLogTest, AFullDiskLosesNothingUntilItsBound) {
  std::filesystem::create_symlink("/dev/full", file_);
  const auto log = Open(file_);
  log->Add(Record("c1"));
  log->Flush();
  EXPECT_FALSE(log->writable());
  log->Add(Record("c2"));
  std::filesystem::remove(file_);
  log->Reopen();
  log->Flush();
  EXPECT_TRUE(log->writable());
  EXPECT_THAT(CallsOf(file_), ElementsAre("c1", "c2"));
  EXPECT_EQ(log->lost(), 0u);
}

TEST_F(AuditLogTest, CountsWhatItLoses) {
  std::filesystem::create_symlink("/dev/full", file_);
  const auto log = Open(file_);
  log->Add(Record("first"));
  log->Flush();
  const size_t line = FormatAuditLine(Record("c")).size();
  const size_t fit = (AuditLog::kMaxWaitingBytes - FormatAuditLine(Record("first")).size()) / line;
  for (size_t i = 0; i < fit + 10; ++i) log->Add(Record("c"));
  EXPECT_EQ(log->lost(), 10u);
  std::filesystem::remove(file_);
  log->Reopen();
  log->Flush();
  EXPECT_EQ(LinesOf(file_).size(), fit + 1);
}

// A write that stops in the middle of a line, as on a full disk: here by a limit on the file's
// size.
TEST_F(AuditLogTest, ALineIsWholeAlsoWhereTheRoomEndedInIt) {
  const size_t line = FormatAuditLine(Record("c1")).size();
  rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const auto log = Open(file_);
  rlimit small = old;
  small.rlim_cur = line + line / 2;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  log->Add(Record("c1"));
  log->Add(Record("c2"));
  log->Flush();
  const bool failed = !log->writable();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_TRUE(failed);
  EXPECT_EQ(std::filesystem::file_size(file_), line + line / 2);
  // Another file: the line is there from its beginning.
  std::filesystem::rename(file_, file_ + ".1");
  log->Reopen();
  log->Flush();
  EXPECT_TRUE(log->writable());
  EXPECT_THAT(CallsOf(file_), ElementsAre("c2"));
}

TEST_F(AuditLogTest, ManyThreadsWriteWholeLines) {
  constexpr int kThreads = 4, kEach = 500;
  {
    const auto log = Open(file_);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&log, t] {
        for (int i = 0; i < kEach; ++i) {
          log->Add(Record(absl::StrCat(t, "-", i)));
          if (i % 100 == 0) log->Reopen();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const std::vector<std::string> calls = CallsOf(file_);
  EXPECT_EQ(calls.size(), size_t{kThreads * kEach});
  EXPECT_EQ(std::set<std::string>(calls.begin(), calls.end()).size(), calls.size());
}

}  // namespace
}  // namespace toolrack
