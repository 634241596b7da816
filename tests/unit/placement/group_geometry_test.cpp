// The device of coordinates c_f is the sum over factors f of c_f x stride_f x (devices for one step along axis_f). A
// factor that reaches round a wrapped axis, size x stride = size of the axis, is a ring of `size` hops; any other is a
// line of size - 1. Two adjacent lines with an even number of members in all are one ring through their block.
#include "topologies/placement/group_geometry_private.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/topologies/small_fabric.hpp"
#include "topologies/cluster/cluster_graph_private.hpp"

namespace lockstep {
namespace {

/// Blocks of two axes as one ring.
std::vector<topologies::DimensionGeometry> rings_of(const topologies::Cluster& cluster,
                                                    const std::vector<topologies::Factor>& factors) {
  return group_geometry(cluster, factors, topologies::BlockShape::ring);
}

using testing::ElementsAre;
using testing::IsEmpty;
using Shape = topologies::GroupDimension::Shape;

// On 4 x 3 x 2 a step along x is 6 devices, along y 2, along z 1. The last factor counts fastest.
TEST(DeviceOffsets, AreSumsOfStrides) {
  const topologies::Cluster cluster = test::torus({4, 3, 2}, test::never);
  EXPECT_THAT(device_offsets(cluster, {}), ElementsAre(0));
  EXPECT_THAT(device_offsets(cluster, {{1, 3, 1}}), ElementsAre(0, 2, 4));
  EXPECT_THAT(device_offsets(cluster, {{0, 2, 2}, {2, 2, 1}}), ElementsAre(0, 1, 12, 13));
  EXPECT_THAT(device_offsets(cluster, {{2, 2, 1}, {0, 2, 2}}), ElementsAre(0, 12, 1, 13));
  EXPECT_THAT(device_offsets(cluster, {{0, 1, 1}, {1, 1, 1}}), ElementsAre(0));
}

// Factors that take every position once reach every device once, as their coordinates say.
TEST(DeviceOffsets, AreTheDevicesAtTheCoordinates) {
  const topologies::Cluster cluster = test::torus({4, 6}, test::never);
  const auto offsets = device_offsets(cluster, {{1, 3, 2}, {0, 4, 1}, {1, 2, 1}});
  std::size_t i = 0;
  for (int outer = 0; outer < 3; ++outer) {
    for (int x = 0; x < 4; ++x) {
      for (int inner = 0; inner < 2; ++inner) EXPECT_EQ(offsets[i++], cluster.device_at({x, 2 * outer + inner}));
    }
  }
  EXPECT_EQ(std::set<topologies::DeviceId>(offsets.begin(), offsets.end()).size(), 24U);
}

TEST(GroupGeometry, AFactorIsARingIfItReachesRound) {
  const topologies::Cluster cluster = test::torus({12, 5}, test::multiple_of_four);  // x wraps, y does not
  const auto shape = [&](topologies::Factor factor) { return rings_of(cluster, {factor}).at(0).shape.shape; };
  EXPECT_EQ(shape({0, 12, 1}), Shape::ring);
  EXPECT_EQ(shape({0, 4, 3}), Shape::ring);
  EXPECT_EQ(shape({0, 4, 1}), Shape::line);
  EXPECT_EQ(shape({0, 3, 2}), Shape::line);
  EXPECT_EQ(shape({1, 5, 1}), Shape::line) << "y has no link from its end to its start";
  const auto strided = rings_of(cluster, {{0, 4, 3}}).at(0);
  EXPECT_EQ(strided.shape.links_per_hop, 3);
  EXPECT_EQ(strided.shape.sharing, 3) << "two more rings lie between";
  EXPECT_EQ(strided.shape.hop_latency, Seconds(3e-6));
  EXPECT_EQ(strided.steps.size(), 4U);
}

// x/2, x/3 strided by 2 and x/2 strided by 6 make up the axis; written in any order they are one ring.
TEST(GroupGeometry, FactorsThatContinueEachOtherAreOne) {
  const topologies::Cluster cluster = test::torus({12}, test::always);
  std::vector<topologies::Factor> factors{{0, 2, 1}, {0, 3, 2}, {0, 2, 6}};
  std::sort(factors.begin(), factors.end(),
            [](const topologies::Factor& a, const topologies::Factor& b) { return a.size < b.size; });
  do {
    const auto geometry = rings_of(cluster, factors);
    ASSERT_EQ(geometry.size(), 1U);
    EXPECT_EQ(geometry[0].shape.label, "ring of 12 on x");
    EXPECT_THAT(geometry[0].factors, ElementsAre(topologies::Factor{0, 12, 1}));
  } while (std::next_permutation(factors.begin(), factors.end(),
                                 [](const topologies::Factor& a, const topologies::Factor& b) {
                                   return std::pair(a.size, a.stride) < std::pair(b.size, b.stride);
                                 }));
  EXPECT_EQ(rings_of(cluster, {{0, 2, 1}, {0, 2, 6}}).size(), 2U) << "with a gap they are two";
}

TEST(GroupGeometry, FactorsOfOneVanish) {
  const topologies::Cluster cluster = test::torus({4, 4}, test::always);
  EXPECT_THAT(rings_of(cluster, {}), IsEmpty());
  EXPECT_THAT(rings_of(cluster, {{0, 1, 1}, {1, 1, 4}}), IsEmpty());
  EXPECT_EQ(rings_of(cluster, {{0, 1, 1}, {1, 4, 1}}).size(), 1U);
}

/// The coordinates within a block that its ring passes, from the corner on; the last step leads back there.
std::vector<std::pair<int, int>> walk(const topologies::DimensionGeometry& ring) {
  std::vector<std::pair<int, int>> places;
  std::pair<int, int> at{0, 0};
  EXPECT_EQ(ring.shape.links_per_hop, 1);
  for (const topologies::Step& step : ring.steps) {
    places.push_back(at);
    (step.axis == 0 ? at.first : at.second) += step.direction;
  }
  EXPECT_EQ(at, (std::pair{0, 0})) << "it does not close";
  return places;
}

// Through every a x b block with an even side leads a closed way over each chip once, from neighbour to neighbour and
// never out of the block; a block with both sides odd has none, as on a chessboard with one field more of one colour.
TEST(GroupGeometry, ARingPassesEachChipOfABlockOnce) {
  for (int a = 2; a <= 9; ++a) {
    for (int b = 2; b <= 9; ++b) {
      const topologies::Cluster cluster = test::torus({a, b}, test::never);
      const auto geometry = rings_of(cluster, {{0, a, 1}, {1, b, 1}});
      SCOPED_TRACE(std::to_string(a) + "x" + std::to_string(b));
      if (a * b % 2 != 0) {
        ASSERT_EQ(geometry.size(), 2U);
        for (const auto& line : geometry) EXPECT_EQ(line.shape.shape, Shape::line);
        continue;
      }
      ASSERT_EQ(geometry.size(), 1U);
      EXPECT_EQ(geometry[0].shape.shape, Shape::ring);
      EXPECT_EQ(geometry[0].shape.members, a * b);
      const auto places = walk(geometry[0]);
      EXPECT_EQ(places.size(), static_cast<std::size_t>(a * b));
      std::set<std::pair<int, int>> seen;
      for (const auto& [x, y] : places) {
        EXPECT_TRUE(x >= 0 && x < a && y >= 0 && y < b);
        EXPECT_TRUE(seen.emplace(x, y).second) << "passed twice";
      }
    }
  }
}

// A ring through a block needs neighbours: a line that strides over others, or a third line, leaves all as they are.
TEST(GroupGeometry, OnlyTwoAdjacentLinesMakeABlock) {
  const topologies::Cluster cluster = test::torus({8, 8, 8}, test::never);
  EXPECT_EQ(rings_of(cluster, {{0, 2, 1}, {1, 2, 1}}).size(), 1U);
  EXPECT_EQ(rings_of(cluster, {{0, 2, 2}, {1, 2, 1}}).size(), 2U);
  EXPECT_EQ(rings_of(cluster, {{0, 2, 1}, {1, 2, 1}, {2, 2, 1}}).size(), 3U);
  // Two adjacent ones beside a strided one.
  const auto beside = rings_of(cluster, {{0, 2, 1}, {1, 2, 4}, {2, 4, 1}});
  ASSERT_EQ(beside.size(), 2U);
  EXPECT_EQ(beside[0].shape.label, "ring of 8 through the 2x4 block x,z");
  EXPECT_EQ(beside[1].shape.label, "line of 2 on y");
}

// The slower link and the longer hop of a block's two axes hold its ring up.
TEST(GroupGeometry, ABlockIsAsSlowAsItsSlowerAxis) {
  topologies::PhysicalAxes axes{{"x", 2, false, BytesPerSecond(100), Seconds(1)},
                                {"y", 2, false, BytesPerSecond(40), Seconds(3)}};
  auto graph = std::make_unique<topologies::Cluster::Graph>(4, 2);
  const topologies::Cluster cluster("uneven", test::chip(test::never), axes, std::move(graph));
  const auto ring = rings_of(cluster, {{0, 2, 1}, {1, 2, 1}});
  ASSERT_EQ(ring.size(), 1U);
  EXPECT_EQ(ring[0].shape.link, BytesPerSecond(40));
  EXPECT_EQ(ring[0].shape.hop_latency, Seconds(3));
}

TEST(SwitchedFactors, AreThoseBehindSwitches) {
  const topologies::Cluster pods = build_cluster(test::pods(6, test::fabric(topologies::Crossbar{}), {4}));
  EXPECT_THAT(switched_factors(pods, {{1, 4, 1}, {0, 3, 2}, {0, 2, 1}}), ElementsAre(topologies::Factor{0, 6, 1}));
  EXPECT_THAT(switched_factors(pods, {{1, 4, 1}}), IsEmpty());
  EXPECT_THAT(switched_factors(pods, {{0, 3, 2}, {1, 2, 1}}), ElementsAre(topologies::Factor{0, 3, 2}));
  const topologies::Cluster nodes = build_cluster(test::nodes(3, test::fabric(topologies::Crossbar{})));
  EXPECT_THAT(switched_factors(nodes, {{1, 4, 1}, {0, 3, 1}}),
              ElementsAre(topologies::Factor{0, 3, 1}, topologies::Factor{1, 4, 1}));
  EXPECT_THAT(rings_of(nodes, {{1, 4, 1}, {0, 3, 1}}), IsEmpty());
}

// A line of 3 with stride 2 from device 1 on: hops 1 > 2 > 3 and 3 > 4 > 5 there, and the same hops back.
TEST(AddLanes, BothDirectionsOverTheSamePositions) {
  const topologies::Cluster cluster = test::torus({6}, test::never);
  const auto geometry = rings_of(cluster, {{0, 3, 2}});
  ASSERT_EQ(geometry.size(), 1U);
  std::vector<topologies::Lane> lanes;
  add_lanes(cluster, geometry[0], 5, 1, lanes);
  ASSERT_EQ(lanes.size(), 2U);
  const auto names_of = [&](const topologies::Lane& lane) {
    std::vector<std::vector<std::string>> names;
    for (const auto& hop : lane.hops()) names.push_back(test::names(cluster, hop));
    return names;
  };
  EXPECT_EQ(lanes[0].dimension, 5);
  EXPECT_EQ(lanes[0].direction, 1);
  EXPECT_EQ(lanes[1].direction, -1);
  EXPECT_THAT(names_of(lanes[0]), ElementsAre(ElementsAre("chip(1)>chip(2)", "chip(2)>chip(3)"),
                                              ElementsAre("chip(3)>chip(4)", "chip(4)>chip(5)")));
  EXPECT_THAT(names_of(lanes[1]), ElementsAre(ElementsAre("chip(3)>chip(2)", "chip(2)>chip(1)"),
                                              ElementsAre("chip(5)>chip(4)", "chip(4)>chip(3)")));
}

}  // namespace
}  // namespace lockstep
