#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;

std::vector<topologies::DeviceId> devices_by_position(const topologies::ClusterSpec& spec) {
  const topologies::Cluster cluster = build_cluster(spec);
  std::vector<topologies::DeviceId> devices;
  for (topologies::DeviceId position = 0; position < cluster.devices(); ++position)
    devices.push_back(cluster.device_at_position(position));
  return devices;
}

topologies::ClusterSpec three_nodes_of_two(topologies::RankOrder order) {
  topologies::ClusterSpec spec = test::nodes(3, test::fabric(topologies::Crossbar{}), test::node(2, 1));
  spec.order = std::move(order);
  return spec;
}

/// Packed: devices as numbered. Round robin: position p on node p mod 3.
TEST(RankOrder, PackedAndRoundRobin) {
  EXPECT_THAT(devices_by_position(three_nodes_of_two({})), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_THAT(devices_by_position(three_nodes_of_two({topologies::RankOrder::Kind::round_robin, 1, {}})),
              ElementsAre(0, 2, 4, 1, 3, 5));
}

TEST(RankOrder, ListedIsAsListed) {
  EXPECT_THAT(devices_by_position(three_nodes_of_two({topologies::RankOrder::Kind::listed, 1, {5, 3, 1, 0, 2, 4}})),
              ElementsAre(5, 3, 1, 0, 2, 4));
}

/// Whole nodes move, their chips in order; the same seed gives the same order, and not every seed the order of numbers.
TEST(RankOrder, ScatteredMovesWholeNodesBySeed) {
  const auto order = [](std::uint64_t seed) {
    topologies::ClusterSpec spec = test::nodes(10, test::fabric(topologies::Crossbar{}), test::node(2, 1));
    spec.order = {topologies::RankOrder::Kind::scattered, seed, {}};
    return devices_by_position(spec);
  };
  std::vector<topologies::DeviceId> devices = order(7);
  EXPECT_EQ(devices, order(7));
  EXPECT_NE(devices, order(8));
  for (std::size_t i = 0; i < devices.size(); i += 2) {
    EXPECT_EQ(devices[i] % 2, 0);
    EXPECT_EQ(devices[i + 1], devices[i] + 1);
  }
  std::sort(devices.begin(), devices.end());
  for (topologies::DeviceId device = 0; device < 20; ++device)
    EXPECT_EQ(devices[static_cast<std::size_t>(device)], device);
}

/// The mesh puts rank r, at logical position p, on the p-th device of the order; rank_of is the inverse. On two nodes
/// of four, round robin: neighbours on gpu are in different nodes.
TEST(RankOrder, TheMeshFollowsIt) {
  topologies::ClusterSpec spec = test::nodes(2, test::fabric(topologies::Crossbar{}));
  spec.order.kind = topologies::RankOrder::Kind::round_robin;
  const topologies::Cluster cluster = build_cluster(spec);
  const topologies::Mesh mesh = test::placed(cluster, {test::on("data", {"node"}), test::on("tensor", {"gpu"})});
  EXPECT_EQ(mesh.device_of(0), 0);
  EXPECT_EQ(mesh.device_of(1), 4);
  EXPECT_EQ(mesh.device_of(2), 1);
  EXPECT_EQ(mesh.device_of(7), 7);
  for (topologies::RankId rank = 0; rank < mesh.ranks(); ++rank) EXPECT_EQ(mesh.rank_of(mesh.device_of(rank)), rank);
  // Ranks 0..3 are a tensor group whatever devices they stand on.
  EXPECT_THAT(mesh.groups({"tensor"}).front().members, ElementsAre(0, 1, 2, 3));
}

/// Pods change places as wholes, so that rings lie inside pods: in reversed order the first group is on the last pod.
TEST(RankOrder, PodsMoveWithTheirRings) {
  topologies::ClusterSpec spec = test::pods(2, test::fabric(topologies::Crossbar{}), {4}, test::always);
  spec.order = {topologies::RankOrder::Kind::listed, 1, {4, 5, 6, 7, 0, 1, 2, 3}};
  const topologies::Cluster cluster = build_cluster(spec);
  const topologies::Mesh mesh = test::placed(cluster, {test::on("data", {"pod"}), test::on("fsdp", {"x"})});
  const std::vector<topologies::Group> groups = mesh.groups({"fsdp"});
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_THAT(groups[0].members, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(cluster.link(groups[0].lanes.front().hops().front().front()).from, 4);
  EXPECT_EQ(cluster.link(groups[1].lanes.front().hops().front().front()).from, 0);
}

}  // namespace
}  // namespace lockstep
