#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/base/errors.h"
#include "registry/registry.h"
#include "tests/registry/publish_fixture.h"

namespace toolrack {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

TEST_F(PublishTest, ANamespaceBelongsToThePrincipalThatRegisteredItFirst) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  const auto mallory = MakeWorker("w1", "mallory");
  const absl::Status status =
      registry_.Publish(mallory, "ns", {MakeToolDefinition("z")}, kAtomic).status();
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NAME_TAKEN);
  EXPECT_EQ(MetadataOf(status)["owner"], "worker:w1 of alice");
  registry_.Remove(worker_);
  EXPECT_TRUE(registry_.Publish(mallory, "ns", {MakeToolDefinition("z")}, kAtomic).ok());
  EXPECT_EQ(ReasonOf(registry_.Publish(worker_, "ns", {}, kAtomic).status()),
            v1::ERROR_REASON_NAME_TAKEN);
}

TEST_F(PublishTest, BadNamespacesAreRefused) {
  for (const char* ns : {"UPPER", "a_b", "-"}) {
    EXPECT_EQ(ReasonOf(registry_.Publish(worker_, ns, {}, kAtomic).status()),
              v1::ERROR_REASON_NAME_INVALID);
  }
}

TEST_F(PublishTest, TheSameDefinitionOfAnotherWorkerOfThePrincipalIsAReplica) {
  const auto second = MakeWorker("w2");
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  const PublishReport report =
      Publish(second, "ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  EXPECT_THAT(report.accepted, ElementsAre("a", "b"));
  EXPECT_THAT(registry_.Peek().Find("ns__a")->backends, ElementsAre(worker_, second));
  EXPECT_EQ(registry_.Peek().Find("ns__a")->definition->tool.revision(), 1u);
  // One of them leaves: the tool stays, and nobody sees a change.
  const uint64_t revision = registry_.Peek().revision();
  registry_.Remove(worker_);
  EXPECT_EQ(registry_.Peek().revision(), revision);
  EXPECT_THAT(registry_.Peek().Find("ns__a")->backends, ElementsAre(second));
  registry_.Remove(second);
  EXPECT_THAT(NamesOf(registry_), IsEmpty());
}

TEST_F(PublishTest, AnotherDefinitionUnderATakenNameIsRejectedNamingTheOwner) {
  Publish(worker_, "ns", {MakeToolDefinition("a", "one")});
  const PublishReport report =
      Publish(MakeWorker("w2"), "ns", {MakeToolDefinition("a", "two"), MakeToolDefinition("b")},
              kBestEffort);
  EXPECT_THAT(report.accepted, ElementsAre("b"));
  ASSERT_THAT(report.rejected, SizeIs(1));
  EXPECT_THAT(RulesOf(report.rejected[0]), ElementsAre("name_taken"));
  EXPECT_EQ(report.rejected[0].owner, "worker:w1");
  EXPECT_THAT(report.rejected[0].findings[0].message(), HasSubstr("worker:w1"));
  EXPECT_EQ(registry_.Peek().Find("ns__a")->definition->tool.description(), "one");
}

TEST_F(PublishTest, OneCanonicalNameFromTwoSplitsIsTaken) {
  const auto builtin = std::make_shared<FakeBackend>("builtin", "core", "alice");
  Publish(builtin, "", {MakeToolDefinition("a__b")});
  const PublishReport report = Publish(worker_, "a", {MakeToolDefinition("b")}, kBestEffort);
  ASSERT_THAT(report.rejected, SizeIs(1));
  EXPECT_THAT(RulesOf(report.rejected[0]), ElementsAre("name_taken"));
  // Also from the same backend.
  EXPECT_THAT(Publish(builtin, "a", {MakeToolDefinition("b")}, kBestEffort).rejected, SizeIs(1));
}

TEST_F(PublishTest, ATakeOverOfEqualDefinitionsMovesOnlyTheRoute) {
  Publish(worker_, "ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  const auto successor = MakeWorker("w1");
  const PublishReport report =
      Publish(successor, "ns", {MakeToolDefinition("b"), MakeToolDefinition("a")});
  EXPECT_EQ(report.revision, 1u);
  EXPECT_EQ(registry_.Peek().definitions_revision(), 1u);
  EXPECT_THAT(registry_.Peek().Find("ns__a")->backends, ElementsAre(successor));
  EXPECT_THAT(registry_.SetsOf(worker_), IsEmpty());
  registry_.Remove(worker_);
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__a", "ns__b"));
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
}

TEST_F(PublishTest, ATakeOverWithOtherDefinitionsWins) {
  Publish(worker_, "ns", {MakeToolDefinition("a", "one"), MakeToolDefinition("gone")});
  const auto successor = MakeWorker("w1");
  EXPECT_THAT(Publish(successor, "ns", {MakeToolDefinition("a", "two")}).accepted,
              ElementsAre("a"));
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__a"));
  EXPECT_EQ(registry_.Peek().Find("ns__a")->definition->tool.description(), "two");
}

TEST_F(PublishTest, NamespacesThatTheSuccessorDoesNotPublishStayUntilTheOldObjectGoes) {
  Publish(worker_, "one", {MakeToolDefinition("a")});
  Publish(worker_, "two", {MakeToolDefinition("b")});
  const auto successor = MakeWorker("w1");
  Publish(successor, "one", {MakeToolDefinition("a")});
  EXPECT_THAT(registry_.SetsOf(worker_), ElementsAre(Pair("two", 1)));
  registry_.Remove(worker_);
  EXPECT_THAT(NamesOf(registry_), ElementsAre("one__a"));
}

}  // namespace
}  // namespace toolrack
