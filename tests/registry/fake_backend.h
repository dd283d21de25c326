// A backend that runs nothing: the registry only looks at who it is and whether it is there.
#ifndef TOOLRACK_TESTS_REGISTRY_FAKE_BACKEND_H_
#define TOOLRACK_TESTS_REGISTRY_FAKE_BACKEND_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "registry/base/errors.h"
#include "registry/tool.h"

namespace toolrack {

class FakeBackend : public Backend {
 public:
  FakeBackend(std::string kind, std::string id, std::string principal)
      : kind_(std::move(kind)), id_(std::move(id)), principal_(std::move(principal)) {}

  const std::string& kind() const override { return kind_; }
  const std::string& id() const override { return id_; }
  const std::string& principal() const override { return principal_; }
  uint64_t Start(ToolCall call, ToolDone done) override {
    std::move(done)(BackendUnavailable("fake", call.context.call_id));
    return 0;
  }
  void Cancel(uint64_t, StopReason) override {}
  uint32_t in_flight() const override { return 0; }
  bool available() const override { return available_.load(); }
  void set_available(bool available) { available_.store(available); }

 private:
  const std::string kind_, id_, principal_;
  std::atomic<bool> available_{true};
};

inline std::shared_ptr<FakeBackend> MakeWorker(std::string id, std::string principal = "alice") {
  return std::make_shared<FakeBackend>("worker", std::move(id), std::move(principal));
}

inline v1::Tool MakeToolDefinition(std::string name, std::string description = "Does things.") {
  v1::Tool tool;
  tool.set_name(std::move(name));
  tool.set_description(std::move(description));
  tool.set_input_schema(R"({"type":"object","properties":{"x":{"type":"integer"}}})");
  return tool;
}

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_REGISTRY_FAKE_BACKEND_H_
