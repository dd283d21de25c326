// Calls in sessions: whose instance runs, how long it lives, and what a session changes (nothing of
// a verdict).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "registry/base/task.h"
#include "registry/builtin/builtin.h"
#include "registry/typed_tool.h"
#include "tests/call/session_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Counts its own lives.
struct Lives {
  std::atomic<int> made{0}, alive{0};
};

class CountingTool : public Tool {
 public:
  explicit CountingTool(Lives* lives) : lives_(lives) {
    ++lives_->made;
    ++lives_->alive;
  }
  ~CountingTool() override { --lives_->alive; }
  void Execute(ToolCall call, ToolDone done) override {
    const int value = ++value_;
    if (call.arguments_json == R"({"hold":true})") {
      held = std::move(done);
      return;
    }
    done(TextResult(std::to_string(value)));
  }
  std::string StateJson() const override { return std::to_string(value_); }
  static ToolDone held;

 private:
  Lives* const lives_;
  std::atomic<int> value_{0};
};
ToolDone CountingTool::held;

ToolFactory Counting(Lives* lives, const std::string& name = "count") {
  return [lives, name] {
    ToolMeta meta = ToolNamed(name);
    meta.set_scope(v1::TOOL_SCOPE_SESSION);
    return std::make_pair(meta, std::shared_ptr<Tool>(std::make_shared<CountingTool>(lives)));
  };
}

class SessionCallTest : public testing::Test {
 protected:
  SessionRig rig_;
  Lives lives_;
};

TEST_F(SessionCallTest, EachSessionCountsForItselfAndTheRestShareOne) {
  for (ToolFactory& factory :
       BuiltinTools({&rig_.clock, &rig_.timers, &rig_.executor}, v1::BuiltinConfig())) {
    ASSERT_TRUE(rig_.registrar.Register(std::move(factory)).ok());
  }
  const std::string a = rig_.Open();
  const std::string b = rig_.Open();
  EXPECT_THAT(rig_.Get(a).instances(), ElementsAre("counter"));
  EXPECT_EQ(rig_.Call(a, "counter").text(), R"({"value":1})");
  EXPECT_EQ(rig_.Call(a, "counter", R"({"increment":10})").text(), R"({"value":11})");
  EXPECT_EQ(rig_.Call(b, "counter").text(), R"({"value":1})");
  EXPECT_EQ(rig_.Call("", "counter").text(), R"({"value":1})");
  EXPECT_EQ(rig_.Call("", "counter").text(), R"({"value":2})");
  EXPECT_EQ(rig_.Call(a, "counter").text(), R"({"value":12})");
  EXPECT_EQ(rig_.Call(a, "echo", R"({"text":"x"})").text(), "x");
}

TEST_F(SessionCallTest, InstancesAreMadeWhenTheSessionOpensNotAtTheFirstCall) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  EXPECT_EQ(lives_.made, 1);  // the shared one
  const std::string id = rig_.Open();
  EXPECT_EQ(lives_.made, 2);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(rig_.Call(id, "count").text(), std::to_string(i));
  EXPECT_EQ(lives_.made, 2);
  ASSERT_TRUE(rig_.sessions.Close(id, "uid:1").ok());
  EXPECT_EQ(lives_.alive, 1);
}

TEST_F(SessionCallTest, InstancesGoWhenTheSessionExpires) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  rig_.Open();
  EXPECT_EQ(lives_.alive, 2);
  rig_.timers.Advance(absl::Hours(1));
  EXPECT_EQ(lives_.alive, 1);
}

TEST_F(SessionCallTest, ARunningCallKeepsItsInstanceWhenTheSessionIsClosed) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  const std::string id = rig_.Open();
  Answer answer;
  rig_.Start(SessionRig::Request(id, "count", R"({"hold":true})"), answer);
  ASSERT_TRUE(rig_.sessions.Close(id, "uid:1").ok());
  EXPECT_EQ(lives_.alive, 2);
  ToolDone held = std::move(CountingTool::held);
  held(TextResult("late"));
  EXPECT_EQ(answer.text(), "late");
  held = nullptr;
  EXPECT_EQ(lives_.alive, 1);
}

