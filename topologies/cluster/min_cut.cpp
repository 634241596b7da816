#include <algorithm>
#include <map>
#include <utility>

#include "topologies/cluster/flow_network.hpp"
#include "topologies/cluster/node_sets.hpp"

namespace lockstep::topologies {

NodeSets min_cut(const Cluster& cluster, const std::vector<DeviceId>& from, const std::vector<DeviceId>& to,
                 const LinkRates& rates) {
  struct BothWays {
    std::int64_t there = 0, back = 0;
  };
  std::map<std::pair<NodeId, NodeId>, BothWays> joined;  // parallel links and ways back are one
  Indexed<NodeId, std::int64_t> at_node(cluster.nodes(), 1);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (!leads_between_chips(cluster, link)) continue;
    const auto capacity = static_cast<std::int64_t>((rates ? rates(id) : link.bandwidth).value());
    BothWays& both = joined[std::minmax(link.from, link.to)];
    (link.from < link.to ? both.there : both.back) += capacity;
    at_node[link.from] += capacity;
    at_node[link.to] += capacity;
  }
  FlowNetwork flows(cluster.nodes() + 2);
  const int source = cluster.nodes(), sink = source + 1;
  for (const auto& [ends, both] : joined) flows.add_arc(ends.first, ends.second, both.there, both.back);
  for (const DeviceId device : from) flows.add_arc(source, device, at_node[device]);
  for (const DeviceId device : to) flows.add_arc(device, sink, at_node[device]);
  static_cast<void>(flows.max_flow(source, sink));
  NodeSets sets{Indexed<NodeId, NodeSetId>(cluster.nodes(), 1), 2, "min cut between the halves of the groups"};
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    if (flows.on_source_side(node)) sets.of_node[node] = 0;
  }
  return sets;
}

}  // namespace lockstep::topologies
