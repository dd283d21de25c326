// The real daemon is told to read its configuration again, and its logs are moved away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/random.h"
#include "tests/testing/daemon_process.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kDenyEcho[] = "policy: {rules: [{tools: [echo], action: deny}]}\n";

class ReloadedDaemonTest : public testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(file_) << text; }
  void Serve(const std::string& text) {
    Write(text);
    daemon_ = DaemonProcess::Serve({"--config", file_});
    ASSERT_TRUE(daemon_->WaitUntilServing()) << daemon_->Output();
    admin_ = v1::AdminService::NewStub(daemon_->Channel("control"));
    tools_ = v1::ToolService::NewStub(daemon_->Channel("agent"));
  }
  absl::Status Reload(v1::ReloadConfigResponse& response, bool check_only = false) {
    v1::ReloadConfigRequest request;
    request.set_check_only(check_only);
    response.Clear();
    return FromGrpc(admin_->ReloadConfig(NewContext().get(), request, &response));
  }
  absl::Status Call(const std::string& tool = "echo", const std::string& call_id = "") {
    v1::CallToolRequest request;
    request.set_name(tool);
    request.set_call_id(call_id);
    request.set_arguments_json(R"({"text":"x"})");
    v1::CallToolResponse response;
    return FromGrpc(tools_->CallTool(NewContext().get(), request, &response));
  }
  std::vector<std::string> LinesOf(const std::string& file) const {
    std::vector<std::string> out;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }

  const TempDir dir_;
  const std::string file_ = dir_.path() + "/c.yaml";
  std::unique_ptr<DaemonProcess> daemon_;
  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::ToolService::Stub> tools_;
};

TEST_F(ReloadedDaemonTest, NewRulesHoldForTheNextCall) {
  Serve("log: {level: info}\n");
  EXPECT_TRUE(Call().ok());
  Write(absl::StrCat(kDenyEcho, "limits: {max_tools: 5000}\n"));
  v1::ReloadConfigResponse response;
  ASSERT_TRUE(Reload(response, /*check_only=*/true).ok());
  EXPECT_THAT(response.applied(), ElementsAre("policy.rules"));
  EXPECT_TRUE(Call().ok());
  ASSERT_TRUE(Reload(response).ok());
  EXPECT_THAT(response.applied(), ElementsAre("policy.rules"));
  EXPECT_THAT(response.needs_restart(), ElementsAre("limits.max_tools"));
  EXPECT_EQ(ReasonOf(Call()), v1::ERROR_REASON_POLICY_DENIED);
  // What waits for a restart goes on waiting; what holds is no change any more.
  ASSERT_TRUE(Reload(response).ok());
  EXPECT_THAT(response.applied(), IsEmpty());
  EXPECT_THAT(response.needs_restart(), ElementsAre("limits.max_tools"));
  Write("");
  ASSERT_TRUE(Reload(response).ok());
  EXPECT_THAT(response.needs_restart(), IsEmpty());
  EXPECT_TRUE(Call().ok());
}

TEST_F(ReloadedDaemonTest, MistakesChangeNothing) {
  Serve(kDenyEcho);
  Write("policy: {rules: []}\nlimits: {max_tols: 1, max_tools: x}\n");
  v1::ReloadConfigResponse response;
  const absl::Status status = Reload(response);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CONFIG_INVALID);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(MetadataOf(status).at("file"), file_);
  for (const char* part : {":2:10: limits.max_tols", ":2:34: limits.max_tools"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
  }
  EXPECT_EQ(ReasonOf(Call()), v1::ERROR_REASON_POLICY_DENIED);
  std::filesystem::remove(file_);
  EXPECT_EQ(ReasonOf(Reload(response)), v1::ERROR_REASON_CONFIG_INVALID);
}

TEST_F(ReloadedDaemonTest, WithoutAFileThereIsNothingToRead) {
  daemon_ = DaemonProcess::Serve();
  ASSERT_TRUE(daemon_->WaitUntilServing());
  admin_ = v1::AdminService::NewStub(daemon_->Channel("control"));
  v1::ReloadConfigResponse response;
  EXPECT_EQ(ReasonOf(Reload(response)), v1::ERROR_REASON_CONFIG_INVALID);
}

TEST_F(ReloadedDaemonTest, ATokenComesAndGoes) {
  const std::string hash = Sha256Hex("a token, long and random");
  Serve("");
  const auto call = [this] {
    auto context = NewContext();
    context->AddMetadata("authorization", "Bearer a token, long and random");
    v1::ListToolsResponse response;
    return FromGrpc(tools_->ListTools(context.get(), {}, &response));
  };
  EXPECT_EQ(ReasonOf(call()), v1::ERROR_REASON_TOKEN_INVALID);
  Write(absl::StrCat("principals: [{name: bot, token_sha256: [\"", hash, "\"]}]\n"));
  v1::ReloadConfigResponse response;
  ASSERT_TRUE(Reload(response).ok());
  EXPECT_TRUE(call().ok());
  Write("");
  ASSERT_TRUE(Reload(response).ok());
  EXPECT_EQ(ReasonOf(call()), v1::ERROR_REASON_TOKEN_INVALID);
}