TEST_F(SessionCallTest, AToolThatComesLaterGetsItsInstancesAtOnce) {
  const std::string id = rig_.Open();
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  EXPECT_EQ(lives_.made, 2);
  EXPECT_EQ(rig_.Call(id, "count").text(), "1");
  EXPECT_EQ(rig_.Call(id, "count").text(), "2");
  ASSERT_TRUE(rig_.registrar.Unregister("count").ok());
  EXPECT_EQ(lives_.alive, 0);
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  EXPECT_EQ(rig_.Call(id, "count").text(), "1");  // another tool of that name
}

// A factory that fails costs its tool in that session, and nothing else.
TEST_F(SessionCallTest, AFailingFactoryHurtsItsToolAlone) {
  int calls = 0;
  const auto third_time_unlucky = [&calls, this] {
    if (++calls == 2) throw std::runtime_error("no more");
    return Counting(&lives_, "moody")();
  };
  int made_two = 0;
  const auto two_faced = [&made_two]() -> std::pair<ToolMeta, std::shared_ptr<Tool>> {
    static Lives lives;
    auto made = Counting(&lives, "two_faced")();
    if (++made_two > 1) made.first.set_input_schema(R"({"type":"object","required":["x"]})");
    return made;
  };
  ASSERT_TRUE(rig_.registrar.Register(third_time_unlucky).ok());
  ASSERT_TRUE(rig_.registrar.Register(two_faced).ok());
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  const std::string id = rig_.Open();
  EXPECT_THAT(rig_.Get(id).instances(), ElementsAre("count"));
  const Answer failed = rig_.Call(id, "moody");
  EXPECT_TRUE(failed.result().is_error());
  EXPECT_EQ(failed.result().error().reason(), "TOOL_INTERNAL");
  EXPECT_THAT(failed.text(), HasSubstr("no more"));
  EXPECT_THAT(rig_.Call(id, "two_faced").text(), HasSubstr("another definition"));
  EXPECT_EQ(rig_.Call(id, "count").text(), "1");
  EXPECT_EQ(rig_.Call(rig_.Open(), "moody").text(), "1");
}

TEST_F(SessionCallTest, SaysWhichSessionsAreNotThereAndRunsNothing) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  const std::string closed = rig_.Open();
  ASSERT_TRUE(rig_.sessions.Close(closed, "uid:1").ok());
  const std::string expired = rig_.Open();
  rig_.timers.Advance(absl::Hours(1));
  const std::map<std::string, std::string> cases = {
      {closed, "closed"}, {expired, "expired"}, {"never", "unknown"}};
  for (const auto& [id, ended] : cases) {
    const Answer answer = rig_.Call(id, "count");
    EXPECT_EQ(answer.reason(), v1::ERROR_REASON_SESSION_NOT_FOUND);
    EXPECT_EQ(MetadataOf(answer.status())["ended"], ended);
    EXPECT_EQ(MetadataOf(answer.status())["session"], id);
    EXPECT_EQ(answer.executed(), "no");
  }
  Answer answer;
  rig_.Start(SessionRig::Request(rig_.Open(), "count"), answer, "uid:2");
  EXPECT_EQ(MetadataOf(answer.status())["ended"], "unknown");
  EXPECT_EQ(rig_.Call("", "count").text(), "1");
}

