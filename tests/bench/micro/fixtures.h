// Registries filled with tools, made once for each size and shared by the micro-benchmarks.
#ifndef TOOLRACK_TESTS_BENCH_MICRO_FIXTURES_H_
#define TOOLRACK_TESTS_BENCH_MICRO_FIXTURES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"

namespace toolrack::bench {

// A backend whose tools answer at once, on the caller's thread, with their own arguments.
class EchoBackend : public Backend {
 public:
  explicit EchoBackend(std::string id) : id_(std::move(id)) {}
  const std::string& kind() const override { return kind_; }
  const std::string& id() const override { return id_; }
  const std::string& principal() const override { return principal_; }
  uint64_t Start(ToolCall call, ToolDone done) override;
  void Cancel(uint64_t, StopReason) override {}
  uint32_t in_flight() const override { return 0; }
  bool available() const override { return true; }

 private:
  const std::string kind_ = "worker", principal_ = "bench", id_;
};

struct FilledRegistry {
  std::unique_ptr<Registry> registry;
  std::shared_ptr<EchoBackend> backend;
  std::vector<std::string> names;  // canonical, in random order
};

// `size` tools in namespaces of at most 1,000; room for more. Lives until the process ends.
FilledRegistry& RegistryOf(size_t size);

// Bare name, a description of some words, a schema with one required string `text`.
v1::Tool MakeDefinition(size_t index);

}  // namespace toolrack::bench

#endif  // TOOLRACK_TESTS_BENCH_MICRO_FIXTURES_H_
