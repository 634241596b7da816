#include "topologies/fabrics/graph_of_cluster.hpp"

#include <map>
#include <set>
#include <utility>

#include "topologies/fabrics/fabric.hpp"

namespace lockstep::topologies {

NetworkGraph graph_of(const ClusterSpec& generated) {
  ClusterSpec spec = generated;
  spec.fabric.routing = FabricRouting::ecmp;  // every switch and cable by itself
  const Cluster cluster = build_cluster(spec);
  NetworkGraph graph;
  graph.name = spec.fabric.name;
  std::map<NodeId, CableEnd> end_of;
  int nics = 0;
  const auto per_host = spec.node()->nics;
  for (NodeId id = 0; id < cluster.nodes(); ++id) {
    if (cluster.node(id).kind != NodeKind::nic) continue;
    if (nics % per_host == 0) graph.hosts.push_back({"host" + std::to_string(nics / per_host), {}});
    graph.hosts.back().adapters.push_back("nic" + std::to_string(nics % per_host));
    end_of[id] = AdapterEnd{nics / per_host, nics % per_host};
    ++nics;
  }
  const auto end = [&](NodeId id) {
    if (const auto known = end_of.find(id); known != end_of.end()) return known->second;
    const SwitchEnd made{graph.switches.count()};
    graph.switches.push_back({cluster.node(id).name});
    return end_of[id] = made;
  };
  // Switches in the order in which the cluster has them, not in that of their first cables.
  std::set<NodeId> in_network;
  for (LinkId id = 0; id < cluster.links(); ++id) {
    if (cluster.link(id).kind == LinkKind::network) in_network.insert(cluster.link(id).from);
  }
  for (const NodeId id : in_network) (void)end(id);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const Link& link = cluster.link(id);
    if (link.kind != LinkKind::network) continue;
    graph.cables.push_back(
        {end(link.from), end(link.to), 1, link.bandwidth / spec.fabric.efficiency, link.latency, ""});
    ++id;  // its way back
  }
  return graph;
}

ClusterSpec on_graph(ClusterSpec spec, std::shared_ptr<const NetworkGraph> graph, std::vector<HostId> hosts) {
  spec.fabric.kind = GivenNetwork{std::move(graph), std::move(hosts), {}};
  spec.fabric.oversubscription = {};
  return spec;
}

}  // namespace lockstep::topologies