TEST_F(SessionCallTest, CountsWhatHappenedInIt) {
  ASSERT_TRUE(rig_.registrar
                  .Register(MakeTool(ToolSpec("fail", "Fails."),
                                     []() -> absl::Status { return absl::AbortedError("no"); }))
                  .ok());
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  const std::string id = rig_.Open();
  rig_.Call(id, "count", R"({"a":1})");
  rig_.Call(id, "fail");
  rig_.Call(id, "missing");
  rig_.Call(id, "count", "{");
  const v1::SessionCounters counters = rig_.Get(id).counters();
  EXPECT_EQ(counters.calls(), 4u);
  EXPECT_EQ(counters.tool_errors(), 1u);
  EXPECT_EQ(counters.failed(), 2u);
  EXPECT_EQ(counters.in_flight(), 0u);
  EXPECT_EQ(counters.argument_bytes(), 8u);
  EXPECT_GT(counters.result_bytes(), 0u);
}

v1::ReadResultRequest Whole(const std::string& handle) {
  v1::ReadResultRequest request;
  request.set_handle(handle);
  return request;
}

TEST_F(SessionCallTest, StoredResultsEndWithTheSession) {
  ASSERT_TRUE(rig_.registrar
                  .Register(MakeTool(ToolSpec("large", "Says much."),
                                     [] { return std::string(100 << 10, 'x'); }))
                  .ok());
  const std::string id = rig_.Open();
  const std::string in_session = rig_.Call(id, "large").result().result_handle();
  const std::string outside = rig_.Call("", "large").result().result_handle();
  ASSERT_TRUE(rig_.results.Read(Whole(in_session), "uid:1").ok());
  ASSERT_TRUE(rig_.sessions.Close(id, "uid:1").ok());
  const absl::Status gone = rig_.results.Read(Whole(in_session), "uid:1").status();
  EXPECT_EQ(ReasonOf(gone), v1::ERROR_REASON_RESULT_NOT_FOUND);
  EXPECT_EQ(MetadataOf(gone)["expired"], "true");
  EXPECT_TRUE(rig_.results.Read(Whole(outside), "uid:1").ok());
  EXPECT_EQ(rig_.results.count(), 1u);
}

TEST_F(SessionCallTest, NothingIsStoredForASessionThatEndedMeanwhile) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  const std::string id = rig_.Open();
  Answer answer;
  rig_.Start(SessionRig::Request(id, "count", R"({"hold":true})"), answer);
  ASSERT_TRUE(rig_.sessions.Close(id, "uid:1").ok());
  std::move(CountingTool::held)(TextResult(std::string(100 << 10, 'x')));
  CountingTool::held = nullptr;
  rig_.executor.RunAll();
  ASSERT_TRUE(answer.has());
  EXPECT_TRUE(answer.result().truncated());
  EXPECT_EQ(rig_.results.count(), 0u);
}

