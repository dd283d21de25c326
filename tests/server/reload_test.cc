#include "server/reload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config.h"

namespace toolrack {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::Config Read(const char* text) {
  std::vector<ConfigMistake> mistakes;
  v1::Config config = ReadConfig(text, mistakes);
  EXPECT_TRUE(mistakes.empty()) << FormatMistakes("f", mistakes);
  return WithDefaults(std::move(config));
}

TEST(ReloadTest, NamesWhatDiffersByItsPath) {
  const v1::Config before = Read("limits: {max_tools: 7}\nprincipals: [{name: a, uids: [\"1\"]}]");
  EXPECT_THAT(ChangedSettings(before, before), IsEmpty());
  const v1::Config after = Read(
      "limits: {max_tools: 8, queue_timeout: 5s}\nlog: {level: debug}\n"
      "principals: [{name: a, uids: [\"2\"]}]\npolicy: {default_action: deny, rules: [{tools: [x], "
      "action: deny}]}\nbuiltin: {files: {root: /x}}");
  EXPECT_THAT(ChangedSettings(before, after),
              ElementsAre("builtin.files.root", "limits.max_tools", "limits.queue_timeout",
                          "log.level", "policy.default_action", "policy.rules", "principals"));
  EXPECT_THAT(ChangedSettings(after, before), ChangedSettings(before, after));
}

TEST(ReloadTest, ADefaultThatIsWrittenOutIsNoChange) {
  EXPECT_THAT(ChangedSettings(Read(""), Read("limits: {queue_timeout: 30s, max_tools: 100000}\n"
                                             "log: {calls: true}")),
              IsEmpty());
}

TEST(ReloadTest, SaysWhatHoldsAtOnce) {
  for (const char* path : {"principals", "policy.rules", "policy.default_action", "log.level"}) {
    EXPECT_TRUE(HoldsAtOnce(path)) << path;
  }
  for (const char* path : {"limits.max_tools", "policy.approval_ttl", "log.file", "tools"}) {
    EXPECT_FALSE(HoldsAtOnce(path)) << path;
  }
}

}  // namespace
}  // namespace toolrack
