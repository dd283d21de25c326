#include "server/services/watch_set.h"

#include <gtest/gtest.h>

#include "registry/base/errors.h"

namespace toolrack {
namespace {

class Stream : public Endable {
 public:
  void End(absl::Status status) override { ended = std::move(status); }
  absl::Status ended;
};

TEST(WatchSet, TakesAtMostItsNumber) {
  WatchSet set(1);
  auto a = std::make_shared<Stream>();
  auto b = std::make_shared<Stream>();
  EXPECT_TRUE(set.Add(1, a).ok());
  EXPECT_EQ(ReasonOf(set.Add(2, b)), v1::ERROR_REASON_CONCURRENCY);
  EXPECT_EQ(set.size(), 1u);
  set.Remove(1);
  EXPECT_TRUE(set.Add(2, b).ok());
}

TEST(WatchSet, EndsAllAndTakesNoMore) {
  WatchSet set(10);
  auto a = std::make_shared<Stream>();
  auto late = std::make_shared<Stream>();
  ASSERT_TRUE(set.Add(1, a).ok());
  ASSERT_TRUE(set.Add(2, std::make_shared<Stream>()).ok());  // gone by itself
  set.EndAll(Draining("daemon"));
  EXPECT_EQ(ReasonOf(a->ended), v1::ERROR_REASON_DRAINING);
  EXPECT_EQ(ReasonOf(set.Add(3, late)), v1::ERROR_REASON_DRAINING);
}

}  // namespace
}  // namespace toolrack
