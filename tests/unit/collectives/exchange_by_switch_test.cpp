// Pairs counted switch by switch are the pairs that there are: on every sprayed fabric and on one from a file, the
// links of all routes one by one.
#include "sim/collectives/exchange_by_switch.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

using collectives::Crossings;
using collectives::MembersByUnit;

/// The first chips of every node.
MembersByUnit chips_of_nodes(const topologies::Cluster& cluster, topologies::DeviceId chips) {
  MembersByUnit members;
  for (topologies::DeviceId first = 0; first < cluster.devices(); first += cluster.unit_size()) {
    auto& unit = members.emplace_back();
    for (topologies::DeviceId chip = 0; chip < chips; ++chip) unit.push_back(first + chip);
  }
  return members;
}

/// By link.
Crossings counted(const topologies::Cluster& cluster, const MembersByUnit& units) {
  const auto crossings = collectives::exchange_by_switch(cluster, units);
  auto all = crossings.shared;
  for (const auto link : crossings.own) all[link] += std::ssize(units.front()) * (std::ssize(units) - 1);
  return all;
}

Crossings one_by_one(const topologies::Cluster& cluster, const MembersByUnit& units) {
  Crossings crossings;
  for (const auto& senders : units) {
    for (const auto& receivers : units) {
      if (&senders == &receivers) continue;
      for (const auto from : senders) {
        for (const auto to : receivers) {
          for (const auto link : cluster.route(from, to)) ++crossings[link];
        }
      }
    }
  }
  return crossings;
}

topologies::ClusterSpec cluster_on(const topologies::FabricSpec& fabric) {
  return test::nodes(14, fabric, test::node(2, 2));
}

TEST(ExchangeBySwitch, CountsThePairsThatThereAre) {
  const auto tree = cluster_on(test::fabric(topologies::FatTree{}, 8));
  for (const auto& spec : {tree, test::as_given(tree), cluster_on(test::fabric(topologies::FatTree{}, 6)),
                           cluster_on(test::fabric(topologies::Crossbar{})),
                           cluster_on(test::fabric(topologies::RailOptimised{}, 8)), cluster_on(test::dragonfly())}) {
    const auto cluster = build_cluster(spec);
    for (const int chips : {1, 2}) {
      const auto members = chips_of_nodes(cluster, chips);
      EXPECT_EQ(counted(cluster, members), one_by_one(cluster, members)) << cluster.name() << ", " << chips;
    }
  }
}

// Hashed pairs are counted one by one.
TEST(ExchangeBySwitch, CountsHashedRoutesToo) {
  const auto cluster =
      build_cluster(cluster_on(test::fabric(topologies::FatTree{}, 8, {}, topologies::FabricRouting::ecmp)));
  EXPECT_EQ(counted(cluster, chips_of_nodes(cluster, 2)), one_by_one(cluster, chips_of_nodes(cluster, 2)));
}

}  // namespace
}  // namespace lockstep
