// Devices count row-major over the physical axes, hall, pod or node, then those of a unit:
//   device = (...(c0 s1 + c1) s2 + ...) + cn,   unit = device / (product of the sizes of a unit's axes).
#include "topologies/cluster/cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

topologies::ClusterSpec in_halls(topologies::ClusterSpec spec, int halls) {
  spec.halls = halls;
  spec.between_halls = test::fabric(topologies::Crossbar{});
  return spec;
}

std::vector<topologies::Cluster> several() {
  std::vector<topologies::Cluster> clusters;
  clusters.push_back(test::torus({4, 3, 2}, test::always));
  clusters.push_back(test::torus({1}, test::never));
  const auto crossbar = test::fabric(topologies::Crossbar{});
  clusters.push_back(build_cluster(test::nodes(1, crossbar)));
  clusters.push_back(build_cluster(test::nodes(3, crossbar)));
  clusters.push_back(build_cluster(test::pods(2, crossbar, {4, 2}, test::always)));
  clusters.push_back(build_cluster(in_halls(test::nodes(3, crossbar, test::node(2, 1)), 2)));
  clusters.push_back(build_cluster(in_halls(test::pods(2, crossbar, {2, 3}), 3)));
  return clusters;
}

TEST(Cluster, CoordinatesAreThoseOfTheDeviceAndBack) {
  for (const topologies::Cluster& cluster : several()) {
    std::set<std::vector<int>> seen;
    std::vector<int> before;
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) {
      const auto place = cluster.coordinates(device);
      ASSERT_EQ(place.size(), cluster.axes().size());
      for (std::size_t axis = 0; axis < place.size(); ++axis) {
        EXPECT_GE(place[axis], 0);
        EXPECT_LT(place[axis], cluster.axes()[axis].size);
      }
      EXPECT_EQ(cluster.device_at(place), device);
      EXPECT_LT(before, place) << "in lexical order";
      before = place;
      seen.insert(place);
    }
    EXPECT_EQ(std::ssize(seen), cluster.devices()) << cluster.name();
  }
}

// Two halls of three nodes of two: device 9 is chip 1 of node 1 of hall 1.
TEST(Cluster, CountsHallsThenUnitsThenChips) {
  const topologies::Cluster cluster =
      build_cluster(in_halls(test::nodes(3, test::fabric(topologies::Crossbar{}), test::node(2, 1)), 2));
  ASSERT_EQ(cluster.devices(), 12);
  EXPECT_THAT(cluster.coordinates(9), ElementsAre(1, 1, 1));
  EXPECT_EQ(cluster.node(9).name, "chip(1,1,1)");
  EXPECT_EQ(cluster.unit_size(), 2);
  EXPECT_EQ(cluster.unit_of(9), 4);
  EXPECT_FALSE(cluster.unit_is_torus());
}

// Devices of a unit follow one another, and share all coordinates on axes between units.
TEST(Cluster, UnitsAreRunsOfDevices) {
  for (const topologies::Cluster& cluster : several()) {
    EXPECT_EQ(cluster.devices() % cluster.unit_size(), 0);
    const auto outside = [&](topologies::DeviceId device) {
      std::vector<int> place;
      for (std::size_t axis = 0; axis < cluster.axes().size(); ++axis) {
        if (cluster.axes()[axis].kind == topologies::PhysicalAxis::Kind::scale_out)
          place.push_back(cluster.coordinates(device)[axis]);
      }
      return place;
    };
    for (topologies::DeviceId a = 0; a < cluster.devices(); ++a) {
      for (topologies::DeviceId b = 0; b < cluster.devices(); ++b)
        EXPECT_EQ(cluster.unit_of(a) == cluster.unit_of(b), outside(a) == outside(b)) << cluster.name();
    }
  }
}

TEST(Cluster, ATorusAloneIsOneUnit) {
  const topologies::Cluster torus = test::torus({4, 3}, test::never);
  EXPECT_EQ(torus.unit_size(), 12);
  EXPECT_EQ(torus.unit_of(11), 0);
  EXPECT_TRUE(torus.unit_is_torus());
  EXPECT_EQ(torus.node_spec(), nullptr);
  EXPECT_EQ(torus.fabric_spec(), nullptr);
  EXPECT_EQ(torus.device_at_position(7), 7) << "without an order positions are devices";
}

