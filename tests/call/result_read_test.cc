// The reserved tool that reads the rest of a cut result, through the pipeline.
#include "registry/builtin/result_read.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "registry/base/utf8.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

class ResultReadTest : public testing::Test {
 protected:
  ResultReadTest() : server_(&rig_.registry, "toolrack", "") {
    EXPECT_TRUE(server_.TakeRegistrar()
                    ->Register(MakeResultReadTool(
                        [this](const v1::ReadResultRequest& request, const CallContext& context) {
                          return rig_.results.Read(request, context.principal);
                        },
                        48 << 10))
                    .ok());
    EXPECT_TRUE(
        rig_.registry.Publish(rig_.backend, "w", {ToolNamed("t")}, v1::PUBLISH_MODE_ATOMIC).ok());
  }
  Answer Read(const nlohmann::json& arguments, const std::string& who = "uid:1") {
    Answer answer;
    rig_.Start(Rig::Request("__result_read", arguments.dump()), answer, {who, "", {}});
    rig_.executor.RunAll();
    EXPECT_EQ(answer.times, 1);
    return answer;
  }
  Answer Cut(const std::string& text) {
    Answer answer;
    rig_.Start(Rig::Request("w__t"), answer);
    rig_.backend->Take().done(TextResult(text));
    rig_.executor.RunAll();
    EXPECT_TRUE(answer.result().truncated());
    return answer;
  }

  Rig rig_;
  ToolServer server_;
};

TEST_F(ResultReadTest, GivesTheWholeInRangesOfWholeCharacters) {
  std::string text;
  while (text.size() < (200 << 10)) text += "aé€😀 line\n";
  const std::string handle = Cut(text).result().result_handle();
  for (const uint64_t length : {4, 1001, 30000, 1 << 20}) {
    std::string all;
    uint64_t offset = length == 4 ? text.size() - 40 : 0;
    while (FirstInvalidUtf8(text.substr(offset)) == 0) ++offset;
    const uint64_t begin = offset;
    while (true) {
      const Answer range = Read({{"handle", handle}, {"offset", offset}, {"length", length}});
      ASSERT_TRUE(range.status().ok()) << range.status();
      EXPECT_FALSE(range.result().truncated());
      EXPECT_TRUE(IsUtf8(range.text()));
      all += range.text();
      const auto place = nlohmann::json::parse(range.result().structured_json());
      EXPECT_EQ(place["offset"], offset);
      EXPECT_EQ(place["total_bytes"], text.size());
      if (place["eof"]) break;
      ASSERT_GT(place["next_offset"], offset);
      offset = place["next_offset"];
    }
    EXPECT_EQ(all, text.substr(begin)) << length;
  }
}

TEST_F(ResultReadTest, AnOffsetWithinACharacterBeginsWithTheNext) {
  std::string text;
  while (text.size() < (100 << 10)) text += "€";
  const std::string handle = Cut(text).result().result_handle();
  const Answer range = Read({{"handle", handle}, {"offset", 1}, {"length", 7}});
  EXPECT_EQ(range.text(), "€");
  EXPECT_EQ(nlohmann::json::parse(range.result().structured_json())["offset"], 3);
  const Answer past = Read({{"handle", handle}, {"offset", 1 << 30}});
  EXPECT_EQ(past.text(), "");
  EXPECT_EQ(nlohmann::json::parse(past.result().structured_json())["eof"], true);
}

TEST_F(ResultReadTest, IsValidatedLikeAnyOther) {
  EXPECT_EQ(Read({{"offset", 1}}).reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(Read({{"handle", "x"}, {"offset", -1}}).reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
  EXPECT_EQ(Read({{"handle", "x"}, {"size", 1}}).reason(), v1::ERROR_REASON_ARGUMENTS_INVALID);
}

TEST_F(ResultReadTest, AnothersHandleIsNone) {
  const std::string handle = Cut(std::string(100 << 10, 'x')).result().result_handle();
  const Answer other = Read({{"handle", handle}}, "uid:2");
  ASSERT_TRUE(other.status().ok());
  EXPECT_TRUE(other.result().is_error());
  EXPECT_NE(other.text().find("no stored result"), std::string::npos) << other.text();
}

}  // namespace
}  // namespace toolrack
