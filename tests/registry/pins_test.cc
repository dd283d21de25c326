#include "registry/pins.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "registry/base/errors.h"
#include "registry/registry.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

v1::Tool ToolSaying(const std::string& name, const std::string& description) {
  v1::Tool tool;
  tool.set_name(name);
  tool.set_description(description);
  tool.set_input_schema(R"({"type":"object"})");
  return tool;
}

class PinsTest : public testing::Test {
 protected:
  struct Rack {
    explicit Rack(PinMode mode, size_t max = 100)
        : pins(mode, max, [this] { ++changes; }), registry([this] {
            RegistryOptions options;
            options.pins = &pins;
            return options;
          }()) {}
    PublishReport Publish(std::vector<v1::Tool> tools,
                          v1::PublishMode mode = v1::PUBLISH_MODE_ATOMIC) {
      const absl::StatusOr<PublishReport> report =
          registry.Publish(backend, "", std::move(tools), mode);
      EXPECT_TRUE(report.ok()) << report.status();
      return *report;
    }
    v1::ToolState State(const std::string& name) const { return registry.Peek().Find(name)->state; }
    v1::Tool Find(const std::string& name) const {
      return registry.Peek().Find(name)->ToProto(v1::TOOL_VIEW_FULL);
    }
    int changes = 0;
    Pins pins;
    Registry registry;
    std::shared_ptr<FakeBackend> backend = MakeWorker("w");
  };
};

TEST_F(PinsTest, EnforceHoldsAChangedDefinitionBackUntilItIsApproved) {
  Rack rack(PinMode::kEnforce);
  EXPECT_EQ(rack.Publish({ToolSaying("t", "one"), ToolSaying("u", "same")}).accepted.size(), 2u);
  EXPECT_EQ(rack.changes, 2);
  // The rest of the set is not held back with it, not even of an atomic one.
  const PublishReport changed = rack.Publish({ToolSaying("t", "two"), ToolSaying("u", "same")});
  EXPECT_FALSE(changed.refused);
  EXPECT_EQ(changed.accepted, std::vector<std::string>({"u"}));
  ASSERT_EQ(changed.quarantined.size(), 1u);
  EXPECT_EQ(changed.quarantined[0].name, "t");
  EXPECT_EQ(changed.quarantined[0].findings[0].rule(), "definition_changed");
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_QUARANTINED);
  EXPECT_EQ(rack.State("u"), v1::TOOL_STATE_ACTIVE);

  // Coming again changes nothing, going back does.
  rack.Publish({ToolSaying("t", "two"), ToolSaying("u", "same")});
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_QUARANTINED);
  rack.Publish({ToolSaying("t", "one"), ToolSaying("u", "same")});
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_ACTIVE);
  rack.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_QUARANTINED);

  const std::string digest = rack.Find("t").digest();
  EXPECT_EQ(ReasonOf(rack.registry.ApproveTool("t", "other").status()),
            v1::ERROR_REASON_DEFINITION_CHANGED);
  EXPECT_EQ(ReasonOf(rack.registry.ApproveTool("no", digest).status()),
            v1::ERROR_REASON_TOOL_NOT_FOUND);
  const absl::StatusOr<ToolEntryPtr> approved = rack.registry.ApproveTool("t", digest);
  ASSERT_TRUE(approved.ok()) << approved.status();
  EXPECT_EQ((*approved)->state, v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_NE((*approved)->InputSchema(), nullptr);
  const v1::Tool now = rack.Find("t");
  for (const v1::Finding& finding : now.findings()) {
    EXPECT_NE(finding.rule(), "definition_changed");
  }
  const uint64_t revision = rack.registry.Peek().revision();
  rack.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(rack.registry.Peek().revision(), revision);
}

TEST_F(PinsTest, AnotherFaultKeepsAnApprovedToolInQuarantine) {
  Rack rack(PinMode::kEnforce);
  rack.Publish({ToolSaying("t", "one")});
  v1::Tool bad = ToolSaying("t", "one");
  bad.set_input_schema(R"({"type":"string"})");
  rack.Publish({bad}, v1::PUBLISH_MODE_BEST_EFFORT);
  const absl::StatusOr<ToolEntryPtr> approved =
      rack.registry.ApproveTool("t", rack.Find("t").digest());
  ASSERT_TRUE(approved.ok());
  EXPECT_EQ((*approved)->state, v1::TOOL_STATE_QUARANTINED);
}

TEST_F(PinsTest, WithdrawnAndForgottenAreNotTheSame) {
  Rack rack(PinMode::kEnforce);
  rack.Publish({ToolSaying("t", "one")});
  rack.Publish({});
  rack.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_QUARANTINED);
}

