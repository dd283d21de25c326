// How good the ranking is, on public sets that people asked real or made-up questions for.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/conformance/search/retrieval_set.h"
#include "tests/conformance/search/typos.h"

namespace toolrack {
namespace {

struct Floor {
  const char* set;
  double ndcg;
  size_t refused;  // tools whose schema is none
};

class SearchQualityTest : public ::testing::TestWithParam<Floor> {};

TEST_P(SearchQualityTest, NdcgAt10IsAtLeastTheFloor) {
  const auto set = LoadRetrievalSet(GetParam().set);
  if (set == nullptr) GTEST_SKIP() << "the shared data is not here";
  EXPECT_LE(set->quarantined, GetParam().refused);
  Searcher searcher(set->registry.get());
  const Quality quality = Measure(searcher, *set);
  std::printf("%s: NDCG@10 %.2f, R@1/3/5/10 %.1f/%.1f/%.1f/%.1f over %zu questions, %zu tools\n",
              GetParam().set, quality.ndcg, quality.recall[0], quality.recall[1], quality.recall[2],
              quality.recall[3], set->questions.size(), set->registry->Peek().size());
  EXPECT_GE(quality.ndcg, GetParam().ndcg);
}

INSTANTIATE_TEST_SUITE_P(PublicSets, SearchQualityTest,
                         ::testing::Values(Floor{"bfcl", 86.5, 1}, Floor{"livemcp_route", 43, 1},
                                           // Four have `examples` that are no list.
                                           Floor{"seal", 94, 4}, Floor{"ace_zh", 95, 1}),
                         [](const auto& info) { return std::string(info.param.set); });

TEST(SearchQualityTest, ATypoInTheRarestWordCostsLittle) {
  const auto set = LoadRetrievalSet("livemcp_route");
  if (set == nullptr) GTEST_SKIP() << "the shared data is not here";
  Searcher searcher(set->registry.get());
  const double clean = Measure(searcher, *set).ndcg;
  const TypoMaker maker(*set);
  double sum = 0;
  for (const Typo typo : {Typo::kDrop, Typo::kDouble, Typo::kSwap, Typo::kReplace}) {
    const double spoiled = Measure(searcher, *set, [&](const std::string& query) {
                             return maker.Apply(query, typo);
                           }).ndcg;
    std::printf("livemcp_route with typo %d: NDCG@10 %.2f of %.2f\n", static_cast<int>(typo),
                spoiled, clean);
    sum += spoiled;
  }
  EXPECT_LE(clean - sum / 4, 2);
}

class OwnNameTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OwnNameTest, EveryToolIsFirstForItsOwnName) {
  const auto set = LoadRetrievalSet(GetParam());
  if (set == nullptr) GTEST_SKIP() << "the shared data is not here";
  Searcher searcher(set->registry.get());
  size_t asked = 0;
  std::vector<std::string> missed;
  set->registry->Peek().ForEach("", [&](const ToolEntryPtr& entry) {
    if (entry->definition->quarantined) return true;
    v1::SearchToolsRequest request;
    request.set_query(entry->name());
    request.set_max_results(1);
    const auto response = searcher.Search(request);
    ++asked;
    if (!response.ok() || response->hits_size() == 0 ||
        response->hits(0).tool().name() != entry->name()) {
      missed.push_back(entry->name());
    }
    return true;
  });
  std::printf("%s: %zu of %zu tools are first for their own name\n", GetParam(),
              asked - missed.size(), asked);
  EXPECT_TRUE(missed.empty()) << missed.size() << " tools, the first is " << missed.front();
}

INSTANTIATE_TEST_SUITE_P(PublicRegistries, OwnNameTest,
                         ::testing::Values("bfcl", "livemcp_route", "seal", "ace_zh",
                                           "mcpzero_registry"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace toolrack
