#include "sim/core/units.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace lockstep {
namespace {

TEST(Units, SizeOverRateIsTime) {
  // t = S / B: 90 GB at 45 GB/s takes 2 s.
  EXPECT_EQ((Bytes(90'000'000'000) / BytesPerSecond(45e9)).value(), 2.0);
}

TEST(Units, WorkOverRateIsTime) {
  // t = F / P: 3 TFLOP at 2 TFLOP/s take 1.5 s.
  EXPECT_EQ((Flops(3e12) / FlopsPerSecond(2e12)).value(), 1.5);
}

TEST(Units, AmountOverTimeIsRate) {
  EXPECT_EQ((Bytes(10) / Seconds(4)).value(), 2.5);
  EXPECT_EQ((Flops(9) / Seconds(2)).value(), 4.5);
}

TEST(Units, RatioOfEqualUnitsIsAPlainNumber) {
  static_assert(std::is_same_v<decltype(Bytes(1) / Bytes(2)), double>);
  EXPECT_EQ(Bytes(1) / Bytes(2), 0.5);  // not an integer division
}

TEST(Units, AddSubtractScaleAndCompare) {
  Bytes sum = Bytes(3) + Bytes(4) * 2;
  EXPECT_EQ(sum, Bytes(11));
  sum -= Bytes(1);
  sum += Bytes(5);
  EXPECT_EQ(sum - Bytes(5), Bytes(10));
  EXPECT_EQ(2 * Bytes(5) / 3, Bytes(3));  // whole bytes
  EXPECT_LT(Seconds(1), Seconds(2));
}

TEST(Units, CostNothing) {
  static_assert(sizeof(Seconds) == sizeof(double) && sizeof(Bytes) == sizeof(std::int64_t));
  static_assert(std::is_trivially_copyable_v<Seconds>);
  EXPECT_EQ(Seconds().value(), 0.0);
}

}  // namespace
}  // namespace lockstep
