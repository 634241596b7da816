#include "sim/collectives/design/link_graph.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "topologies/cluster/node_sets.hpp"

namespace lockstep::collectives::design {
namespace {

using topologies::LinkId;

std::vector<LinkId> links_on_routes(const topologies::Cluster& cluster,
                                    const std::vector<topologies::DeviceId>& group) {
  std::set<LinkId> links;
  for (const auto from : group) {
    for (const auto to : group) {
      if (from == to) continue;
      for (const auto link : cluster.routes(from, to)) links.insert(link);
    }
  }
  return {links.begin(), links.end()};
}

GroupLinks links_of(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& group,
                    const std::vector<LinkId>& links, const Indexed<LinkId, int>& takers, const LinkRate& rate) {
  GroupLinks made;
  made.node_of.assign(group.begin(), group.end());
  std::map<topologies::NodeId, int> number;
  for (std::size_t i = 0; i < made.node_of.size(); ++i) number[made.node_of[i]] = static_cast<int>(i);
  const auto number_of = [&](topologies::NodeId node) {
    const auto [known, is_new] = number.try_emplace(node, static_cast<int>(made.node_of.size()));
    if (is_new) made.node_of.push_back(node);
    return known->second;
  };
  made.graph.members = static_cast<int>(group.size());
  for (const auto id : links) {
    const auto& link = cluster.link(id);
    const int from = number_of(link.from), to = number_of(link.to);
    made.graph.add(from, to, static_cast<std::int64_t>(rate(id).value()) / takers[id]);
  }
  made.graph.nodes = static_cast<int>(made.node_of.size());
  made.unit = 0;
  for (const auto& [ends, capacity] : made.graph.arcs) made.unit = std::gcd(made.unit, capacity);
  made.unit = std::max<std::int64_t>(made.unit, 1);
  for (auto& [ends, capacity] : made.graph.arcs) capacity /= made.unit;
  return made;
}

}  // namespace

void LinkGraph::add(int from, int to, std::int64_t capacity) {
  if (capacity > 0 && from != to) arcs[{from, to}] += capacity;
}

LinkGraph LinkGraph::reversed() const {
  LinkGraph other{members, nodes, {}};
  for (const auto& [ends, capacity] : arcs) other.arcs[{ends.second, ends.first}] = capacity;
  return other;
}

GroupLinks links_of_cluster(const topologies::Cluster& cluster, const std::vector<topologies::DeviceId>& group,
                            const LinkRate& rate) {
  std::vector<LinkId> links;
  for (LinkId id = 0; id < cluster.links(); ++id) {
    if (leads_between_chips(cluster, cluster.link(id))) links.push_back(id);
  }
  return links_of(cluster, group, links, Indexed<LinkId, int>(cluster.links(), 1), rate);
}

std::vector<GroupLinks> links_of_groups(const topologies::Cluster& cluster,
                                        const std::vector<std::vector<topologies::DeviceId>>& groups,
                                        const LinkRate& rate) {
  std::vector<std::vector<LinkId>> links;
  Indexed<LinkId, int> takers(cluster.links(), 0);
  for (const auto& group : groups) {
    links.push_back(links_on_routes(cluster, group));
    for (const auto link : links.back()) ++takers[link];
  }
  std::vector<GroupLinks> made;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    auto own = links_of(cluster, groups[group], links[group], takers, rate);
    own.group = group;
    const bool is_known = std::any_of(made.begin(), made.end(), [&](const GroupLinks& known) {
      return known.unit == own.unit && known.graph == own.graph;
    });
    if (!is_known) made.push_back(std::move(own));
  }
  return made;
}

}  // namespace lockstep::collectives::design
