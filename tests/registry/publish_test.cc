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

TEST_F(PublishTest, APublishedSetIsThereAndSorted) {
  const PublishReport report =
      Publish(worker_, "ns", {MakeToolDefinition("b"), MakeToolDefinition("a")});
  EXPECT_THAT(report.accepted, ElementsAre("b", "a"));
  EXPECT_EQ(report.revision, 1u);
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__a", "ns__b"));
  const v1::Tool tool = registry_.Peek().Find("ns__a")->ToProto(v1::TOOL_VIEW_FULL);
  EXPECT_EQ(tool.namespace_(), "ns");
  EXPECT_EQ(tool.source().kind(), "worker");
  EXPECT_EQ(tool.source().id(), "w1");
  EXPECT_EQ(tool.revision(), 1u);
  EXPECT_EQ(tool.state(), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(tool.digest().size(), 64u);
  EXPECT_THAT(tool.categories(), ElementsAre("basic"));
}

TEST_F(PublishTest, APublishReplacesTheWholeSetOfItsNamespaceOnly) {
  Publish(worker_, "ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  Publish(worker_, "other", {MakeToolDefinition("z")});
  Publish(worker_, "ns", {MakeToolDefinition("b"), MakeToolDefinition("c")});
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__b", "ns__c", "other__z"));
  EXPECT_THAT(registry_.SetsOf(worker_), ElementsAre(Pair("ns", 2), Pair("other", 1)));
  Publish(worker_, "ns", {});
  EXPECT_THAT(NamesOf(registry_), ElementsAre("other__z"));
}

TEST_F(PublishTest, EqualSetsChangeNothing) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  const Snapshot* before = &registry_.Peek();
  EXPECT_EQ(Publish(worker_, "ns", {MakeToolDefinition("a")}).revision, 1u);
  EXPECT_EQ(&registry_.Peek(), before);
}

TEST_F(PublishTest, AChangedDefinitionIsANewRevisionAndHoldersKeepTheOldOne) {
  Publish(worker_, "ns", {MakeToolDefinition("a", "one"), MakeToolDefinition("b")});
  const ToolEntryPtr old = registry_.snapshot()->Get("ns__a");
  Publish(worker_, "ns", {MakeToolDefinition("a", "two"), MakeToolDefinition("b")});
  EXPECT_EQ(old->definition->tool.description(), "one");
  const Snapshot& now = registry_.Peek();
  EXPECT_EQ(now.revision(), 2u);
  EXPECT_EQ(now.definitions_revision(), 2u);
  EXPECT_EQ(now.Find("ns__a")->definition->tool.description(), "two");
  EXPECT_EQ(now.Find("ns__a")->definition->tool.revision(), 2u);
  EXPECT_EQ(now.Find("ns__b")->definition->tool.revision(), 1u);
}

TEST_F(PublishTest, FieldsOutsideTheDigestAlsoMakeANewDefinition) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  const std::string digest = registry_.Peek().Find("ns__a")->definition->tool.digest();
  v1::Tool tool = MakeToolDefinition("a");
  tool.set_always_load(true);
  EXPECT_EQ(Publish(worker_, "ns", {tool}).revision, 2u);
  EXPECT_TRUE(registry_.Peek().Find("ns__a")->definition->tool.always_load());
  EXPECT_EQ(registry_.Peek().Find("ns__a")->definition->tool.digest(), digest);
}

TEST_F(PublishTest, TheDigestTellsDefinitionsApartByEveryField) {
  std::vector<v1::Tool> variants(9, MakeToolDefinition("a"));
  variants[1].set_description("Does things");
  variants[2].set_title("t");
  variants[3].set_input_schema(R"({"type":"object","properties":{"x":{"type": "integer"}}})");
  variants[4].set_output_schema(R"({"type":"object"})");
  variants[5].add_categories("file");
  variants[6].mutable_annotations()->set_read_only(true);
  variants[7].mutable_annotations()->set_read_only(false);
  variants[8].mutable_annotations()->set_destructive(true);
  std::set<std::string> digests;
  for (const v1::Tool& variant : variants) {
    Publish(worker_, "ns", {variant});
    digests.insert(registry_.Peek().Find("ns__a")->definition->tool.digest());
  }
  EXPECT_EQ(digests.size(), variants.size());
}

