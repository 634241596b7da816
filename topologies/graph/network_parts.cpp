#include "topologies/graph/network_parts.hpp"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <numeric>

namespace lockstep::topologies {

NetworkParts network_parts(const NetworkGraph& graph) {
  const std::size_t hosts = graph.hosts.size();
  const std::size_t nodes = hosts + graph.switches.size();
  std::vector<std::size_t> rank(nodes), parent(nodes);
  boost::disjoint_sets sets(rank.data(), parent.data());
  for (std::size_t node = 0; node < nodes; ++node) sets.make_set(node);
  const auto node_of = [&](const CableEnd& end) {
    if (const auto* adapter = std::get_if<AdapterEnd>(&end)) return position_of(adapter->host);
    return hosts + position_of(std::get<SwitchEnd>(end).network_switch);
  };
  for (const Cable& cable : graph.cables) sets.union_set(node_of(cable.from), node_of(cable.to));

  std::vector<std::size_t> part_of(nodes, nodes);  // of the set that has this node as its root
  NetworkParts parts;
  for (const HostId host : graph.hosts.ids()) {
    std::size_t& part = part_of[sets.find_set(position_of(host))];
    if (part == nodes) {
      part = parts.size();
      parts.push_back({0, host});
    }
    ++parts[part].hosts;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const NetworkPart& one, const NetworkPart& other) { return one.hosts > other.hosts; });
  return parts;
}

}  // namespace lockstep::topologies
