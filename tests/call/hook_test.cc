// Hooks before the call: order, verdicts, failures; and which tools they concern.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "registry/base/task.h"
#include "registry/builtin/builtin.h"
#include "registry/tool_server.h"
#include "tests/call/hook_rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class HookTest : public testing::Test {
 protected:
  ~HookTest() override {
    EXPECT_EQ(rig_.pipeline.calls_in_flight(), 0u);
    EXPECT_EQ(rig_.timers.armed(), 0u);
    EXPECT_EQ(LiveCoroutineFrames(), frames_);
  }

  const int64_t frames_ = LiveCoroutineFrames();
  HookRig rig_;
};

TEST_F(HookTest, SeesTheCallAndLetsItGo) {
  const auto hook = rig_.Add(SpecOf("h"));
  Answer answer;
  v1::CallToolRequest request = Rig::Request("t", R"({ "n": 1 })");
  request.set_call_id("mine");
  request.set_batch_id("b");
  request.set_call_index(3);
  rig_.Start(answer, request);
  EXPECT_EQ(rig_.backend->held(), 0u);
  ASSERT_THAT(hook->asked, SizeIs(1));
  const v1::HookEvent event = hook->asked.front().event();
  EXPECT_EQ(event.point(), v1::HOOK_POINT_PRE_CALL);
  EXPECT_EQ(event.call().call_id(), "mine");
  EXPECT_EQ(event.call().arguments_json(), R"({ "n": 1 })");
  EXPECT_EQ(event.call().batch_id(), "b");
  EXPECT_EQ(event.call().call_index(), 3u);
  EXPECT_EQ(event.tool_name(), "t");
  EXPECT_EQ(event.digest(), rig_.registry.snapshot()->Find("t")->definition->tool.digest());
  EXPECT_EQ(event.principal(), "uid:1");
  EXPECT_FALSE(event.dry_run());
  EXPECT_FALSE(event.has_result());
  hook->Answer(PassVerdict());
  ASSERT_EQ(rig_.backend->held(), 1u);
  rig_.Finish();
  EXPECT_EQ(answer.text(), "done");
  const v1::HookInfo info = rig_.InfoOf("h");
  EXPECT_EQ(info.events(), 1u);
  EXPECT_EQ(info.in_flight(), 0u);
  EXPECT_EQ(info.verdicts().at("pass"), 1u);
  EXPECT_EQ(info.failed(), 0u);
}

TEST_F(HookTest, AreAskedByPriorityThenByName) {
  std::vector<std::string> order;
  const std::vector<std::pair<std::string, int>> added = {{"b", 0},  {"z", 7}, {"a", 0},
                                                          {"c", -1}, {"B", 0}, {"y", 7}};
  for (const auto& [name, priority] : added) {
    const auto made = MakeHook(SpecOf(name, v1::HOOK_POINT_PRE_CALL, priority),
                               [&order, name = name](const v1::HookEvent&, const v1::Tool&) {
                                 order.push_back(name);
                                 return PassVerdict();
                               });
    ASSERT_TRUE(rig_.hooks.Add(made).ok());
  }
  Answer answer;
  rig_.Start(answer);
  rig_.Finish();
  EXPECT_THAT(order, ElementsAre("y", "z", "B", "a", "b", "c"));
  std::vector<std::string> listed;
  for (const v1::HookInfo& info : rig_.hooks.List()) listed.push_back(info.hook_name());
  EXPECT_EQ(listed, order);
}

TEST_F(HookTest, ReplacesArgumentsForTheToolAndTheHooksAfterIt) {
  const auto first = rig_.Add(SpecOf("first", v1::HOOK_POINT_PRE_CALL, 2));
  const auto second = rig_.Add(SpecOf("second", v1::HOOK_POINT_PRE_CALL, 1));
  Answer answer;
  rig_.Start(answer);
  const std::string replaced = R"({ "n":  9007199254740993, "more": 1.0 })";
  first->Answer(ReplaceArguments(replaced));
  EXPECT_EQ(second->asked.front().event().call().arguments_json(), replaced);
  second->Answer(PassVerdict());
  FakeBackend::Held held = rig_.backend->Take();
  EXPECT_EQ(held.call.arguments_json, replaced);
  EXPECT_EQ((*held.call.arguments)["n"].get<int64_t>(), 9007199254740993);
  held.done(TextResult("x"));
  EXPECT_TRUE(answer.status().ok());
}

