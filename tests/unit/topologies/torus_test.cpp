#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep {
namespace {

std::map<topologies::LinkKind, int> count_links(const topologies::Cluster& cluster) {
  std::map<topologies::LinkKind, int> count;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) ++count[cluster.link(id).kind];
  return count;
}

std::map<topologies::NodeKind, int> count_nodes(const topologies::Cluster& cluster) {
  std::map<topologies::NodeKind, int> count;
  for (topologies::NodeId id = 0; id < cluster.nodes(); ++id) ++count[cluster.node(id).kind];
  return count;
}

std::vector<bool> wraps(const std::string& chip, std::vector<int> shape) {
  std::vector<bool> wraps;
  const topologies::Cluster cluster = topologies::build_torus({test::catalog_chip(chip), std::move(shape), {}});
  for (const topologies::PhysicalAxis& axis : cluster.axes()) wraps.push_back(axis.wraps);
  return wraps;
}

/// A whole v5p pod, all axes wrapped: 6 links leave each of 16 x 20 x 28 = 8960 chips, 53 760 in all;
/// 8960 / (2 x 2) = 2240 hosts; PCIe both ways for each chip, DCN both ways for each host.
TEST(Torus, V5pPodHasTheLinksItShould) {
  const topologies::Cluster cluster = topologies::build_torus({test::catalog_chip("tpu-v5p"), {16, 20, 28}, {}});
  EXPECT_EQ(cluster.devices(), 8960);
  EXPECT_EQ(count_links(cluster), (std::map<topologies::LinkKind, int>{{topologies::LinkKind::ici, 53760},
                                                                       {topologies::LinkKind::pcie, 17920},
                                                                       {topologies::LinkKind::dcn, 4480}}));
  EXPECT_EQ(count_nodes(cluster), (std::map<topologies::NodeKind, int>{{topologies::NodeKind::device, 8960},
                                                                       {topologies::NodeKind::host, 2240},
                                                                       {topologies::NodeKind::network_switch, 1}}));
}

/// One-way ICI links of an axis of size X: X on a ring, X-1 on a line, each way, times the other axes.
TEST(Torus, IciLinksFollowFromSizesAndWraps) {
  EXPECT_EQ(count_links(test::torus({4, 2, 1}, test::multiple_of_four))[topologies::LinkKind::ici],
            2 * (4 * 2 + 1 * 4));
  EXPECT_EQ(count_links(test::torus({3, 5}, test::never))[topologies::LinkKind::ici], 2 * (2 * 5 + 4 * 3));
  EXPECT_EQ(count_links(test::torus({3, 5}, test::always))[topologies::LinkKind::ici], 2 * (3 * 5 + 5 * 3));
  EXPECT_EQ(count_links(test::torus({1}, test::always))[topologies::LinkKind::ici], 0);
}

TEST(Torus, IciLinksComeFirst) {
  const topologies::Cluster cluster = test::torus({4, 3}, test::multiple_of_four);
  const int ici = count_links(cluster)[topologies::LinkKind::ici];
  for (topologies::LinkId id = 0; id < cluster.links(); ++id)
    EXPECT_EQ(cluster.link(id).kind == topologies::LinkKind::ici, id < ici);
}

TEST(Torus, WrapsFollowTheChipsRule) {
  EXPECT_THAT(wraps("tpu-v4", {4, 4, 4}), testing::ElementsAre(true, true, true));
  EXPECT_THAT(wraps("tpu-v4", {2, 2, 1}), testing::ElementsAre(false, false, false));
  EXPECT_THAT(wraps("tpu-v5e", {8, 4}), testing::ElementsAre(false, false));
  EXPECT_THAT(wraps("tpu-v5e", {16, 4}), testing::ElementsAre(true, false));
  EXPECT_THAT(wraps("tpu-v6e", {16, 16}), testing::ElementsAre(true, true));
  EXPECT_THAT(wraps("tpu-v3", {32, 16}), testing::ElementsAre(true, false));
}

