// Routes round missing links: of the equal ways of a network those that are whole, by the same rule as before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

topologies::MissingLinks without(const topologies::Cluster& cluster, const std::vector<std::string>& names) {
  topologies::MissingLinks missing(static_cast<std::size_t>(cluster.links()), false);
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const std::string name = cluster.link_name(link);
    missing[static_cast<std::size_t>(link)] = std::find(names.begin(), names.end(), name) != names.end();
  }
  EXPECT_EQ(std::count(missing.begin(), missing.end(), true), std::ssize(names));
  return missing;
}

/// 4096 pairs by hash over 4 uplinks, of which one goes down. The pairs on the others stay; its own, about 1024, spread
/// over the three that are left: 341 each, and none off by more than 5 standard deviations, sqrt(1024 x 1/3 x 2/3)
/// = 15.
TEST(FabricDetour, OnlyFlowsOfTheMissingUplinkMoveAndTheySpreadEvenly) {
  topologies::Cluster cluster = build_cluster(test::nodes(
      128, test::fabric(topologies::FatTree{}, 68, {16}, topologies::FabricRouting::ecmp), test::node(1, 1)));
  std::map<std::pair<topologies::DeviceId, topologies::DeviceId>, std::vector<topologies::LinkId>> whole;
  const auto each_pair = [](const auto& visit) {
    for (topologies::DeviceId from = 0; from < 64; ++from) {
      for (topologies::DeviceId to = 64; to < 128; ++to) visit(from, to);
    }
  };
  each_pair([&](topologies::DeviceId from, topologies::DeviceId to) { whole[{from, to}] = cluster.route(from, to); });
  const std::vector<topologies::LinkId> back = cluster.route(64, 0);
  cluster.avoid(without(cluster, {"leaf(0)>spine(0,1)"}));
  std::map<std::string, int> moved;
  each_pair([&](topologies::DeviceId from, topologies::DeviceId to) {
    const std::vector<topologies::LinkId> route = cluster.route(from, to);
    if (cluster.link_name(whole.at({from, to})[2]) == "leaf(0)>spine(0,1)") {
      ++moved[cluster.link_name(route[2])];
      EXPECT_EQ(cluster.link(route[3]).from, cluster.link(route[2]).to);
    } else {
      EXPECT_EQ(route, (whole.at({from, to})));
    }
  });
  ASSERT_EQ(moved.size(), 3u);
  for (const auto& [uplink, count] : moved) EXPECT_NEAR(count, 341, 75) << uplink;
  EXPECT_EQ(cluster.route(64, 0), back);
}

/// A link down from a spine counts as one up to it: the leaf does not send there what could not arrive.
TEST(FabricDetour, AWayIsLeftOnlyIfItArrives) {
  topologies::Cluster cluster = build_cluster(
      test::nodes(4, test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp), test::node(1, 1)));
  cluster.avoid(without(cluster, {"leaf(0)>spine(0,0)"}));
  EXPECT_THAT(test::names(cluster, cluster.route(0, 2)),
              testing::IsSupersetOf({"leaf(0)>spine(0,1)", "spine(0,1)>leaf(1)"}));
  cluster.avoid(without(cluster, {"spine(0,1)>leaf(1)"}));
  EXPECT_THAT(test::names(cluster, cluster.route(0, 2)),
              testing::IsSupersetOf({"leaf(0)>spine(0,0)", "spine(0,0)>leaf(1)"}));
  cluster.avoid(without(cluster, {"leaf(0)>spine(0,0)", "spine(0,1)>leaf(1)"}));
  EXPECT_THROW((void)cluster.route(0, 2), topologies::NoRoute);
  EXPECT_EQ(cluster.route(2, 0).size(), 6u);
  EXPECT_EQ(cluster.route(0, 1).size(), 4u);
}

