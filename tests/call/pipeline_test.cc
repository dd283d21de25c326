#include "registry/call/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "registry/base/task.h"
#include "tests/call/pipeline_fixture.h"

namespace toolrack {
namespace {

using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

constexpr char kNumberSchema[] =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";

TEST_F(PipelineTest, GivesTheCallToTheToolByteForByte) {
  v1::Tool tool = ToolNamed("t");
  rig_.Publish({tool});
  const std::string arguments =
      R"( {"z":1.0,"a":1,"big":9223372036854775807,"huge":18446744073709551615,"e":1E2} )";
  Answer answer;
  v1::CallToolRequest request = Rig::Request("t", arguments);
  request.set_call_id("mine");
  request.set_batch_id("batch");
  request.set_call_index(3);
  rig_.Start(request, answer, {"uid:7", "00-trace", absl::Seconds(9)});
  ASSERT_EQ(rig_.backend->held(), 1u);
  FakeBackend::Held held = rig_.backend->Take();
  EXPECT_EQ(held.call.arguments_json, arguments);
  EXPECT_EQ((*held.call.arguments)["big"].get<int64_t>(), 9223372036854775807);
  EXPECT_EQ((*held.call.arguments)["huge"].get<uint64_t>(), 18446744073709551615u);
  EXPECT_TRUE((*held.call.arguments)["z"].is_number_float());
  EXPECT_TRUE((*held.call.arguments)["a"].is_number_integer());
  EXPECT_EQ(held.call.context.call_id, "mine");
  EXPECT_EQ(held.call.context.batch_id, "batch");
  EXPECT_EQ(held.call.context.call_index, 3u);
  EXPECT_EQ(held.call.context.principal, "uid:7");
  EXPECT_EQ(held.call.context.traceparent, "00-trace");
  EXPECT_EQ(held.call.context.remaining, absl::Seconds(9));
  EXPECT_NE(held.call.reporter, nullptr);
  rig_.clock.Advance(absl::Milliseconds(1500));
  held.done(TextResult("fine"));
  ASSERT_TRUE(answer.status().ok());
  EXPECT_EQ(answer.text(), "fine");
  EXPECT_EQ((*answer.value)->call_id(), "mine");
  EXPECT_EQ((*answer.value)->duration().seconds(), 1);
  EXPECT_EQ((*answer.value)->duration().nanos(), 500'000'000);
  EXPECT_EQ((*answer.value)->revision(), rig_.registry.snapshot()->revision());
  EXPECT_EQ(answer.result().total_bytes(), 4u);
}

struct ArgumentCase {
  std::string name;
  std::string text;
  v1::ErrorReason reason;
  std::string reaches_as = "";
  std::string message = "";
};

TEST_F(PipelineTest, ReadsArgumentsStrictly) {
  v1::Tool raw = ToolNamed("raw", R"({"type":"object","properties":{"input":{"type":"string"}}})");
  raw.set_raw_input(true);
  rig_.Publish({ToolNamed("any"), ToolNamed("number", kNumberSchema), raw});
  const auto ok = v1::ERROR_REASON_UNSPECIFIED;
  const auto not_json = v1::ERROR_REASON_ARGUMENTS_NOT_JSON;
  const auto invalid = v1::ERROR_REASON_ARGUMENTS_INVALID;
  const auto large = v1::ERROR_REASON_ARGUMENTS_TOO_LARGE;
  const std::vector<ArgumentCase> cases = {
      {"any", "", ok, "{}"},
      {"any", "  \n", ok, "{}"},
      {"any", "null", ok, "{}"},
      {"any", " null ", ok, "{}"},
      {"any", "{}", ok, "{}"},
      {"number", R"({"n":1})", ok, R"({"n":1})"},
      {"number", R"({"n":1.0})", ok, R"({"n":1.0})"},
      {"number", R"({"n":9007199254740993})", ok, R"({"n":9007199254740993})"},
      {"number", R"({"n":1.5})", invalid, "", "/n"},
      {"number", "", invalid, "", "n"},
      {"any", "[]", invalid, "", "got an array"},
      {"any", "5", invalid, "", "got a number"},
      {"any", "true", invalid, "", "got a boolean"},
      {"any", R"("{\"n\":1}")", invalid, "", "not a string with the object in it"},
      {"any", "{", not_json},
      {"any", "{} x", not_json},
      {"any", R"({"a":1,"a":2})", not_json, "", "duplicate key"},
      {"any", "{\"a\":\"\xff\"}", not_json},
      {"any", R"({"a":"\ud800"})", not_json},
      {"any", R"({'a':1})", not_json},
      {"any", R"({"a":NaN})", not_json},
      {"any", "\xEF\xBB\xBF{}", not_json},
      {"any", std::string("{\"a\":\0}", 7), not_json},
      {"any", "{\"a\":" + std::string(64, '[') + std::string(64, ']') + "}", large},
      {"any", "{\"a\":\"" + std::string(1 << 20, 'x') + "\"}", large, "", "1048576 allowed"},
      {"raw", R"("some \"text\"")", ok, R"({"input":"some \"text\""})"},
      {"raw", R"({"input":"x"})", ok, R"({"input":"x"})"},
      {"raw", R"("half)", not_json},
      {"raw", R"({"input":5})", invalid, "", "/input"},
  };
  for (const ArgumentCase& c : cases) {
    SCOPED_TRACE(c.name + " " + c.text.substr(0, 60));
    Answer answer;
    rig_.Start(Rig::Request(c.name, c.text), answer);
    rig_.executor.RunAll();
    if (c.reason == v1::ERROR_REASON_UNSPECIFIED) {
      ASSERT_EQ(rig_.backend->held(), 1u) << answer.status();
      FakeBackend::Held held = rig_.backend->Take();
      EXPECT_EQ(held.call.arguments_json, c.reaches_as);
      EXPECT_EQ(*held.call.arguments, nlohmann::json::parse(c.reaches_as));
      held.done(TextResult(""));
      EXPECT_TRUE(answer.status().ok());
    } else {
      ASSERT_EQ(rig_.backend->held(), 0u);
      EXPECT_EQ(answer.reason(), c.reason) << answer.status();
      EXPECT_EQ(answer.executed(), "no");
      EXPECT_THAT(std::string(answer.status().message()), HasSubstr(c.message));
    }
    EXPECT_EQ(answer.times, 1);
  }
}

TEST_F(PipelineTest, TakesStructsAndPlainTextToo) {
  v1::Tool raw;
  raw.set_name("raw");
  rig_.Publish({ToolNamed("number", kNumberSchema), raw});
  v1::CallToolRequest request;
  request.set_name("number");
  (*request.mutable_arguments()->mutable_fields())["n"].set_number_value(4);
  Answer answer;
  rig_.Start(request, answer);
  ASSERT_EQ(rig_.backend->held(), 1u);
  FakeBackend::Held held = rig_.backend->Take();
  EXPECT_EQ(held.call.arguments_json, R"({"n":4})");
  held.done(TextResult(""));

  (*request.mutable_arguments()->mutable_fields())["n"].set_number_value(
      std::numeric_limits<double>::infinity());
  EXPECT_EQ(Ended(request).reason(), v1::ERROR_REASON_ARGUMENTS_NOT_JSON);

  Answer text;
  request.set_name("raw");
  request.set_input_text("say \"hi\"\n");
  rig_.Start(request, text);
  ASSERT_EQ(rig_.backend->held(), 1u);
  held = rig_.backend->Take();
  EXPECT_EQ(held.call.arguments_json, R"({"input":"say \"hi\"\n"})");
  held.done(TextResult(""));

  request.set_name("number");
  EXPECT_EQ(Ended(request).reason(), v1::ERROR_REASON_REQUEST_INVALID);
  v1::CallToolRequest nothing;
  nothing.set_name("number");
  EXPECT_EQ(Ended(nothing).reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST_F(PipelineTest, TellsTheStatesOfAToolApart) {
  v1::Tool bad = ToolNamed("bad", R"({"type":"array"})");
  rig_.Publish({ToolNamed("weather_today"), bad, ToolNamed("off"), ToolNamed("away")});
  ASSERT_TRUE(rig_.registry.SetToolEnabled("off", false).ok());

  const Answer missing = Ended("wether_today", "");
  EXPECT_EQ(missing.reason(), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(missing.status())["nearest"], "weather_today");
  EXPECT_EQ(Ended("bad", "").reason(), v1::ERROR_REASON_TOOL_QUARANTINED);
  EXPECT_EQ(Ended("off", "").reason(), v1::ERROR_REASON_TOOL_DISABLED);

  rig_.backend->set_available(false);
  rig_.registry.RefreshState(rig_.backend);
  const Answer away = Ended("away", "");
  EXPECT_EQ(away.reason(), v1::ERROR_REASON_BACKEND_UNAVAILABLE);
  EXPECT_EQ(away.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(RetryDelayOf(away.status()).has_value());
  rig_.backend->set_available(true);
  rig_.registry.RefreshState(rig_.backend);

  v1::CallToolRequest request = Rig::Request("away");
  request.set_expected_digest(std::string(64, '0'));
  EXPECT_EQ(Ended(request).reason(), v1::ERROR_REASON_DEFINITION_CHANGED);
  request.set_expected_digest(rig_.registry.snapshot()->Find("away")->definition->tool.digest());
  EXPECT_TRUE(Ended(request).status().ok());
}

TEST_F(PipelineTest, RefusesHonestlyWhatItDoesNotDo) {
  rig_.Publish({ToolNamed("t")});
  const auto with = [](auto change) {
    v1::CallToolRequest request = Rig::Request("t");
    change(request);
    return request;
  };
  const auto unsupported = v1::ERROR_REASON_NOT_SUPPORTED;
  EXPECT_EQ(Ended(with([](auto& r) { r.set_input_responses_json("{}"); })).reason(), unsupported);
  EXPECT_EQ(Ended(with([](auto& r) { r.set_request_state("s"); })).reason(), unsupported);
  EXPECT_EQ(Ended(with([](auto& r) { r.set_session_id("s"); })).reason(),
            v1::ERROR_REASON_SESSION_NOT_FOUND);
  const auto invalid = v1::ERROR_REASON_REQUEST_INVALID;
  EXPECT_EQ(Ended(with([](auto& r) { r.set_name(""); })).reason(), invalid);
  EXPECT_EQ(Ended(with([](auto& r) { r.set_call_id(std::string(129, 'x')); })).reason(), invalid);
  EXPECT_EQ(Ended(with([](auto& r) { r.mutable_timeout()->set_seconds(-1); })).reason(), invalid);
  EXPECT_EQ(Ended(with([](auto& r) { r.mutable_timeout(); })).reason(), invalid);
  EXPECT_TRUE(Ended(with([](auto& r) { r.set_coerce(false); })).status().ok());
  EXPECT_EQ(rig_.backend->started(), 1u);
}

TEST_F(PipelineTest, MendsArgumentsOnlyWhenAskedAndTellsWhat) {
  v1::Tool tool = ToolNamed("t");
  tool.set_input_schema(
      R"({"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}}})");
  rig_.Publish({tool});
  v1::CallToolRequest request = Rig::Request("t");
  request.set_arguments_json(R"({"n": "5", "s": null})");
  EXPECT_EQ(Ended(request).reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  request.set_coerce(true);
  Answer mended;
  rig_.Start(request, mended);
  ASSERT_EQ(rig_.backend->held(), 1u);
  FakeBackend::Held held = rig_.backend->Take();
  EXPECT_EQ(held.call.arguments_json, R"({"n": 5})");
  EXPECT_EQ(held.call.arguments->dump(), R"({"n":5})");
  held.done(TextResult("done"));
  ASSERT_TRUE(mended.status().ok()) << mended.status();
  const v1::CallToolResponse& response = **mended.value;
  ASSERT_EQ(response.repairs_size(), 2);
  EXPECT_EQ(response.repairs(0).pointer(), "/n");
  EXPECT_EQ(response.repairs(0).kind(), "string_to_integer");
  EXPECT_EQ(response.repairs(1).kind(), "dropped_null");
  // Whole arguments in a string, too; a right call is left alone.
  request.set_arguments_json(R"("{\"n\":5}")");
  const Answer unwrapped = Ended(request);
  EXPECT_EQ((*unwrapped.value)->repairs(0).kind(), "string_to_object");
  request.set_arguments_json(R"({"n":5})");
  const Answer right = Ended(request);
  EXPECT_EQ((*right.value)->repairs_size(), 0);
}

TEST_F(PipelineTest, MendsByDefaultWhereItIsConfigured) {
  PipelineOptions options;
  options.coerce = true;
  Rig rig(std::move(options));
  rig.Publish({ToolNamed("t", kNumberSchema)});
  Answer mended, refused;
  rig.Start(Rig::Request("t", R"({"n":"5"})"), mended);
  rig.backend->Take().done(TextResult("done"));
  EXPECT_EQ((*mended.value)->repairs_size(), 1);
  v1::CallToolRequest request = Rig::Request("t", R"({"n":"5"})");
  request.set_coerce(false);
  rig.Start(request, refused);
  EXPECT_EQ(refused.reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST_F(PipelineTest, TurnsAToolsOwnStatusIntoAResult) {
  rig_.Publish({ToolNamed("t")});
  const std::vector<std::pair<absl::Status, std::string>> cases = {
      {absl::InvalidArgumentError("not that"), "TOOL_INVALID_ARGUMENT"},
      {absl::InternalError("oops"), "TOOL_INTERNAL"},
      {absl::NotFoundError("no file"), "EXECUTION_FAILED"},
      {absl::UnknownError("?"), "EXECUTION_FAILED"},
      {ToolNotFound("another", {}), "EXECUTION_FAILED"},
  };
  for (const auto& [status, reason] : cases) {
    Answer answer;
    rig_.Start(Rig::Request("t"), answer);
    rig_.backend->Take().done(status);
    ASSERT_TRUE(answer.status().ok()) << answer.status();
    EXPECT_TRUE(answer.result().is_error());
    EXPECT_EQ(answer.result().error().reason(), reason);
    EXPECT_EQ(answer.text(), status.message());
  }
  Answer lost;
  rig_.Start(Rig::Request("t"), lost);
  rig_.backend->Take().done(OutcomeUnknown("t", "fake"));
  EXPECT_EQ(lost.reason(), v1::ERROR_REASON_OUTCOME_UNKNOWN);
  EXPECT_EQ(lost.executed(), "maybe");
  EXPECT_THAT(rig_.pipeline.Counters(),
              UnorderedElementsAre(Pair("tool_error", 5), Pair("OUTCOME_UNKNOWN", 1)));
}

// The places where a call can be when it is stopped.
enum class Place { kBeforeStart, kOnExecutor, kLookingForNames, kRunning, kShapingResult };

struct StopCase {
  Place place;
  StopReason reason;
  v1::ErrorReason want;
  const char* executed;
};

class StopTest : public PipelineTest, public testing::WithParamInterface<StopCase> {};

TEST_P(StopTest, AnswersAtOnceAndExactlyOnce) {
  const StopCase& c = GetParam();
  const int64_t frames = LiveCoroutineFrames();
  rig_.Publish({ToolNamed("t")});
  Answer answer;
  std::string arguments;
  if (c.place == Place::kOnExecutor) arguments = "{\"x\":\"" + std::string(10000, 'x') + "\"}";
  StopSource stop;
  if (c.place == Place::kBeforeStart) stop.RequestStop(c.reason);
  rig_.pipeline.Start(Rig::Request(c.place == Place::kLookingForNames ? "nothing" : "t", arguments),
                      {"uid:1", "", absl::InfiniteDuration()}, stop, nullptr,
                      [&answer](absl::StatusOr<v1::CallToolResponse> value) {
                        ++answer.times;
                        answer.value = std::move(value);
                      });
  std::optional<FakeBackend::Held> held;
  if (c.place == Place::kRunning || c.place == Place::kShapingResult) {
    ASSERT_EQ(rig_.backend->held(), 1u);
    held = rig_.backend->Take();
  }
  if (c.place == Place::kShapingResult) {
    v1::ToolResult result;
    result.set_structured_json("\"" + std::string(20000, 'x') + "\"");
    held->done(std::move(result));
    ASSERT_EQ(rig_.executor.queued(), 1u);
  }
  if (c.place != Place::kBeforeStart) {
    EXPECT_FALSE(answer.has());
    stop.RequestStop(c.reason);
  }
  ASSERT_TRUE(answer.has());
  EXPECT_EQ(answer.reason(), c.want) << answer.status();
  EXPECT_EQ(answer.executed(), c.executed);
  EXPECT_EQ(rig_.timers.armed(), 0u);
  EXPECT_EQ(rig_.pipeline.calls_in_flight(), 0u);
  EXPECT_EQ(LiveCoroutineFrames(), frames);
  // What comes late changes nothing.
  rig_.executor.RunAll();
  if (c.place == Place::kRunning) {
    ASSERT_EQ(rig_.backend->cancelled().size(), 1u);
    EXPECT_EQ(rig_.backend->cancelled()[0].number, held->number);
    EXPECT_EQ(rig_.backend->cancelled()[0].reason, c.reason);
    EXPECT_TRUE(held->call.stop.stop_requested());
    EXPECT_EQ(held->call.stop.reason(), c.reason);
    held->done(TextResult("too late"));
  }
  EXPECT_EQ(answer.times, 1);
  EXPECT_EQ(rig_.backend->started(), held.has_value() ? 1u : 0u);
}

std::vector<StopCase> StopCases() {
  std::vector<StopCase> cases;
  for (const auto& [place, executed] :
       std::vector<std::pair<Place, const char*>>{{Place::kBeforeStart, "no"},
                                                  {Place::kOnExecutor, "no"},
                                                  {Place::kLookingForNames, "no"},
                                                  {Place::kRunning, "maybe"},
                                                  {Place::kShapingResult, "maybe"}}) {
    cases.push_back({place, StopReason::kDeadline, v1::ERROR_REASON_TIMEOUT, executed});
    cases.push_back({place, StopReason::kCaller, v1::ERROR_REASON_CANCELLED, executed});
    cases.push_back({place, StopReason::kAdmin, v1::ERROR_REASON_CANCELLED, executed});
    cases.push_back({place, StopReason::kShutdown, v1::ERROR_REASON_CANCELLED, executed});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(EveryPlace, StopTest, testing::ValuesIn(StopCases()));

TEST_F(PipelineTest, KeepsTheShortestOfTheTimeouts) {
  v1::Tool tool = ToolNamed("tool_limit");
  tool.mutable_timeout()->set_seconds(20);
  rig_.Publish({tool, ToolNamed("no_limit")});
  struct Case {
    const char* name;
    int64_t request_seconds;
    absl::Duration deadline;
    absl::Duration want;  // of our own timer; infinite: none
  };
  for (const Case& c :
       std::vector<Case>{{"no_limit", 0, absl::InfiniteDuration(), absl::Minutes(5)},
                         {"no_limit", 600, absl::InfiniteDuration(), absl::Minutes(10)},
                         {"tool_limit", 0, absl::InfiniteDuration(), absl::Seconds(20)},
                         {"tool_limit", 3, absl::InfiniteDuration(), absl::Seconds(3)},
                         {"tool_limit", 60, absl::InfiniteDuration(), absl::Seconds(20)},
                         {"tool_limit", 0, absl::Seconds(30), absl::Seconds(20)},
                         {"tool_limit", 0, absl::Seconds(10), absl::InfiniteDuration()}}) {
    SCOPED_TRACE(c.name);
    Answer answer;
    v1::CallToolRequest request = Rig::Request(c.name);
    if (c.request_seconds > 0) request.mutable_timeout()->set_seconds(c.request_seconds);
    StopSource stop = rig_.Start(request, answer, {"uid:1", "", c.deadline});
    FakeBackend::Held held = rig_.backend->Take();
    EXPECT_EQ(held.call.context.remaining, std::min(c.want, c.deadline));
    if (c.want == absl::InfiniteDuration()) {
      EXPECT_EQ(rig_.timers.armed(), 0u);  // the transport's is shorter
      held.done(TextResult(""));
      continue;
    }
    rig_.timers.Advance(c.want - absl::Milliseconds(1));
    EXPECT_FALSE(answer.has());
    rig_.timers.Advance(absl::Milliseconds(2));
    EXPECT_EQ(answer.reason(), v1::ERROR_REASON_TIMEOUT);
    EXPECT_EQ(answer.executed(), "maybe");
    EXPECT_EQ(MetadataOf(answer.status())["timeout"], absl::FormatDuration(c.want));
    held.done(TextResult("late"));
    EXPECT_EQ(answer.times, 1);
  }
}

TEST_F(PipelineTest, DoesNotStartACallWhoseTimeIsUp) {
  rig_.Publish({ToolNamed("t")});
  Answer answer;
  v1::CallToolRequest request = Rig::Request("t", "{\"x\":\"" + std::string(9000, 'x') + "\"}");
  request.mutable_timeout()->set_seconds(1);
  rig_.Start(request, answer);
  rig_.clock.Advance(absl::Seconds(2));
  rig_.executor.RunAll();
  EXPECT_EQ(answer.reason(), v1::ERROR_REASON_TIMEOUT);
  EXPECT_EQ(answer.executed(), "no");
  EXPECT_EQ(rig_.backend->started(), 0u);
}

TEST_F(PipelineTest, MovesLongArgumentsToTheExecutorAndSaysWhenItIsFull) {
  rig_.Publish({ToolNamed("t")});
  const std::string small = "{\"x\":\"" + std::string(8000, 'x') + "\"}";
  const std::string large = "{\"x\":\"" + std::string(9000, 'x') + "\"}";
  Answer first, second;
  rig_.Start(Rig::Request("t", small), first);
  EXPECT_EQ(rig_.executor.queued(), 0u);
  rig_.Start(Rig::Request("t", large), second);
  EXPECT_EQ(rig_.executor.queued(), 1u);
  EXPECT_EQ(rig_.backend->held(), 1u);
  rig_.executor.RunAll();
  EXPECT_EQ(rig_.backend->held(), 2u);
  rig_.backend->Take().done(TextResult(""));
  rig_.backend->Take().done(TextResult(""));

  FakeClock clock;
  FakeTimers timers(&clock);
  ManualExecutor full(0);
  ResultStore results(&clock, {});
  CallPipeline pipeline({&rig_.registry, &timers, &clock, &full, &results}, {});
  Answer refused;
  pipeline.Start(Rig::Request("t", large), {"uid:1", "", absl::InfiniteDuration()}, {}, nullptr,
                 [&refused](absl::StatusOr<v1::CallToolResponse> value) { refused.value = value; });
  EXPECT_EQ(refused.reason(), v1::ERROR_REASON_QUEUE_FULL);
  EXPECT_EQ(refused.executed(), "no");
  EXPECT_TRUE(RetryDelayOf(refused.status()).has_value());
  Answer unknown;
  pipeline.Start(Rig::Request("nothing"), {"uid:1", "", absl::InfiniteDuration()}, {}, nullptr,
                 [&unknown](absl::StatusOr<v1::CallToolResponse> value) { unknown.value = value; });
  EXPECT_EQ(unknown.reason(), v1::ERROR_REASON_TOOL_NOT_FOUND);
}

TEST_F(PipelineTest, CapsLargeResultsAndKeepsThemByHandle) {
  rig_.Publish({ToolNamed("t")});
  std::string text;
  for (int i = 0; i < 20000; ++i) text += "line " + std::to_string(i) + "\n";
  Answer answer;
  rig_.Start(Rig::Request("t"), answer);
  rig_.backend->Take().done(TextResult(text));
  rig_.executor.RunAll();
  ASSERT_TRUE(answer.status().ok());
  EXPECT_TRUE(answer.result().truncated());
  EXPECT_EQ(answer.result().total_bytes(), text.size());
  EXPECT_LE(answer.text().size(), size_t{64 << 10});
  EXPECT_GT(answer.text().size(), size_t{60 << 10});
  v1::ReadResultRequest read;
  read.set_handle(answer.result().result_handle());
  read.set_length(1 << 20);
  EXPECT_EQ(rig_.results.Read(read, "uid:1")->data(), text);
  EXPECT_EQ(ReasonOf(rig_.results.Read(read, "uid:2").status()), v1::ERROR_REASON_RESULT_NOT_FOUND);
}

TEST_F(PipelineTest, KeepsTheResultAlthoughTheExecutorIsFull) {
  rig_.Publish({ToolNamed("t")});
  ManualExecutor full(0);
  CallPipeline pipeline({&rig_.registry, &rig_.timers, &rig_.clock, &full, &rig_.results}, {});
  Answer answer;
  pipeline.Start(Rig::Request("t"), {"uid:1", "", absl::InfiniteDuration()}, {}, nullptr,
                 [&answer](absl::StatusOr<v1::CallToolResponse> value) { answer.value = value; });
  v1::ToolResult result;
  result.set_structured_json("\"" + std::string(20000, 'x') + "\"");
  rig_.backend->Take().done(std::move(result));
  ASSERT_TRUE(answer.status().ok()) << answer.status();
  EXPECT_EQ(answer.result().structured_json().size(), 20002u);
}

TEST_F(PipelineTest, ChecksOutputAgainstItsSchema) {
  v1::Tool tool = ToolNamed("t");
  tool.set_output_schema(kNumberSchema);
  rig_.Publish({tool});
  const auto with = [](const std::string& json, bool is_error = false) {
    v1::ToolResult result = TextResult("text");
    result.set_structured_json(json);
    result.set_is_error(is_error);
    return result;
  };
  const std::vector<std::pair<v1::ToolResult, std::string>> cases = {
      {with(R"({"n":1})"), ""},
      {with(R"({"n":"x"})"), "OUTPUT_INVALID"},
      {with(R"({"n":)"), "OUTPUT_INVALID"},
      {with(""), "OUTPUT_INVALID"},
      {with("", true), "EXECUTION_FAILED"},
  };
  for (const auto& [result, reason] : cases) {
    Answer answer;
    rig_.Start(Rig::Request("t"), answer);
    rig_.backend->Take().done(result);
    ASSERT_TRUE(answer.status().ok());
    EXPECT_EQ(answer.result().is_error(), !reason.empty()) << result.ShortDebugString();
    EXPECT_EQ(answer.result().error().reason(), reason);
  }
  EXPECT_THAT(rig_.pipeline.Counters(), UnorderedElementsAre(Pair("ok", 1), Pair("tool_error", 4)));
}

TEST_F(PipelineTest, ACallThatGoesOnKeepsTheDefinitionThatItBeganWith) {
  rig_.Publish({ToolNamed("t", kNumberSchema)});
  Answer answer;
  rig_.Start(Rig::Request("t", R"({"n":1})"), answer);
  FakeBackend::Held held = rig_.backend->Take();
  rig_.Publish({});
  EXPECT_EQ(held.call.tool->name(), "t");
  EXPECT_EQ(Ended("t", R"({"n":1})").reason(), v1::ERROR_REASON_TOOL_NOT_FOUND);
  held.done(TextResult("still"));
  EXPECT_EQ(answer.text(), "still");
}

}  // namespace
}  // namespace toolrack
