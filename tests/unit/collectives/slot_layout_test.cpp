// Slots of a group number what its links carry: dimension after dimension, a ring one slot each way, a line of X one
// for each of its X - 1 hops each way. total = sum over rings of 2 + sum over lines of 2 (X - 1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/collectives/torus_algorithms.hpp"
#include "tests/unit/collectives/small_groups.hpp"

namespace lockstep::test {
namespace {

TEST(SlotLayout, CountsUpwardsThenDownwards) {
  const collectives::SlotLayout slots({line(4), ring(8), line(2)});
  EXPECT_EQ(slots.hop(0, +1, 0), 0);
  EXPECT_EQ(slots.hop(0, +1, 2), 2);
  EXPECT_EQ(slots.hop(0, -1, 0), 3);
  EXPECT_EQ(slots.hop(0, -1, 2), 5);
  EXPECT_EQ(slots.ring(1, +1), 6);
  EXPECT_EQ(slots.ring(1, -1), 7);
  EXPECT_EQ(slots.hop(2, +1, 0), 8);
  EXPECT_EQ(slots.hop(2, -1, 0), 9);
  EXPECT_EQ(slots.total, 10);
  EXPECT_EQ(collectives::SlotLayout({}).total, 0);
}

TEST(SlotLayout, GivesEachItsOwn) {
  for (const collectives::Dimensions& dimensions : many_groups()) {
    const collectives::SlotLayout slots(dimensions);
    std::set<std::int32_t> used;
    std::size_t asked = 0;
    for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
      const topologies::GroupDimension& dimension = dimensions[static_cast<std::size_t>(d)];
      for (const int direction : {+1, -1}) {
        if (dimension.shape == Shape::ring) {
          used.insert(slots.ring(d, direction));
          ++asked;
          continue;
        }
        for (int hop = 0; hop + 1 < dimension.members; ++hop, ++asked) used.insert(slots.hop(d, direction, hop));
      }
    }
    ASSERT_EQ(used.size(), asked) << describe(dimensions);
    EXPECT_EQ(std::ssize(used), slots.total) << describe(dimensions);
    EXPECT_EQ(*used.begin(), 0);
    EXPECT_EQ(*used.rbegin() + 1, slots.total);
  }
}

// Links of 100 GB/s: a ring is used both ways, a line one way; shared by s groups, each has the s-th part.
TEST(TorusBandwidth, OfRingsAndLines) {
  EXPECT_EQ(collectives::torus::bandwidth(ring(8)), BytesPerSecond(200e9));
  EXPECT_EQ(collectives::torus::bandwidth(ring(8, 4)), BytesPerSecond(50e9));
  EXPECT_EQ(collectives::torus::bandwidth(line(8)), BytesPerSecond(100e9));
  EXPECT_EQ(collectives::torus::bandwidth(line(8, 2)), BytesPerSecond(50e9));
  EXPECT_EQ(collectives::torus::bandwidth(collectives::Dimensions{ring(8), line(3, 2)}), BytesPerSecond(250e9));
  EXPECT_EQ(collectives::torus::bandwidth(collectives::Dimensions{}), BytesPerSecond(0));
}

// Hops of 1 us for each link of the stride: ceil(X/2) of them around a ring, X - 1 along a line, one dimension after
// the other.
TEST(TorusLatency, IsTheLongestWay) {
  EXPECT_EQ(collectives::torus::latency({ring(2)}), Seconds(1e-6));
  EXPECT_DOUBLE_EQ(collectives::torus::latency({ring(5)}).value(), 3e-6);
  EXPECT_DOUBLE_EQ(collectives::torus::latency({ring(8)}).value(), 4e-6);
  EXPECT_DOUBLE_EQ(collectives::torus::latency({line(5)}).value(), 4e-6);
  EXPECT_DOUBLE_EQ(collectives::torus::latency({line(5, 2), ring(4)}).value(), 8e-6 + 2e-6);
  EXPECT_EQ(collectives::torus::latency({}), Seconds(0));
}

}  // namespace
}  // namespace lockstep::test
