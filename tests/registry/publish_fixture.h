// The fixture of the tests of publishing: a registry and one worker.
#ifndef TOOLRACK_TESTS_REGISTRY_PUBLISH_FIXTURE_H_
#define TOOLRACK_TESTS_REGISTRY_PUBLISH_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {

constexpr auto kAtomic = v1::PUBLISH_MODE_ATOMIC;
constexpr auto kBestEffort = v1::PUBLISH_MODE_BEST_EFFORT;

inline std::vector<std::string> NamesOf(const Registry& registry) {
  std::vector<std::string> names;
  registry.Peek().ForEach("", [&](const ToolEntryPtr& entry) {
    names.push_back(entry->name());
    return true;
  });
  return names;
}

inline std::vector<std::string> RulesOf(const PublishReport::Fault& fault) {
  std::vector<std::string> rules;
  for (const auto& finding : fault.findings) rules.push_back(finding.rule());
  return rules;
}
class PublishTest : public ::testing::Test {
 protected:
  PublishReport Publish(const std::shared_ptr<FakeBackend>& backend, absl::string_view ns,
                        std::vector<v1::Tool> tools, v1::PublishMode mode = kAtomic) {
    auto report = registry_.Publish(backend, ns, std::move(tools), mode);
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *std::move(report) : PublishReport();
  }
  v1::ToolState StateOf(absl::string_view name) { return registry_.Peek().Find(name)->state; }

  Registry registry_{RegistryOptions{}};
  std::shared_ptr<FakeBackend> worker_ = MakeWorker("w1");
};

}  // namespace toolrack

#endif  // TOOLRACK_TESTS_REGISTRY_PUBLISH_FIXTURE_H_