// Who watched saw by the old rules: the stream ends with a reason, and resuming shows the whole.
TEST_F(ReloadedDaemonTest, WatchersBeginAnewWhenTheRulesChange) {
  Serve("");
  auto context = NewContext();
  auto stream = tools_->WatchTools(context.get(), {});
  v1::WatchToolsResponse event;
  std::set<std::string> seen;
  do {
    ASSERT_TRUE(stream->Read(&event));
    if (event.has_added()) seen.insert(event.added().name());
  } while (!event.has_synced());
  EXPECT_EQ(seen.count("echo"), 1u);
  Write(kDenyEcho);
  v1::ReloadConfigResponse response;
  ASSERT_TRUE(Reload(response).ok());
  v1::WatchToolsResponse other;
  EXPECT_FALSE(stream->Read(&other));
  EXPECT_EQ(ReasonOf(FromGrpc(stream->Finish())), v1::ERROR_REASON_VIEW_CHANGED);

  v1::WatchToolsRequest resume;
  resume.set_epoch(event.epoch());
  resume.set_from_revision(event.revision());
  auto again_context = NewContext();
  auto again = tools_->WatchTools(again_context.get(), resume);
  ASSERT_TRUE(again->Read(&event));
  EXPECT_TRUE(event.has_reset());
  seen.clear();
  do {
    ASSERT_TRUE(again->Read(&event));
    if (event.has_added()) seen.insert(event.added().name());
  } while (!event.has_synced());
  EXPECT_EQ(seen.count("echo"), 0u);
  EXPECT_EQ(seen.count("counter"), 1u);
  again_context->TryCancel();
}

// SIGHUP: the configuration is read, and both logs go on in files of their old names.
TEST_F(ReloadedDaemonTest, AHangUpReadsAndReopens) {
  const std::string log = dir_.path() + "/log";
  const std::string audit = dir_.path() + "/audit.jsonl";
  const std::string files = absl::StrCat("log: {file: ", log, "}\naudit: {file: ", audit, "}\n");
  Serve(files);
  EXPECT_TRUE(Call("echo", "one").ok());
  // The audit log's thread may take a moment.
  const auto await = [](const auto& there) {
    const absl::Time end = absl::Now() + kHung;
    while (!there() && absl::Now() < end) std::this_thread::yield();
    return there();
  };
  ASSERT_TRUE(await([&] { return LinesOf(audit).size() == 1; }));
  std::filesystem::rename(log, log + ".1");
  std::filesystem::rename(audit, audit + ".1");
  Write(absl::StrCat(files, kDenyEcho));
  daemon_->Signal(SIGHUP);
  ASSERT_TRUE(
      await([this] { return ReasonOf(Call("echo", "two")) != v1::ERROR_REASON_UNSPECIFIED; }));
  ASSERT_TRUE(await([&] { return std::filesystem::exists(audit) && !LinesOf(audit).empty(); }));
  EXPECT_TRUE(std::filesystem::exists(log));
  const nlohmann::json last = nlohmann::json::parse(LinesOf(audit).back());
  EXPECT_EQ(last["call_id"], "two");
  EXPECT_EQ(nlohmann::json::parse(LinesOf(audit + ".1")[0])["call_id"], "one");
  v1::GetStatusResponse status;
  ASSERT_TRUE(admin_->GetStatus(NewContext().get(), {}, &status).ok());
  EXPECT_EQ(status.audit_file(), audit);
  EXPECT_EQ(status.audit_lost(), 0u);
  // And a mistake does not end it.
  Write("nonsense: 1\n");
  daemon_->Signal(SIGHUP);
  daemon_->Signal(SIGHUP);
  EXPECT_EQ(ReasonOf(Call()), v1::ERROR_REASON_POLICY_DENIED);
}

TEST_F(ReloadedDaemonTest, WithoutARecordNoCallWhenItIsRequired) {
  Serve("audit: {file: /dev/full, required: true}\n");
  // The first one finds out.
  const absl::Time end = absl::Now() + kHung;
  absl::Status status;
  while (status.ok() && absl::Now() < end) status = Call();
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_AUDIT_UNAVAILABLE);
  EXPECT_EQ(MetadataOf(status).at("executed"), "no");
  EXPECT_TRUE(RetryDelayOf(status).has_value());
}

}  // namespace
}  // namespace toolrack
