// Numbers in sentences: digits in groups of three from the right, and the plural for all but one.
#include "sim/core/counted.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

TEST(Counted, GroupsOfThree) {
  EXPECT_EQ(in_threes("123"), "123");
  EXPECT_EQ(in_threes("1234"), "1,234");
  EXPECT_EQ(in_threes("-123"), "-123");
  EXPECT_EQ(in_threes("-1234567"), "-1,234,567");
  EXPECT_EQ(in_threes(""), "");
}

TEST(Counted, SixDigitsAtMost) {
  EXPECT_EQ(six_digits(12.5), "12.5");
  EXPECT_EQ(six_digits(-1.0 / 3), "-0.333333");
  EXPECT_EQ(six_digits(1234567), "1.23457e+06");
}

TEST(Counted, PluralsOfAllButOne) {
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(counted(std::size_t{65536}, "copy", "copies"), "65,536 copies");
}

}  // namespace
}  // namespace lockstep
