#include "registry/call/result_cache.h"

#include <gtest/gtest.h>

#include "registry/outcome.h"
#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

v1::Tool ReadOnly() {
  v1::Tool tool;
  tool.set_name("t");
  tool.set_digest("d");
  tool.mutable_annotations()->set_read_only(true);
  return tool;
}

v1::ResultsConfig Config(int seconds, uint64_t bytes = 0) {
  v1::ResultsConfig config;
  config.mutable_cache_ttl()->set_seconds(seconds);
  config.set_max_cache_bytes(bytes);
  return config;
}

TEST(ResultCacheTest, OnlyForSharedToolsThatSayTheyAreReadOnly) {
  FakeClock clock;
  const ResultCache off(&clock, v1::ResultsConfig()), on(&clock, Config(5));
  v1::Tool tool = ReadOnly();
  EXPECT_EQ(off.TtlOf(tool, absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(off.TtlOf(tool, absl::Seconds(2)), absl::Seconds(2));
  EXPECT_EQ(on.TtlOf(tool, absl::ZeroDuration()), absl::Seconds(5));
  EXPECT_EQ(on.TtlOf(tool, absl::Seconds(2)), absl::Seconds(2));
  tool.set_scope(v1::TOOL_SCOPE_SESSION);
  EXPECT_EQ(on.TtlOf(tool, absl::ZeroDuration()), absl::ZeroDuration());
  EXPECT_EQ(on.TtlOf(v1::Tool(), absl::ZeroDuration()), absl::ZeroDuration());
}

TEST(ResultCacheTest, GivesAResultAgainUntilItsTimeIsOver) {
  FakeClock clock;
  ResultCache cache(&clock, Config(5));
  const std::string key = ResultCache::KeyOf("u", ReadOnly(), "{}");
  EXPECT_NE(key, ResultCache::KeyOf("v", ReadOnly(), "{}"));
  EXPECT_NE(key, ResultCache::KeyOf("u", ReadOnly(), "{ }"));
  EXPECT_EQ(cache.Find(key), nullptr);
  cache.Put(key, TextResult("one"), absl::Seconds(5));
  ASSERT_NE(cache.Find(key), nullptr);
  EXPECT_EQ(cache.Find(key)->content(0).text().text(), "one");
  cache.Put(key, TextResult("two"), absl::Seconds(5));
  EXPECT_EQ(cache.Find(key)->content(0).text().text(), "two");
  cache.Put("e", ErrorResult(v1::ERROR_REASON_EXECUTION_FAILED, "no"), absl::Seconds(5));
  EXPECT_EQ(cache.Find("e"), nullptr);
  clock.Advance(absl::Seconds(5));
  EXPECT_FALSE(cache.Has(key));
  EXPECT_EQ(cache.Find(key), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST(ResultCacheTest, TheLeastRecentlyUsedGoFirst) {
  FakeClock clock;
  ResultCache cache(&clock, Config(5, 64 << 10));
  for (int i = 0; i < 100; ++i) {
    cache.Put("k" + std::to_string(i), TextResult(std::string(2000, 'x')), absl::Seconds(5));
    EXPECT_NE(cache.Find("k0"), nullptr);
    EXPECT_LE(cache.bytes(), size_t{64} << 10);
  }
  EXPECT_EQ(cache.Find("k1"), nullptr);
  EXPECT_NE(cache.Find("k99"), nullptr);
  cache.Put("large", TextResult(std::string(8 << 10, 'x')), absl::Seconds(5));
  EXPECT_EQ(cache.Find("large"), nullptr);
}

}  // namespace
}  // namespace toolrack
