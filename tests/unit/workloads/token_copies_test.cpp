#include <gtest/gtest.h>

#include "workloads/sharding/collective_kind.hpp"

namespace lockstep {
namespace {

// n units, k experts at random among them: a unit has none with probability (1 - 1/n)^k, so that a token crosses to
// n (1 - (1 - 1/n)^k) of them instead of k times.
TEST(TokenCopiesTest, ATokenCrossesToEachUnitOnce) {
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{}.share_across(8)), 1.0);
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{2, 1, 1}.share_across(2)), 2 * (1 - 0.25) / 2);
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{8, 1, 1}.share_across(8)), 1 - 5764801.0 / 16777216.0);  // (7/8)^8
}

// DeepSeek-V3: 8 experts in 4 of 8 groups, a group a node: 4 nodes. Fewer nodes than are allowed are no limit; where a
// group stands on 4 nodes, a token's 4 groups stand on 16 of the 32.
TEST(TokenCopiesTest, NodeLimitedRouting) {
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{8, 8, 4}.share_across(8)), 4 * (1 - 0.1001129150390625) / 8);  // (3/4)^8
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{8, 8, 4}.share_across(2)),
                   (workloads::TokenCopies{8, 1, 1}.share_across(2)));
  EXPECT_DOUBLE_EQ((workloads::TokenCopies{8, 8, 4}.share_across(32)),
                   (workloads::TokenCopies{8, 1, 1}.share_across(16)));
}

}  // namespace
}  // namespace lockstep
