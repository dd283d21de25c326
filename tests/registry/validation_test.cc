// How the configuration changes what schemas mean, and what is said of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "registry/registry.h"
#include "registry/schema_cache.h"
#include "tests/registry/fake_backend.h"

namespace toolrack {
namespace {

v1::Tool ToolWith(const std::string& name, const std::string& schema) {
  v1::Tool tool = MakeToolDefinition(name);
  tool.set_input_schema(schema);
  return tool;
}

void Publish(Registry& registry, std::vector<v1::Tool> tools) {
  const auto report =
      registry.Publish(MakeWorker("w"), "ns", std::move(tools), v1::PUBLISH_MODE_BEST_EFFORT);
  ASSERT_TRUE(report.ok()) << report.status();
}

bool Accepts(Registry& registry, const std::string& name, const Json& arguments) {
  const ToolEntryPtr entry = registry.Peek().Get(name);
  EXPECT_NE(entry, nullptr) << name;
  const std::shared_ptr<const Schema> schema = entry->InputSchema();
  EXPECT_NE(schema, nullptr) << name;
  return schema != nullptr && schema->Accepts(arguments);
}

TEST(ValidationConfig, OpenApiIsForTheToolsThatAreNamed) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"string","nullable":true}}})";
  RegistryOptions options;
  options.tools.emplace_back().set_name("ns__pet*");
  options.tools.back().set_openapi(true);
  Registry registry(options);
  Publish(registry, {ToolWith("pets", schema), ToolWith("other", schema)});
  EXPECT_TRUE(Accepts(registry, "ns__pets", {{"a", nullptr}}));
  EXPECT_FALSE(Accepts(registry, "ns__other", {{"a", nullptr}}));
  // The one that is not imported is told.
  const v1::Tool other = registry.Peek().Get("ns__other")->ToProto(v1::TOOL_VIEW_FULL);
  ASSERT_EQ(other.findings_size(), 1);
  EXPECT_EQ(other.findings(0).rule(), "ignored_keyword");
  EXPECT_EQ(other.findings(0).pointer(), "/input_schema/properties/a/nullable");
  EXPECT_EQ(registry.Peek().Get("ns__pets")->definition->tool.findings_size(), 0);
}

TEST(ValidationConfig, FormatsAreAssertedWhenItSaysSo) {
  const std::string schema =
      R"({"type":"object","properties":{"a":{"type":"string","format":"date"}}})";
  Registry plain{RegistryOptions()};
  Publish(plain, {ToolWith("t", schema)});
  EXPECT_TRUE(Accepts(plain, "ns__t", {{"a", "soon"}}));
  RegistryOptions options;
  options.validation.set_assert_format(true);
  Registry strict(options);
  Publish(strict, {ToolWith("t", schema)});
  EXPECT_FALSE(Accepts(strict, "ns__t", {{"a", "soon"}}));
  EXPECT_TRUE(Accepts(strict, "ns__t", {{"a", "2026-01-31"}}));
}

TEST(ValidationConfig, TheWorkOfOneValidationIsBounded) {
  const std::string schema = R"({"type":"object","properties":{"a":{"items":{"type":"integer"}}}})";
  RegistryOptions options;
  options.limits.set_max_schema_visits(1000);
  Registry registry(options);
  Publish(registry, {ToolWith("t", schema)});
  EXPECT_TRUE(Accepts(registry, "ns__t", {{"a", std::vector<int>(900, 1)}}));
  EXPECT_FALSE(Accepts(registry, "ns__t", {{"a", std::vector<int>(1100, 1)}}));
}

TEST(TargetFindings, AreGivenWithWholeToolsOnly) {
  Registry registry{RegistryOptions()};
  Publish(registry, {ToolWith("t", R"({"type":"object","properties":{"a":{"type":"array"}}})")});
  v1::ListToolsRequest request;
  EXPECT_EQ(ListTools(registry, request)->tools(0).findings_size(), 0);
  request.set_view(v1::TOOL_VIEW_FULL);
  const v1::Tool tool = ListTools(registry, request)->tools(0);
  ASSERT_GT(tool.findings_size(), 0);
  EXPECT_EQ(tool.findings(0).target(), "openai");
  EXPECT_EQ(tool.findings(0).rule(), "array_without_items");
  EXPECT_EQ(tool.findings(0).pointer(), "/input_schema/properties/a");
}

}  // namespace
}  // namespace toolrack