TEST_F(HookTest, NothingThatDoesNotFitGetsToTheTool) {
  const std::map<std::string, v1::ErrorReason> cases = {
      {R"({"n":"1"})", v1::ERROR_REASON_ARGUMENTS_INVALID},
      {R"([1])", v1::ERROR_REASON_ARGUMENTS_INVALID},
      {R"({"n":1,"n":2})", v1::ERROR_REASON_ARGUMENTS_NOT_JSON},
      {"{\"n\":1,\"x\":\"\xff\"}", v1::ERROR_REASON_ARGUMENTS_NOT_JSON},
      {"nonsense", v1::ERROR_REASON_ARGUMENTS_NOT_JSON},
      {R"({"n":)" + std::string(2 << 20, ' ') + "1}", v1::ERROR_REASON_ARGUMENTS_TOO_LARGE},
      {"", v1::ERROR_REASON_ARGUMENTS_INVALID},  // {}: n is missing
  };
  for (const bool fail_closed : {true, false}) {
    HookSpec spec = SpecOf("h");
    spec.fail_closed = fail_closed;
    const auto hook = rig_.Add(spec);
    for (const auto& [text, reason] : cases) {
      SCOPED_TRACE(text.substr(0, 60));
      Answer answer;
      rig_.Start(answer);
      hook->Answer(ReplaceArguments(text));
      rig_.executor.RunAll();
      EXPECT_EQ(answer.reason(), reason);
      EXPECT_EQ(MetadataOf(answer.status())["hook"], "h");
      EXPECT_EQ(answer.executed(), "no");
      EXPECT_THAT(std::string(answer.status().message()), HasSubstr("hook h replaced"));
    }
  }
  EXPECT_EQ(rig_.backend->started(), 0u);
}

TEST_F(HookTest, DeniesWithItsReason) {
  const auto first = rig_.Add(SpecOf("first", v1::HOOK_POINT_PRE_CALL, 2));
  const auto second = rig_.Add(SpecOf("second", v1::HOOK_POINT_PRE_CALL, 1));
  Answer answer;
  rig_.Start(answer);
  first->Answer(Deny("not on a Sunday"));
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_HOOK_DENIED);
  EXPECT_EQ(MetadataOf(answer.status())["hook"], "first");
  EXPECT_EQ(MetadataOf(answer.status())["tool"], "t");
  EXPECT_EQ(MetadataOf(answer.status())["hook_reason"], "not on a Sunday");
  EXPECT_EQ(answer.executed(), "no");
  EXPECT_THAT(second->asked, IsEmpty());
  EXPECT_EQ(rig_.backend->started(), 0u);
  ASSERT_EQ(rig_.pipeline.LastRefusals().size(), 1u);
  EXPECT_EQ(rig_.pipeline.LastRefusals()[0].reason(), "HOOK_DENIED");
}

TEST_F(HookTest, AnswersInTheToolsPlace) {
  const auto first = rig_.Add(SpecOf("first", v1::HOOK_POINT_PRE_CALL, 2));
  const auto second = rig_.Add(SpecOf("second", v1::HOOK_POINT_PRE_CALL, 1));
  const auto post = rig_.Add(SpecOf("post", v1::HOOK_POINT_POST_CALL));
  Answer answer;
  rig_.Start(answer);
  first->Answer(AnswerInstead(TextResult("from the cache")));
  EXPECT_THAT(second->asked, IsEmpty());
  ASSERT_THAT(post->asked, SizeIs(1));
  EXPECT_EQ(post->asked.front().event().result().content(0).text().text(), "from the cache");
  post->Answer(PassVerdict());
  EXPECT_EQ(answer.text(), "from the cache");
  EXPECT_EQ(rig_.backend->started(), 0u);
}

TEST_F(HookTest, AnAnswerMustFitTheOutputSchemaToo) {
  const auto hook = rig_.Add(SpecOf("h"));
  for (const std::string structured : {R"({"n":"x"})", "", "{", R"({"n":1})"}) {
    Answer answer;
    rig_.Start(answer, R"({"n":1})", "declared");
    v1::ToolResult result;
    result.set_structured_json(structured);
    hook->Answer(AnswerInstead(result));
    EXPECT_EQ(answer.result().is_error(), structured != R"({"n":1})") << structured;
    if (answer.result().is_error()) {
      EXPECT_EQ(answer.result().error().reason(), "OUTPUT_INVALID");
      EXPECT_EQ(answer.result().error().metadata().at("hook"), "h");
    }
  }
}

