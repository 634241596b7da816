#pragma once
/// Built clusters written out as their owners' files would describe them.
#include <map>

#include "tests/unit/topologies/small_fabric.hpp"

namespace lockstep::test {

/// The network of nodes of a cluster with every cable (ecmp): switches and cables in the cluster's order, with their
/// own names; node 3 is host "host3" with adapters "nic0", "nic1". Rates are those before the fabric's efficiency.
inline topologies::NetworkGraph graph_of(const topologies::ClusterSpec& generated) {
  topologies::ClusterSpec spec = generated;
  spec.fabric.routing = topologies::FabricRouting::ecmp;
  const topologies::Cluster cluster = build_cluster(spec);
  topologies::NetworkGraph graph;
  graph.name = "written out";
  std::map<topologies::NodeId, topologies::CableEnd> end_of;
  int nics = 0;
  const auto per_host = spec.node()->nics;
  for (topologies::NodeId id = 0; id < cluster.nodes(); ++id) {
    if (cluster.node(id).kind != topologies::NodeKind::nic) continue;
    if (nics % per_host == 0) graph.hosts.push_back({"host" + std::to_string(nics / per_host), {}});
    graph.hosts.back().adapters.push_back("nic" + std::to_string(nics % per_host));
    end_of[id] = topologies::AdapterEnd{nics / per_host, nics % per_host};
    ++nics;
  }
  const auto end = [&](topologies::NodeId id) {
    if (const auto known = end_of.find(id); known != end_of.end()) return known->second;
    const topologies::SwitchEnd made{graph.switches.count()};
    graph.switches.push_back({cluster.node(id).name});
    return end_of[id] = made;
  };
  // Switches in the order in which the cluster has them, not in that of their first cables.
  std::set<topologies::NodeId> in_network;
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    if (cluster.link(id).kind == topologies::LinkKind::network) in_network.insert(cluster.link(id).from);
  }
  for (const topologies::NodeId id : in_network) (void)end(id);
  for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
    const topologies::Link& link = cluster.link(id);
    if (link.kind != topologies::LinkKind::network) continue;
    graph.cables.push_back(
        {end(link.from), end(link.to), 1, link.bandwidth / spec.fabric.efficiency, link.latency, "400G"});
    ++id;  // its way back
  }
  return graph;
}

/// The same nodes on that network, read from a graph.
inline topologies::ClusterSpec on_graph(topologies::ClusterSpec spec,
                                        std::shared_ptr<const topologies::NetworkGraph> graph,
                                        std::vector<topologies::HostId> hosts = {}) {
  spec.fabric.kind = topologies::GivenNetwork{std::move(graph), std::move(hosts), {}};
  spec.fabric.oversubscription = {};
  return spec;
}
inline topologies::ClusterSpec as_given(const topologies::ClusterSpec& generated) {
  return on_graph(generated, std::make_shared<topologies::NetworkGraph>(graph_of(generated)));
}

}  // namespace lockstep::test
