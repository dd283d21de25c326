// Notes that are remembered.
#include "registry/builtin/memory.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "registry/tool_server.h"
#include "tests/call/rig.h"

namespace toolrack {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class NotesTest : public testing::Test {
 protected:
  Notes::Stored Put(const std::string& who, const std::string& key, const std::string& text,
                    std::vector<std::string> tags = {}) {
    clock_.Advance(absl::Seconds(1));
    return notes_.Store(who, {key, text, std::move(tags), {}});
  }
  std::vector<std::string> Keys(const std::string& who, const std::string& words = "",
                                const std::string& tag = "", size_t limit = 100) {
    std::vector<std::string> keys;
    for (const Note& note : notes_.Search(who, words, tag, limit).notes) keys.push_back(note.key);
    return keys;
  }
  FakeClock clock_;
  Notes notes_{&clock_, /*max_notes=*/3, /*max_principals=*/2};
};

TEST_F(NotesTest, AreFoundByKeyByWordsAndNewestFirst) {
  Put("ann", "a", "green tea, every morning", {"drinks"});
  Put("ann", "b", "Green paint");
  Put("ann", "c", "black Tea", {"drinks"});
  EXPECT_EQ(notes_.Find("ann", "b")->text, "Green paint");
  EXPECT_THAT(Keys("ann"), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Keys("ann", "green"), ElementsAre("b", "a"));
  EXPECT_THAT(Keys("ann", "green TEA"), ElementsAre("a", "c", "b"));
  EXPECT_THAT(Keys("ann", "tea", "drinks"), ElementsAre("c", "a"));
  EXPECT_THAT(Keys("ann", "", "drinks", 1), ElementsAre("c"));
  EXPECT_EQ(notes_.Search("ann", "", "", 1).total, 3u);
  EXPECT_THAT(Keys("ann", "drinks"), ElementsAre("c", "a"));
  EXPECT_THAT(Keys("ann", "tee"), IsEmpty());
  EXPECT_THAT(Keys("ann", "?!"), IsEmpty());
}

TEST_F(NotesTest, BelongToTheirPrincipal) {
  Put("ann", "a", "secret");
  EXPECT_FALSE(notes_.Find("bob", "a").has_value());
  EXPECT_THAT(Keys("bob"), IsEmpty());
  EXPECT_FALSE(notes_.Forget("bob", "a"));
  Put("bob", "a", "other");
  EXPECT_EQ(notes_.Find("ann", "a")->text, "secret");
}

TEST_F(NotesTest, TheOldestGoesFirst) {
  for (const char* key : {"a", "b", "c"}) Put("ann", key, "x");
  EXPECT_TRUE(Put("ann", "a", "again").replaced);
  const Notes::Stored stored = Put("ann", "", "y");
  EXPECT_EQ(stored.key, "note-5");
  EXPECT_EQ(stored.dropped, "b");
  EXPECT_EQ(stored.notes, 3u);
  EXPECT_THAT(Keys("ann"), ElementsAre("note-5", "a", "c"));
  EXPECT_TRUE(notes_.Forget("ann", "a"));
  EXPECT_FALSE(notes_.Forget("ann", "a"));
  EXPECT_FALSE(Put("ann", "d", "z").dropped.has_value());
}

TEST_F(NotesTest, OfTooManyPrincipalsThoseUsedLongestAgoGo) {
  Put("ann", "a", "x");
  Put("bob", "a", "x");
  Keys("ann");
  Put("cid", "a", "x");
  EXPECT_THAT(Keys("ann"), ElementsAre("a"));
  EXPECT_THAT(Keys("bob"), IsEmpty());
}

TEST_F(NotesTest, AKeyThatIsMadeIsNobodyElses) {
  Put("ann", "note-2", "mine");
  EXPECT_EQ(Put("ann", "", "x").key, "note-3");
}

class MemoryToolsTest : public testing::Test {
 protected:
  MemoryToolsTest() : server_(&rig_.registry, "toolrackd", "") {
    v1::MemoryToolsConfig config;
    config.set_enabled(true);
    config.set_max_notes(10);
    config.set_max_note_bytes(100);
    const absl::Status status =
        server_.TakeRegistrar()->RegisterAll(MakeMemoryTools(config, &rig_.clock, &rig_.executor));
    EXPECT_TRUE(status.ok()) << status;
  }
  v1::ToolResult Call(const std::string& name, const json& arguments) {
    Answer answer;
    rig_.Start(Rig::Request(name, arguments.dump()), answer);
    rig_.executor.RunAll();
    EXPECT_TRUE(answer.status().ok()) << answer.status();
    return answer.result();
  }
  Rig rig_;
  ToolServer server_;
};

TEST_F(MemoryToolsTest, StoreAndRecall) {
  EXPECT_EQ(Call("memory_store", {{"text", "tea"}, {"key", "likes"}, {"tags", {"food"}}})
                .structured_json(),
            R"({"key":"likes","replaced":false,"forgotten":false,"notes":1})");
  EXPECT_EQ(Call("memory_recall", {{"key", "likes"}}).structured_json(),
            R"({"notes":[{"key":"likes","text":"tea","tags":["food"],)"
            R"("stored":"2023-11-14T22:13:20+00:00"}],"left_out":0})");
  EXPECT_EQ(Call("memory_recall", {{"query", "coffee"}}).structured_json(),
            R"({"notes":[],"left_out":0})");
  EXPECT_EQ(
      json::parse(
          Call("memory_store", {{"text", ""}, {"key", "likes"}}).structured_json())["forgotten"],
      true);
  const v1::ToolResult gone = Call("memory_recall", {{"key", "likes"}});
  EXPECT_TRUE(gone.is_error());
  EXPECT_THAT(gone.content(0).text().text(), HasSubstr("There is no note \"likes\"."));
}

TEST_F(MemoryToolsTest, RefuseWhatIsTooLongOrSaysNothing) {
  const v1::ToolResult result = Call("memory_store", {{"text", std::string(101, 'x')}});
  EXPECT_EQ(result.error().metadata().at("code"), "OUT_OF_RANGE");
  EXPECT_TRUE(Call("memory_store", {{"text", ""}}).is_error());
  EXPECT_TRUE(Call("memory_recall", {{"key", "a"}, {"query", "b"}}).is_error());
}

TEST_F(MemoryToolsTest, AreDescribedAsWhatTheyAre) {
  for (const ToolMeta& tool : server_.handle().DefinitionsSorted()) {
    EXPECT_EQ(tool.findings_size(), 0) << tool.ShortDebugString();
    EXPECT_THAT(tool.categories(), ElementsAre("memory"));
  }
  EXPECT_EQ(MakeMemoryTools({}, nullptr, nullptr).size(), 0u);
}

}  // namespace
}  // namespace toolrack
