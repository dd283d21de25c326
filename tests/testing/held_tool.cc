#include "tests/testing/held_tool.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "absl/synchronization/notification.h"
#include "registry/name.h"
#include "tests/testing/server_fixture.h"

namespace toolrack {

v1::ToolResult TextResult(const std::string& text) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text(text);
  return result;
}

v1::Tool BareTool(const std::string& name) {
  v1::Tool tool;
  tool.set_name(name);
  tool.set_description("A tool of a test.");
  tool.set_input_schema(R"({"type":"object","properties":{}})");
  return tool;
}

HeldTool::~HeldTool() { AnswerAll("left"); }

void HeldTool::Execute(ToolCall call, ToolDone done) {
  absl::MutexLock lock(&mu_);
  held_.push_back({std::move(call), std::move(done)});
}

bool HeldTool::WaitFor(size_t count) {
  absl::MutexLock lock(&mu_);
  const auto enough = [this, count]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return held_.size() >= count; };
  return mu_.AwaitWithTimeout(absl::Condition(&enough), kHung);
}

StopReason HeldTool::WaitForStop() {
  StopToken stop;
  {
    absl::MutexLock lock(&mu_);
    const auto some = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return !held_.empty(); };
    if (!mu_.AwaitWithTimeout(absl::Condition(&some), kHung)) return StopReason::kNone;
    stop = held_.front().call.stop;
  }
  absl::Notification stopped;
  std::stop_callback callback(stop.std_token(), [&stopped] { stopped.Notify(); });
  stopped.WaitForNotificationWithTimeout(kHung);
  return stop.reason();
}

size_t HeldTool::held() const {
  absl::MutexLock lock(&mu_);
  return held_.size();
}

ToolCall& HeldTool::front() {
  absl::MutexLock lock(&mu_);
  return held_.front().call;
}

void HeldTool::Answer(const std::string& text) {
  ToolDone done;
  {
    absl::MutexLock lock(&mu_);
    done = std::move(held_.front().done);
    held_.pop_front();
  }
  done(TextResult(text));
}

void HeldTool::AnswerAll(const std::string& text) {
  while (held() > 0) Answer(text);
}

TestTools::TestTools(Registry& registry, std::string ns)
    : ns_(ns),
      server_(&registry, "test-" + ns, ns),
      registrar_(std::move(*server_.TakeRegistrar())) {}

TestTools::~TestTools() {
  for (const std::shared_ptr<HeldTool>& held : held_) held->AnswerAll("left");
}

void TestTools::Add(v1::Tool definition, std::shared_ptr<Tool> tool) {
  if (auto held = std::dynamic_pointer_cast<HeldTool>(tool)) held_.push_back(std::move(held));
  const absl::Status status =
      registrar_.Register([&definition, &tool] { return std::make_pair(definition, tool); });
  if (!status.ok()) {
    std::fprintf(stderr, "the tool was refused: %s\n", status.ToString().c_str());
    std::abort();
  }
}

std::shared_ptr<HeldTool> TestTools::AddHeld(const std::string& name) {
  auto tool = std::make_shared<HeldTool>();
  Add(BareTool(name), tool);
  return tool;
}

void TestTools::Remove(const std::string& name) {
  if (!registrar_.Unregister(CanonicalName(ns_, name)).ok()) std::abort();
}

}  // namespace toolrack