TEST_F(PublishTest, BadNamesAreRejectedAndBadDefinitionsQuarantinedUnderBestEffort) {
  v1::Tool bad_schema = MakeToolDefinition("broken");
  bad_schema.set_input_schema(R"({"type":"object",)");
  bad_schema.add_categories("No Category");
  bad_schema.set_description(std::string("\xff", 1));
  const PublishReport report =
      Publish(worker_, "ns",
              {MakeToolDefinition("good"), bad_schema, MakeToolDefinition("not a name"),
               MakeToolDefinition("good"), MakeToolDefinition("__meta")},
              kBestEffort);
  EXPECT_FALSE(report.refused);
  EXPECT_THAT(report.accepted, ElementsAre("good"));
  ASSERT_THAT(report.quarantined, SizeIs(1));
  EXPECT_EQ(report.quarantined[0].name, "broken");
  EXPECT_THAT(RulesOf(report.quarantined[0]),
              ElementsAre("not_utf8", "not_json", "category_invalid"));
  ASSERT_THAT(report.rejected, SizeIs(3));
  EXPECT_EQ(report.rejected[0].name, "not a name");
  EXPECT_THAT(RulesOf(report.rejected[0]), ElementsAre("name_invalid"));
  EXPECT_THAT(RulesOf(report.rejected[1]), ElementsAre("duplicate_name"));
  EXPECT_THAT(RulesOf(report.rejected[2]), ElementsAre("name_invalid"));
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__broken", "ns__good"));
  EXPECT_EQ(StateOf("ns__broken"), v1::TOOL_STATE_QUARANTINED);
  EXPECT_EQ(registry_.Peek().quarantined(), 1u);
  const ToolEntry* broken = registry_.Peek().Find("ns__broken");
  EXPECT_EQ(broken->definition->tool.description(), "\xEF\xBF\xBD");
  EXPECT_EQ(broken->InputSchema(), nullptr);
}

TEST_F(PublishTest, UnderAtomicOneFaultRefusesTheSetAndTheOldOneStays) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  v1::Tool bad = MakeToolDefinition("b");
  bad.set_input_schema("[]");
  const PublishReport report =
      Publish(worker_, "ns", {MakeToolDefinition("c"), bad, MakeToolDefinition("")});
  EXPECT_TRUE(report.refused);
  EXPECT_THAT(report.accepted, IsEmpty());
  EXPECT_THAT(report.rejected, SizeIs(2));
  EXPECT_EQ(report.revision, 1u);
  EXPECT_THAT(NamesOf(registry_), ElementsAre("ns__a"));
}

TEST_F(PublishTest, FaultPointersSayWhereInTheDefinition) {
  v1::Tool bad = MakeToolDefinition("b");
  bad.set_output_schema("{");
  bad.set_meta_json("[]");
  bad.add_categories("file");
  bad.add_categories("X");
  bad.mutable_timeout()->set_seconds(-1);
  const PublishReport report = Publish(worker_, "ns", {bad}, kBestEffort);
  ASSERT_THAT(report.quarantined, SizeIs(1));
  std::vector<std::string> pointers;
  for (const auto& finding : report.quarantined[0].findings) pointers.push_back(finding.pointer());
  EXPECT_THAT(pointers, ElementsAre("/output_schema", "/categories/1", "/meta_json", "/timeout"));
}

TEST_F(PublishTest, RemarksDoNotHoldAToolBack) {
  v1::Tool tool = MakeToolDefinition("getWeather", "");
  EXPECT_THAT(Publish(worker_, "ns", {tool}).accepted, ElementsAre("getWeather"));
  const auto& findings = registry_.Peek().Find("ns__getWeather")->definition->tool.findings();
  ASSERT_EQ(findings.size(), 2);
  EXPECT_EQ(findings[0].rule(), "name_not_snake_case");
  EXPECT_EQ(findings[0].severity(), v1::FINDING_SEVERITY_INFO);
  EXPECT_EQ(findings[1].rule(), "missing_description");
  EXPECT_EQ(findings[1].severity(), v1::FINDING_SEVERITY_WARNING);
}

