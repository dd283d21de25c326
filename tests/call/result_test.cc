#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "registry/base/errors.h"
#include "registry/base/json.h"
#include "registry/base/utf8.h"
#include "registry/call/result_shape.h"
#include "registry/call/result_store.h"
#include "registry/outcome.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

using testing::HasSubstr;

v1::ReadResultRequest Range(const std::string& handle, uint64_t offset = 0, uint64_t length = 0) {
  v1::ReadResultRequest request;
  request.set_handle(handle);
  request.set_offset(offset);
  request.set_length(length);
  return request;
}

class ResultStoreTest : public testing::Test {
 protected:
  ResultStoreTest() {
    options_.mutable_ttl()->set_seconds(60);
    options_.set_max_stored_bytes(100);
  }
  std::string ExpiredFlag(const std::string& handle, const std::string& principal) {
    return MetadataOf(store().Read(Range(handle), principal).status())["expired"];
  }
  ResultStore& store() {
    if (store_ == nullptr) store_ = std::make_unique<ResultStore>(&clock_, options_);
    return *store_;
  }

  FakeClock clock_;
  v1::ResultsConfig options_;
  std::unique_ptr<ResultStore> store_;
};

TEST_F(ResultStoreTest, GivesRangesAndTheEnd) {
  const std::string handle = store().Put("0123456789", "me");
  EXPECT_EQ(handle.size(), 32u);
  const auto all = store().Read(Range(handle), "me");
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->data(), "0123456789");
  EXPECT_EQ(all->total_bytes(), 10u);
  EXPECT_TRUE(all->eof());
  const auto part = store().Read(Range(handle, 2, 3), "me");
  EXPECT_EQ(part->data(), "234");
  EXPECT_FALSE(part->eof());
  const auto last = store().Read(Range(handle, 7, 3), "me");
  EXPECT_EQ(last->data(), "789");
  EXPECT_TRUE(last->eof());
  const auto past = store().Read(Range(handle, UINT64_MAX, UINT64_MAX), "me");
  EXPECT_EQ(past->data(), "");
  EXPECT_TRUE(past->eof());
}

TEST_F(ResultStoreTest, BoundsOneRange) {
  options_.set_max_stored_bytes(4 << 20);
  const std::string handle = store().Put(std::string(3 << 20, 'x'), "me");
  EXPECT_EQ(store().Read(Range(handle), "me")->data().size(), size_t{64 << 10});
  EXPECT_EQ(store().Read(Range(handle, 0, 10 << 20), "me")->data().size(), size_t{1 << 20});
}

TEST_F(ResultStoreTest, TellsExpiredFromUnknownButOnlyToItsOwner) {
  const std::string handle = store().Put("x", "me");
  EXPECT_EQ(ExpiredFlag(handle, "you"), "false");
  EXPECT_EQ(ExpiredFlag("nothing", "me"), "false");
  clock_.Advance(absl::Seconds(59));
  EXPECT_TRUE(store().Read(Range(handle), "me").ok());
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(ExpiredFlag(handle, "me"), "true");
  EXPECT_EQ(ExpiredFlag(handle, "you"), "false");
  EXPECT_EQ(store().count(), 0u);
  EXPECT_EQ(store().bytes(), 0u);
}

TEST_F(ResultStoreTest, MakesRoomByDroppingTheOldest) {
  const std::string first = store().Put(std::string(60, 'a'), "me");
  const std::string second = store().Put(std::string(40, 'b'), "me");
  EXPECT_EQ(store().bytes(), 100u);
  const std::string third = store().Put(std::string(30, 'c'), "me");
  EXPECT_EQ(ExpiredFlag(first, "me"), "true");
  EXPECT_TRUE(store().Read(Range(second), "me").ok());
  EXPECT_TRUE(store().Read(Range(third), "me").ok());
  EXPECT_EQ(store().bytes(), 70u);
  EXPECT_EQ(store().Put(std::string(101, 'd'), "me"), "");
  EXPECT_EQ(store().count(), 2u);
}

