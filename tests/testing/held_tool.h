// Tools for tests, published from this process.
#ifndef TOOLRACK_TESTS_TESTING_HELD_TOOL_H_
#define TOOLRACK_TESTS_TESTING_HELD_TOOL_H_

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "registry/registry.h"
#include "registry/tool.h"
#include "registry/tool_server.h"

namespace toolrack {

// Holds every call until the test answers it. Thread-safe.
class HeldTool : public Tool {
 public:
  ~HeldTool() override;  // answers what is left with "left"
  void Execute(ToolCall call, ToolDone done) override;

  // Waits until `count` calls are held; false when that hangs.
  bool WaitFor(size_t count);
  // Waits until a held call's stop was requested; kNone when that hangs.
  StopReason WaitForStop();
  size_t held() const;
  // The oldest call, to report through; valid while it is held.
  ToolCall& front();
  // Answers the oldest call with this text.
  void Answer(const std::string& text);
  void AnswerAll(const std::string& text);

 private:
  struct Held {
    ToolCall call;
    ToolDone done;
  };
  mutable absl::Mutex mu_;
  std::deque<Held> held_ ABSL_GUARDED_BY(mu_);
};

// A result with one text.
v1::ToolResult TextResult(const std::string& text);

// A minimal definition: `name` with a closed object schema without properties.
v1::Tool BareTool(const std::string& name);

// Publishes tools into a registry under a namespace of its own, and takes them back at the end.
class TestTools {
 public:
  TestTools(Registry& registry, std::string ns);
  // A held call holds its tool, directly and by its registry entry: what is left is answered here.
  ~TestTools();
  // Aborts the test binary when it is refused.
  void Add(v1::Tool definition, std::shared_ptr<Tool> tool);
  std::shared_ptr<HeldTool> AddHeld(const std::string& name);
  // By its bare name.
  void Remove(const std::string& name);

 private:
  const std::string ns_;
  ToolServer server_;
  ToolRegistrar registrar_;
  std::vector<std::shared_ptr<HeldTool>> held_;
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_TESTING_HELD_TOOL_H_
