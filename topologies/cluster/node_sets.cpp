#include "topologies/cluster/node_sets.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <map>
#include <set>

#include "sim/core/quantity_text.hpp"

namespace lockstep::topologies {
namespace {

using Heights = Indexed<NodeId, int>;
constexpr int unreached = 1 << 20;

/// Links from each node to the nearest chip.
Heights heights_of(const Cluster& cluster) {
  Heights heights(cluster.nodes(), unreached);
  for (DeviceId device = 0; device < cluster.devices(); ++device) heights[device] = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (LinkId id = 0; id < cluster.links(); ++id) {
      const Link& link = cluster.link(id);
      if (heights[link.from] <= heights[link.to] + 1) continue;
      heights[link.from] = heights[link.to] + 1;
      changed = true;
    }
  }
  return heights;
}

NodeSets chips_alone(const Cluster& cluster) {
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), -1), cluster.devices(), ""};
  for (DeviceId device = 0; device < cluster.devices(); ++device) sets.of_node[device] = device;
  return sets;
}

/// What links between nodes of at most this height join.
NodeSets joined_up_to(const Cluster& cluster, const Heights& heights, int height) {
  boost::disjoint_sets_with_storage<> joined(position_of(cluster.nodes()));
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (heights[link.from] <= height && heights[link.to] <= height)
      joined.union_set(position_of(link.from), position_of(link.to));
  }
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), -1), 0, ""};
  Indexed<NodeId, NodeSetId> number(cluster.nodes(), -1);
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    if (heights[node] > height) continue;
    NodeSetId& set = number[joined.find_set(position_of(node))];
    if (set < 0) set = sets.count++;
    sets.of_node[node] = set;
  }
  return sets;
}

/// Each switch outside the units, with the units whose links lead to no other.
NodeSets switches_with_their_units(const Cluster& cluster, const NodeSets& units) {
  constexpr NodeId several = -2;
  Indexed<NodeSetId, NodeId> above(units.count, -1);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    const NodeSetId unit = units.of_node[link.from];
    if (unit < 0 || units.of_node[link.to] >= 0) continue;
    above[unit] = above[unit] == -1 || above[unit] == link.to ? link.to : several;
  }
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), -1), 0, ""};
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    if (units.of_node[node] < 0) sets.of_node[node] = sets.count++;
  }
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    const NodeSetId unit = units.of_node[node];
    if (unit >= 0 && above[unit] >= 0) sets.of_node[node] = sets.of_node[above[unit]];
  }
  return sets;
}

NodeSets halves_along(const Cluster& cluster, AxisId axis) {
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), -1), 2,
                "links between the halves of " + cluster.axes()[axis].name};
  for (DeviceId device = 0; device < cluster.devices(); ++device)
    sets.of_node[device] = 2 * cluster.coordinates(device)[position_of(axis)] < cluster.axes()[axis].size ? 0 : 1;
  return sets;
}

/// The links out of a set, or into it.
template <class Visit>
void visit_edge(const Cluster& cluster, const NodeSets& sets, NodeSetId set, bool out, Visit visit) {
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    const NodeId inner = out ? link.from : link.to, outer = out ? link.to : link.from;
    if (sets.of_node[inner] == set && sets.of_node[outer] != set && leads_between_chips(cluster, link))
      visit(id, inner);
  }
}

BytesPerSecond rate_of(const Cluster& cluster, LinkId link, const LinkRates& rates) {
  return rates ? rates(link) : cluster.link(link).bandwidth;
}

}  // namespace

bool leads_between_chips(const Cluster& cluster, const Link& link) {
  return link.kind == LinkKind::ici || !cluster.unit_is_torus() || cluster.fabric_spec() != nullptr;
}

std::vector<NodeSets> natural_sets(const Cluster& cluster) {
  std::vector<NodeSets> all{chips_alone(cluster)};
  const auto add = [&](NodeSets sets) {
    if (sets.count > 1) all.push_back(std::move(sets));
  };
  for (const AxisId axis : cluster.axes().ids()) {
    if (cluster.axes()[axis].kind == PhysicalAxis::Kind::torus && cluster.axes()[axis].size > 1)
      add(halves_along(cluster, axis));
  }
  const Heights heights = heights_of(cluster);
  int highest = 0;
  for (const int height : heights) highest = std::max(highest, height == unreached ? 0 : height);
  for (int height = 0; height < highest; ++height) {
    auto sets = joined_up_to(cluster, heights, height);
    if (height == 1) add(switches_with_their_units(cluster, sets));
    if (sets.count < cluster.devices() || height > 0) add(std::move(sets));
  }
  return all;
}

Indexed<NodeSetId, SetEdge> edges_of(const Cluster& cluster, const NodeSets& sets, const LinkRates& rates) {
  Indexed<NodeSetId, SetEdge> edges(sets.count);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    const NodeSetId from = sets.of_node[link.from], to = sets.of_node[link.to];
    if (from == to || !leads_between_chips(cluster, link)) continue;
    const auto rate = rate_of(cluster, id, rates);
    if (from >= 0) edges[from].out += rate;
    if (to >= 0) edges[to].in += rate;
  }
  return edges;
}

std::string edge_text(const Cluster& cluster, const NodeSets& sets, NodeSetId set, bool out, const LinkRates& rates) {
  std::map<BytesPerSecond, std::int64_t> links_by_rate;
  std::set<NodeId> outermost;
  visit_edge(cluster, sets, set, out, [&](LinkId link, NodeId node) {
    ++links_by_rate[rate_of(cluster, link, rates)];
    outermost.insert(node);
  });
  std::string text = sets.name;
  if (text.empty() && !outermost.empty()) {
    const Node& first = cluster.node(*outermost.begin());
    if (outermost.size() > 1) {
      text = "links of " + first.name + " and " + std::to_string(outermost.size() - 1) + " more";
    } else {
      text = first.name + (first.kind == NodeKind::network_switch ? "'s uplinks" : "'s links");
    }
  }
  const char* joint = ": ";
  for (auto rate = links_by_rate.rbegin(); rate != links_by_rate.rend(); ++rate) {
    text += joint + std::to_string(rate->second) + " x " + format(rate->first);
    joint = " + ";
  }
  return text;
}

}  // namespace lockstep::topologies
