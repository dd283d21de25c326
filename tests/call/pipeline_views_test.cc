#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/base/random.h"
#include "registry/call/pipeline.h"
#include "tests/call/pipeline_fixture.h"

namespace toolrack {
namespace {

using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

TEST(PipelineLimitsTest, AdmitsAsManyAsItsLimitsSay) {
  PipelineOptions options;
  options.limits.set_max_calls_in_flight(3);
  options.limits.set_max_calls_per_principal(2);
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  Answer a, b, c, d, e;
  rig.Start(Rig::Request("t"), a);
  rig.Start(Rig::Request("t"), b);
  rig.Start(Rig::Request("t"), c);
  EXPECT_EQ(c.reason(), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(MetadataOf(c.status())["limit"], "limits.max_calls_per_principal");
  EXPECT_EQ(MetadataOf(c.status())["allowed"], "2");
  rig.Start(Rig::Request("t"), d, {"uid:2", "", absl::InfiniteDuration()});
  EXPECT_FALSE(d.has());
  rig.Start(Rig::Request("t"), e, {"uid:3", "", absl::InfiniteDuration()});
  EXPECT_EQ(MetadataOf(e.status())["limit"], "limits.max_calls_in_flight");
  EXPECT_EQ(rig.pipeline.calls_in_flight(), 3u);
  for (int i = 0; i < 3; ++i) rig.backend->Take().done(TextResult(""));
  EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
  Answer again;
  rig.Start(Rig::Request("t"), again);
  EXPECT_FALSE(again.has());
  rig.pipeline.Drain();
  Answer late;
  rig.Start(Rig::Request("t"), late);
  EXPECT_EQ(late.reason(), v1::ERROR_REASON_DRAINING);
  EXPECT_EQ(late.status().code(), absl::StatusCode::kUnavailable);
  rig.pipeline.StopAll();
  EXPECT_EQ(again.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(MetadataOf(again.status())["by"], "shutdown");
  EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
}

TEST(PipelineRecordsTest, CountsRecordsAndRemembersRefusals) {
  std::vector<CallRecord> records;
  PipelineOptions options;
  options.on_call = [&records](const CallRecord& record) { records.push_back(record); };
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  Answer fine, failed, unknown, stopped;
  rig.Start(Rig::Request("t", R"({"a":1})"), fine);
  rig.clock.Advance(absl::Seconds(2));
  rig.backend->Take().done(TextResult("12345"));
  rig.Start(Rig::Request("t"), failed);
  rig.backend->Take().done(absl::UnknownError("no"));
  rig.Start(Rig::Request("nothing"), unknown);
  rig.executor.RunAll();
  rig.Start(Rig::Request("t"), stopped).RequestStop(StopReason::kCaller);

  EXPECT_THAT(rig.pipeline.Counters(),
              UnorderedElementsAre(Pair("ok", 1), Pair("tool_error", 1), Pair("TOOL_NOT_FOUND", 1),
                                   Pair("CANCELLED", 1)));
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].outcome, "ok");
  EXPECT_EQ(records[0].tool, "t");
  EXPECT_EQ(records[0].backend, "fake");
  EXPECT_EQ(records[0].principal, "uid:1");
  EXPECT_EQ(records[0].duration, absl::Seconds(2));
  EXPECT_EQ(records[0].argument_bytes, 7u);
  EXPECT_EQ(records[0].result_bytes, 5u);
  EXPECT_FALSE(records[0].call_id.empty());
  EXPECT_EQ(records[1].outcome, "tool_error");
  EXPECT_EQ(records[2].outcome, "TOOL_NOT_FOUND");
  EXPECT_EQ(records[2].attempts, 0u);
  EXPECT_EQ(records[3].outcome, "CANCELLED");

  std::vector<v1::Refusal> refusals = rig.pipeline.LastRefusals();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].tool(), "nothing");
  EXPECT_EQ(refusals[0].reason(), "TOOL_NOT_FOUND");
  EXPECT_EQ(refusals[0].time().seconds(), 1'700'000'002);
  for (int i = 0; i < 150; ++i) {
    Answer answer;
    v1::CallToolRequest request = Rig::Request("nothing");
    request.set_call_id(std::to_string(i));
    rig.Start(request, answer);
    rig.executor.RunAll();
  }
  refusals = rig.pipeline.LastRefusals();
  ASSERT_EQ(refusals.size(), 100u);
  EXPECT_EQ(refusals.front().call_id(), "149");
  EXPECT_EQ(refusals.back().call_id(), "50");
  while (rig.backend->held() > 0) rig.backend->Take();
}

TEST(PipelineRecordsTest, DigestsArgumentsAsTheToolGotThemElseAsTheyWereSent) {
  std::vector<CallRecord> records;
  PipelineOptions options;
  options.on_call = [&records](const CallRecord& record) { records.push_back(record); };
  options.digest_arguments = true;
  Rig rig(options);
  rig.Publish({ToolNamed("t", R"({"type":"object","properties":{"a":{"type":"integer"}}})")});
  v1::CallToolRequest mended = Rig::Request("t", R"({"a":"1"})");
  mended.set_coerce(true);
  mended.set_batch_id("b");
  mended.set_approval_id("p");
  Answer good, coerced, invalid, none;
  rig.Start(Rig::Request("t", R"( {"a": 1})"), good, {"uid:1", "trace", {}});
  rig.backend->Take().done(TextResult("x"));
  rig.Start(mended, coerced);
  rig.backend->Take().done(TextResult("x"));
  rig.Start(Rig::Request("t", R"({"a":"one"})"), invalid);
  rig.Start(Rig::Request("nothing"), none);
  rig.executor.RunAll();
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].arguments_sha256, Sha256Hex(R"( {"a": 1})"));
  EXPECT_EQ(records[0].traceparent, "trace");
  EXPECT_EQ(records[0].tool_digest.size(), 64u);
  EXPECT_EQ(records[0].time, rig.clock.WallNow());
  EXPECT_EQ(records[1].arguments_sha256, Sha256Hex(R"({"a":1})"));
  EXPECT_EQ(records[1].batch_id, "b");
  EXPECT_EQ(records[1].approval_id, "p");
  EXPECT_EQ(records[2].outcome, "ARGUMENTS_INVALID");
  EXPECT_EQ(records[2].arguments_sha256, Sha256Hex(R"({"a":"one"})"));
  EXPECT_EQ(records[3].arguments_sha256, "");
}