TEST_F(PinsTest, WarnSaysItOnceAndGoesOn) {
  Rack rack(PinMode::kWarn);
  rack.Publish({ToolSaying("t", "one")});
  const PublishReport changed = rack.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(changed.accepted.size(), 1u);
  EXPECT_EQ(rack.State("t"), v1::TOOL_STATE_ACTIVE);
  const auto warned = [&rack] {
    int count = 0;
    const v1::Tool tool = rack.Find("t");
    for (const v1::Finding& finding : tool.findings()) {
      count += finding.rule() == "definition_changed" ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(warned(), 1);
  const uint64_t revision = rack.registry.Peek().revision();
  rack.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(warned(), 1);
  EXPECT_EQ(rack.registry.Peek().revision(), revision);
}

TEST_F(PinsTest, OffAndTheDaemonsOwnToolsAreNotLookedAt) {
  Rack off(PinMode::kOff);
  off.Publish({ToolSaying("t", "one")});
  off.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(off.State("t"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(off.pins.size(), 0u);

  Rack own(PinMode::kEnforce);
  own.backend = std::make_shared<FakeBackend>("builtin", "toolrack", "");
  own.Publish({ToolSaying("t", "one")});
  own.Publish({ToolSaying("t", "two")});
  EXPECT_EQ(own.State("t"), v1::TOOL_STATE_ACTIVE);
}

TEST_F(PinsTest, TheLongestUnseenAreForgottenFirst) {
  Pins pins(PinMode::kEnforce, 3);
  std::string before;
  for (const char* name : {"a", "b", "c", "a", "d"}) pins.Check(name, "1", &before);
  EXPECT_EQ(pins.size(), 3u);
  EXPECT_EQ(pins.Check("b", "2", &before), Pins::Verdict::kFine);  // forgotten
  EXPECT_EQ(pins.Check("a", "2", &before), Pins::Verdict::kChanged);
  EXPECT_EQ(before, "1");
  Pins again(PinMode::kEnforce, 3);
  again.Load(pins.List());
  EXPECT_EQ(again.Check("a", "2", &before), Pins::Verdict::kChanged);
}

// Reserved names are the daemon's own, and lists show them only when asked for.
TEST(ReservedNamesTest, OnlyTheDaemonsOwnMayUseThem) {
  Registry registry((RegistryOptions()));
  auto own = std::make_shared<FakeBackend>("builtin", "toolrack", "");
  ASSERT_TRUE(registry
                  .Publish(own, "", {ToolSaying("__meta", "x"), ToolSaying("plain", "x")},
                           v1::PUBLISH_MODE_ATOMIC)
                  .ok());
  EXPECT_EQ(registry.Peek().Find("__meta")->state, v1::TOOL_STATE_ACTIVE);
  v1::ListToolsRequest request;
  EXPECT_EQ(ListTools(registry, request)->tools_size(), 1);
  EXPECT_EQ(ListTools(registry, request)->total_size(), 1);
  request.set_name_prefix("__");
  EXPECT_EQ(ListTools(registry, request)->tools_size(), 1);
  EXPECT_EQ(ListTools(registry, request)->tools(0).name(), "__meta");
  auto worker = MakeWorker("w");
  const absl::StatusOr<PublishReport> report =
      registry.Publish(worker, "ns", {ToolSaying("__mine", "x")}, v1::PUBLISH_MODE_BEST_EFFORT);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->rejected.size(), 1u);
}

TEST(VisibilityTest, WhatIsHiddenIsNotListedNotCountedAndNotNear) {
  Registry registry((RegistryOptions()));
  auto backend = MakeWorker("w");
  ASSERT_TRUE(registry
                  .Publish(backend, "", {ToolSaying("open_a", "x"), ToolSaying("hidden_a", "x")},
                           v1::PUBLISH_MODE_ATOMIC)
                  .ok());
  const ToolVisibility visible = [](const ToolDefinition& definition) {
    return definition.tool.name() != "hidden_a";
  };
  const v1::ListToolsResponse list = *ListTools(registry, v1::ListToolsRequest(), visible);
  ASSERT_EQ(list.tools_size(), 1);
  EXPECT_EQ(list.tools(0).name(), "open_a");
  EXPECT_EQ(list.total_size(), 1);
  EXPECT_EQ(registry.Nearest("hiden_a", 3, visible), std::vector<std::string>());
  EXPECT_EQ(registry.Nearest("hiden_a", 3), std::vector<std::string>({"hidden_a"}));
}

TEST(OwnershipTest, ARefusedNamespaceRegistersNothing) {
  RegistryOptions options;
  options.may_register = [](absl::string_view principal, absl::string_view ns) {
    return ns == "files" && principal != "files" ? NamespaceDenied(ns, principal, "files")
                                                 : absl::OkStatus();
  };
  Registry registry(options);
  auto stranger = MakeWorker("w", "uid:1");
  auto owner = MakeWorker("w", "files");
  EXPECT_EQ(
      ReasonOf(registry.Publish(stranger, "files", {ToolSaying("t", "x")}, v1::PUBLISH_MODE_ATOMIC)
                   .status()),
      v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_TRUE(
      registry.Publish(owner, "files", {ToolSaying("t", "x")}, v1::PUBLISH_MODE_ATOMIC).ok());
  EXPECT_EQ(registry.Peek().size(), 1u);
}

}  // namespace
}  // namespace toolrack
