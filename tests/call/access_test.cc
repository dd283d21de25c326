// Permission, approvals, idempotency keys, the result cache and scrubbing in the pipeline.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/call/hook_rig.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

v1::PolicyConfig AskDenyPolicy() {
  v1::PolicyConfig config;
  v1::PolicyRule& deny = *config.add_rules();
  deny.set_name("no secrets");
  deny.add_tools("secret*");
  deny.add_principals("uid:1");
  deny.set_action("deny");
  v1::PolicyRule& ask = *config.add_rules();
  ask.set_name("ask first");
  ask.add_risks("dangerous");
  ask.set_action("ask");
  return config;
}

// A pipeline with a policy, and principals with limits of their own.
class PolicyRig {
 public:
  explicit PolicyRig(PipelineOptions options = {})
      : policy(AskDenyPolicy()),
        approvals(&rig.clock, AskDenyPolicy()),
        principals(Principals().principals()),
        hooks(&rig.clock, {}),
        pipeline({&rig.registry, &rig.timers, &rig.clock, &rig.executor, &rig.results, nullptr,
                  &hooks, &principals, &policy, &approvals},
                 std::move(options)) {
    v1::Tool rm = ToolNamed("rm");
    rm.mutable_annotations()->set_destructive(true);
    v1::Tool get = ToolNamed("get");
    get.mutable_annotations()->set_read_only(true);
    rig.Publish({rm, get, ToolNamed("secret_one"), ToolNamed("secret_two")});
  }
  static v1::Config Principals() {
    v1::Config config;
    v1::PrincipalConfig& slow = *config.add_principals();
    slow.set_name("slow");
    slow.set_max_calls_per_minute(60);
    slow.set_call_burst(1);
    v1::PrincipalConfig& narrow = *config.add_principals();
    narrow.set_name("narrow");
    narrow.set_max_calls(1);
    return config;
  }
  StopSource Start(v1::CallToolRequest request, Answer& answer, const std::string& who = "uid:1") {
    StopSource stop;
    pipeline.Start(std::move(request), {who, "", absl::InfiniteDuration()}, stop, nullptr,
                   [&answer](absl::StatusOr<v1::CallToolResponse> value) {
                     ++answer.times;
                     answer.value = std::move(value);
                   });
    return stop;
  }
  // The answer, when the tool says `text`.
  Answer Call(v1::CallToolRequest request, const std::string& who = "uid:1",
              const std::string& text = "done") {
    Answer answer;
    Start(std::move(request), answer, who);
    rig.executor.RunAll();
    if (rig.backend->held() > 0) rig.backend->Take().done(TextResult(text));
    rig.executor.RunAll();
    EXPECT_EQ(answer.times, 1);
    return answer;
  }
  v1::CallVerdict Explain(const v1::CallToolRequest& request, const std::string& who = "uid:1") {
    v1::CallVerdict verdict;
    pipeline.Explain(request, {who, "", absl::InfiniteDuration()}, StopSource(),
                     [&verdict](absl::StatusOr<v1::ExplainCallResponse> response) {
                       ASSERT_TRUE(response.ok()) << response.status();
                       verdict = response->verdict();
                     });
    return verdict;
  }

  Rig rig;
  Policy policy;
  Approvals approvals;
  toolrack::Principals principals;
  HookSet hooks;
  CallPipeline pipeline;
};