TEST(Cluster, KnowsTheNodeAndTheNetworkThatItIsMadeOf) {
  const topologies::Cluster nodes = build_cluster(test::nodes(2, test::fabric(topologies::Crossbar{})));
  ASSERT_NE(nodes.node_spec(), nullptr);
  EXPECT_EQ(nodes.node_spec()->name, "test-node");
  ASSERT_NE(nodes.fabric_spec(), nullptr);
  const topologies::Cluster alone = build_cluster(test::nodes(1, test::fabric(topologies::Crossbar{})));
  EXPECT_NE(alone.node_spec(), nullptr);
  EXPECT_EQ(alone.fabric_spec(), nullptr) << "a single unit has no network";
  const topologies::Cluster pods = build_cluster(test::pods(2, test::fabric(topologies::Crossbar{}), {4}));
  EXPECT_EQ(pods.node_spec(), nullptr);
  EXPECT_NE(pods.fabric_spec(), nullptr);
}

// From a device to itself there is nothing to cross, whatever is missing; to every other one a route leads there.
TEST(Cluster, RoutesLeadFromEveryDeviceToEveryOther) {
  for (const topologies::Cluster& cluster : several()) {
    for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
      for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
        topologies::NodeId here = from;
        const auto route = cluster.route(from, to);
        EXPECT_EQ(route.empty(), from == to);
        for (const topologies::LinkId link : route) {
          ASSERT_EQ(cluster.link(link).from, here) << cluster.name();
          here = cluster.link(link).to;
        }
        EXPECT_EQ(here, to);
        EXPECT_EQ(std::set<topologies::LinkId>(route.begin(), route.end()).size(), route.size()) << "no link twice";
      }
    }
  }
}

TEST(Cluster, AvoidsWhatIsMissingUntilItIsThereAgain) {
  topologies::Cluster cluster = build_cluster(test::nodes(2, test::fabric(topologies::Crossbar{})));
  const auto whole = cluster.route(0, 4);
  topologies::MissingLinks missing(static_cast<std::size_t>(cluster.links()), false);
  missing[static_cast<std::size_t>(whole[1])] = true;
  cluster.avoid(missing);
  EXPECT_TRUE(cluster.route(0, 0).empty());
  try {
    static_cast<void>(cluster.route(0, 4));
    FAIL() << "must throw";
  } catch (const topologies::NoRoute& none) {
    EXPECT_STREQ(none.what(), "missing links leave no route from chip(0,0) to chip(1,0)");
  }
  EXPECT_FALSE(cluster.route(2, 4).empty()) << "by the node's other NIC";
  cluster.avoid({});
  EXPECT_EQ(cluster.route(0, 4), whole);
}

TEST(Cluster, MovesWithAllThatItHolds) {
  topologies::Cluster from = build_cluster(test::nodes(2, test::fabric(topologies::Crossbar{})));
  const auto text = from.to_string();
  const auto route = from.route(0, 5);
  topologies::Cluster to = test::torus({4}, test::never);
  to = std::move(from);
  EXPECT_EQ(to.to_string(), text);
  EXPECT_EQ(to.route(0, 5), route);
}

// Twelve chips: 12 links each way to the nodes' switches, 12 to NICs, 6 of NICs to the one switch.
TEST(Cluster, PrintsNodesAndTheirNetwork) {
  const auto text = build_cluster(test::nodes(3, test::fabric(topologies::Crossbar{}))).to_string();
  EXPECT_THAT(text, testing::StartsWith("cluster 3 x test-node on test-fabric: 12 chips\n"
                                        "  axis node 3, scale-out, 50.0 GB/s one way, latency 6.00 us\n"
                                        "  axis gpu 4, scale-up, 400 GB/s one way, latency 2.00 us\n"
                                        "  nodes: chips 12, hosts 0, switches 4, NICs 6\n"
                                        "  one-way links: ICI 0, PCIe 24, DCN 0, scale-up 24, network 12\n"));
  EXPECT_THAT(text, HasSubstr("test-chip"));
}

}  // namespace
}  // namespace lockstep