TEST(PipelineRecordsTest, TakesNoCallWhileTheRecordCannotBeWritten) {
  absl::Status state;
  std::vector<CallRecord> records;
  PipelineOptions options;
  options.on_call = [&records](const CallRecord& record) { records.push_back(record); };
  options.may_call = [&state] { return state; };
  Rig rig(options);
  rig.Publish({ToolNamed("t")});
  state = AuditUnavailable("/a");
  Answer refused, taken;
  rig.Start(Rig::Request("t"), refused);
  EXPECT_EQ(refused.reason(), v1::ERROR_REASON_AUDIT_UNAVAILABLE);
  EXPECT_EQ(records.at(0).outcome, "AUDIT_UNAVAILABLE");
  EXPECT_EQ(rig.pipeline.calls_in_flight(), 0u);
  state = absl::OkStatus();
  rig.Start(Rig::Request("t"), taken);
  rig.backend->Take().done(TextResult("x"));
  EXPECT_EQ(taken.text(), "x");
}

TEST_F(PipelineTest, ListsAndCancelsRunningCalls) {
  rig_.Publish({ToolNamed("t")});
  Answer a, b, c;
  v1::CallToolRequest request = Rig::Request("t");
  request.set_call_id("same");
  rig_.Start(request, a);
  rig_.clock.Advance(absl::Seconds(3));
  rig_.Start(request, b);
  request.set_call_id("other");
  request.set_arguments_json("{\"x\":\"" + std::string(9000, 'x') + "\"}");
  rig_.Start(request, c);
  const std::vector<v1::CallInfo> running = rig_.pipeline.RunningCalls();
  ASSERT_EQ(running.size(), 3u);
  EXPECT_EQ(running[0].call_id(), "same");
  EXPECT_EQ(running[0].age().seconds(), 3);
  EXPECT_EQ(running[0].start_time().seconds(), 1'700'000'000);
  EXPECT_EQ(running[0].state(), "running");
  EXPECT_EQ(running[0].backend(), "fake");
  EXPECT_EQ(running[0].principal(), "uid:1");
  EXPECT_EQ(running[2].state(), "queued");
  EXPECT_EQ(running[2].backend(), "");
  EXPECT_EQ(rig_.pipeline.CancelCall("nobody"), 0u);
  EXPECT_EQ(rig_.pipeline.CancelCall("same"), 2u);
  EXPECT_EQ(a.reason(), v1::ERROR_REASON_CANCELLED);
  EXPECT_EQ(MetadataOf(b.status())["by"], "admin");
  EXPECT_FALSE(c.has());
  rig_.executor.RunAll();
  EXPECT_EQ(rig_.pipeline.CancelCall("other"), 1u);
  EXPECT_EQ(rig_.pipeline.CancelCall("other"), 0u);
  EXPECT_THAT(rig_.pipeline.RunningCalls(), IsEmpty());
}

}  // namespace
}  // namespace toolrack