TEST(PolicyInCallTest, ADeniedToolIsRefusedAndNeverNamed) {
  PolicyRig rig;
  const Answer denied = rig.Call(Rig::Request("secret_one"));
  EXPECT_EQ(denied.reason(), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(denied.status().code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(denied.executed(), "no");
  EXPECT_EQ(MetadataOf(denied.status()).at("rule"), "no secrets");
  EXPECT_EQ(rig.Explain(Rig::Request("secret_one")).message(), denied.status().message());
  EXPECT_TRUE(rig.Call(Rig::Request("secret_one"), "uid:2").status().ok());

  EXPECT_EQ(MetadataOf(rig.Call(Rig::Request("secret_on")).status()).at("nearest"), "");
  EXPECT_THAT(MetadataOf(rig.Call(Rig::Request("secret_on"), "uid:2").status()).at("nearest"),
              HasSubstr("secret_one"));
  // Not even that it is switched off.
  EXPECT_TRUE(rig.rig.registry.SetToolEnabled("secret_one", false).ok());
  EXPECT_EQ(rig.Call(Rig::Request("secret_one")).reason(), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(rig.Call(Rig::Request("secret_one"), "uid:2").reason(), v1::ERROR_REASON_TOOL_DISABLED);
}

TEST(PolicyInCallTest, AnApprovalLetsTheVerySameCallThroughOnce) {
  PolicyRig rig;
  v1::CallToolRequest request = Rig::Request("rm", R"({"path":"/tmp/x"})");
  EXPECT_EQ(rig.Explain(request).reason(), "APPROVAL_REQUIRED");
  EXPECT_EQ(rig.approvals.size(), 0u);
  const Answer asked = rig.Call(request);
  EXPECT_EQ(asked.reason(), v1::ERROR_REASON_APPROVAL_REQUIRED);
  EXPECT_EQ(asked.executed(), "no");
  const std::string id = MetadataOf(asked.status()).at("approval_id");
  EXPECT_EQ(rig.approvals.List()[0].arguments_json(), R"({"path":"/tmp/x"})");
  EXPECT_EQ(rig.approvals.List()[0].risk(), v1::RISK_LEVEL_DANGEROUS);
  request.set_approval_id(id);
  EXPECT_EQ(rig.Call(request).reason(), v1::ERROR_REASON_APPROVAL_REQUIRED);
  ASSERT_TRUE(rig.approvals.Decide(id, true, "uid:0", "").ok());
  EXPECT_TRUE(rig.Explain(request).would_run());
  v1::CallToolRequest other = Rig::Request("rm", R"({"path":"/etc"})");
  other.set_approval_id(id);
  EXPECT_EQ(rig.Call(other).reason(), v1::ERROR_REASON_REQUEST_INVALID);
  EXPECT_EQ(rig.Call(request, "uid:2").reason(), v1::ERROR_REASON_APPROVAL_EXPIRED);
  EXPECT_EQ(rig.rig.backend->started(), 0u);
  EXPECT_TRUE(rig.Call(request).status().ok());
  EXPECT_EQ(rig.rig.backend->started(), 1u);
  EXPECT_EQ(rig.Call(request).reason(), v1::ERROR_REASON_APPROVAL_EXPIRED);
}

TEST(PolicyInCallTest, AnApprovalIsNotSpentOnACallThatDidNotRun) {
  PipelineOptions options;
  options.max_attempts = 1;
  PolicyRig rig(options);
  v1::CallToolRequest request = Rig::Request("rm");
  const std::string id = MetadataOf(rig.Call(request).status()).at("approval_id");
  ASSERT_TRUE(rig.approvals.Decide(id, true, "uid:0", "").ok());
  request.set_approval_id(id);
  rig.rig.backend->set_available(false);
  EXPECT_EQ(rig.Call(request).reason(), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  rig.rig.backend->set_available(true);
  EXPECT_TRUE(rig.Call(request).status().ok());
  EXPECT_EQ(rig.Call(request).reason(), v1::ERROR_REASON_APPROVAL_EXPIRED);
}

// A hook's answer in the place of the failure is no run: the approval is still good.
TEST(PolicyInCallTest, AnApprovalIsNotSpentWhenAHookAnswersForACallThatDidNotRun) {
  PipelineOptions options;
  options.max_attempts = 1;
  PolicyRig rig(options);
  v1::CallToolRequest request = Rig::Request("rm");
  const std::string id = MetadataOf(rig.Call(request).status()).at("approval_id");
  ASSERT_TRUE(rig.approvals.Decide(id, true, "uid:0", "").ok());
  request.set_approval_id(id);
  const auto hook = std::make_shared<FakeHook>(SpecOf("h", v1::HOOK_POINT_ON_ERROR));
  ASSERT_TRUE(rig.hooks.Add(hook).ok());
  rig.rig.backend->set_available(false);
  Answer answered;
  rig.Start(request, answered);
  hook->Answer(AnswerInstead(TextResult("later, perhaps")));
  EXPECT_EQ(answered.text(), "later, perhaps");
  rig.hooks.Remove(hook.get());
  rig.rig.backend->set_available(true);
  EXPECT_TRUE(rig.Call(request).status().ok());
  EXPECT_EQ(rig.Call(request).reason(), v1::ERROR_REASON_APPROVAL_EXPIRED);
}

// While a hook thought, the rules changed: what it puts there is asked about again.
TEST(PolicyInCallTest, AReplacementIsAskedAboutByTheRulesOfNow) {
  PolicyRig rig;
  const auto hook = std::make_shared<FakeHook>(SpecOf("h"));
  ASSERT_TRUE(rig.hooks.Add(hook).ok());
  Answer answer;
  rig.Start(Rig::Request("get"), answer);
  v1::PolicyConfig none;
  none.set_default_action("deny");
  rig.policy.Reload(none);
  hook->Answer(ReplaceArguments(R"({"a":1})"));
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(answer.executed(), "no");
  EXPECT_EQ(rig.rig.backend->started(), 0u);
}

TEST(PrincipalLimitsTest, APrincipalHasItsOwnLimits) {
  PolicyRig rig;
  EXPECT_TRUE(rig.Call(Rig::Request("get"), "slow").status().ok());
  const Answer fast = rig.Call(Rig::Request("get"), "slow");
  EXPECT_EQ(fast.reason(), v1::ERROR_REASON_RATE);
  EXPECT_EQ(MetadataOf(fast.status()).at("limit"), "principals.max_calls_per_minute");
  Answer first;
  rig.Start(Rig::Request("get"), first, "narrow");
  const Answer second = [&] {
    Answer answer;
    rig.Start(Rig::Request("get"), answer, "narrow");
    return answer;
  }();
  EXPECT_EQ(second.reason(), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(MetadataOf(second.status()).at("limit"), "principals.max_calls");
  EXPECT_EQ(MetadataOf(second.status()).at("allowed"), "1");
  rig.rig.backend->Take().done(TextResult("x"));
}

class IdempotentCallTest : public testing::Test {
 protected:
  static v1::CallToolRequest Request(const std::string& key, const std::string& arguments = "{}") {
    v1::CallToolRequest request = Rig::Request("t", arguments);
    request.set_idempotency_key(key);
    return request;
  }
  IdempotentCallTest() { rig_.Publish({ToolNamed("t")}); }
  Rig rig_;
};

TEST_F(IdempotentCallTest, TheSecondCallGetsTheFirstOnesResult) {
  Answer first, joined, later, other;
  rig_.Start(Request("k"), first);
  rig_.Start(Request("k"), joined);
  EXPECT_EQ(rig_.backend->held(), 1u);
  rig_.backend->Take().done(TextResult("once"));
  rig_.Start(Request("k"), later);
  for (const Answer* answer : {&first, &joined, &later}) EXPECT_EQ(answer->text(), "once");
  EXPECT_FALSE((*first.value)->cached());
  EXPECT_TRUE((*joined.value)->cached());
  EXPECT_TRUE((*later.value)->cached());
  EXPECT_NE((*first.value)->call_id(), (*later.value)->call_id());
  rig_.Start(Request("k", R"({"a":1})"), other);
  EXPECT_EQ(other.reason(), v1::ERROR_REASON_IDEMPOTENCY_KEY_REUSED);
  EXPECT_EQ(rig_.backend->started(), 1u);
}

TEST_F(IdempotentCallTest, FaultsThatRanNothingLeaveTheKeyFree) {
  Answer refused, good;
  rig_.backend->set_available(false);
  rig_.Start(Request("k"), refused);
  EXPECT_EQ(refused.reason(), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  rig_.backend->set_available(true);
  rig_.Start(Request("k", R"({"a":1})"), good);
  rig_.backend->Take().done(TextResult("ran"));
  EXPECT_EQ(good.text(), "ran");
}

TEST_F(IdempotentCallTest, WhoWaitsMayLeaveAndTheFirstGoesOn) {
  Answer first, left, late;
  rig_.Start(Request("k"), first);
  rig_.Start(Request("k"), left).RequestStop(StopReason::kCaller);
  EXPECT_EQ(left.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(left.executed(), "maybe");
  v1::CallToolRequest hasty = Request("k");
  hasty.mutable_timeout()->set_seconds(1);
  rig_.Start(hasty, late);
  rig_.timers.Advance(absl::Seconds(1));
  EXPECT_EQ(late.reason(), v1::ERROR_REASON_TIMEOUT);
  rig_.backend->Take().done(TextResult("x"));
  EXPECT_EQ(first.text(), "x");
  EXPECT_EQ(rig_.timers.armed(), 0u);
}

// A lost call stays lost: the key must not make it run twice.
TEST_F(IdempotentCallTest, AnUnknownOutcomeStaysUnknown) {
  Answer lost, again;
  rig_.Start(Request("k"), lost);
  rig_.backend->Take().done(OutcomeUnknown("t", "b"));
  EXPECT_EQ(lost.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  rig_.Start(Request("k"), again);
  EXPECT_EQ(again.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(rig_.backend->started(), 1u);
}

TEST(CachedCallTest, AReadOnlyResultIsGivenAgainToTheSameCaller) {
  PipelineOptions options;
  options.results.mutable_cache_ttl()->set_seconds(10);
  PolicyRig rig(options);
  EXPECT_EQ(rig.Call(Rig::Request("get", R"({"a":1})"), "uid:1", "one").text(), "one");
  const Answer again = rig.Call(Rig::Request("get", R"({"a":1})"), "uid:1", "two");
  EXPECT_EQ(again.text(), "one");
  EXPECT_TRUE((*again.value)->cached());
  EXPECT_TRUE(rig.Explain(Rig::Request("get", R"({"a":1})")).would_run());
  EXPECT_EQ(rig.Call(Rig::Request("get", R"({"a":2})"), "uid:1", "three").text(), "three");
  EXPECT_EQ(rig.Call(Rig::Request("get", R"({"a":1})"), "uid:2", "four").text(), "four");
  rig.rig.clock.Advance(absl::Seconds(10));
  EXPECT_EQ(rig.Call(Rig::Request("get", R"({"a":1})"), "uid:1", "five").text(), "five");
  // Only what says that it is read-only.
  EXPECT_EQ(rig.Call(Rig::Request("secret_one"), "uid:2", "six").text(), "six");
  EXPECT_EQ(rig.Call(Rig::Request("secret_one"), "uid:2", "seven").text(), "seven");
}

TEST(ScrubbedCallTest, NoCredentialReachesCallerOrStore) {
  PolicyRig rig;
  const std::string secret = "hunter2hunter2";
  const Answer answer = rig.Call(Rig::Request("get"), "uid:1",
                                 "password=" + secret + "\n" + std::string(100 << 10, 'x'));
  ASSERT_TRUE(answer.result().truncated());
  EXPECT_THAT(answer.text(), HasSubstr("password=[redacted]"));
  EXPECT_EQ(
      answer.result().summary(),
      "password=[redacted] (" + std::to_string(answer.result().total_bytes()) + " bytes in all)");
  v1::ReadResultRequest read;
  read.set_handle(answer.result().result_handle());
  EXPECT_THAT(rig.rig.results.Read(read, "uid:1")->data(), testing::Not(HasSubstr(secret)));
}

TEST(ScrubbedCallTest, WhatARunningCallTellsIsScrubbedToo) {
  struct Listener : CallReporter {
    void OnProgress(v1::Progress progress) override { heard += progress.message(); }
    void OnLog(v1::LogLine line) override { heard += line.message(); }
    void OnContent(v1::Content content) override { heard += content.text().text(); }
    std::string heard;
  };
  Rig rig;
  rig.Publish({ToolNamed("t")});
  auto listener = std::make_shared<Listener>();
  Answer answer;
  rig.pipeline.Start(
      Rig::Request("t"), {"uid:1", "", absl::InfiniteDuration()}, StopSource(), listener,
      [&answer](absl::StatusOr<v1::CallToolResponse> value) { answer.value = std::move(value); });
  FakeBackend::Held held = rig.backend->Take();
  v1::Progress progress;
  progress.set_message("password=p1 ");
  held.call.reporter->OnProgress(progress);
  v1::LogLine line;
  line.set_message("password=p2 ");
  held.call.reporter->OnLog(line);
  v1::Content content;
  content.mutable_text()->set_text("password=p3");
  held.call.reporter->OnContent(content);
  held.done(TextResult("x"));
  EXPECT_EQ(listener->heard, "password=[redacted] password=[redacted] password=[redacted]");
}

TEST(PerToolCapTest, AToolMayHaveItsOwnCap) {
  RegistryOptions registry_options;
  v1::ToolConfig setting;
  setting.set_name("small");
  setting.set_result_cap_bytes(1024);
  registry_options.tools.push_back(setting);
  Registry registry(registry_options);
  FakeClock clock;
  FakeTimers timers(&clock);
  ManualExecutor executor;
  ResultStore results(&clock, v1::ResultsConfig());
  CallPipeline pipeline({&registry, &timers, &clock, &executor, &results}, {});
  auto backend = std::make_shared<FakeBackend>();
  ASSERT_TRUE(
      registry
          .Publish(backend, "", {ToolNamed("small"), ToolNamed("large")}, v1::PUBLISH_MODE_ATOMIC)
          .ok());
  for (const auto& [name, truncated] :
       std::vector<std::pair<std::string, bool>>{{"small", true}, {"large", false}}) {
    Answer answer;
    pipeline.Start(
        Rig::Request(name), {"uid:1", "", absl::InfiniteDuration()}, StopSource(), nullptr,
        [&answer](absl::StatusOr<v1::CallToolResponse> value) { answer.value = std::move(value); });
    backend->Take().done(TextResult(std::string(5000, 'x')));
    EXPECT_EQ(answer.result().truncated(), truncated) << name;
    EXPECT_LE(answer.text().size(), truncated ? 1024u : 5000u);
  }
}

// Exactly one of many calls with one granted approval runs, on many threads.
TEST(AccessStressTest, OneApprovalManyCallers) {
  FakeClock clock;
  std::unique_ptr<Timers> timers = MakeTimers();
  ThreadPool pool("stress", 2, 10000);
  Registry registry((RegistryOptions()));
  ResultStore results(&clock, v1::ResultsConfig());
  const Policy policy(AskDenyPolicy());
  Approvals approvals(&clock, AskDenyPolicy());
  PipelineOptions options;
  options.limits.set_max_calls_per_minute(60'000'000);
  CallPipeline pipeline({&registry, timers.get(), &clock, &pool, &results, nullptr, nullptr,
                         nullptr, &policy, &approvals},
                        options);
  auto backend = std::make_shared<FakeBackend>();
  v1::Tool rm = ToolNamed("rm");
  rm.mutable_annotations()->set_destructive(true);
  rm.set_max_concurrency(2);
  ASSERT_TRUE(registry.Publish(backend, "", {rm}, v1::PUBLISH_MODE_ATOMIC).ok());
  for (int round = 0; round < 50; ++round) {
    v1::CallToolRequest request = Rig::Request("rm", "{\"n\":" + std::to_string(round) + "}");
    Answer asked;
    pipeline.Start(request, {"uid:1", "", absl::InfiniteDuration()}, StopSource(), nullptr,
                   [&asked](absl::StatusOr<v1::CallToolResponse> value) { asked.value = value; });
    const std::string id = MetadataOf(asked.status()).at("approval_id");
    ASSERT_TRUE(approvals.Decide(id, true, "uid:0", "").ok());
    request.set_approval_id(id);
    std::atomic<int> ran{0}, ended{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, request] {
        pipeline.Start(request, {"uid:1", "", absl::InfiniteDuration()}, StopSource(), nullptr,
                       [&](absl::StatusOr<v1::CallToolResponse> value) {
                         ran += value.ok() ? 1 : 0;
                         ++ended;
                       });
      });
    }
    // This thread answers for the backend.
    while (ended.load() < 4) {
      if (backend->held() > 0) backend->Take().done(TextResult("x"));
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(ran.load(), 1);
    clock.Advance(absl::Minutes(10));
  }
}

}  // namespace
}  // namespace toolrack