/// Going along an axis and back is the identity, and only a line has ends.
TEST(Torus, NeighboursAreMutualAndOnlyLinesEnd) {
  const topologies::Cluster cluster = test::torus({4, 3, 2}, test::multiple_of_four);
  for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
    for (int axis = 0; axis < 3; ++axis) {
      const int size = cluster.axes()[static_cast<std::size_t>(axis)].size;
      for (const int direction : {1, -1}) {
        std::vector<int> place = cluster.coordinates(device);
        int& coordinate = place[static_cast<std::size_t>(axis)];
        coordinate += direction;
        const topologies::LinkId there = cluster.neighbour_link(device, axis, direction);
        const bool outside = coordinate < 0 || coordinate == size;
        ASSERT_EQ(there == -1, outside && size != 4) << device;
        if (there == -1) continue;
        coordinate = (coordinate + size) % size;
        const topologies::Link& link = cluster.link(there);
        EXPECT_EQ(link.from, device);
        EXPECT_EQ(link.to, cluster.device_at(place));
        EXPECT_EQ(link.axis, axis);
        EXPECT_EQ(link.direction, direction);
        EXPECT_EQ(link.bandwidth, BytesPerSecond(100e9));
        const topologies::LinkId back = cluster.neighbour_link(link.to, axis, -direction);
        ASSERT_NE(back, -1);
        EXPECT_EQ(cluster.link(back).to, device);
      }
    }
  }
}

TEST(Torus, CoordinatesCountRowMajor) {
  const topologies::Cluster cluster = test::torus({4, 3, 2}, test::never);
  EXPECT_THAT(cluster.coordinates(1), testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(cluster.coordinates(23), testing::ElementsAre(3, 2, 1));
  for (topologies::DeviceId device = 0; device < 24; ++device)
    EXPECT_EQ(cluster.device_at(cluster.coordinates(device)), device);
}

TEST(Torus, NamesSayWhere) {
  const topologies::Cluster cluster = test::torus({4, 3, 2}, test::multiple_of_four);
  EXPECT_EQ(cluster.name(), "test-chip 4x3x2");
  EXPECT_EQ(cluster.node(23).name, "chip(3,2,1)");
  EXPECT_EQ(cluster.node(24).name, "host(0,0,0)");
  EXPECT_EQ(cluster.node(cluster.nodes() - 1).name, "dcn");
  EXPECT_EQ(cluster.link_name(cluster.neighbour_link(0, 0, -1)), "chip(0,0,0)>chip(3,0,0)");
}

/// 5x3 chips in blocks of 2x2: ceil(5/2) x ceil(3/2) = 6 hosts; the corner block holds one chip.
TEST(Torus, HostBlocksAreClippedAtTheEdge) {
  const topologies::Cluster cluster = test::torus({5, 3}, test::never);
  EXPECT_EQ(count_nodes(cluster)[topologies::NodeKind::host], 6);
  std::map<std::string, std::set<std::string>> chips_of;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const topologies::Link& link = cluster.link(id);
    if (link.kind != topologies::LinkKind::pcie || link.from >= cluster.devices()) continue;
    chips_of[cluster.node(link.to).name].insert(cluster.node(link.from).name);
  }
  EXPECT_THAT(chips_of["host(0,0)"], testing::ElementsAre("chip(0,0)", "chip(0,1)", "chip(1,0)", "chip(1,1)"));
  EXPECT_THAT(chips_of["host(1,1)"], testing::ElementsAre("chip(2,2)", "chip(3,2)"));
  EXPECT_THAT(chips_of["host(2,1)"], testing::ElementsAre("chip(4,2)"));
}

TEST(Torus, WithoutPcieThereAreOnlyChips) {
  topologies::Chip chip = test::chip(test::always);
  chip.pcie.reset();
  const topologies::Cluster cluster = topologies::build_torus({chip, {4, 4}, {}});
  EXPECT_EQ(cluster.nodes(), 16);
  EXPECT_EQ(cluster.links(), 64);
}

TEST(Torus, PrintsItself) {
  EXPECT_THAT(test::torus({4, 3}, test::multiple_of_four).to_string(),
              testing::StartsWith("cluster test-chip 4x3: 12 chips\n"
                                  "  axis x 4, a ring, 100 GB/s one way, hop 1.00 us\n"
                                  "  axis y 3, a line, 100 GB/s one way, hop 1.00 us\n"
                                  "  nodes: chips 12, hosts 4, switches 1\n"
                                  "  one-way links: ICI 40, PCIe 24, DCN 8\n"));
}

}  // namespace
}  // namespace lockstep
