#include "registry/policy/principals.h"

#include <gtest/gtest.h>

#include "registry/base/errors.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

v1::PrincipalConfig& Add(v1::Config& config, const std::string& name) {
  v1::PrincipalConfig& principal = *config.add_principals();
  principal.set_name(name);
  return principal;
}

TEST(PrincipalsTest, FindsWhoseTokenItIs) {
  v1::Config config;
  Add(config, "alice").add_token_sha256(Sha256Hex("first token"));
  v1::PrincipalConfig& bob = Add(config, "bob");
  bob.add_token_sha256(Sha256Hex("old one"));
  bob.add_token_sha256(Sha256Hex("new one"));
  const Principals principals(config.principals());
  EXPECT_TRUE(principals.has_tokens());
  EXPECT_EQ(principals.FindByToken("first token")->name, "alice");
  EXPECT_EQ(principals.FindByToken("old one")->name, "bob");
  EXPECT_EQ(principals.FindByToken("new one")->name, "bob");
  for (const std::string wrong :
       {"", "first toke", "first token ", Sha256Hex("first token").c_str(), "FIRST TOKEN"}) {
    EXPECT_EQ(principals.FindByToken(wrong), nullptr) << wrong;
  }
}

TEST(PrincipalsTest, ScopesAreCallAndRenderWhenNotSaid) {
  v1::Config config;
  Add(config, "agent");
  v1::PrincipalConfig& worker = Add(config, "worker");
  worker.add_scopes("register");
  worker.add_uids("1000");
  const Principals principals(config.principals());
  EXPECT_TRUE(principals.Find("agent")->Has(AccessScope::kCall));
  EXPECT_TRUE(principals.Find("agent")->Has(AccessScope::kRender));
  EXPECT_FALSE(principals.Find("agent")->Has(AccessScope::kRegister));
  EXPECT_FALSE(principals.Find("agent")->Has(AccessScope::kAdmin));
  EXPECT_EQ(principals.FindByUid("1000")->name, "worker");
  EXPECT_EQ(principals.FindByUid("1001"), nullptr);
  EXPECT_TRUE(principals.FindByUid("1000")->Has(AccessScope::kRegister));
  EXPECT_FALSE(principals.FindByUid("1000")->Has(AccessScope::kCall));
  EXPECT_FALSE(principals.has_tokens());
}

TEST(PrincipalsTest, ANamespaceBelongsToThoseWhoNameIt) {
  v1::Config config;
  Add(config, "files").add_namespaces("files");
  Add(config, "python").add_namespaces("py-*");
  Add(config, "other");
  const Principals principals(config.principals());
  EXPECT_TRUE(principals.CheckNamespaceOwner("files", "files").ok());
  EXPECT_TRUE(principals.CheckNamespaceOwner("python", "py-1").ok());
  EXPECT_TRUE(principals.CheckNamespaceOwner("other", "free").ok());
  EXPECT_TRUE(principals.CheckNamespaceOwner("uid:5", "free").ok());
  EXPECT_TRUE(principals.CheckNamespaceOwner("uid:5", "").ok());
  for (const auto& [who, ns] : std::vector<std::pair<std::string, std::string>>{
           {"other", "files"}, {"uid:5", "py-1"}, {"files", "free"}, {"files", ""}}) {
    const absl::Status status = principals.CheckNamespaceOwner(who, ns);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << who << " " << ns;
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_POLICY_DENIED);
  }
}

}  // namespace
}  // namespace toolrack
