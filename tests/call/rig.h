// A pipeline with everything around it held still by the test.
#ifndef TOOLRACK_TESTS_CALL_RIG_H_
#define TOOLRACK_TESTS_CALL_RIG_H_

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "registry/base/errors.h"
#include "registry/call/pipeline.h"
#include "registry/outcome.h"
#include "tests/testing/fakes.h"

namespace toolrack {

inline v1::Tool ToolNamed(const std::string& name,
                          const std::string& schema = R"({"type":"object"})") {
  v1::Tool tool;
  tool.set_name(name);
  tool.set_description("A tool of the tests.");
  tool.set_input_schema(schema);
  return tool;
}

// One call's answer; must outlive the call.
struct Answer {
  std::optional<absl::StatusOr<v1::CallToolResponse>> value;
  int times = 0;

  bool has() const { return value.has_value(); }
  absl::Status status() const { return value.has_value() ? value->status() : absl::OkStatus(); }
  v1::ErrorReason reason() const { return ReasonOf(status()); }
  std::string executed() const {
    const ErrorMetadata metadata = MetadataOf(status());
    const auto at = metadata.find("executed");
    return at == metadata.end() ? "" : at->second;
  }
  const v1::ToolResult& result() const { return (*value)->result(); }
  std::string text() const { return result().content(0).text().text(); }
};

// Explain, for a pipeline whose hooks answer at once.
inline v1::ExplainCallResponse ExplainNow(CallPipeline& pipeline, v1::CallToolRequest request,
                                          Caller caller = {"uid:1", "", absl::InfiniteDuration()}) {
  v1::ExplainCallResponse out;
  int times = 0;
  pipeline.Explain(std::move(request), std::move(caller), StopSource(),
                   [&](absl::StatusOr<v1::ExplainCallResponse> response) {
                     ++times;
                     out = *std::move(response);
                   });
  EXPECT_EQ(times, 1);
  return out;
}

class Rig {
 public:
  explicit Rig(PipelineOptions options = {})
      : timers(&clock),
        registry(RegistryOptions()),
        results(&clock, options.results),
        backend(std::make_shared<FakeBackend>()),
        pipeline({&registry, &timers, &clock, &executor, &results}, std::move(options)) {}
  ~Rig() {
    for (const std::shared_ptr<FakeBackend>& fake : fakes_) fake->DropHeld();
  }

  void Publish(std::vector<v1::Tool> tools) { PublishOn(backend, std::move(tools)); }
  void PublishOn(const std::shared_ptr<Backend>& on, std::vector<v1::Tool> tools) {
    if (auto fake = std::dynamic_pointer_cast<FakeBackend>(on)) fakes_.push_back(std::move(fake));
    const absl::StatusOr<PublishReport> report =
        registry.Publish(on, "", std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT);
    ASSERT_TRUE(report.ok()) << report.status();
    ASSERT_TRUE(report->rejected.empty()) << report->rejected[0].findings[0].message();
  }

  static v1::CallToolRequest Request(const std::string& name, const std::string& arguments = "") {
    v1::CallToolRequest request;
    request.set_name(name);
    request.set_arguments_json(arguments);
    return request;
  }
  StopSource Start(v1::CallToolRequest request, Answer& answer, Caller caller = {"uid:1", "", {}}) {
    StopSource stop;
    if (caller.deadline == absl::Duration()) caller.deadline = absl::InfiniteDuration();
    pipeline.Start(std::move(request), std::move(caller), stop, nullptr,
                   [&answer](absl::StatusOr<v1::CallToolResponse> value) {
                     ++answer.times;
                     answer.value = std::move(value);
                   });
    return stop;
  }

  FakeClock clock;
  FakeTimers timers;
  ManualExecutor executor;
  Registry registry;
  ResultStore results;
  std::shared_ptr<FakeBackend> backend;
  CallPipeline pipeline;

 private:
  std::vector<std::shared_ptr<FakeBackend>> fakes_;  // those with tools
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_CALL_RIG_H_
