// The index follows the registry.
#include "registry/search/live_index.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/search/search_rig.h"

namespace toolrack {
namespace {

using ::testing::HasSubstr;

std::vector<v1::Tool> Many(int first, int count) {
  std::vector<v1::Tool> tools;
  for (int i = first; i < first + count; ++i) {
    tools.push_back(Described(absl::StrCat("tool_", i).c_str(),
                              absl::StrCat("Handles gadget", i, " of a kind").c_str()));
  }
  return tools;
}

TEST(LiveIndexTest, SmallChangesAreSeenAtOnceAndKeepSegmentsFew) {
  Registry registry{RegistryOptions{}};
  LiveIndex live(&registry, {});
  const auto worker = MakeWorker("w");
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(
        registry.Publish(worker, absl::StrCat("n", i), Many(i, 1), v1::PUBLISH_MODE_BEST_EFFORT)
            .ok());
    const SearchIndexes indexes = live.At(registry.Peek().definitions_revision());
    ASSERT_EQ(indexes.tools->size(), static_cast<size_t>(i + 1));
    EXPECT_EQ(indexes.waiting, 0u);
    EXPECT_LE(indexes.tools->parts().size(), 8u);
  }
}

TEST(LiveIndexTest, AnIndexThatWasTakenStaysAsItWas) {
  Registry registry{RegistryOptions{}};
  LiveIndex live(&registry, {});
  const auto worker = MakeWorker("w");
  ASSERT_TRUE(registry.Publish(worker, "a", Many(0, 3), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  const SearchIndexes before = live.At(registry.Peek().definitions_revision());
  ASSERT_TRUE(registry.Publish(worker, "a", Many(2, 2), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  const SearchIndexes after = live.At(registry.Peek().definitions_revision());
  SearchIndex::DocId doc = 0;
  EXPECT_TRUE(before.tools->FindByName("a__tool_0", doc));
  EXPECT_FALSE(after.tools->FindByName("a__tool_0", doc));
  EXPECT_EQ(before.tools->FindTerm("gadget").docs, 3u);
  EXPECT_EQ(after.tools->FindTerm("gadget").docs, 2u);
  EXPECT_GT(after.revision, before.revision);
}

TEST(LiveIndexTest, ARegistryThatForgotItsBeginningIsReadWhole) {
  RegistryOptions options;
  options.limits.set_watch_history(4);
  Registry registry{options};
  const auto worker = MakeWorker("w");
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(
        registry.Publish(worker, absl::StrCat("n", i), Many(i, 1), v1::PUBLISH_MODE_BEST_EFFORT)
            .ok());
  }
  LiveIndex live(&registry, {});
  EXPECT_EQ(live.At(registry.Peek().definitions_revision()).tools->size(), 20u);
}

TEST(LiveIndexTest, SearchesGoOnWhileALargeSetIsIndexed) {
  Registry registry{RegistryOptions{}};
  Searcher searcher(&registry);
  const auto worker = MakeWorker("w");
  ASSERT_TRUE(registry.Publish(worker, "a", Many(0, 10), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  v1::SearchToolsRequest request;
  request.set_query("gadget7");
  std::atomic<bool> end{false};
  std::atomic<int> found{0}, missed{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      do {
        const auto response = searcher.Search(request);
        (response.ok() && response->hits_size() > 0 ? found : missed)++;
      } while (!end.load());
    });
  }
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(registry.Publish(worker, "b", Many(100, 1000), v1::PUBLISH_MODE_BEST_EFFORT).ok());
    ASSERT_TRUE(registry.Publish(worker, "b", Many(5000, 5), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
  end = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(missed.load(), 0);
  EXPECT_GT(found.load(), 0);
  // In the end all of it is there.
  SearchIndexes indexes = searcher.Indexes();
  while (indexes.waiting > 0) indexes = searcher.Indexes();
  EXPECT_EQ(indexes.tools->size(), 15u);
}

TEST(LiveIndexTest, TheSearcherMayEndWhileMuchIsBeingIndexed) {
  Registry registry{RegistryOptions{}};
  const auto worker = MakeWorker("w");
  for (int round = 0; round < 5; ++round) {
    Searcher searcher(&registry);
    ASSERT_TRUE(
        registry.Publish(worker, "b", Many(1000 * round, 500), v1::PUBLISH_MODE_BEST_EFFORT).ok());
  }
}

}  // namespace
}  // namespace toolrack