TEST_F(HookTest, AFailingHookFollowsItsMode) {
  using Act = std::function<void(HookRig&, FakeHook&)>;
  const std::map<std::string, Act> failures = {
      {"gave no verdict within 1s",
       [](HookRig& rig, FakeHook&) { rig.timers.Advance(absl::Seconds(1)); }},
      {"lost its stream", [](HookRig&, FakeHook& hook) { hook.Fail("lost its stream"); }},
      {"gave the verdict replace_result, which does not belong to pre_call",
       [](HookRig&, FakeHook& hook) { hook.Answer(ReplaceResult(TextResult("x"))); }},
  };
  for (const auto& [why, act] : failures) {
    for (const bool fail_closed : {true, false}) {
      SCOPED_TRACE(why);
      HookRig rig;
      HookSpec spec = SpecOf("h");
      spec.fail_closed = fail_closed;
      const auto hook = rig.Add(spec);
      Answer answer;
      rig.Start(answer);
      act(rig, *hook);
      if (fail_closed) {
        EXPECT_EQ(answer.status().code(), absl::StatusCode::kUnavailable);
        EXPECT_EQ(answer.reason(), v1::ERROR_REASON_HOOK_UNAVAILABLE);
        EXPECT_EQ(MetadataOf(answer.status())["hook"], "h");
        EXPECT_EQ(MetadataOf(answer.status())["why"], why);
        EXPECT_EQ(answer.executed(), "no");
        EXPECT_TRUE(RetryDelayOf(answer.status()).has_value());
        EXPECT_EQ(rig.backend->started(), 0u);
      } else {
        ASSERT_EQ(rig.backend->held(), 1u);
        rig.Finish();
        EXPECT_EQ(answer.text(), "done");
      }
      EXPECT_EQ(rig.InfoOf("h").failed(), 1u);
      EXPECT_EQ(rig.InfoOf("h").in_flight(), 0u);
      EXPECT_EQ(rig.timers.armed(), 0u);
    }
  }
}

// A verdict that comes after the time is over changes nothing.
TEST_F(HookTest, ALateVerdictIsTooLate) {
  HookSpec spec = SpecOf("h");
  spec.fail_closed = false;
  const auto hook = rig_.Add(spec);
  Answer answer;
  rig_.Start(answer);
  rig_.timers.Advance(absl::Seconds(1));
  EXPECT_THAT(hook->forgotten, ElementsAre(1u));
  hook->Answer(Deny("too late"));
  rig_.Finish();
  EXPECT_EQ(answer.text(), "done");
  EXPECT_EQ(answer.times, 1);
}

TEST_F(HookTest, AStoppedCallWaitsForNoHook) {
  const auto hook = rig_.Add(SpecOf("h"));
  Answer answer;
  StopSource stop = rig_.Start(answer);
  stop.RequestStop(StopReason::kCaller);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(answer.executed(), "no");
  EXPECT_THAT(hook->forgotten, SizeIs(1));
  hook->Answer(PassVerdict());
  EXPECT_EQ(rig_.backend->started(), 0u);
  EXPECT_EQ(rig_.InfoOf("h").failed(), 0u);
  EXPECT_EQ(rig_.InfoOf("h").in_flight(), 0u);
}

TEST_F(HookTest, TheCallsOwnTimeGoesOnWhileItWaits) {
  HookSpec spec = SpecOf("h");
  spec.timeout = absl::Minutes(1);
  const auto hook = rig_.Add(spec);
  Answer answer;
  v1::CallToolRequest request = Rig::Request("t", R"({"n":1})");
  request.mutable_timeout()->set_seconds(5);
  rig_.Start(answer, request);
  rig_.timers.Advance(absl::Seconds(5));
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_TIMEOUT);
  EXPECT_EQ(answer.executed(), "no");
}

TEST_F(HookTest, ObserversNeverDelayACall) {
  HookSpec spec = SpecOf("o");
  spec.points = {v1::HOOK_POINT_PRE_CALL, v1::HOOK_POINT_POST_CALL, v1::HOOK_POINT_ON_ERROR};
  spec.observe_only = true;
  const auto observer = rig_.Add(spec);
  Answer answer;
  rig_.Start(answer);
  ASSERT_EQ(rig_.backend->held(), 1u);
  rig_.Finish(ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, "no"));
  EXPECT_TRUE(answer.result().is_error());
  EXPECT_THAT(observer->asked, IsEmpty());
  ASSERT_THAT(observer->told, SizeIs(3));
  EXPECT_EQ(observer->told[0].event->point(), v1::HOOK_POINT_PRE_CALL);
  EXPECT_EQ(observer->told[1].event->point(), v1::HOOK_POINT_POST_CALL);
  EXPECT_EQ(observer->told[2].event->point(), v1::HOOK_POINT_ON_ERROR);
  EXPECT_EQ(rig_.InfoOf("o").events(), 3u);
}

