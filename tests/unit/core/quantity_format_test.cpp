#include <gtest/gtest.h>

#include <limits>

#include "sim/core/quantity_text.hpp"

namespace lockstep {
namespace {

TEST(Format, SizesHaveThreeDigitsAndPowersOf1000) {
  EXPECT_EQ(format(Bytes(0)), "0 B");
  EXPECT_EQ(format(Bytes(999)), "999 B");
  EXPECT_EQ(format(Bytes(1000)), "1.00 kB");
  EXPECT_EQ(format(Bytes(1'350'000'000)), "1.35 GB");
  EXPECT_EQ(format(Bytes(std::int64_t{80} << 30)), "85.9 GB");  // 80 x 2^30 = 85.899e9
  EXPECT_EQ(format(Bytes(-2'500'000)), "-2.50 MB");
}

TEST(Format, TimesHaveTwoDecimals) {
  EXPECT_EQ(format(Seconds(23.3e-6)), "23.30 us");
  EXPECT_EQ(format(Seconds(1.5e-3)), "1.50 ms");
  EXPECT_EQ(format(Seconds(7e-9)), "7.00 ns");
  EXPECT_EQ(format(Seconds(123.456)), "123.46 s");
  EXPECT_EQ(format(Seconds(86400)), "86400.00 s");
  EXPECT_EQ(format(Seconds(0)), "0.00 s");
}

TEST(Format, RatesAndWorkHaveThreeDigits) {
  EXPECT_EQ(format(BytesPerSecond(90e9)), "90.0 GB/s");
  EXPECT_EQ(format(FlopsPerSecond(459e12)), "459 TFLOP/s");
  EXPECT_EQ(format(Flops(1.97e18)), "1.97 EFLOP");
  EXPECT_EQ(format(Flops(6.3e24)), "6.30 YFLOP");
}

TEST(Format, NeverPrintsAThousandOfAPrefix) {
  // Rounding comes before the choice of the prefix: 999.6 M rounds to 1000 M, which is 1.00 G.
  EXPECT_EQ(format(BytesPerSecond(999.6e6)), "1.00 GB/s");
  EXPECT_EQ(format(BytesPerSecond(999.4e6)), "999 MB/s");
  EXPECT_EQ(format(BytesPerSecond(9.996e6)), "10.0 MB/s");
  EXPECT_EQ(format(BytesPerSecond(99.96e6)), "100 MB/s");
  EXPECT_EQ(format(Seconds(999.996e-6)), "1.00 ms");
  EXPECT_EQ(format(Seconds(999.994e-6)), "999.99 us");
}

TEST(Format, SaysSoWhenAValueIsNotFinite) {
  EXPECT_EQ(format(Seconds(std::numeric_limits<double>::infinity())), "inf s");
}

TEST(Exact, HasTheFewestDigitsThatReadBack) {
  EXPECT_EQ(exact(0.1), "0.1");
  EXPECT_EQ(exact(0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(exact(2), "2");
  EXPECT_EQ(exact(1e-9), "1e-09");
}

}  // namespace
}  // namespace lockstep
