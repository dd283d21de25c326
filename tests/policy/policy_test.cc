#include "registry/policy/policy.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "registry/base/errors.h"

namespace toolrack {
namespace {

std::shared_ptr<ToolDefinition> MakeDefinition(const std::string& name, const std::string& ns = "",
                                               v1::RiskLevel risk = v1::RISK_LEVEL_CAUTION,
                                               std::vector<std::string> categories = {"basic"}) {
  auto definition = std::make_shared<ToolDefinition>();
  definition->tool.set_name(name);
  definition->tool.set_namespace_(ns);
  definition->tool.set_risk(risk);
  for (const std::string& category : categories) definition->tool.add_categories(category);
  return definition;
}

v1::PolicyRule& Rule(v1::PolicyConfig& config, const std::string& name, const std::string& action) {
  v1::PolicyRule& rule = *config.add_rules();
  rule.set_name(name);
  rule.set_action(action);
  return rule;
}

TEST(PolicyTest, WithoutRulesEverythingIsAllowed) {
  const Policy policy((v1::PolicyConfig()));
  EXPECT_TRUE(policy.open());
  EXPECT_EQ(policy.Decide("uid:1", *MakeDefinition("t")).action, PolicyAction::kAllow);
  EXPECT_TRUE(policy.Check("uid:1", *MakeDefinition("t")).ok());
  EXPECT_FALSE(policy.VisibilityOf("uid:1"));
}

TEST(PolicyTest, TheFirstRuleThatFitsDecides) {
  v1::PolicyConfig config;
  Rule(config, "root may", "allow").add_principals("uid:0");
  v1::PolicyRule& ask = Rule(config, "danger", "ask");
  ask.add_risks("dangerous");
  ask.add_principals("agent-*");
  v1::PolicyRule& files = Rule(config, "no files", "deny");
  files.add_tools("files__*");
  files.add_tools("disk");
  v1::PolicyRule& net = Rule(config, "", "deny");
  net.add_categories("network");
  net.add_namespaces("web");
  const Policy policy(config);
  const auto of = [&policy](const char* who, const ToolDefinition& what) {
    const PolicyDecision decision = policy.Decide(who, what);
    return std::string(decision.rule) + (decision.action == PolicyAction::kAllow  ? " allow"
                                         : decision.action == PolicyAction::kDeny ? " deny"
                                                                                  : " ask");
  };
  EXPECT_EQ(of("uid:0", *MakeDefinition("files__rm", "files", v1::RISK_LEVEL_DANGEROUS)),
            "root may allow");
  EXPECT_EQ(of("agent-7", *MakeDefinition("files__rm", "files", v1::RISK_LEVEL_DANGEROUS)),
            "danger ask");
  EXPECT_EQ(of("uid:7", *MakeDefinition("files__rm", "files", v1::RISK_LEVEL_DANGEROUS)),
            "no files deny");
  EXPECT_EQ(of("agent-7", *MakeDefinition("disk")), "no files deny");
  EXPECT_EQ(of("agent-7", *MakeDefinition("web__get", "web", v1::RISK_LEVEL_SAFE, {"network"})),
            "policy.rules[3] deny");
  EXPECT_EQ(of("agent-7", *MakeDefinition("web__get", "web")), "policy.default_action allow");
  EXPECT_EQ(of("agent-7", *MakeDefinition("other__get", "other", v1::RISK_LEVEL_SAFE, {"network"})),
            "policy.default_action allow");
}

TEST(PolicyTest, ADeniedToolIsHiddenAndRefusedByTheRulesName) {
  v1::PolicyConfig config;
  config.set_default_action("deny");
  v1::PolicyRule& rule = Rule(config, "basics", "allow");
  rule.add_tools("echo");
  v1::PolicyRule& ask = Rule(config, "asks", "ask");
  ask.add_tools("rm");
  const Policy policy(config);
  const ToolVisibility visible = policy.VisibilityOf("uid:1");
  ASSERT_TRUE(visible);
  EXPECT_TRUE(visible(*MakeDefinition("echo")));
  EXPECT_TRUE(visible(*MakeDefinition("rm")));
  EXPECT_FALSE(visible(*MakeDefinition("sleep")));
  const absl::Status status = policy.Check("uid:1", *MakeDefinition("sleep"));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_POLICY_DENIED);
  EXPECT_EQ(MetadataOf(status).at("rule"), "policy.default_action");
  EXPECT_EQ(MetadataOf(status).at("tool"), "sleep");
  EXPECT_TRUE(SurelyNotExecuted(status));
}

// Else nobody could read a long result to its end.
TEST(PolicyTest, ReservedToolsAreMetOnlyByRulesThatNameThem) {
  v1::PolicyConfig config;
  config.set_default_action("deny");
  Rule(config, "none", "deny").add_tools("*");
  EXPECT_TRUE(Policy(config).Check("uid:1", *MakeDefinition("__result_read")).ok());
  Rule(config, "that", "deny").add_tools("__result_*");
  EXPECT_FALSE(Policy(config).Check("uid:1", *MakeDefinition("__result_read")).ok());
}

}  // namespace
}  // namespace toolrack
