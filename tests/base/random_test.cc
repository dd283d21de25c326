#include "registry/base/random.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace toolrack {
namespace {

TEST(Random, IdsAreHexAndNeverMeet) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::string id = RandomId(), quick = QuickId();
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_EQ(quick.find_first_not_of("0123456789abcdef"), std::string::npos);
    EXPECT_TRUE(seen.insert(id).second);
    EXPECT_TRUE(seen.insert(quick).second);
  }
}

TEST(Random, Sha256HasItsKnownValues) {
  // FIPS 180-2, appendix B, and the empty message.
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

}  // namespace
}  // namespace toolrack
