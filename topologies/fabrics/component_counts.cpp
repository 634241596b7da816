#include "topologies/fabrics/component_counts.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "topologies/fabrics/bought_switches.hpp"

namespace lockstep::topologies {
namespace {

bool between_hosts(LinkKind kind) {
  return kind == LinkKind::ici || kind == LinkKind::dcn || kind == LinkKind::network;
}

void count(std::vector<std::int64_t>& of_tier, int tier) {
  if (tier == 0) return;
  if (std::ssize(of_tier) < tier) of_tier.resize(position_of(tier), 0);
  ++of_tier[position_of(tier) - 1];
}

}  // namespace

Indexed<NodeId, int> network_tiers(const Cluster& cluster) {
  constexpr int unknown = std::numeric_limits<int>::max() - 1;
  Indexed<NodeId, int> tiers(cluster.nodes(), 0);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (!between_hosts(link.kind)) continue;
    for (const NodeId end : {link.from, link.to}) {
      if (cluster.node(end).kind == NodeKind::network_switch) tiers[end] = unknown;
    }
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (LinkId id = 0; id < cluster.links(); ++id) {
      const Link& link = cluster.link(id);
      if (!between_hosts(link.kind) || tiers[link.from] <= tiers[link.to] + 1) continue;
      tiers[link.from] = tiers[link.to] + 1;
      changed = true;
    }
  }
  return tiers;
}

int tier_of(const Link& link, const Indexed<NodeId, int>& tiers) { return std::max(tiers[link.from], tiers[link.to]); }

ComponentCounts count_components(ClusterSpec spec) {
  // Paths chosen by hash need every cable in the graph; there are as many as under spraying.
  spec.fabric.routing = FabricRouting::ecmp;
  spec.between_halls.routing = FabricRouting::ecmp;
  const Cluster cluster = build_cluster(spec);

  const auto tiers = network_tiers(cluster);
  ComponentCounts counts;
  std::vector<bool> in_network(static_cast<std::size_t>(cluster.nodes()), false);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (!between_hosts(link.kind)) continue;
    in_network[position_of(link.from)] = true;
    if (link.from > link.to) continue;
    const auto is_switch = [&](NodeId end) { return cluster.node(end).kind == NodeKind::network_switch; };
    ++counts.links;
    count(counts.links_of_tier, tier_of(link, tiers));
    if (link.kind == LinkKind::ici)
      ++counts.torus_links;
    else if (is_switch(link.from) && is_switch(link.to))
      ++counts.switch_links;
  }
  for (NodeId id = 0; id < cluster.nodes(); ++id) {
    count(counts.switches_of_tier, tiers[id]);
    switch (cluster.node(id).kind) {
      case NodeKind::device: ++counts.chips; break;
      case NodeKind::host: ++counts.hosts; break;
      case NodeKind::nic: ++counts.nics; break;
      case NodeKind::network_switch: counts.switches += in_network[position_of(id)] ? 1 : 0; break;
    }
  }
  counts.switches_to_buy = switches_to_buy(spec, cluster, tiers);
  if (spec.node() != nullptr) {
    counts.hosts = std::int64_t{spec.units} * spec.halls;
  } else {
    counts.nics = counts.hosts;
  }
  return counts;
}

}  // namespace lockstep::topologies
