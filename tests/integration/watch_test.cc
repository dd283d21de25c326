// WatchTools through real stubs.
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "tests/testing/held_tool.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {
namespace {

// One watcher that keeps what it was told.
class Watcher {
 public:
  Watcher(v1::ToolService::Stub& stub, const v1::WatchToolsRequest& request)
      : context_(NewContext()), reader_(stub.WatchTools(context_.get(), request)) {}
  ~Watcher() { context_->TryCancel(); }

  // False at the end of the stream.
  bool Next() {
    if (!reader_->Read(&last_)) return false;
    if (last_.has_reset()) known_.clear();
    if (last_.has_added()) known_[last_.added().name()] = last_.added().digest();
    if (last_.has_updated()) known_[last_.updated().name()] = last_.updated().digest();
    if (last_.has_removed()) known_.erase(last_.removed().name());
    return true;
  }
  bool UntilSynced() {
    while (Next()) {
      if (last_.has_synced()) return true;
    }
    return false;
  }
  const v1::WatchToolsResponse& last() const { return last_; }
  const std::map<std::string, std::string>& known() const { return known_; }
  absl::Status Finish() { return FromGrpc(reader_->Finish()); }
  void Cancel() { context_->TryCancel(); }

 private:
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchToolsResponse>> reader_;
  v1::WatchToolsResponse last_;
  std::map<std::string, std::string> known_;
};

std::map<std::string, std::string> AllOf(v1::ToolService::Stub& stub) {
  std::map<std::string, std::string> out;
  v1::ListToolsRequest request;
  do {
    v1::ListToolsResponse page;
    EXPECT_TRUE(stub.ListTools(NewContext().get(), request, &page).ok());
    for (const v1::Tool& tool : page.tools()) out[tool.name()] = tool.digest();
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return out;
}

TEST(Watch, StartsWithASnapshotAndGoesOnWithChanges) {
  TestServer server;
  auto stub = server.Tools();
  Watcher watcher(*stub, {});
  ASSERT_TRUE(watcher.Next());
  EXPECT_EQ(watcher.last().reset().reason(), "initial");
  EXPECT_EQ(watcher.last().epoch(), server->registry().epoch());
  ASSERT_TRUE(watcher.UntilSynced());
  EXPECT_EQ(watcher.known(), AllOf(*stub));
  {
    TestTools tools(server->registry(), "new");
    auto held = tools.AddHeld("a");
    ASSERT_TRUE(watcher.Next());
    EXPECT_EQ(watcher.last().added().name(), "new__a");
    server->registry().SetToolEnabled("new__a", false).IgnoreError();
    ASSERT_TRUE(watcher.Next());
    EXPECT_EQ(watcher.last().state().state(), v1::TOOL_STATE_DISABLED);
    tools.Remove("a");
  }
  ASSERT_TRUE(watcher.Next());
  EXPECT_EQ(watcher.last().removed().name(), "new__a");
}

TEST(Watch, ResumesWhereItWasCut) {
  TestServer server;
  auto stub = server.Tools();
  TestTools tools(server->registry(), "new");
  v1::WatchToolsRequest resume;
  {
    Watcher watcher(*stub, {});
    ASSERT_TRUE(watcher.UntilSynced());
    resume.set_epoch(watcher.last().epoch());
    resume.set_from_revision(watcher.last().revision());
  }
  auto a = tools.AddHeld("a");
  auto b = tools.AddHeld("b");
  Watcher again(*stub, resume);
  ASSERT_TRUE(again.Next());
  EXPECT_EQ(again.last().added().name(), "new__a");
  ASSERT_TRUE(again.Next());
  EXPECT_EQ(again.last().added().name(), "new__b");
  ASSERT_TRUE(again.Next());
  EXPECT_TRUE(again.last().has_synced());
}

TEST(Watch, StartsAnewWhenTheDaemonRestarted) {
  TestServer server;
  v1::WatchToolsRequest resume;
  {
    auto stub = server.Tools();
    Watcher watcher(*stub, {});
    ASSERT_TRUE(watcher.UntilSynced());
    resume.set_epoch(watcher.last().epoch());
    resume.set_from_revision(watcher.last().revision());
  }
  server.Restart();
  auto stub = server.Tools();
  Watcher again(*stub, resume);
  ASSERT_TRUE(again.Next());
  EXPECT_EQ(again.last().reset().reason(), "epoch_changed");
  EXPECT_NE(again.last().epoch(), resume.epoch());
}

TEST(Watch, DropsAReaderThatDoesNotRead) {
  v1::Config config;
  config.mutable_limits()->set_max_watch_backlog(16);
  TestServer server(std::move(config));
  auto stub = server.Tools();
  Watcher watcher(*stub, {});
  ASSERT_TRUE(watcher.UntilSynced());
  TestTools tools(server->registry(), "big");
  auto tool = std::make_shared<HeldTool>();
  v1::Tool definition = BareTool("t");
  definition.set_description(std::string(60 << 10, 'x'));
  // Far more bytes than the connection's window takes, and more changes than the backlog.
  for (int i = 0; i < 600; ++i) {
    tools.Add(definition, tool);
    tools.Remove("t");
  }
  while (watcher.Next()) {
  }
  const absl::Status status = watcher.Finish();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_SLOW_READER);
  EXPECT_TRUE(RetryDelayOf(status).has_value());
}

TEST(Watch, IsBoundedInNumber) {
  v1::Config config;
  config.mutable_limits()->set_max_watchers(2);
  TestServer server(std::move(config));
  auto stub = server.Tools();
  Watcher a(*stub, {}), b(*stub, {});
  ASSERT_TRUE(a.UntilSynced());
  ASSERT_TRUE(b.UntilSynced());
  EXPECT_EQ(server->core().watches->size(), 2u);
  Watcher c(*stub, {});
  EXPECT_FALSE(c.Next());
  const absl::Status status = c.Finish();
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(MetadataOf(status)["limit"], "limits.max_watchers");
  // A watcher that leaves makes room.
  a.Cancel();
  a.Finish().IgnoreError();
  while (server->core().watches->size() == 2) std::this_thread::yield();
  Watcher d(*stub, {});
  EXPECT_TRUE(d.UntilSynced());
}

TEST(Watch, EndsWithDrainingWhenTheDaemonGoes) {
  TestServer server;
  auto stub = server.Tools();
  Watcher watcher(*stub, {});
  ASSERT_TRUE(watcher.UntilSynced());
  std::thread stop([&server] { server.Stop(); });
  EXPECT_FALSE(watcher.Next());
  EXPECT_EQ(ReasonOf(watcher.Finish()), v1::ERROR_REASON_DRAINING);
  stop.join();
}

TEST(Watch, AgreesWithTheListWhileToolsComeAndGo) {
  TestServer server;
  auto stub = server.Tools();
  // `marker` comes last: who has seen it has seen everything.
  std::thread churn([&server] {
    TestTools tools(server->registry(), "churn");
    auto tool = std::make_shared<HeldTool>();
    for (int round = 0; round < 30; ++round) {
      for (int i = 0; i < 10; ++i) tools.Add(BareTool(absl::StrCat("t", i, "_", round)), tool);
      for (int i = 0; i < 10; i += 2) tools.Remove(absl::StrCat("t", i, "_", round));
    }
  });
  // Pages under churn: in order, none twice, and what is there throughout is there once.
  for (int round = 0; round < 5; ++round) {
    v1::ListToolsRequest request;
    request.set_page_size(3);
    std::string last;
    int builtins = 0;
    do {
      v1::ListToolsResponse page;
      ASSERT_TRUE(stub->ListTools(NewContext().get(), request, &page).ok());
      for (const v1::Tool& tool : page.tools()) {
        EXPECT_LT(last, tool.name());
        last = tool.name();
        builtins += tool.namespace_().empty() ? 1 : 0;
      }
      request.set_page_token(page.next_page_token());
    } while (!request.page_token().empty());
    EXPECT_EQ(builtins, 5);
  }
  Watcher early(*stub, {});
  ASSERT_TRUE(early.UntilSynced());
  churn.join();
  TestTools tools(server->registry(), "marker");
  auto held = tools.AddHeld("m");
  Watcher late(*stub, {});
  for (Watcher* watcher : {&early, &late}) {
    while (watcher->known().count("marker__m") == 0) ASSERT_TRUE(watcher->Next());
    ASSERT_TRUE(watcher == &early || watcher->last().has_synced() || watcher->UntilSynced());
    EXPECT_EQ(watcher->known(), AllOf(*stub));
  }
}

}  // namespace
}  // namespace toolrack