TEST_F(PublishTest, OutputOnlyFieldsOfTheSenderAreIgnored) {
  v1::Tool tool = MakeToolDefinition("a");
  tool.set_namespace_("else");
  tool.set_digest("d");
  tool.set_revision(99);
  tool.set_state(v1::TOOL_STATE_DISABLED);
  tool.set_risk(v1::RISK_LEVEL_SAFE);
  tool.add_findings()->set_rule("r");
  tool.mutable_source()->set_kind("builtin");
  tool.mutable_source()->set_original_name("Get A");
  Publish(worker_, "ns", {tool});
  const v1::Tool kept = registry_.Peek().Find("ns__a")->ToProto(v1::TOOL_VIEW_FULL);
  EXPECT_EQ(kept.namespace_(), "ns");
  EXPECT_EQ(kept.revision(), 1u);
  EXPECT_EQ(kept.state(), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(kept.risk(), v1::RISK_LEVEL_CAUTION);
  EXPECT_EQ(kept.findings_size(), 0);
  EXPECT_EQ(kept.source().kind(), "worker");
  EXPECT_EQ(kept.source().original_name(), "Get A");
}

TEST_F(PublishTest, SchemasAreKeptByteForByteAndMissingOnesAreTheDefault) {
  const std::string odd = "{ \"type\":\"object\",\n \"properties\": {\"n\":{\"const\":1.0}}}  ";
  v1::Tool tool = MakeToolDefinition("a");
  tool.set_input_schema(odd);
  v1::Tool plain = MakeToolDefinition("plain");
  plain.clear_input_schema();
  Publish(worker_, "ns", {tool, plain});
  EXPECT_EQ(registry_.Peek().Find("ns__a")->definition->tool.input_schema(), odd);
  EXPECT_FALSE(registry_.Peek().Find("ns__a")->definition->tool.raw_input());
  const v1::Tool& kept = registry_.Peek().Find("ns__plain")->definition->tool;
  EXPECT_TRUE(kept.raw_input());
  EXPECT_THAT(kept.input_schema(), HasSubstr(R"("required":["input"])"));
}

TEST_F(PublishTest, RiskComesFromTheAnnotations) {
  std::vector<v1::Tool> tools;
  for (const char* name : {"none", "reads", "destroys", "both", "denies"}) {
    tools.push_back(MakeToolDefinition(name));
  }
  tools[1].mutable_annotations()->set_read_only(true);
  tools[2].mutable_annotations()->set_destructive(true);
  tools[3].mutable_annotations()->set_read_only(true);
  tools[3].mutable_annotations()->set_destructive(true);
  tools[4].mutable_annotations()->set_destructive(false);
  Publish(worker_, "", tools);
  const auto risk = [&](const char* name) {
    return registry_.Peek().Find(name)->definition->tool.risk();
  };
  EXPECT_EQ(risk("none"), v1::RISK_LEVEL_CAUTION);
  EXPECT_EQ(risk("reads"), v1::RISK_LEVEL_SAFE);
  EXPECT_EQ(risk("destroys"), v1::RISK_LEVEL_DANGEROUS);
  EXPECT_EQ(risk("both"), v1::RISK_LEVEL_DANGEROUS);
  EXPECT_EQ(risk("denies"), v1::RISK_LEVEL_CAUTION);
}

TEST(PublishConfigTest, SettingsApplyByGlobAndLaterOnesWin) {
  RegistryOptions options;
  options.tools.resize(3);
  options.tools[0].set_name("ns__*");
  options.tools[0].set_disabled(true);
  options.tools[0].set_risk(v1::RISK_LEVEL_DANGEROUS);
  options.tools[0].set_max_concurrency(7);
  options.tools[1].set_name("*_b");
  options.tools[1].mutable_timeout()->set_seconds(3);
  options.tools[2].set_name("x");
  options.tools[2].set_disabled(true);
  Registry registry(options);
  ASSERT_TRUE(registry
                  .Publish(MakeWorker("w"), "ns",
                           {MakeToolDefinition("a"), MakeToolDefinition("b")}, kAtomic)
                  .ok());
  const ToolEntry* a = registry.Peek().Find("ns__a");
  EXPECT_EQ(a->state, v1::TOOL_STATE_DISABLED);
  EXPECT_EQ(a->definition->tool.risk(), v1::RISK_LEVEL_DANGEROUS);
  EXPECT_EQ(a->definition->tool.max_concurrency(), 7u);
  const ToolEntry* b = registry.Peek().Find("ns__b");
  EXPECT_EQ(b->state, v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(b->definition->tool.timeout().seconds(), 3);
  // What the configuration says is no part of the definition that was registered.
  Registry plain(RegistryOptions{});
  ASSERT_TRUE(plain.Publish(MakeWorker("w"), "ns", {MakeToolDefinition("a")}, kAtomic).ok());
  EXPECT_EQ(plain.Peek().Find("ns__a")->definition->tool.digest(), a->definition->tool.digest());
}

TEST(PublishLimitsTest, EveryLimitIsNamedWithItsValue) {
  RegistryOptions options;
  options.limits.set_max_tools(3);
  options.limits.set_max_tools_per_worker(2);
  options.limits.set_max_description_bytes(10);
  options.limits.set_max_schema_bytes(100);
  Registry registry(options);
  const auto worker = MakeWorker("w1"), other = MakeWorker("w2");
  const auto tools = [](const char* prefix, int count) {
    std::vector<v1::Tool> out;
    for (int i = 0; i < count; ++i) out.push_back(MakeToolDefinition(absl::StrCat(prefix, i), "d"));
    return out;
  };
  EXPECT_TRUE(registry.Publish(worker, "a", tools("t", 2), kAtomic).ok());
  absl::Status status = registry.Publish(worker, "b", tools("t", 1), kAtomic).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(MetadataOf(status)["limit"], "limits.max_tools_per_worker");
  EXPECT_EQ(MetadataOf(status)["allowed"], "2");
  status = registry.Publish(other, "c", tools("t", 2), kAtomic).status();
  EXPECT_EQ(MetadataOf(status)["limit"], "limits.max_tools");
  // Replacing within the limit goes on.
  EXPECT_TRUE(registry.Publish(worker, "a", tools("u", 2), kAtomic).ok());

  v1::Tool big = MakeToolDefinition("big", "more than ten bytes");
  big.set_input_schema(R"({"type":"object","description":")" + std::string(100, 'x') + "\"}");
  const auto report = registry.Publish(other, "c", {big}, kBestEffort);
  ASSERT_TRUE(report.ok());
  ASSERT_THAT(report->quarantined, SizeIs(1));
  EXPECT_THAT(RulesOf(report->quarantined[0]),
              ElementsAre("description_too_long", "input_schema_too_large"));
  EXPECT_THAT(report->quarantined[0].findings[0].message(), HasSubstr("10"));
}

TEST_F(PublishTest, AFlappingBackendMovesOnlyTheFirstCounter) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_UNAVAILABLE);
  EXPECT_EQ(registry_.Peek().revision(), 2u);
  EXPECT_EQ(registry_.Peek().definitions_revision(), 1u);
  registry_.RefreshState(worker_);
  EXPECT_EQ(registry_.Peek().revision(), 2u);
  worker_->set_available(true);
  registry_.RefreshState(worker_);
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(registry_.Peek().revision(), 3u);
}

