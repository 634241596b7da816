// Pairs counted switch by switch against all pairs one by one, on random sprayed fabrics, for random members in random
// order, with and without missing links. A count is a number of routes, so they must agree to the last one; and the sum
// over all links is the sum of the lengths of all routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sim/collectives/exchange_by_switch.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using collectives::Crossings;
using topologies::Cluster;
using topologies::DeviceId;

std::size_t pick(std::mt19937& random, std::size_t count) { return random() % count; }

topologies::FabricSpec random_fabric(std::mt19937& random) {
  const std::vector<int> radices{6, 8, 12, 16};
  const std::vector<std::vector<double>> tapers{{}, {}, {2}, {3}};
  const int radix = radices[pick(random, radices.size())];
  const auto& taper = tapers[pick(random, tapers.size())];
  using Rails = topologies::RailOptimised::Rails;
  switch (pick(random, 5)) {
    case 0: return test::fabric(topologies::Crossbar{});
    case 1: return test::dragonfly();
    case 2: return test::fabric(topologies::RailOptimised{0, Rails::separate}, radix);
    case 3: return test::fabric(topologies::RailOptimised{0, Rails::as_needed}, radix);
    default: return test::fabric(topologies::FatTree{}, radix, taper);
  }
}

/// A chip, not always the same one, of each of some units, in any order.
std::vector<DeviceId> random_members(const Cluster& cluster, std::mt19937& random, bool same_chip) {
  const int units = cluster.devices() / cluster.unit_size();
  std::vector<DeviceId> members(position_of(units));
  std::iota(members.begin(), members.end(), 0);
  std::shuffle(members.begin(), members.end(), random);
  members.resize(2 + pick(random, members.size() - 1));
  const auto chip = static_cast<DeviceId>(pick(random, position_of(cluster.unit_size())));
  for (auto& member : members) {
    const auto own = static_cast<DeviceId>(pick(random, position_of(cluster.unit_size())));
    member = member * cluster.unit_size() + (same_chip ? chip : own);
  }
  return members;
}

struct Listed {
  Crossings crossings;
  std::int64_t hops = 0;
};

Listed listed(const Cluster& cluster, const std::vector<DeviceId>& members) {
  Listed all;
  for (const auto from : members) {
    for (const auto to : members) {
      if (from == to) continue;
      for (const auto link : cluster.routes(from, to)) {
        ++all.crossings[link];
        ++all.hops;
      }
    }
  }
  return all;
}

void expect_equal(const Cluster& cluster, const std::vector<DeviceId>& members, const std::string& name) {
  const auto crossings = collectives::exchange_by_switch(cluster, members);
  auto counted = crossings.shared;
  for (const auto link : crossings.own) counted[link] += std::ssize(members) - 1;
  const auto all = listed(cluster, members);
  EXPECT_EQ(counted, all.crossings) << name << ", " << members.size() << " members";
  const auto sum = std::accumulate(counted.begin(), counted.end(), std::int64_t{0},
                                   [](std::int64_t hops, const auto& link) { return hops + link.second; });
  EXPECT_EQ(sum, all.hops) << name;
}

/// Clusters that the drawn fabric can join, and how many were drawn.
template <class Visit>
int each_cluster(unsigned seed, int draws, Visit visit) {
  int built = 0;
  for (int draw = 0; draw < draws; ++draw) {
    std::mt19937 random(seed + static_cast<unsigned>(draw));
    const int chips = std::vector{1, 2, 4}[pick(random, 3)], nics = std::min(chips, std::vector{1, 2}[pick(random, 2)]);
    const auto spec =
        test::nodes(3 + static_cast<int>(pick(random, 22)), random_fabric(random), test::node(chips, nics));
    if (!why_not_a_cluster(spec).empty()) continue;
    auto cluster = build_cluster(spec);
    visit(cluster, random, "draw " + std::to_string(seed + static_cast<unsigned>(draw)));
    ++built;
  }
  return built;
}

// One chip of each node, at the same place or at any.
TEST(ExchangeOnRandomFabrics, IsAllPairs) {
  const int built = each_cluster(100, 150, [](const Cluster& cluster, std::mt19937& random, const std::string& name) {
    for (const bool same_chip : {true, false}) expect_equal(cluster, random_members(cluster, random, same_chip), name);
  });
  EXPECT_GT(built, 75) << "most draws must be clusters";
}

// The same with up to four links missing, those of NICs among them, where all members still reach each other.
TEST(ExchangeOnRandomFabrics, IsAllPairsRoundMissingLinks) {
  int parted = 0;
  const int built = each_cluster(1000, 300, [&](Cluster& cluster, std::mt19937& random, const std::string& name) {
    const auto members = random_members(cluster, random, true);
    std::vector<topologies::LinkId> cables;
    for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
      if (cluster.link(id).kind == topologies::LinkKind::network) cables.push_back(id);
    }
    if (cables.empty()) return;
    topologies::MissingLinks missing(cluster.links(), false);
    for (std::size_t i = 0; i < 1 + pick(random, 4); ++i) missing[cables[pick(random, cables.size())]] = true;
    cluster.avoid(std::move(missing));
    try {
      expect_equal(cluster, members, name);
    } catch (const topologies::NoRoute&) {
      ++parted;
    }
  });
  EXPECT_GT(built - parted, 50) << "many clusters must stay whole";
}

// Every member sends to n - 1 others and receives from them over links of its own: with one chip and one NIC a node,
// exactly 4 n links (chip to NIC, NIC to switch, and back) carry n - 1 or more.
TEST(ExchangeOnRandomFabrics, EveryMembersOwnLinksCarryAllOfItsTransfers) {
  for (const int n : {2, 5, 14}) {
    const auto cluster = build_cluster(test::nodes(n, test::fabric(topologies::FatTree{}, 8), test::node(1, 1)));
    std::vector<DeviceId> members(position_of(n));
    std::iota(members.begin(), members.end(), 0);
    const auto crossings = collectives::exchange_by_switch(cluster, members);
    auto counted = crossings.shared;
    for (const auto link : crossings.own) counted[link] += std::ssize(members) - 1;
    int own = 0;
    for (const auto& [id, count] : counted) {
      const auto& link = cluster.link(id);
      const bool of_one = cluster.node(link.from).kind != topologies::NodeKind::network_switch ||
                          cluster.node(link.to).kind != topologies::NodeKind::network_switch;
      if (!of_one) continue;
      EXPECT_EQ(count, n - 1) << cluster.link_name(id);
      ++own;
    }
    EXPECT_EQ(own, 4 * n);
  }
}

}  // namespace
}  // namespace lockstep
