// Whatever hooks say, in whatever order: a tool gets only arguments that fit, the last ones that a
// hook put there, and only when nobody objected.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline.h"
#include "registry/outcome.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

constexpr char kSchema[] =
    R"({"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],)"
    R"("additionalProperties":false})";

enum class Move { kPass, kGood, kBad, kNotJson, kMisplaced, kDeny, kAnswer, kThrow, kDrop, kFail };

struct Scripted {
  Move move;
  int priority;
  bool fail_closed;
  bool observe_only;
  int number;  // its name, and what it puts into good arguments
};

// A hook that does what it is told; kDrop never answers.
class ScriptedHook : public Hook {
 public:
  explicit ScriptedHook(const Scripted& script) : script_(script) {
    spec_.name = "h" + std::to_string(script.number);
    spec_.points = {v1::HOOK_POINT_PRE_CALL};
    spec_.priority = script.priority;
    spec_.fail_closed = script.fail_closed;
    spec_.observe_only = script.observe_only;
  }
  const HookSpec& spec() const override { return spec_; }
  uint64_t Ask(HookQuestion question, HookDone done) override {
    seen.push_back(question.event->call().arguments_json());
    switch (script_.move) {
      case Move::kPass:
        done(PassVerdict());
        break;
      case Move::kGood:
        done(ReplaceArguments(Good(script_.number)));
        break;
      case Move::kBad:
        done(ReplaceArguments(script_.number % 2 ? R"({"n":-1})" : R"({"n":1,"m":2})"));
        break;
      case Move::kNotJson:
        done(ReplaceArguments(script_.number % 2 ? "{" : "\"\xff\""));
        break;
      case Move::kMisplaced:
        done(ReplaceResult(TextResult("x")));
        break;
      case Move::kDeny:
        done(Deny("no"));
        break;
      case Move::kAnswer:
        done(AnswerInstead(TextResult("answered")));
        break;
      case Move::kThrow:
        done(absl::InternalError("failed"));
        break;
      case Move::kDrop:
        kept = std::move(done);
        return 1;
      case Move::kFail:
        done(absl::UnavailableError("lost its stream"));
        break;
    }
    return 0;
  }
  void Forget(uint64_t) override { kept = nullptr; }
  void Tell(HookQuestion question) override {
    seen.push_back(question.event->call().arguments_json());
  }
  static std::string Good(int number) { return "{\"n\": " + std::to_string(number) + "}"; }

  std::vector<std::string> seen;
  HookDone kept;

 private:
  const Scripted script_;
  HookSpec spec_;
};

// What must come of it, from the contract alone.
struct Expected {
  bool runs = false;
  std::string arguments = R"({"n":7})";
  v1::ErrorReason reason = v1::ERROR_REASON_UNSPECIFIED;
};

Expected ByContract(std::vector<Scripted> hooks) {
  std::sort(hooks.begin(), hooks.end(), [](const Scripted& a, const Scripted& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return "h" + std::to_string(a.number) < "h" + std::to_string(b.number);
  });
  Expected out;
  for (const Scripted& hook : hooks) {
    if (hook.observe_only) continue;
    switch (hook.move) {
      case Move::kPass:
        break;
      case Move::kGood:
        out.arguments = ScriptedHook::Good(hook.number);
        break;
      case Move::kBad:
        out.reason = v1::ERROR_REASON_ARGUMENTS_INVALID;
        return out;
      case Move::kNotJson:
        out.reason = v1::ERROR_REASON_ARGUMENTS_NOT_JSON;
        return out;
      case Move::kDeny:
        out.reason = v1::ERROR_REASON_HOOK_DENIED;
        return out;
      case Move::kAnswer:
        return out;
      case Move::kMisplaced:
      case Move::kThrow:
      case Move::kDrop:
      case Move::kFail:
        if (!hook.fail_closed) break;
        out.reason = v1::ERROR_REASON_HOOK_UNAVAILABLE;
        return out;
    }
  }
  out.runs = true;
  return out;
}

RC_GTEST_PROP(HookProperty, NoVerdictsLetInvalidOrDeniedArgumentsReachATool, ()) {
  const int count = *rc::gen::inRange(0, 7);
  std::vector<Scripted> scripts;
  for (int i = 0; i < count; ++i) {
    Scripted script;
    script.move = static_cast<Move>(*rc::gen::weightedElement<int>(
        {{6, 0}, {6, 1}, {1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 7}, {1, 8}, {1, 9}}));
    script.priority = *rc::gen::inRange(-1, 2);
    script.fail_closed = *rc::gen::arbitrary<bool>();
    script.observe_only = *rc::gen::weightedElement<bool>({{5, false}, {1, true}});
    script.number = i;
    scripts.push_back(script);
  }
  FakeClock clock;
  FakeTimers timers(&clock);
  ManualExecutor executor;
  Registry registry{RegistryOptions()};
  ResultStore results(&clock, {});
  HookSet hooks(&clock, {});
  const auto backend = std::make_shared<FakeBackend>();
  v1::Tool tool;
  tool.set_name("t");
  tool.set_description("A tool.");
  tool.set_input_schema(kSchema);
  RC_ASSERT(registry.Publish(backend, "", {tool}, v1::PUBLISH_MODE_ATOMIC).ok());
  CallPipeline pipeline({&registry, &timers, &clock, &executor, &results, nullptr, &hooks}, {});
  std::vector<std::shared_ptr<ScriptedHook>> made;
  for (const Scripted& script : scripts) {
    made.push_back(std::make_shared<ScriptedHook>(script));
    RC_ASSERT(hooks.Add(made.back()).ok());
  }

  std::optional<absl::StatusOr<v1::CallToolResponse>> answer;
  v1::CallToolRequest request;
  request.set_name("t");
  request.set_arguments_json(R"({"n":7})");
  pipeline.Start(
      request, {"uid:1", "", absl::InfiniteDuration()}, StopSource(), nullptr,
      [&answer](absl::StatusOr<v1::CallToolResponse> value) { answer = std::move(value); });
  for (int i = 0; i < count && backend->held() == 0 && !answer.has_value(); ++i) {
    timers.Advance(absl::Seconds(1));
  }

  const ToolEntryPtr entry = registry.snapshot()->Get("t");
  const Expected expected = ByContract(scripts);
  RC_ASSERT((backend->started() == 1) == expected.runs);
  if (expected.runs) {
    FakeBackend::Held held = backend->Take();
    RC_ASSERT(held.call.arguments_json == expected.arguments);
    RC_ASSERT(entry->InputSchema()->Accepts(*held.call.arguments));
    held.done(TextResult("ran"));
  }
  RC_ASSERT(answer.has_value());
  if (expected.reason != v1::ERROR_REASON_UNSPECIFIED) {
    RC_ASSERT(!answer->ok());
    RC_ASSERT(ReasonOf(answer->status()) == expected.reason);
    RC_ASSERT(SurelyNotExecuted(answer->status()));
  } else {
    RC_ASSERT(answer->ok());
    RC_ASSERT((*answer)->result().content(0).text().text() == (expected.runs ? "ran" : "answered"));
  }
  // No hook was ever shown arguments that do not fit.
  for (const auto& hook : made) {
    for (const std::string& seen : hook->seen) {
      const absl::StatusOr<Json> value = ParseJsonOrStatus(seen);
      RC_ASSERT(value.ok());
      RC_ASSERT(entry->InputSchema()->Accepts(*value));
    }
  }
  RC_ASSERT(timers.armed() == 0u);
}

}  // namespace
}  // namespace toolrack
