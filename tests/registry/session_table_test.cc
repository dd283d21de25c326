// Sessions: whose they are, when they are over, who is told, what is loaded.
#include "registry/session_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "registry/base/errors.h"
#include "tests/registry/fake_backend.h"
#include "tests/testing/fakes_time.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::SizeIs;

class FakeHost : public SessionHost {
 public:
  void OpenSession(const std::string& id) override { opened.push_back(id); }
  void CloseSession(const std::string& id) override { closed.push_back(id); }
  std::vector<std::string> opened, closed;
};

class FakeWatcher : public SessionWatcher {
 public:
  void NoteOpened(const std::string& id) override { notes.push_back("+" + id); }
  void NoteClosed(const std::string& id) override { notes.push_back("-" + id); }
  void ActOnNotes() override { ++acted; }
  std::vector<std::string> notes;
  int acted = 0;
};

class SessionTableTest : public testing::Test {
 protected:
  explicit SessionTableTest(v1::LimitsConfig limits = {})
      : table_(std::make_unique<SessionTable>(SessionTable::Parts{&registry_, &timers_, &clock_},
                                              limits)) {
    table_->AddHost(&host_);
  }

  std::string Open(const v1::OpenSessionRequest& request = {},
                   const std::string& principal = "me") {
    const absl::StatusOr<v1::Session> session = table_->Open(request, principal);
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? session->session_id() : "";
  }
  void Publish(std::vector<v1::Tool> tools) {
    ASSERT_TRUE(
        registry_.Publish(worker_, "", std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
  // "unknown", "expired", "closed", or "" when it is there.
  std::string Gone(const std::string& id, const std::string& principal = "me") {
    const absl::Status status = table_->Get(id, principal).status();
    if (status.ok()) return "";
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_SESSION_NOT_FOUND);
    EXPECT_EQ(MetadataOf(status)["expired"],
              MetadataOf(status)["ended"] == "expired" ? "true" : "false");
    return MetadataOf(status)["ended"];
  }

  FakeClock clock_;
  FakeTimers timers_{&clock_};
  Registry registry_{RegistryOptions()};
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w");
  FakeHost host_;
  std::unique_ptr<SessionTable> table_;
};

TEST_F(SessionTableTest, GivesAnUnguessableIdAndWhatWasAskedFor) {
  v1::OpenSessionRequest request;
  request.set_model("some-model");
  request.mutable_filters()->add_categories("file");
  request.mutable_retry_policy()->set_max_attempts(2);
  request.mutable_ttl()->set_seconds(90);
  (*request.mutable_metadata())["agent"] = "a";
  const absl::StatusOr<v1::Session> session = table_->Open(request, "me");
  ASSERT_TRUE(session.ok());
  EXPECT_THAT(session->session_id(), MatchesRegex("[0-9a-f]{32}"));
  EXPECT_NE(session->session_id(), Open());
  EXPECT_EQ(session->principal(), "me");
  EXPECT_EQ(session->model(), "some-model");
  EXPECT_EQ(session->filters().categories(0), "file");
  EXPECT_EQ(session->retry_policy().max_attempts(), 2u);
  EXPECT_EQ(session->ttl().seconds(), 90);
  EXPECT_EQ(session->metadata().at("agent"), "a");
  EXPECT_EQ(session->epoch(), registry_.epoch());
  EXPECT_EQ(session->pinned_revision(), registry_.snapshot()->revision());
  EXPECT_EQ(session->expire_time().seconds() - session->open_time().seconds(), 90);
}

TEST_F(SessionTableTest, IsThereForItsPrincipalOnly) {
  const std::string id = Open();
  EXPECT_EQ(Gone(id), "");
  EXPECT_EQ(Gone(id, "you"), "unknown");
  EXPECT_EQ(Gone("no such id"), "unknown");
  EXPECT_FALSE(table_->Close(id, "you").ok());
  EXPECT_FALSE(table_->Enter(id, "you").ok());
  EXPECT_THAT(table_->List("you"), IsEmpty());
  EXPECT_THAT(table_->List("me"), SizeIs(1));
  EXPECT_THAT(table_->List(std::nullopt), SizeIs(1));
  EXPECT_TRUE(table_->Get(id, std::nullopt).ok());
  // Whose it was stays a secret when it is over.
  ASSERT_TRUE(table_->Close(id, "me").ok());
  EXPECT_EQ(Gone(id, "you"), "unknown");
  EXPECT_EQ(Gone(id), "closed");
}

TEST_F(SessionTableTest, ExpiresAfterAnHourOfIdlenessAndSaysSo) {
  const std::string id = Open();
  timers_.Advance(absl::Minutes(59));
  EXPECT_EQ(Gone(id), "");  // looking is use
  timers_.Advance(absl::Minutes(59));
  EXPECT_THAT(table_->List("me"), SizeIs(1));  // listing is not
  EXPECT_THAT(host_.closed, IsEmpty());
  timers_.Advance(absl::Minutes(1));
  EXPECT_EQ(Gone(id), "expired");
  EXPECT_THAT(host_.closed, ElementsAre(id));
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_EQ(timers_.armed(), 0u);
}

TEST_F(SessionTableTest, IsNotIdleWhileACallRuns) {
  const std::string id = Open();
  {
    const absl::StatusOr<SessionLease> lease = table_->Enter(id, "me");
    ASSERT_TRUE(lease.ok());
    timers_.Advance(absl::Hours(5));
    const absl::StatusOr<v1::Session> session = table_->Get(id, "me");
    ASSERT_TRUE(session.ok());
    EXPECT_FALSE(session->has_expire_time());
    EXPECT_EQ(session->counters().in_flight(), 1u);
    timers_.Advance(absl::Minutes(61));
  }
  timers_.Advance(absl::Minutes(59));  // the idle time begins with the end of the call
  EXPECT_TRUE(table_->Peek(id, "me").ok());
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(Gone(id), "expired");
}

// The timers may be late; nobody may use what is due.
TEST_F(SessionTableTest, IsOverAtItsTimeWhateverTheTimersDo) {
  const std::string id = Open();
  clock_.Advance(absl::Hours(1));
  EXPECT_EQ(Gone(id), "expired");
  EXPECT_THAT(table_->List("me"), IsEmpty());
  EXPECT_FALSE(table_->Enter(id, "me").ok());
  EXPECT_FALSE(table_->Close(id, "me").ok());
}

TEST_F(SessionTableTest, EndsManyAtOnceInTurns) {
  for (int i = 0; i < 1000; ++i) Open();
  timers_.Advance(absl::Hours(2));
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_THAT(host_.closed, SizeIs(1000));
  EXPECT_EQ(timers_.armed(), 0u);
}

TEST_F(SessionTableTest, ShorterOnesEndBeforeLongerOnesOpenedEarlier) {
  const std::string lasting = Open();
  v1::OpenSessionRequest request;
  request.mutable_ttl()->set_seconds(10);
  const std::string brief = Open(request);
  timers_.Advance(absl::Seconds(10));
  EXPECT_THAT(host_.closed, ElementsAre(brief));
  timers_.Advance(absl::Hours(1));
  EXPECT_THAT(host_.closed, ElementsAre(brief, lasting));
  EXPECT_EQ(timers_.armed(), 0u);
}

TEST_F(SessionTableTest, RefusesATtlOverTheLimitByNameAndValue) {
  for (const int64_t seconds : {int64_t{24 * 3600 + 1}, int64_t{0}, int64_t{-1}}) {
    v1::OpenSessionRequest request;
    request.mutable_ttl()->set_seconds(seconds);
    const absl::Status status = table_->Open(request, "me").status();
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_REQUEST_INVALID);
    EXPECT_THAT(std::string(status.message()), HasSubstr("limits.max_session_idle, 24h"));
  }
}

TEST_F(SessionTableTest, RefusesTooMuchText) {
  v1::OpenSessionRequest model, metadata, filter, risk;
  model.set_model(std::string(257, 'm'));
  (*metadata.mutable_metadata())["k"] = std::string(17 << 10, 'v');
  filter.mutable_filters()->add_names(std::string(257, 'n'));
  risk.mutable_filters()->add_risks(static_cast<v1::RiskLevel>(9));
  for (const auto& request : {model, metadata, filter, risk}) {
    EXPECT_EQ(ReasonOf(table_->Open(request, "me").status()), v1::ERROR_REASON_REQUEST_INVALID);
  }
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_THAT(host_.opened, IsEmpty());
}

TEST_F(SessionTableTest, OpensNoMoreWhenDraining) {
  const std::string id = Open();
  table_->Drain();
  EXPECT_EQ(ReasonOf(table_->Open({}, "me").status()), v1::ERROR_REASON_DRAINING);
  EXPECT_EQ(Gone(id), "");
}

TEST_F(SessionTableTest, TellsWatchersEachSessionOnceAndInOrder) {
  const std::string before = Open();
  const auto watcher = std::make_shared<FakeWatcher>();
  table_->Watch(watcher);
  const std::string after = Open();
  ASSERT_TRUE(table_->Close(before, "me").ok());
  timers_.Advance(absl::Hours(1));
  EXPECT_THAT(watcher->notes, ElementsAre("+" + before, "+" + after, "-" + before, "-" + after));
  EXPECT_GE(watcher->acted, 4);
}

TEST_F(SessionTableTest, ForgetsWatchersThatAreGone) {
  for (int i = 0; i < 100; ++i) table_->Watch(std::make_shared<FakeWatcher>());
  ASSERT_TRUE(table_->Close(Open(), "me").ok());
}

TEST_F(SessionTableTest, TimersThatFireAfterTheEndDoNothing) {
  Open();
  table_.reset();
  timers_.Advance(absl::Hours(2));
  EXPECT_THAT(host_.closed, IsEmpty());
}

v1::Tool Categorised(const std::string& name, const std::string& category) {
  v1::Tool tool = MakeToolDefinition(name);
  tool.add_categories(category);
  return tool;
}

std::vector<std::string> NamesOf(const google::protobuf::RepeatedPtrField<v1::LoadedTool>& tools) {
  std::vector<std::string> names;
  for (const v1::LoadedTool& tool : tools) names.push_back(tool.name());
  return names;
}

TEST_F(SessionTableTest, LoadsByNameAndCategoryAndSaysWhatItCannotLoad) {
  v1::Tool bad = MakeToolDefinition("bad");
  bad.set_input_schema(R"({"type":"string"})");
  Publish({Categorised("read", "file"), Categorised("write", "file"), MakeToolDefinition("other"),
           Categorised("off", "file"), bad});
  ASSERT_TRUE(registry_.SetToolEnabled("off", false).ok());
  v1::LoadToolsRequest request;
  request.set_session_id(Open());
  for (const char* name : {"other", "write", "raed", "bad", "off"}) request.add_names(name);
  absl::StatusOr<v1::LoadToolsResponse> loaded = table_->Load(request, "me");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_THAT(NamesOf(loaded->loaded()), ElementsAre("other", "write"));
  ASSERT_EQ(loaded->not_loaded_size(), 3);
  EXPECT_EQ(loaded->not_loaded(0).name(), "raed");
  EXPECT_EQ(loaded->not_loaded(0).reason(), "TOOL_NOT_FOUND");
  EXPECT_THAT(loaded->not_loaded(0).message(), HasSubstr("read"));
  EXPECT_EQ(loaded->not_loaded(1).reason(), "TOOL_QUARANTINED");
  EXPECT_EQ(loaded->not_loaded(2).reason(), "TOOL_DISABLED");
  request.clear_names();
  request.add_categories("file");
  loaded = table_->Load(request, "me");
  EXPECT_THAT(NamesOf(loaded->loaded()), ElementsAre("read"));
  EXPECT_THAT(loaded->already_loaded(), ElementsAre("write"));
  EXPECT_THAT(loaded->not_loaded(), IsEmpty());
  EXPECT_THAT(NamesOf(table_->Get(request.session_id(), "me")->loaded_tools()),
              ElementsAre("other", "read", "write"));

  v1::UnloadToolsRequest unload;
  unload.set_session_id(request.session_id());
  unload.add_names("other");
  unload.add_names("never loaded");
  unload.add_categories("file");
  const absl::StatusOr<v1::UnloadToolsResponse> unloaded = table_->Unload(unload, "me");
  EXPECT_THAT(unloaded->unloaded(), ElementsAre("other", "read", "write"));
  EXPECT_THAT(table_->Get(request.session_id(), "me")->loaded_tools(), IsEmpty());
}

TEST_F(SessionTableTest, LoadsAChangedToolAnew) {
  Publish({MakeToolDefinition("t")});
  const std::string id = Open();
  v1::LoadToolsRequest request;
  request.set_session_id(id);
  request.add_names("t");
  const std::string first = table_->Load(request, "me")->loaded(0).digest();
  const auto session = *table_->Peek(id, "me");
  EXPECT_FALSE(session->SawAnother(registry_.snapshot()->Find("t")->definition->tool));
  Publish({MakeToolDefinition("t", "Does other things.")});
  EXPECT_TRUE(session->SawAnother(registry_.snapshot()->Find("t")->definition->tool));
  const absl::StatusOr<v1::LoadToolsResponse> again = table_->Load(request, "me");
  ASSERT_EQ(again->loaded_size(), 1);
  EXPECT_NE(again->loaded(0).digest(), first);
  EXPECT_FALSE(session->SawAnother(registry_.snapshot()->Find("t")->definition->tool));
}

// What a session knew is all that is needed to go on after it: nothing else is asked for.
TEST_F(SessionTableTest, IsRebuiltFromTheLoadedToolsOfAnother) {
  Publish({MakeToolDefinition("a"), MakeToolDefinition("b"), MakeToolDefinition("c")});
  v1::OpenSessionRequest request;
  for (const char* name : {"c", "a", "b"}) request.add_loaded_tools(name);
  const absl::StatusOr<v1::Session> first = table_->Open(request, "me");
  EXPECT_THAT(first->not_loaded(), IsEmpty());
  ASSERT_TRUE(table_->Close(first->session_id(), "me").ok());
  Publish({MakeToolDefinition("a"), MakeToolDefinition("b")});
  v1::OpenSessionRequest rebuild;
  for (const v1::LoadedTool& tool : first->loaded_tools()) rebuild.add_loaded_tools(tool.name());
  const absl::StatusOr<v1::Session> second = table_->Open(rebuild, "me");
  ASSERT_TRUE(second.ok());
  EXPECT_THAT(NamesOf(second->loaded_tools()), ElementsAre("a", "b"));
  EXPECT_EQ(second->loaded_tools(0).digest(), first->loaded_tools(0).digest());
  ASSERT_EQ(second->not_loaded_size(), 1);
  EXPECT_EQ(second->not_loaded(0).name(), "c");
}

// A replica serves a session-scoped tool for one session, and stays with it.
TEST_F(SessionTableTest, KeepsToOneReplica) {
  const auto other = MakeWorker("v");
  v1::Tool tool = MakeToolDefinition("t");
  tool.set_scope(v1::TOOL_SCOPE_SESSION);
  for (const auto& backend : {worker_, other}) {
    ASSERT_TRUE(registry_.Publish(backend, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
  }
  const ToolEntryPtr entry = registry_.snapshot()->Get("t");
  std::map<std::string, int> chosen;
  for (int i = 0; i < 200; ++i) {
    const auto session = *table_->Peek(Open(), "me");
    const std::shared_ptr<Backend> first = session->Replica(*entry);
    ++chosen[first->id()];
    EXPECT_EQ(session->Replica(*entry), first);
    (first == worker_ ? worker_ : other)->set_available(false);
    const std::shared_ptr<Backend> second = session->Replica(*entry);
    EXPECT_NE(second, first);
    worker_->set_available(true);
    other->set_available(true);
    EXPECT_EQ(session->Replica(*entry), second);  // its instance is there now
  }
  EXPECT_GT(chosen["v"], 40);  // and all of them share the load
  EXPECT_GT(chosen["w"], 40);
  worker_->set_available(false);
  other->set_available(false);
  EXPECT_EQ((*table_->Peek(Open(), "me"))->Replica(*entry), nullptr);
}

class SessionLimitTest : public SessionTableTest {
 protected:
  static v1::LimitsConfig Limits() {
    v1::LimitsConfig limits;
    limits.set_max_loaded_tools(2);
    limits.mutable_session_idle()->set_seconds(7);
    return limits;
  }
  SessionLimitTest() : SessionTableTest(Limits()) {}
};

TEST_F(SessionLimitTest, BoundsTheLoadedSetByNameAndValue) {
  Publish({MakeToolDefinition("a"), MakeToolDefinition("b"), MakeToolDefinition("c")});
  v1::OpenSessionRequest request;
  for (const char* name : {"a", "b", "c"}) request.add_loaded_tools(name);
  const absl::StatusOr<v1::Session> session = table_->Open(request, "me");
  ASSERT_EQ(session->not_loaded_size(), 1);
  EXPECT_EQ(session->not_loaded(0).name(), "c");
  EXPECT_THAT(session->not_loaded(0).message(), HasSubstr("limits.max_loaded_tools allows 2"));
  EXPECT_EQ(session->ttl().seconds(), 7);
}

// 10,000 are open at once, the next is refused by name and value; all go without a trace.
TEST_F(SessionTableTest, HoldsTenThousandAndNoMore) {
  std::vector<std::string> ids;
  for (int i = 0; i < 10000; ++i) ids.push_back(Open());
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), 10000u);
  const absl::Status status = table_->Open({}, "me").status();
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(MetadataOf(status)["limit"], "limits.max_sessions");
  EXPECT_EQ(MetadataOf(status)["allowed"], "10000");
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(table_->Close(ids[i], "me").ok());
  for (int i = 0; i < 5000; ++i) Open();
  EXPECT_FALSE(table_->Open({}, "me").ok());
  // Those that are due make room even before their timer comes.
  clock_.Advance(absl::Hours(1));
  Open();
  EXPECT_EQ(table_->size(), 1u);
  timers_.Advance(absl::Hours(1));
  EXPECT_EQ(table_->size(), 0u);
  EXPECT_EQ(host_.opened.size(), host_.closed.size());
  EXPECT_EQ(timers_.armed(), 0u);
}

}  // namespace
}  // namespace toolrack