TEST_F(HookTest, InvalidArgumentsAreRefusedBeforeAnyHookIsAsked) {
  const auto hook = rig_.Add(SpecOf("h"));
  Answer answer;
  rig_.Start(answer, R"({"n":"x"})");
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_THAT(hook->asked, IsEmpty());
}

struct FilterCase {
  const char* what;
  v1::ToolFilter filter;
  std::vector<std::string> tools;
};

TEST_F(HookTest, ConcernsTheToolsOfItsFilterAndTheRestCostsNothing) {
  v1::Tool a = ToolNamed("a"), files = ToolNamed("files_read"), write = ToolNamed("files_write");
  a.add_categories("basic");
  a.mutable_annotations()->set_read_only(true);
  for (v1::Tool* tool : {&files, &write}) tool->add_categories("file");
  write.mutable_annotations()->set_destructive(true);
  rig_.Publish({a, files, write});
  FilterCase cases[5];
  cases[0] = {"all", {}, {"a", "files_read", "files_write"}};
  cases[1] = {"glob", {}, {"files_read", "files_write"}};
  cases[1].filter.add_names("files_*");
  cases[2] = {"category", {}, {"a"}};
  cases[2].filter.add_categories("basic");
  cases[3] = {"risk", {}, {"files_write"}};
  cases[3].filter.add_risks(v1::RISK_LEVEL_DANGEROUS);
  cases[4] = {"all of them", {}, {"files_read"}};
  cases[4].filter.add_names("*read");
  cases[4].filter.add_names("a");
  cases[4].filter.add_categories("file");
  cases[4].filter.add_risks(v1::RISK_LEVEL_CAUTION);
  cases[4].filter.add_risks(v1::RISK_LEVEL_SAFE);
  for (const FilterCase& c : cases) {
    SCOPED_TRACE(c.what);
    HookSpec spec = SpecOf("h");
    spec.filter = c.filter;
    const auto hook = rig_.Add(spec);
    std::vector<std::string> concerned;
    for (const char* name : {"a", "files_read", "files_write"}) {
      const ToolDefinition& tool = *rig_.registry.snapshot()->Find(name)->definition;
      EXPECT_TRUE(rig_.hooks.MayConcern(tool)) << "not known yet";
      if (!rig_.hooks.For(tool).empty()) {
        concerned.push_back(name);
        EXPECT_TRUE(rig_.hooks.MayConcern(tool));
      } else {
        EXPECT_FALSE(rig_.hooks.MayConcern(tool)) << "remembered";
      }
    }
    EXPECT_EQ(concerned, c.tools);
  }
}

TEST_F(HookTest, WhatIsRememberedOfAToolEndsWithTheNextHook) {
  const ToolDefinition& tool = *rig_.registry.snapshot()->Find("t")->definition;
  EXPECT_FALSE(rig_.hooks.MayConcern(tool));
  HookSpec other = SpecOf("other");
  other.filter.add_names("nothing");
  const auto hook = rig_.Add(other);
  EXPECT_TRUE(rig_.hooks.For(tool).empty());
  EXPECT_FALSE(rig_.hooks.MayConcern(tool));
  const auto late = rig_.Add(SpecOf("late"));
  EXPECT_TRUE(rig_.hooks.MayConcern(tool));
  EXPECT_EQ(rig_.hooks.For(tool).size(), 1u);
  rig_.hooks.Remove(late.get());
  EXPECT_TRUE(rig_.hooks.For(tool).empty());
  rig_.hooks.Remove(hook.get());
  rig_.hooks.Remove(hook.get());
  EXPECT_FALSE(rig_.hooks.MayConcern(tool));
  // Another set has versions of its own.
  HookSet set(&rig_.clock, {});
  ASSERT_TRUE(set.Add(std::make_shared<FakeHook>(SpecOf("h"))).ok());
  EXPECT_TRUE(set.MayConcern(tool));
}

