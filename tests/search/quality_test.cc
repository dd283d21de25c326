// How good the ranking is, on public sets that people asked real or made-up questions for.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/search/retrieval_set.h"

namespace toolrack {
namespace {

struct Floor {
  const char* set;
  // What was measured, less a small margin. Raise it when the ranking gets better.
  double ndcg;
  size_t refused;  // tools whose schema is none
};

class QualityTest : public ::testing::TestWithParam<Floor> {};

TEST_P(QualityTest, NdcgAt10IsAtLeastTheFloor) {
  const auto set = LoadRetrievalSet(GetParam().set);
  if (set == nullptr) GTEST_SKIP() << "the shared data is not here";
  EXPECT_LE(set->quarantined, GetParam().refused);
  Searcher searcher(set->registry.get());
  const double ndcg = MeanNdcg(searcher, *set);
  std::printf("%s: NDCG@10 %.2f over %zu questions, %zu tools\n", GetParam().set, ndcg,
              set->questions.size(), set->registry->Peek().size());
  EXPECT_GE(ndcg, GetParam().ndcg);
}

INSTANTIATE_TEST_SUITE_P(PublicSets, QualityTest,
                         ::testing::Values(Floor{"bfcl", 86.5, 1}, Floor{"livemcp_route", 43.5, 1},
                                           // Four have `examples` that are no list.
                                           Floor{"seal", 94, 4}, Floor{"ace_zh", 95, 1}),
                         [](const auto& info) { return std::string(info.param.set); });

TEST(QualityTest, TheExactNameIsFirst) {
  for (const char* name : {"bfcl", "livemcp_route"}) {
    const auto set = LoadRetrievalSet(name);
    if (set == nullptr) GTEST_SKIP() << "the shared data is not here";
    Searcher searcher(set->registry.get());
    // Every seventh name: searching all takes minutes under a sanitizer.
    size_t missed = 0, number = 0;
    set->registry->Peek().ForEach("", [&](const ToolEntryPtr& entry) {
      if (number++ % 7 != 0 || entry->definition->quarantined) return true;
      v1::SearchToolsRequest request;
      request.set_query(entry->name());
      request.set_max_results(1);
      const auto response = searcher.Search(request);
      missed += !response.ok() || response->hits_size() == 0 ||
                response->hits(0).tool().name() != entry->name();
      return true;
    });
    EXPECT_EQ(missed, 0u) << name;
  }
}

}  // namespace
}  // namespace toolrack
