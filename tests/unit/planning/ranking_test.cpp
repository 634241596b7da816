// Step times are compared by nine digits: 1.000000004 counts as 1, 1.00000001 as more.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sim/studies/planning/plan_search.hpp"

namespace lockstep {
namespace {

TEST(ComparedTimeTest, KeepsNineDigits) {
  for (const double unit : {1e-6, 1e-3, 1.0, 1e3}) {
    EXPECT_EQ(planning::compared_time(1.000000004 * unit), planning::compared_time(unit));
    EXPECT_NE(planning::compared_time(1.00000001 * unit), planning::compared_time(unit));
    EXPECT_EQ(planning::compared_time(9.876543214 * unit), planning::compared_time(9.876543206 * unit));
    EXPECT_NE(planning::compared_time(9.87654321 * unit), planning::compared_time(9.87654322 * unit));
  }
}

// The rounded time is within half of the ninth digit, rounding again changes nothing that a comparison sees, and the
// order of times is kept.
TEST(ComparedTimeTest, RoundsToTheNearestAndKeepsTheOrder) {
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> exponent(-7, 4);
  for (int i = 0; i < 10'000; ++i) {
    const double time = std::pow(10, exponent(random)), later = time * (1 + 1e-9 * static_cast<double>(random() % 40));
    EXPECT_NEAR(planning::compared_time(time) / time, 1, 5.0001e-9);
    EXPECT_LE(planning::compared_time(time), planning::compared_time(later));
  }
}

}  // namespace
}  // namespace lockstep