TEST_F(HookTest, ANameBelongsToOnePrincipalWhoMayReplaceIt) {
  HookSpec mine = SpecOf("h");
  mine.principal = "uid:1";
  const auto first = rig_.Add(mine);
  HookSpec theirs = SpecOf("h");
  theirs.principal = "uid:2";
  const absl::Status taken = rig_.hooks.Add(std::make_shared<FakeHook>(theirs)).status();
  EXPECT_EQ(ReasonOf(taken), v1::ERROR_REASON_NAME_TAKEN);
  EXPECT_EQ(MetadataOf(taken)["owner"], "uid:1");
  const auto second = std::make_shared<FakeHook>(mine);
  const auto replaced = rig_.hooks.Add(second);
  ASSERT_TRUE(replaced.ok());
  EXPECT_EQ(replaced->get(), first.get());
  Answer answer;
  rig_.Start(answer);
  EXPECT_THAT(first->asked, IsEmpty());
  second->Answer(PassVerdict());
  rig_.Finish();
  EXPECT_EQ(rig_.hooks.size(), 1u);
}

TEST_F(HookTest, RefusesWhatIsNoHook) {
  HookSpec name = SpecOf("a b"), points = SpecOf("p"), timeout = SpecOf("t"), filter = SpecOf("f");
  points.points.clear();
  timeout.timeout = absl::Minutes(11);
  filter.filter.add_risks(v1::RISK_LEVEL_UNSPECIFIED);
  for (const HookSpec& spec : {name, points, timeout, filter}) {
    EXPECT_EQ(ReasonOf(rig_.hooks.Add(std::make_shared<FakeHook>(spec)).status()),
              v1::ERROR_REASON_REQUEST_INVALID)
        << spec.name;
  }
  for (int i = 0; i < 100; ++i) rig_.Add(SpecOf("h" + std::to_string(i)));
  const absl::Status full = rig_.hooks.Add(std::make_shared<FakeHook>(SpecOf("more"))).status();
  EXPECT_EQ(MetadataOf(full)["limit"], "hooks.max_hooks");
  EXPECT_EQ(MetadataOf(full)["allowed"], "100");
}

TEST_F(HookTest, AnExceptionInAHookIsAFailureOfTheHook) {
  ASSERT_TRUE(rig_.hooks
                  .Add(MakeHook(SpecOf("h"),
                                [](const v1::HookEvent&, const v1::Tool&) -> HookVerdict {
                                  throw std::runtime_error("oh");
                                }))
                  .ok());
  Answer answer;
  rig_.Start(answer);
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_HOOK_UNAVAILABLE);
  EXPECT_EQ(MetadataOf(answer.status())["why"], "failed: oh");
}

// The state of the very instance that the call uses, before and after it.
TEST_F(HookTest, SeesTheStateOfTheCallsInstance) {
  ToolServer server(&rig_.registry, "local", "");
  ToolRegistrar registrar = *server.TakeRegistrar();
  rig_.sessions.AddHost(server.session_host());
  v1::BuiltinConfig config;
  config.add_enabled("counter");
  rig_.Publish({});
  ASSERT_TRUE(
      registrar.RegisterAll(BuiltinTools({&rig_.clock, &rig_.timers, &rig_.executor}, config))
          .ok());
  std::vector<std::string> states;
  HookSpec spec = SpecOf("h");
  spec.points = {v1::HOOK_POINT_PRE_CALL, v1::HOOK_POINT_POST_CALL};
  ASSERT_TRUE(rig_.hooks
                  .Add(MakeHook(spec,
                                [&states](const v1::HookEvent& event, const v1::Tool&) {
                                  states.push_back(event.tool_state_json());
                                  return PassVerdict();
                                }))
                  .ok());
  const std::string session = rig_.sessions.Open({}, "uid:1")->session_id();
  for (const std::string& id : {std::string(), std::string(), session}) {
    Answer answer;
    v1::CallToolRequest request = Rig::Request("counter");
    request.set_session_id(id);
    rig_.Start(answer, request);
    EXPECT_TRUE(answer.status().ok()) << answer.status();
  }
  EXPECT_THAT(states, ElementsAre(R"({"value":0})", R"({"value":1})", R"({"value":1})",
                                  R"({"value":2})", R"({"value":0})", R"({"value":1})"));
  rig_.timers.Advance(absl::Hours(2));  // the session's end, while its host is there
}

}  // namespace
}  // namespace toolrack
