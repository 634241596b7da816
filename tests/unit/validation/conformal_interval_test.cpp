// Intervals of residuals: from the 10th to the 90th percentile of their weights, on both sides of the median widened by
// 1 + doubt / sources.
#include "sim/studies/conformal_interval.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

using studies::WeightedResidual;

// Ten residuals of equal weight, 1 to 10: the least that with all below has 10, 50 and 90 % is 1, 5 and 9. Of weight 1
// but the last of 10, all of 19 have 10 % at 2 (1.9 < 2), half at 10.
TEST(ConformalInterval, RunsBetweenPercentilesOfTheWeight) {
  std::vector<WeightedResidual> even;
  for (int i = 10; i >= 1; --i) even.push_back({static_cast<double>(i), 1});
  const auto interval = studies::interval_of(even);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.median, 5);
  EXPECT_EQ(interval.high, 9);
  even.front().weight = 10;
  EXPECT_EQ(studies::percentile(even, 0.1), 2);
  EXPECT_EQ(studies::percentile(even, 0.5), 10);
}

// [1, 9] about 5 with a doubt of 2: twice as wide of 2 sources, 1.5 times of 4.
TEST(ConformalInterval, IsWidenedByDoubtOverSources) {
  const studies::ResidualInterval interval{1, 5, 9};
  EXPECT_EQ(interval.widened(2, 2).low, -3);
  EXPECT_EQ(interval.widened(2, 2).high, 13);
  EXPECT_EQ(interval.widened(2, 4).low, -1);
  EXPECT_EQ(interval.widened(2, 4).median, 5);
  EXPECT_TRUE(interval.holds(1));
  EXPECT_FALSE(interval.holds(0.9));
}

TEST(ConformalInterval, TheLeastDoubtHoldsWhatIsPromised) {
  EXPECT_NEAR(studies::least_doubt([](double doubt) { return doubt; }), 0.8, 1e-12);
  EXPECT_EQ(studies::least_doubt([](double) { return 1.0; }), 0);
  EXPECT_EQ(studies::least_doubt([](double) { return 0.5; }), 10) << "nothing reaches it";
}

}  // namespace
}  // namespace lockstep
