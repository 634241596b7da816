#include "workloads/step/expert_load.hpp"

#include <gtest/gtest.h>

#include <vector>

#include <cmath>

namespace lockstep {
namespace {

TEST(ExpertLoadTest, EvenLoadsAndOneRankAreEven) {
  EXPECT_EQ((workloads::ExpertLoad{0.0, 1, 64, 8}.fullest(0, 0)), 1.0);
  EXPECT_EQ((workloads::ExpertLoad{0.5, 1, 64, 1}.fullest(0, 0)), 1.0);
}

TEST(ExpertLoadTest, TheSameSeedGivesTheSameLoads) {
  const workloads::ExpertLoad load{0.5, 7, 64, 8};
  EXPECT_EQ(load.fullest(3, 2), load.fullest(3, 2));
  EXPECT_NE(load.fullest(3, 2), load.fullest(4, 2));
  EXPECT_NE(load.fullest(3, 2), load.fullest(3, 3));
  EXPECT_NE(load.fullest(3, 2), (workloads::ExpertLoad{0.5, 8, 64, 8}.fullest(3, 2)));
}

// Ranks of e experts each vary by v / sqrt(e); the fullest of R ranks lies about v / sqrt(e) x m(R) above the mean,
// m(8) = 1.42 and m(32) = 2.07 the expected maxima of so many standard normal numbers (small v: the log-normal is
// nearly normal).
TEST(ExpertLoadTest, TheFullestRankIsAnExtremeOfTheDistribution) {
  for (const auto& [ranks, maximum] : {std::pair<std::int64_t, double>{8, 1.4236}, {32, 2.0697}}) {
    const workloads::ExpertLoad load{0.02, 1, 4 * ranks, ranks};
    double sum = 0;
    constexpr int draws = 4000;
    for (int i = 0; i < draws; ++i) sum += load.fullest(i, 0) - 1;
    EXPECT_NEAR(sum / draws, 0.02 / 2 * maximum, 0.0004) << ranks;
  }
}

// 8 experts on 4 ranks, two each in their order: 1 + 1, 1 + 1, 1 + 1 and 1 + 5 of 12 tokens; the fullest rank has 6,
// the mean is 3.
TEST(ExpertLoadTest, CountedTokensAreThoseOfTheFullestRank) {
  const std::vector<double> tokens{1, 1, 1, 1, 1, 1, 1, 5};
  EXPECT_DOUBLE_EQ(workloads::fullest_of(tokens, 4), 2);
  EXPECT_DOUBLE_EQ(workloads::fullest_of(tokens, 1), 1);
  EXPECT_DOUBLE_EQ(workloads::fullest_of(tokens, 8), 5 / 1.5);
  EXPECT_DOUBLE_EQ(workloads::fullest_of(std::vector<double>(8, 0.0), 4), 1);
  workloads::ExpertLoad load{0, 1, 8, 4};
  EXPECT_FALSE(load.varies());
  load.counted = {1, 2};
  EXPECT_TRUE(load.varies());
  EXPECT_EQ(load.fullest(1, 7), 2);
}

}  // namespace
}  // namespace lockstep