class ShapeTest : public testing::Test {
 protected:
  ShapeTest() : store_(&clock_, {}) {
    auto definition = std::make_shared<ToolDefinition>();
    definition->tool.set_name("t");
    entry_.definition = definition;
  }
  std::string Stored(const v1::ToolResult& result) {
    const auto read = store_.Read(Range(result.result_handle(), 0, 1 << 20), "me");
    return read.ok() ? read->data() : "";
  }
  void Cap(uint64_t bytes, v1::ToolResult& result) {
    ResultLimits limits;
    limits.cap_bytes = bytes;
    CapResult(limits, "me", "", store_, result);
  }

  FakeClock clock_;
  ResultStore store_;
  ToolEntry entry_;
};

TEST_F(ShapeTest, LeavesWhatFitsAlone) {
  v1::ToolResult result = TextResult(std::string(1000, 'x'));
  Cap(1000, result);
  EXPECT_FALSE(result.truncated());
  EXPECT_EQ(result.total_bytes(), 1000u);
  EXPECT_EQ(result.result_handle(), "");
  Cap(999, result);
  EXPECT_TRUE(result.truncated());
}

// Any text of any characters at any cap: valid, small enough, head and tail of the original, and
// the mark tells the truth.
TEST_F(ShapeTest, CutsAnyTextAtCharactersAndCountsWhatIsMissing) {
  std::mt19937 random(20240607);
  const char* const characters[] = {"a", "é", "漢", "🚀", "\n", "\"", "z", "߿", "￿"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const int length = 200 + random() % 3000;
    for (int i = 0; i < length; ++i) text += characters[random() % 9];
    const uint64_t cap = 200 + random() % 2000;
    v1::ToolResult result = TextResult(text);
    Cap(cap, result);
    const std::string& shown = result.content(0).text().text();
    if (text.size() <= cap) {
      EXPECT_EQ(shown, text);
      continue;
    }
    ASSERT_TRUE(result.truncated());
    EXPECT_TRUE(IsUtf8(shown));
    EXPECT_LE(shown.size(), cap);
    const size_t mark = shown.find("\n[... ");
    const size_t mark_end = shown.find(" ...]\n");
    ASSERT_NE(mark, std::string::npos);
    ASSERT_NE(mark_end, std::string::npos);
    const std::string head = shown.substr(0, mark), tail = shown.substr(mark_end + 6);
    EXPECT_TRUE(absl::StartsWith(text, head));
    EXPECT_TRUE(absl::EndsWith(text, tail));
    EXPECT_THAT(shown, HasSubstr(absl::StrCat("[... ", text.size() - head.size() - tail.size(),
                                              " of ", text.size(), " bytes left out")));
    EXPECT_THAT(shown, HasSubstr(result.result_handle()));
    EXPECT_EQ(Stored(result), text);
    EXPECT_EQ(result.total_bytes(), text.size());
  }
}

TEST_F(ShapeTest, NeverCutsJsonAndKeepsOtherPartsWhole) {
  v1::ToolResult result;
  result.add_content()->mutable_text()->set_text("first");
  result.add_content()->mutable_json()->set_json("[" + std::string(5000, '1') + "]");
  result.add_content()->mutable_image()->set_data(std::string(9000, '\x01'));
  result.add_content()->mutable_text()->set_text("last");
  result.set_structured_json("{\"k\":\"" + std::string(3000, 'v') + "\"}");
  const uint64_t total = ResultTextBytes(result);
  Cap(1000, result);
  ASSERT_EQ(result.content_size(), 4);
  EXPECT_EQ(result.content(0).text().text(), "first");
  EXPECT_THAT(result.content(1).text().text(), HasSubstr(" bytes left out"));
  EXPECT_EQ(result.content(2).image().data().size(), 9000u);
  EXPECT_EQ(result.content(3).text().text(), "last");
  EXPECT_EQ(result.structured_json(), "");
  EXPECT_EQ(result.total_bytes(), total);
  EXPECT_EQ(Stored(result).size(), total);
  EXPECT_LE(ResultTextBytes(result), 1000u);
}

