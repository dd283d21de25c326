// What a model's faulty outputs cost, turn by turn.
#include "server/services/dispatch_retry.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace toolrack {
namespace {

constexpr RetryLimits kLimits = {5, 3, 2, 3};
constexpr OutputFaults kMalformed = {true, false, false, false};
constexpr OutputFaults kUnknown = {false, true, false, false};
constexpr OutputFaults kInvalid = {false, false, true, false};
constexpr OutputFaults kOther = {false, false, false, true};
constexpr OutputFaults kNone = {};

class RetryLedgerTest : public testing::Test {
 protected:
  RetryLedgerTest() { ledger_.OpenSession("s"); }
  // "attempt/left spent".
  std::string Note(const std::string& turn, const OutputFaults& faults, bool done = false,
                   const RetryLimits& limits = kLimits) {
    const v1::DispatchRetry retry = ledger_.Note("s", turn, faults, done, limits);
    EXPECT_EQ(retry.exhausted(), !retry.spent().empty());
    return absl::StrCat(retry.attempt(), "/", retry.left(), retry.spent().empty() ? "" : " ",
                        retry.spent());
  }
  RetryLedger ledger_;
};

TEST_F(RetryLedgerTest, EachKindIsSpentByItself) {
  EXPECT_EQ(Note("a", kMalformed), "1/2");
  EXPECT_EQ(Note("a", kMalformed), "2/1");
  EXPECT_EQ(Note("a", kMalformed), "3/0 malformed");
  EXPECT_EQ(Note("b", kUnknown), "1/1");
  EXPECT_EQ(Note("b", kUnknown), "2/0 unknown_tool");
  EXPECT_EQ(Note("c", kInvalid), "1/2");
  EXPECT_EQ(Note("c", kInvalid), "2/1");
  EXPECT_EQ(Note("c", kInvalid), "3/0 invalid_arguments");
}

TEST_F(RetryLedgerTest, AllKindsTogetherAreBoundedToo) {
  EXPECT_EQ(Note("a", kMalformed), "1/2");
  EXPECT_EQ(Note("a", kInvalid), "2/2");
  EXPECT_EQ(Note("a", kUnknown), "3/1");
  EXPECT_EQ(Note("a", kOther), "4/1");
  EXPECT_EQ(Note("a", kOther), "5/0 attempts");
}

TEST_F(RetryLedgerTest, AnOutputCountsOnceForEachKindAndOnceInAll) {
  EXPECT_EQ(Note("a", {true, true, true, true}), "1/1");
  EXPECT_EQ(Note("a", {false, true, true, false}), "2/0 unknown_tool");
}

TEST_F(RetryLedgerTest, GoodOutputsNeitherCountNorMend) {
  EXPECT_EQ(Note("a", kNone), "0/5");
  EXPECT_EQ(Note("a", kUnknown), "1/1");
  EXPECT_EQ(Note("a", kNone), "1/1");
  EXPECT_EQ(Note("a", kUnknown), "2/0 unknown_tool");
  EXPECT_EQ(Note("a", kNone), "2/0 unknown_tool");
}

TEST_F(RetryLedgerTest, ANewTurnAndADoneOneBeginAnew) {
  EXPECT_EQ(Note("", kUnknown), "1/1");
  EXPECT_EQ(Note("b", kUnknown), "1/1");
  // Turns are counted for each.
  EXPECT_EQ(Note("", kUnknown), "2/0 unknown_tool");
  EXPECT_EQ(Note("", kNone, /*done=*/true), "0/5");
  EXPECT_EQ(Note("", kUnknown), "1/1");
}

TEST_F(RetryLedgerTest, NoneAllowedIsSpentByTheFirst) {
  EXPECT_EQ(Note("a", kNone, false, {0, 0, 0, 0}), "0/0");
  EXPECT_EQ(Note("a", kInvalid, false, {0, 0, 0, 0}), "1/0 attempts");
  EXPECT_EQ(Note("b", kInvalid, false, {5, 3, 3, 0}), "1/0 invalid_arguments");
}

TEST_F(RetryLedgerTest, OnlyTheLastTurnsAreKept) {
  EXPECT_EQ(Note("first", kUnknown), "1/1");
  for (size_t i = 1; i < RetryLedger::kMaxTurns; ++i) Note(absl::StrCat("t", i), kUnknown);
  EXPECT_EQ(Note("first", kUnknown), "2/0 unknown_tool");
  for (size_t i = 0; i < RetryLedger::kMaxTurns; ++i) Note(absl::StrCat("u", i), kUnknown);
  EXPECT_EQ(Note("first", kUnknown), "1/1");
}

TEST_F(RetryLedgerTest, AClosedSessionKeepsNothing) {
  EXPECT_EQ(Note("a", kUnknown), "1/1");
  ledger_.CloseSession("s");
  EXPECT_EQ(Note("a", kUnknown), "1/1");
  EXPECT_EQ(Note("a", kUnknown), "1/1");
}

TEST(RetryLimitsTest, TheSessionComesFirst) {
  v1::DispatcherConfig config;
  config.set_max_attempts(5);
  config.set_max_malformed(3);
  config.set_max_unknown_tool(3);
  config.set_max_invalid_arguments(3);
  v1::RetryPolicy policy;
  policy.set_max_unknown_tool(0);
  policy.set_max_attempts(7);
  const RetryLimits limits = RetryLimitsOf(policy, config);
  EXPECT_EQ(limits.attempts, 7u);
  EXPECT_EQ(limits.malformed, 3u);
  EXPECT_EQ(limits.unknown_tool, 0u);
  EXPECT_EQ(limits.invalid_arguments, 3u);
}

}  // namespace
}  // namespace toolrack
