#include "topologies/fabrics/bought_switches.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "topologies/fabrics/fabric_row_private.hpp"

namespace lockstep::topologies {
namespace {

/// Switches of one tier with the same switches below.
struct Group {
  std::int64_t switches = 0;
  std::map<int, std::int64_t> cables_below;  ///< by the group below
  std::int64_t cables_above = 0;
};

std::int64_t needed(const Group& group, int radix) {
  const auto ports = [&](std::int64_t count) {
    const auto share = [&](std::int64_t cables) { return (cables + count - 1) / count; };
    std::int64_t used = share(group.cables_above);
    for (const auto& [below, cables] : group.cables_below) used += share(cables);
    return used;
  };
  for (std::int64_t count = 1; count < group.switches; ++count) {
    if (ports(count) <= radix) return count;
  }
  return group.switches;
}

bool is_a_tree(const ClusterSpec& spec) {
  return spec.halls == 1 &&
         (std::holds_alternative<FatTree>(spec.fabric.kind) || std::holds_alternative<RailOptimised>(spec.fabric.kind));
}

}  // namespace

std::int64_t switches_to_buy(const ClusterSpec& spec, const Cluster& cluster, const Indexed<NodeId, int>& tiers) {
  std::vector<std::vector<NodeId>> of_tier;
  for (NodeId id = 0; id < cluster.nodes(); ++id) {
    const auto tier = position_of(tiers[id]);
    if (tier == 0) continue;
    of_tier.resize(std::max(of_tier.size(), tier));
    of_tier[tier - 1].push_back(id);
  }
  std::int64_t bought = 0;
  if (!is_a_tree(spec)) {
    for (const auto& switches : of_tier) bought += std::ssize(switches);
    return bought;
  }
  Indexed<NodeId, std::vector<NodeId>> below(cluster.nodes());
  Indexed<NodeId, std::int64_t> above(cluster.nodes(), 0);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (tiers[link.from] == 0 || tiers[link.to] != tiers[link.from] + 1) continue;
    below[link.to].push_back(link.from);
    ++above[link.from];
  }
  Indexed<NodeId, int> group_of(cluster.nodes(), 0);
  int groups = 0;
  for (std::size_t tier = 0; tier < of_tier.size(); ++tier) {
    std::map<std::set<int>, std::pair<int, Group>> alike;
    for (const NodeId id : of_tier[tier]) {
      if (tier == 0) {
        group_of[id] = groups++;
        ++bought;
        continue;
      }
      std::set<int> joined;
      for (const NodeId other : below[id]) joined.insert(group_of[other]);
      const auto [found, is_new] = alike.try_emplace(joined, groups, Group{});
      groups += is_new ? 1 : 0;
      auto& [number, group] = found->second;
      group_of[id] = number;
      ++group.switches;
      group.cables_above += above[id];
      for (const NodeId other : below[id]) ++group.cables_below[group_of[other]];
    }
    for (const auto& [joined, group] : alike) bought += needed(group.second, ports_of_switch(spec.fabric, tier));
  }
  return bought;
}

}  // namespace lockstep::topologies