TEST_F(ShapeTest, KeepsStructuredJsonWholeOrNotAtAll) {
  v1::ToolResult large_text = TextResult(std::string(5000, 't'));
  large_text.set_structured_json(R"({"a":1})");
  Cap(1000, large_text);
  EXPECT_LE(ResultTextBytes(large_text), 1000u);

  v1::ToolResult large_json = TextResult("short");
  large_json.set_structured_json("\"" + std::string(5000, 's') + "\"");
  Cap(1000, large_json);
  EXPECT_EQ(large_json.structured_json(), "");
  EXPECT_EQ(large_json.content(0).text().text(), "short");
  EXPECT_THAT(large_json.content(1).text().text(), HasSubstr("5002 of 5008 bytes left out"));

  const std::string twin = "\"" + std::string(700, 's') + "\"";
  v1::ToolResult same = TextResult(twin);
  same.set_structured_json(twin);
  Cap(1000, same);
  EXPECT_FALSE(same.truncated());
  EXPECT_EQ(same.total_bytes(), twin.size());
  Cap(600, same);
  EXPECT_EQ(same.structured_json(), "");
  EXPECT_EQ(Stored(same), twin);
}

TEST_F(ShapeTest, SaysSoWhenNothingCouldBeKept) {
  v1::ResultsConfig options;
  options.set_max_stored_bytes(100);
  ResultStore small(&clock_, options);
  v1::ToolResult result = TextResult(std::string(2000, 'x'));
  ResultLimits limits;
  limits.cap_bytes = 1000;
  CapResult(limits, "me", "", small, result);
  EXPECT_TRUE(result.truncated());
  EXPECT_EQ(result.result_handle(), "");
  EXPECT_THAT(result.content(0).text().text(), HasSubstr("results.max_stored_bytes"));
}

TEST_F(ShapeTest, MendsWhatHasOnlyOneRightForm) {
  v1::ToolResult result = TextResult(
      "a\xff"
      "b");
  result.set_summary(std::string(3000, 's'));
  result.set_result_handle("forged");
  result.set_truncated(true);
  result.mutable_error()->set_reason("MY_REASON");
  CheckResult(entry_, {}, result);
  EXPECT_EQ(result.content(0).text().text(),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_LE(result.summary().size(), 1024u);
  EXPECT_EQ(result.result_handle(), "");
  EXPECT_FALSE(result.truncated());
  EXPECT_TRUE(result.is_error());
  EXPECT_EQ(result.error().reason(), "EXECUTION_FAILED");
  EXPECT_EQ(result.error().metadata().at("tool_reason"), "MY_REASON");
}

TEST_F(ShapeTest, RefusesWhatIsNotAsDeclared) {
  ResultLimits limits;
  limits.max_result_bytes = 1000;
  v1::ToolResult large = TextResult(std::string(2000, 'x'));
  CheckResult(entry_, limits, large);
  EXPECT_EQ(large.error().reason(), "OUTPUT_INVALID");
  EXPECT_THAT(large.content(0).text().text(), HasSubstr("results.max_result_bytes: 1000 allowed"));
  for (int field = 0; field < 4; ++field) {
    v1::ToolResult result;
    if (field == 0) result.set_structured_json("{");
    if (field == 1) result.set_meta_json("[]");
    if (field == 2) result.add_content()->mutable_json()->set_json("{\"a\":1,\"a\":2}");
    if (field == 3) result.set_structured_json(std::string(70, '[') + std::string(70, ']'));
    CheckResult(entry_, limits, result);
    EXPECT_EQ(result.error().reason(), "OUTPUT_INVALID") << field;
    EXPECT_EQ(result.error().metadata().at("tool"), "t");
  }
}

}  // namespace
}  // namespace toolrack