TEST_F(SessionCallTest, SaysWhenTheToolIsNotTheOneThatTheSessionHasSeen) {
  auto backend = std::make_shared<FakeBackend>();
  v1::Tool tool = ToolNamed("t");
  ASSERT_TRUE(rig_.registry.Publish(backend, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
  const std::string id = rig_.Open();
  tool.set_input_schema(R"({"type":"object","required":["n"]})");
  ASSERT_TRUE(rig_.registry.Publish(backend, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
  const Answer in_session = rig_.Call(id, "t");
  const Answer in_new_session = rig_.Call(rig_.Open(), "t");
  const Answer outside = rig_.Call("", "t");
  EXPECT_EQ(in_session.reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_THAT(std::string(in_session.status().message()), HasSubstr("has changed, or is new"));
  EXPECT_EQ(MetadataOf(in_session.status())["definition_changed"], "true");
  EXPECT_EQ(in_new_session.status().message(), outside.status().message());
  EXPECT_EQ(MetadataOf(in_new_session.status()), MetadataOf(outside.status()));
  EXPECT_EQ(FaultsOf(in_session.status()).size(), FaultsOf(outside.status()).size());
}

// What is loaded, shown or opened never decides whether arguments are valid.
TEST_F(SessionCallTest, VerdictsAreTheSameInEverySession) {
  auto backend = std::make_shared<FakeBackend>();
  const v1::Tool tool =
      ToolNamed("t", R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})");
  ASSERT_TRUE(rig_.registry.Publish(backend, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
  v1::OpenSessionRequest loaded, filtered;
  loaded.add_loaded_tools("t");
  filtered.mutable_filters()->add_names("other*");
  filtered.set_model("m");
  for (const std::string arguments :
       {"", "{}", R"({"n":1})", R"({"n":1.0})", R"({"n":"1"})", R"({"n":null})", "{", "[]"}) {
    v1::CallVerdict verdicts[4];
    int i = 0;
    for (const std::string& id :
         {std::string(), rig_.Open(), rig_.Open(loaded), rig_.Open(filtered)}) {
      verdicts[i++] = ExplainNow(rig_.pipeline, SessionRig::Request(id, "t", arguments),
                                 {"uid:1", "", absl::InfiniteDuration()})
                          .verdict();
    }
    for (int k = 1; k < 4; ++k) {
      EXPECT_EQ(verdicts[k].SerializeAsString(), verdicts[0].SerializeAsString()) << arguments;
    }
  }
}

// Every session's instances, on several threads: no call sees another session's state.
TEST(SessionStressTest, SessionsOpenCallAndCloseSideBySide) {
  const int64_t frames = LiveCoroutineFrames();
  Lives lives;
  {
    std::unique_ptr<Timers> timers = MakeTimers();
    ThreadPool pool("check", 2, 100000);
    Registry registry{RegistryOptions()};
    ResultStore results(&Clock::Real(), {});
    SessionTable sessions({&registry, timers.get(), &Clock::Real()}, {});
    ToolServer server(&registry, "local", "");
    ToolRegistrar registrar = *server.TakeRegistrar();
    sessions.AddHost(server.session_host());
    sessions.AddHost(&results);
    CallPipeline pipeline({&registry, timers.get(), &Clock::Real(), &pool, &results, &sessions},
                          {});
    ASSERT_TRUE(registrar.Register(Counting(&lives)).ok());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        const std::string principal = "uid:" + std::to_string(t);
        for (int i = 0; i < 150; ++i) {
          const std::string id = sessions.Open({}, principal)->session_id();
          for (int n = 1; n <= 3; ++n) {
            pipeline.Start(SessionRig::Request(id, "count"),
                           {principal, "", absl::InfiniteDuration()}, StopSource(), nullptr,
                           [&, n](absl::StatusOr<v1::CallToolResponse> value) {
                             if (!value.ok() ||
                                 value->result().content(0).text().text() != std::to_string(n)) {
                               ++wrong;
                             }
                           });
          }
          if (!sessions.Close(id, principal).ok()) ++wrong;
        }
      });
    }
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        sessions.List(std::nullopt);
        if (!registrar.Register(Counting(&lives, "other")).ok()) ++wrong;
        if (!registrar.Unregister("other").ok()) ++wrong;
      }
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(sessions.size(), 0u);
    EXPECT_EQ(lives.alive, 1);
  }
  EXPECT_EQ(lives.alive, 0);
  EXPECT_EQ(LiveCoroutineFrames(), frames);
}

// 10,000 sessions with instances come and go and leave nothing behind.
TEST_F(SessionCallTest, TenThousandSessionsLeaveNothing) {
  ASSERT_TRUE(rig_.registrar.Register(Counting(&lives_)).ok());
  std::vector<std::string> ids;
  for (int i = 0; i < 10000; ++i) ids.push_back(rig_.Open());
  EXPECT_EQ(lives_.alive, 10001);
  for (const std::string& id : {ids.front(), ids[5000], ids.back()}) {
    EXPECT_EQ(rig_.Call(id, "count").text(), "1");
  }
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(rig_.sessions.Close(ids[i], "uid:1").ok());
  EXPECT_EQ(lives_.alive, 5001);
  rig_.timers.Advance(absl::Hours(2));
  EXPECT_EQ(lives_.alive, 1);
  EXPECT_EQ(rig_.sessions.size(), 0u);
  EXPECT_EQ(rig_.timers.armed(), 0u);
}

}  // namespace
}  // namespace toolrack