/// Any one link between switches is missing: every pair still has a way of the same length, and it is one.
TEST(FabricDetour, OneMissingCableLeavesEqualWays) {
  topologies::ClusterSpec halls =
      test::nodes(4, test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp), test::node(1, 1));
  halls.halls = 2;
  halls.between_halls = test::fabric(topologies::Crossbar{});
  for (const topologies::ClusterSpec& spec :
       {test::nodes(4, test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp), test::node(1, 1)),
        test::nodes(12, test::fabric(topologies::FatTree{}, 4, {}, topologies::FabricRouting::ecmp), test::node(1, 1)),
        test::nodes(6, test::fabric(topologies::RailOptimised{}, 4, {}, topologies::FabricRouting::ecmp),
                    test::node(2, 2)),
        halls}) {
    topologies::Cluster cluster = build_cluster(spec);
    std::map<std::pair<topologies::DeviceId, topologies::DeviceId>, std::size_t> length;
    for (topologies::DeviceId from = 0; from < cluster.devices(); ++from) {
      for (topologies::DeviceId to = 0; to < cluster.devices(); ++to)
        length[{from, to}] = cluster.route(from, to).size();
    }
    for (topologies::LinkId gone = 0; gone < cluster.links(); ++gone) {
      const topologies::Link& link = cluster.link(gone);
      if (cluster.node(link.from).kind != topologies::NodeKind::network_switch ||
          cluster.node(link.to).kind != topologies::NodeKind::network_switch)
        continue;
      cluster.avoid(without(cluster, {cluster.link_name(gone)}));
      for (const auto& [pair, links] : length) {
        const std::vector<topologies::LinkId> route = cluster.route(pair.first, pair.second);
        ASSERT_EQ(route.size(), links) << spec.fabric.name << ' ' << cluster.link_name(gone);
        topologies::NodeId at = pair.first;
        for (const topologies::LinkId hop : route) {
          ASSERT_NE(hop, gone);
          ASSERT_EQ(cluster.link(hop).from, at);
          at = cluster.link(hop).to;
        }
        ASSERT_EQ(at, pair.second);
      }
    }
  }
}

/// A chip has one NIC, and a node of switches one link to each chip: nothing is beside them.
TEST(FabricDetour, NoWayRoundANicOrAPort) {
  topologies::Cluster cluster = build_cluster(test::nodes(2, test::fabric(topologies::Crossbar{})));
  cluster.avoid(without(cluster, {"nic(0,0)>crossbar"}));
  EXPECT_THROW((void)cluster.route(0, 4), topologies::NoRoute);
  EXPECT_EQ(cluster.route(4, 0).size(), 4u);
  EXPECT_EQ(cluster.route(2, 4).size(), 4u);  // the other NIC
  EXPECT_EQ(cluster.route(0, 1).size(), 2u);
  cluster.avoid(without(cluster, {"chip(0,0)>switch(0)", "chip(1,0)>nic(1,0)"}));
  EXPECT_THROW((void)cluster.route(0, 1), topologies::NoRoute);
  EXPECT_THROW((void)cluster.route(4, 0), topologies::NoRoute);
  EXPECT_EQ(cluster.route(1, 0).size(), 2u);
}

/// Three groups, each two joined by three global links at three routers. Without the one at its own router a chip
/// goes over another router's, one local hop more at one end or both; without all three it has no minimal way.
TEST(FabricDetour, DragonflyTakesALongerMinimalWay) {
  topologies::Cluster cluster = build_cluster(test::nodes(9, test::dragonfly(topologies::FabricRouting::ecmp)));
  topologies::DeviceId to = 12;
  while (cluster.route(0, to).size() != 5) ++to;  // one at the other end of the global link of chip 0's router
  const std::vector<topologies::LinkId> whole = cluster.route(0, to);
  std::vector<std::string> global;
  for (topologies::LinkId link = 0; link < cluster.links(); ++link) {
    const std::string name = cluster.link_name(link);
    if (name.starts_with("router(0,") && name.find(">router(1,") != std::string::npos) global.push_back(name);
  }
  ASSERT_EQ(global.size(), 3u);
  const auto used = test::names(cluster, whole);
  std::erase_if(global,
                [&](const std::string& name) { return std::find(used.begin(), used.end(), name) != used.end(); });
  ASSERT_EQ(global.size(), 2u);
  const auto taken = std::find_if(used.begin(), used.end(),
                                  [](const std::string& name) { return name.find(">router(1,") != std::string::npos; });
  cluster.avoid(without(cluster, {*taken}));
  EXPECT_GT(cluster.route(0, to).size(), 5u);
  EXPECT_LE(cluster.route(0, to).size(), 7u);  // chip, NIC, local, global, local, NIC, chip
  cluster.avoid(without(cluster, {*taken, global[0], global[1]}));
  EXPECT_THROW((void)cluster.route(0, to), topologies::NoRoute);
}

}  // namespace
}  // namespace lockstep
