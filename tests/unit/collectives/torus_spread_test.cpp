// Members with the same places in the dimensions outside A receive together, over the links of A alone, what they lack:
// (N_A - own) shards of V/N. With bandwidth B_A of those links,
//   T >= V/N max over A of (N_A - own) / B_A,
// and a spread of the data over the dimensions exists that meets this for every A at once.
#include <gtest/gtest.h>

#include <numeric>

#include "sim/collectives/torus_algorithms.hpp"
#include "tests/unit/collectives/small_groups.hpp"

namespace lockstep::test {
namespace {

using collectives::torus::spread;
using collectives::torus::Spread;

bool contains(std::size_t set, std::size_t d) { return (set >> d & 1U) != 0; }

/// Shards that members with other places only in the dimensions of a set lack.
double lacking(const collectives::Dimensions& dimensions, std::size_t set, int own) {
  double members = 1;
  for (std::size_t d = 0; d < dimensions.size(); ++d) members *= contains(set, d) ? dimensions[d].members : 1;
  return members - own;
}

TEST(TorusSpread, OneDimensionTakesAll) {
  for (const auto& only : {ring(4), line(4), ring(2, 2)}) {
    for (const int own : {0, 1}) {
      const Spread of_one = spread({only}, own);
      EXPECT_DOUBLE_EQ(of_one.share.at(0), 1);
      EXPECT_DOUBLE_EQ(of_one.bandwidth.value(), collectives::torus::bandwidth(only).value());
    }
  }
}

// Two rings alike take half each, and a ring beside one that twice as many groups share takes two thirds.
TEST(TorusSpread, DimensionsShareByTheirBandwidth) {
  EXPECT_DOUBLE_EQ(spread({ring(8), ring(8)}, 1).share[0], 0.5);
  EXPECT_DOUBLE_EQ(spread({ring(8), ring(8)}, 1).bandwidth.value(), 400e9);
  const Spread uneven = spread({ring(8), ring(8, 2)}, 1);
  EXPECT_DOUBLE_EQ(uneven.share[0], 2.0 / 3);
  EXPECT_DOUBLE_EQ(uneven.bandwidth.value(), 300e9);
}

// A line of 8 that 4 groups share, at 25 GB/s, beside a ring of 2 at 200 GB/s. Along the line 7 of 15 shards must come
// whatever the ring does: 7/25 > 15/225. So the line takes 7/15 and the ring the other 8/15, and all arrives at 15/7 of
// 25 GB/s. A broadcast has 8 of 16: half each, at 50 GB/s.
TEST(TorusSpread, ASlowDimensionTakesOnlyWhatItMust) {
  const collectives::Dimensions dimensions{line(8, 4), ring(2)};
  const Spread gather = spread(dimensions, 1);
  EXPECT_DOUBLE_EQ(gather.share[0], 7.0 / 15);
  EXPECT_DOUBLE_EQ(gather.share[1], 8.0 / 15);
  EXPECT_DOUBLE_EQ(gather.bandwidth.value(), 25e9 * 15 / 7);
  const Spread broadcast = spread(dimensions, 0);
  EXPECT_DOUBLE_EQ(broadcast.share[0], 0.5);
  EXPECT_DOUBLE_EQ(broadcast.bandwidth.value(), 50e9);
}

// A broadcast over lines of 2 at 12.5 and 25 GB/s and a ring of 8 at 200 GB/s. The first line alone takes longest,
// 2/12.5 > 32/237.5 > 4/37.5 > 16/212.5, and carries its 2 of 32 shards. The other 30 are spread over the other two
// together, by their bandwidth, since 2 x 15/225 is more than 2 x 1/25 and 2 x 7/200.
TEST(TorusSpread, TheRestIsSpreadLikewise) {
  const Spread made = spread({line(2, 8), line(2, 4), ring(8)}, 0);
  EXPECT_DOUBLE_EQ(made.share[0], 2.0 / 32);
  EXPECT_DOUBLE_EQ(made.share[1], 30.0 / 32 * 25 / 225);
  EXPECT_DOUBLE_EQ(made.share[2], 30.0 / 32 * 200 / 225);
  EXPECT_DOUBLE_EQ(made.bandwidth.value(), 12.5e9 * 32 / 2);
}

TEST(TorusSpread, MeetsTheBoundOfEverySetOfDimensions) {
  int held_up = 0;
  for (const collectives::Dimensions& dimensions : many_groups()) {
    for (const int own : {0, 1}) {
      const Spread made = spread(dimensions, own);
      SCOPED_TRACE(describe(dimensions) + (own == 0 ? ", broadcast" : ", all-gather"));
      EXPECT_NEAR(std::accumulate(made.share.begin(), made.share.end(), 0.0), 1, 1e-12);
      const std::size_t all = (std::size_t{1} << dimensions.size()) - 1;
      const double shards = lacking(dimensions, all, own);
      double bound = 0;  // seconds for V/N of a byte
      for (std::size_t set = 1; set <= all; ++set) {
        double rate = 0, brought = 0;
        for (std::size_t d = 0; d < dimensions.size(); ++d) {
          if (!contains(set, d)) continue;
          rate += collectives::torus::bandwidth(dimensions[d]).value();
          brought += made.share[d] * shards;
        }
        bound = std::max(bound, lacking(dimensions, set, own) / rate);
        EXPECT_GE(brought, lacking(dimensions, set, own) * (1 - 1e-12)) << "set " << set << " brings too little";
      }
      EXPECT_NEAR(shards / made.bandwidth.value(), bound, 1e-12 * bound) << "no faster and no slower than the bound";
      for (std::size_t d = 0; d < dimensions.size(); ++d) {
        EXPECT_GE(made.share[d], 0);
        EXPECT_LE(made.share[d] * shards / collectives::torus::bandwidth(dimensions[d]).value(), bound * (1 + 1e-12))
            << "dimension " << d << " takes longer than all";
      }
      held_up += made.bandwidth < collectives::torus::bandwidth(dimensions) * (1 - 1e-9) ? 1 : 0;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(held_up, 50) << "no dimension ever holds the others up";
}

}  // namespace
}  // namespace lockstep::test