TEST_F(PublishTest, AToolWithALiveReplicaStaysActive) {
  const auto second = MakeWorker("w2");
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  Publish(second, "ns", {MakeToolDefinition("a")});
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
  second->set_available(false);
  registry_.RefreshState(second);
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_UNAVAILABLE);
}

TEST_F(PublishTest, TheRepublishOfALostWorkerFindsItsToolsActiveAgain) {
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  worker_->set_available(false);
  registry_.RefreshState(worker_);
  Publish(MakeWorker("w1"), "ns", {MakeToolDefinition("a")});
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(registry_.Peek().definitions_revision(), 1u);
}

TEST_F(PublishTest, ToolsAreSwitchedByName) {
  Publish(worker_, "ns", {MakeToolDefinition("a"), MakeToolDefinition("b")});
  const auto changed = registry_.SetToolEnabled("ns__a", false);
  ASSERT_TRUE(changed.ok());
  ASSERT_THAT(*changed, SizeIs(1));
  EXPECT_EQ((*changed)[0]->state, v1::TOOL_STATE_DISABLED);
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_DISABLED);
  EXPECT_EQ(StateOf("ns__b"), v1::TOOL_STATE_ACTIVE);
  // A restart of the worker does not switch it on.
  registry_.Remove(worker_);
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_DISABLED);
  EXPECT_TRUE(registry_.SetToolEnabled("ns__a", true).ok());
  EXPECT_EQ(StateOf("ns__a"), v1::TOOL_STATE_ACTIVE);
  const absl::Status unknown = registry_.SetToolEnabled("ns__aa", false).status();
  EXPECT_EQ(ReasonOf(unknown), v1::ERROR_REASON_TOOL_NOT_FOUND);
  EXPECT_EQ(MetadataOf(unknown)["nearest"], "ns__a");
}

