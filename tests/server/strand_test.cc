#include "server/backends/strand.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/testing/fakes.h"

namespace toolrack {
namespace {

// Holds its strand, as sessions do, and is held by the work that it posts.
struct Owner : std::enable_shared_from_this<Owner> {
  Owner(Executor* executor, Timers* timers, std::shared_ptr<StrandGate> gate)
      : strand(std::make_shared<Strand>(executor, timers, std::move(gate))) {}
  void Post() {
    strand->Post([self = shared_from_this()] { ++self->ran; });
  }
  std::shared_ptr<Strand> strand;
  int ran = 0;
};

class StrandTest : public testing::TestWithParam<size_t> {
 protected:
  FakeClock clock_;
  FakeTimers timers_{&clock_};
  ManualExecutor executor_{GetParam()};
  const std::shared_ptr<StrandGate> gate_ = std::make_shared<StrandGate>();
};

TEST_P(StrandTest, RunsEverythingInTheEndWhateverTheExecutorsRoom) {
  auto owner = std::make_shared<Owner>(&executor_, &timers_, gate_);
  for (int i = 0; i < 3; ++i) owner->Post();
  executor_.RunAll();
  EXPECT_EQ(owner->ran, GetParam() == 0 ? 0 : 3);
  gate_->Close();
}

TEST_P(StrandTest, TheClosedGateLeavesNothingThatHoldsItsOwner) {
  auto owner = std::make_shared<Owner>(&executor_, &timers_, gate_);
  const std::weak_ptr<Owner> weak = owner;
  owner->Post();
  owner->Post();
  gate_->Close();
  owner->Post();
  executor_.RunAll();
  timers_.Advance(absl::Seconds(1));
  owner->Post();
  EXPECT_EQ(owner->ran, 0);
  owner = nullptr;
  EXPECT_TRUE(weak.expired());
}

INSTANTIATE_TEST_SUITE_P(Room, StrandTest, testing::Values(0, 1, 100));

}  // namespace
}  // namespace toolrack
