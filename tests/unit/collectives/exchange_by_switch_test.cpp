// Pairs counted switch by switch are the pairs that there are: on every sprayed fabric and on one from a file, the
// links of all routes one by one.
#include "sim/collectives/exchange_by_switch.hpp"

#include <gtest/gtest.h>

#include "tests/unit/topologies/graph_of_cluster.hpp"

namespace lockstep {
namespace {

using collectives::Crossings;

/// The first chip of every node.
std::vector<topologies::DeviceId> first_chips(const topologies::Cluster& cluster) {
  std::vector<topologies::DeviceId> members;
  for (topologies::DeviceId chip = 0; chip < cluster.devices(); chip += cluster.unit_size()) members.push_back(chip);
  return members;
}

/// By link.
Crossings counted(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& members) {
  const auto crossings = collectives::exchange_by_switch(cluster, members);
  auto all = crossings.shared;
  for (const auto link : crossings.own) all[link] += std::ssize(members) - 1;
  return all;
}

Crossings one_by_one(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& members) {
  Crossings crossings;
  for (const auto from : members) {
    for (const auto to : members) {
      if (from == to) continue;
      for (const auto link : cluster.route(from, to)) ++crossings[link];
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
    const auto members = first_chips(cluster);
    EXPECT_EQ(counted(cluster, members), one_by_one(cluster, members)) << cluster.name();
  }
}

// Hashed pairs are counted one by one.
TEST(ExchangeBySwitch, CountsHashedRoutesToo) {
  const auto cluster =
      build_cluster(cluster_on(test::fabric(topologies::FatTree{}, 8, {}, topologies::FabricRouting::ecmp)));
  EXPECT_EQ(counted(cluster, first_chips(cluster)), one_by_one(cluster, first_chips(cluster)));
}

}  // namespace
}  // namespace lockstep
