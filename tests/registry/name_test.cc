#include "registry/name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/base/errors.h"
#include "registry/base/random.h"

namespace toolrack {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(NameTest, NamespacesAreShortLowerCaseWords) {
  for (const char* good :
       {"a", "0", "github", "my-server", "a-", "12345678901234567890123456789012"}) {
    EXPECT_TRUE(CheckNamespace(good).ok()) << good;
  }
  for (const char* bad : {"", "-a", "A", "a_b", "a.b", "é", "123456789012345678901234567890123"}) {
    const absl::Status status = CheckNamespace(bad);
    EXPECT_EQ(ReasonOf(status), v1::ERROR_REASON_NAME_INVALID) << bad;
    EXPECT_FALSE(MetadataOf(status)["rule"].empty());
  }
}

TEST(NameTest, ToolNamesAreUpTo128PlainCharactersAndNotReserved) {
  for (const std::string& good : {std::string("a"), std::string("Get.Weather-2_x"),
                                  std::string("_private"), std::string(128, 'a')}) {
    EXPECT_TRUE(CheckToolName(good).ok()) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("a/b"), std::string("né"),
        std::string("a\0b", 3), std::string(129, 'a'), std::string("__tool_search")}) {
    EXPECT_EQ(ReasonOf(CheckToolName(bad)), v1::ERROR_REASON_NAME_INVALID) << bad;
  }
}

TEST(NameTest, CategoriesAreTheStandardOnesOrLikeNamespaces) {
  for (const char* good :
       {"basic", "file", "network", "system", "browser", "memory", "external", "my-own"}) {
    EXPECT_TRUE(CheckCategory(good).ok()) << good;
  }
  EXPECT_FALSE(CheckCategory("My Own").ok());
  EXPECT_FALSE(CheckCategory("").ok());
}

TEST(NameTest, LowerSnakeCaseIsRecognised) {
  for (const char* good : {"a", "get_weather", "get2_x9"})
    EXPECT_TRUE(IsLowerSnakeCase(good)) << good;
  for (const char* bad : {"", "_a", "a_", "a__b", "2a", "getWeather", "a-b", "a.b"}) {
    EXPECT_FALSE(IsLowerSnakeCase(bad)) << bad;
  }
}

TEST(NameTest, CanonicalNamesJoinNamespaceAndName) {
  EXPECT_EQ(CanonicalName("", "echo"), "echo");
  EXPECT_EQ(CanonicalName("github", "get_issue"), "github__get_issue");
}

TEST(NameTest, ForeignIdsBecomeNamespacesByOneRule) {
  EXPECT_EQ(NamespaceForId("github"), "github");
  const auto hash = [](const char* id) { return Sha256Hex(id).substr(0, 6); };
  EXPECT_EQ(NamespaceForId("My Server!"), "my-server-" + hash("My Server!"));
  EXPECT_EQ(NamespaceForId("@scope/pkg_name"), "scope-pkg-name-" + hash("@scope/pkg_name"));
  EXPECT_EQ(NamespaceForId("天気"), "ns-" + hash("天気"));
  EXPECT_EQ(NamespaceForId(""), "ns-" + hash(""));
  // Ids that sanitise alike stay apart.
  EXPECT_NE(NamespaceForId("a b"), NamespaceForId("a_b"));
  for (const std::string& id :
       {std::string(100, 'x'), std::string("A-very_long.name of a server, indeed")}) {
    const std::string ns = NamespaceForId(id);
    EXPECT_TRUE(CheckNamespace(ns).ok()) << ns;
    EXPECT_EQ(ns.size(), 32u);
  }
}

TEST(NameTest, ForeignToolNamesAreMappedAndStayApart) {
  EXPECT_EQ(ToolNameForId("get_issue"), "get_issue");
  EXPECT_EQ(ToolNameForId("get issue"), "get_issue_" + Sha256Hex("get issue").substr(0, 6));
  EXPECT_NE(ToolNameForId("get issue"), ToolNameForId("get/issue"));
  for (const std::string& id :
       {std::string(), std::string("__meta"), std::string("é_x"), std::string("____"),
        std::string(300, 'a'), std::string(300, ' ')}) {
    EXPECT_TRUE(CheckToolName(ToolNameForId(id)).ok()) << ToolNameForId(id);
  }
}

TEST(NameTest, WireNamesAreTheNameItselfOrEndWithAHashOfIt) {
  EXPECT_EQ(WireName("github__get_issue"), "github__get_issue");
  EXPECT_EQ(WireName("math.add"), "math_add_" + Sha256Hex("math.add").substr(0, 8));
  EXPECT_EQ(WireName("math.add", 64, true), "math.add");
  const std::string longer(100, 'n');
  EXPECT_EQ(WireName(longer).size(), 64u);
  EXPECT_EQ(WireName(longer, 128), longer);
  EXPECT_NE(WireName(longer), WireName(longer + "x"));
}

std::vector<std::string> Near(absl::string_view name, std::vector<absl::string_view> names,
                              size_t max = 3) {
  return NearestNames(name, names, max);
}

TEST(NearestNamesTest, CaseAndSeparatorsCountLeast) {
  EXPECT_THAT(Near("get-weather", {"getWeather", "get_weathers", "other"}),
              ElementsAre("getWeather", "get_weathers"));
}

TEST(NearestNamesTest, TyposAndSwappedLettersAreNear) {
  EXPECT_THAT(Near("get_waether", {"set_leather", "get_weather", "delete_file"}, 1),
              ElementsAre("get_weather"));
  EXPECT_THAT(Near("ehco", {"echo", "exec"}, 1), ElementsAre("echo"));
}

TEST(NearestNamesTest, AForgottenNamespaceIsForgiven) {
  EXPECT_THAT(Near("search_repositories",
                   {"github__search_code", "github__search_repositories", "repositories"}, 1),
              ElementsAre("github__search_repositories"));
  EXPECT_THAT(Near("serch_files", {"fs__search_files", "fs__write_file"}, 1),
              ElementsAre("fs__search_files"));
}

TEST(NearestNamesTest, PartsOfNamesAreNear) {
  EXPECT_THAT(Near("weather", {"get_weather_forecast", "echo"}),
              ElementsAre("get_weather_forecast"));
}

TEST(NearestNamesTest, NothingNearGivesNothing) {
  EXPECT_THAT(Near("zzzzzz", {"get_weather", "echo"}), IsEmpty());
  EXPECT_THAT(Near("", {"echo"}), IsEmpty());
  EXPECT_THAT(Near("???", {"echo"}), IsEmpty());
  EXPECT_THAT(Near("echo", {}), IsEmpty());
  EXPECT_THAT(Near("echo", {"echo"}, 0), IsEmpty());
}

TEST(NearestNamesTest, TiesGoByBytesAndTheOrderOfTheNamesDoesNotMatter) {
  EXPECT_THAT(Near("tool_x", {"tool_c", "tool_a", "tool_b"}),
              ElementsAre("tool_a", "tool_b", "tool_c"));
  EXPECT_THAT(Near("tool_x", {"tool_b", "tool_c", "tool_a"}, 2), ElementsAre("tool_a", "tool_b"));
}

}  // namespace
}  // namespace toolrack
