#include <gtest/gtest.h>

#include "sim/core/errors.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

/// Hops between two places: per axis |a - b| on a line, min(|a - b|, X - |a - b|) on a ring of X.
int distance(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to) {
  const std::vector<int> a = cluster.coordinates(from);
  const std::vector<int> b = cluster.coordinates(to);
  int hops = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int apart = std::abs(a[i] - b[i]);
    hops += cluster.axes()[i].wraps ? std::min(apart, cluster.axes()[i].size - apart) : apart;
  }
  return hops;
}

void expect_connected(const topologies::Cluster& cluster, const std::vector<topologies::LinkId>& route,
                      topologies::NodeId from, topologies::NodeId to) {
  topologies::NodeId here = from;
  for (const topologies::LinkId id : route) {
    ASSERT_GE(id, 0);
    ASSERT_EQ(cluster.link(id).from, here);
    here = cluster.link(id).to;
  }
  EXPECT_EQ(here, to);
}

TEST(Route, LeadsThereDimensionByDimensionInTheFewestHops) {
  for (const topologies::WrapRule& wrap : {test::never, test::always, test::multiple_of_four}) {
    for (const std::vector<int>& shape : std::vector<std::vector<int>>{{1}, {6}, {2, 5}, {4, 3, 2}, {1, 4, 4}}) {
      const topologies::Cluster cluster = test::torus(shape, wrap);
      for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
        for (topologies::DeviceId to = 0; to < cluster.devices(); ++to) {
          const std::vector<topologies::LinkId> route = cluster.route(from, to);
          expect_connected(cluster, route, from, to);
          EXPECT_EQ(static_cast<int>(route.size()), distance(cluster, from, to));
          for (std::size_t i = 1; i < route.size(); ++i) {
            EXPECT_LE(cluster.link(route[i - 1]).axis, cluster.link(route[i]).axis);
          }
        }
      }
    }
  }
}

/// Half-way round a ring of 4 both ways take 2 hops: the + direction goes, from either end.
TEST(Route, AHalfWayTieGoesForward) {
  const topologies::Cluster cluster = test::torus({4}, test::always);
  EXPECT_EQ(cluster.link(cluster.route(0, 2).front()).direction, 1);
  EXPECT_EQ(cluster.link(cluster.route(2, 0).front()).direction, 1);
  EXPECT_EQ(cluster.link(cluster.route(3, 1).front()).direction, 1);
  EXPECT_EQ(cluster.link(cluster.route(0, 3).front()).direction, -1);
}

TEST(RouteNodes, HasAtMostTheHopsOfTheTorus) {
  const topologies::Cluster cluster = test::torus({4, 3, 2}, test::multiple_of_four);
  for (topologies::NodeId from = 0; from < cluster.nodes(); ++from) {
    for (topologies::NodeId to = 0; to < cluster.nodes(); ++to) {
      const std::vector<topologies::LinkId> route = cluster.route_nodes(from, to);
      expect_connected(cluster, route, from, to);
      if (from < cluster.devices() && to < cluster.devices()) {
        EXPECT_LE(static_cast<int>(route.size()), distance(cluster, from, to));
      }
    }
  }
}

/// Chips 0 and 20 of a line of 30 in hosts of 2 are 20 links apart; over PCIe, host, DCN, host, PCIe 4.
TEST(RouteNodes, TakesTheDataCentreNetworkWhenThatIsShorter) {
  const topologies::Cluster cluster = test::torus({30}, test::never);
  const std::vector<topologies::LinkId> route = cluster.route_nodes(0, 20);
  ASSERT_EQ(route.size(), 4u);
  EXPECT_EQ(cluster.link(route[0]).kind, topologies::LinkKind::pcie);
  EXPECT_EQ(cluster.link(route[1]).kind, topologies::LinkKind::dcn);
  EXPECT_EQ(cluster.link(route[2]).kind, topologies::LinkKind::dcn);
  EXPECT_EQ(cluster.link(route[3]).kind, topologies::LinkKind::pcie);
  EXPECT_EQ(cluster.link(route[1]).latency, Seconds(10e-6));
  EXPECT_EQ(cluster.route_nodes(7, 7).size(), 0u);
}

}  // namespace
}  // namespace lockstep
