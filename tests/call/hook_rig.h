// A pipeline with hooks, sessions and a backend around it, all held still by the test.
#ifndef TOOLRACK_TESTS_CALL_HOOK_RIG_H_
#define TOOLRACK_TESTS_CALL_HOOK_RIG_H_

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/call/hook.h"
#include "registry/call/hook_set.h"
#include "registry/call/pipeline.h"
#include "registry/session_table.h"
#include "tests/call/rig.h"

namespace toolrack {

// Holds its events; the test answers them.
class FakeHook : public Hook {
 public:
  struct Asked {
    uint64_t number = 0;
    HookQuestion question;
    HookDone done;
    const v1::HookEvent& event() const { return *question.event; }
  };

  explicit FakeHook(HookSpec spec) : spec_(std::move(spec)) {}

  const HookSpec& spec() const override { return spec_; }
  uint64_t Ask(HookQuestion question, HookDone done) override {
    asked.push_back({++last_, std::move(question), std::move(done)});
    return last_;
  }
  void Forget(uint64_t number) override { forgotten.push_back(number); }
  void Tell(HookQuestion question) override { told.push_back(std::move(question)); }
  // The oldest event that was not taken yet; there must be one.
  Asked Take() {
    EXPECT_FALSE(asked.empty()) << spec_.name;
    Asked first = std::move(asked.front());
    asked.pop_front();
    return first;
  }
  void Answer(HookVerdict verdict) { Take().done(std::move(verdict)); }
  void Fail(const char* why) { Take().done(absl::UnavailableError(why)); }

  std::deque<Asked> asked;
  std::vector<uint64_t> forgotten;
  std::vector<HookQuestion> told;

 private:
  const HookSpec spec_;
  uint64_t last_ = 0;
};

inline HookSpec SpecOf(const std::string& name, v1::HookPoint point = v1::HOOK_POINT_PRE_CALL,
                       int priority = 0) {
  HookSpec spec;
  spec.name = name;
  spec.points = {point};
  spec.priority = priority;
  return spec;
}

constexpr char kHookSchema[] =
    R"({"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]})";

class HookRig {
 public:
  explicit HookRig(PipelineOptions options = {})
      : timers(&clock),
        registry(RegistryOptions()),
        results(&clock, options.results),
        hooks(&clock, {}),
        sessions({&registry, &timers, &clock}, options.limits),
        backend(std::make_shared<FakeBackend>()),
        pipeline({&registry, &timers, &clock, &executor, &results, &sessions, &hooks},
                 std::move(options)) {
    v1::Tool tool = ToolNamed("t", kHookSchema);
    v1::Tool declared = ToolNamed("declared", kHookSchema);
    declared.set_output_schema(kHookSchema);
    Publish({tool, declared, ToolNamed("free")});
  }

  void Publish(std::vector<v1::Tool> tools) {
    EXPECT_TRUE(registry.Publish(backend, "", std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
  std::shared_ptr<FakeHook> Add(HookSpec spec) {
    const auto hook = std::make_shared<FakeHook>(std::move(spec));
    const auto added = hooks.Add(hook);
    EXPECT_TRUE(added.ok()) << added.status();
    return hook;
  }
  v1::HookInfo InfoOf(const std::string& name) {
    for (v1::HookInfo& info : hooks.List()) {
      if (info.hook_name() == name) return info;
    }
    return {};
  }
  StopSource Start(Answer& answer, const std::string& arguments = R"({"n":1})",
                   const std::string& tool = "t") {
    return Start(answer, Rig::Request(tool, arguments));
  }
  StopSource Start(Answer& answer, v1::CallToolRequest request) {
    StopSource stop;
    pipeline.Start(std::move(request), {"uid:1", "", absl::InfiniteDuration()}, stop, nullptr,
                   [&answer](absl::StatusOr<v1::CallToolResponse> value) {
                     ++answer.times;
                     answer.value = std::move(value);
                   });
    return stop;
  }
  // Ends the call that the backend holds.
  void Finish(v1::ToolResult result = TextResult("done")) {
    backend->Take().done(std::move(result));
  }
  v1::ExplainCallResponse Explain(v1::CallToolRequest request) {
    v1::ExplainCallResponse out;
    int times = 0;
    pipeline.Explain(std::move(request), {"uid:1", "", absl::InfiniteDuration()}, StopSource(),
                     [&](absl::StatusOr<v1::ExplainCallResponse> response) {
                       ++times;
                       out = *std::move(response);
                     });
    EXPECT_EQ(times, 1);
    return out;
  }

  FakeClock clock;
  FakeTimers timers;
  ManualExecutor executor;
  Registry registry;
  ResultStore results;
  HookSet hooks;
  SessionTable sessions;
  std::shared_ptr<FakeBackend> backend;
  CallPipeline pipeline;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CALL_HOOK_RIG_H_