TEST_F(PublishTest, CategoriesAreSwitchedForToolsThatAreThereAndThatCome) {
  v1::Tool file = MakeToolDefinition("file");
  file.add_categories("file");
  file.add_categories("system");
  Publish(worker_, "ns", {file, MakeToolDefinition("basic")});
  EXPECT_THAT(registry_.SetCategoryEnabled("file", false), SizeIs(1));
  file.set_name("later");
  Publish(worker_, "two", {file});
  EXPECT_EQ(StateOf("ns__file"), v1::TOOL_STATE_DISABLED);
  EXPECT_EQ(StateOf("ns__basic"), v1::TOOL_STATE_ACTIVE);
  EXPECT_EQ(StateOf("two__later"), v1::TOOL_STATE_DISABLED);
  ASSERT_TRUE(registry_.SetToolEnabled("ns__file", true).ok());
  EXPECT_EQ(StateOf("ns__file"), v1::TOOL_STATE_ACTIVE);
  EXPECT_THAT(registry_.SetCategoryEnabled("file", false), SizeIs(1));
  EXPECT_THAT(registry_.SetCategoryEnabled("file", true), SizeIs(2));
}

TEST_F(PublishTest, WithdrawnBackendsAreLetGo) {
  std::weak_ptr<FakeBackend> weak = worker_;
  Publish(worker_, "ns", {MakeToolDefinition("a")});
  registry_.Remove(worker_);
  worker_ = nullptr;
  registry_.Peek();  // this thread's copy
  EXPECT_TRUE(weak.expired());
}

TEST(RegistryTest, ThreadsNeverSeeAnotherRegistrysTools) {
  const auto worker = MakeWorker("w");
  for (int i = 0; i < 50; ++i) {
    Registry a{RegistryOptions{}};
    Registry b{RegistryOptions{}};
    ASSERT_TRUE(a.Publish(worker, "a", {MakeToolDefinition("x")}, kAtomic).ok());
    EXPECT_NE(a.Peek().Find("a__x"), nullptr);
    EXPECT_EQ(b.Peek().Find("a__x"), nullptr);
    EXPECT_EQ(b.Peek().size(), 0u);
    EXPECT_NE(a.epoch(), b.epoch());
    EXPECT_EQ(a.epoch().size(), 16u);
  }
}

TEST(RegistryTest, ARegistryLeavesNothingWithTheThreadsThatReadIt) {
  auto worker = MakeWorker("w");
  std::weak_ptr<FakeBackend> weak = worker;
  {
    Registry registry{RegistryOptions{}};
    ASSERT_TRUE(registry.Publish(worker, "a", {MakeToolDefinition("x")}, kAtomic).ok());
    registry.Peek();
  }
  worker = nullptr;
  EXPECT_TRUE(weak.expired());
}

TEST(RegistryTest, NearestLeavesQuarantinedToolsOut) {
  Registry registry{RegistryOptions{}};
  v1::Tool bad = MakeToolDefinition("weather_1");
  bad.set_input_schema("nonsense");
  ASSERT_TRUE(
      registry.Publish(MakeWorker("w"), "a", {bad, MakeToolDefinition("weather_2")}, kBestEffort)
          .ok());
  EXPECT_THAT(registry.Nearest("weather"), ElementsAre("a__weather_2"));
}

}  // namespace
}  // namespace toolrack
