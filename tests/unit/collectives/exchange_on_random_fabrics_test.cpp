// Pairs of members in different nodes, counted switch by switch, against all of them one by one, on random sprayed
// fabrics, for random members in random order, with and without missing links. A count is a number of routes, so they
// must agree to the last one; and the sum over all links is the sum of the lengths of all routes.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sim/collectives/exchange_by_switch.hpp"
#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep {
namespace {

using collectives::Crossings;
using collectives::MembersByUnit;
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

/// Of some units, in any order, the same number of chips each: at the same places, or at any.
MembersByUnit random_members(const Cluster& cluster, std::mt19937& random, bool same_chips) {
  std::vector<DeviceId> units(position_of(cluster.devices() / cluster.unit_size()));
  std::iota(units.begin(), units.end(), 0);
  std::shuffle(units.begin(), units.end(), random);
  units.resize(2 + pick(random, units.size() - 1));
  std::vector<DeviceId> places(position_of(cluster.unit_size()));
  std::iota(places.begin(), places.end(), 0);
  std::shuffle(places.begin(), places.end(), random);
  const std::size_t local = 1 + pick(random, places.size());
  MembersByUnit members;
  for (const auto unit : units) {
    if (!same_chips) std::shuffle(places.begin(), places.end(), random);
    auto& of_unit = members.emplace_back();
    for (std::size_t i = 0; i < local; ++i) of_unit.push_back(unit * cluster.unit_size() + places[i]);
  }
  return members;
}

struct Listed {
  Crossings crossings;
  std::int64_t hops = 0;
};

Listed listed(const Cluster& cluster, const MembersByUnit& units) {
  Listed all;
  for (const auto& senders : units) {
    for (const auto& receivers : units) {
      if (&senders == &receivers) continue;
      for (const auto from : senders) {
        for (const auto to : receivers) {
          for (const auto link : cluster.routes(from, to)) {
            ++all.crossings[link];
            ++all.hops;
          }
        }
      }
    }
  }
  return all;
}

/// What the exchange counts, by link: of own links every transfer of a member to another unit.
Crossings counted(const Cluster& cluster, const MembersByUnit& units) {
  const auto crossings = collectives::exchange_by_switch(cluster, units);
  auto all = crossings.shared;
  for (const auto link : crossings.own) all[link] += std::ssize(units.front()) * (std::ssize(units) - 1);
  return all;
}

void expect_equal(const Cluster& cluster, const MembersByUnit& units, const std::string& name) {
  const auto found = counted(cluster, units);
  const auto all = listed(cluster, units);
  EXPECT_EQ(found, all.crossings) << name << ", " << units.size() << " units of " << units.front().size();
  const auto sum = std::accumulate(found.begin(), found.end(), std::int64_t{0},
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

// The same number of chips of each node, at the same places or at any.
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
    MembersByUnit members;
    for (DeviceId chip = 0; chip < n; ++chip) members.push_back({chip});
    const auto all = counted(cluster, members);
    int own = 0;
    for (const auto& [id, count] : all) {
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
