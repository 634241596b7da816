#include "sim/collectives/algorithms.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::collectives {

namespace network {

// Each of these stands in a file of its own.
const CollectiveAlgorithm& recursive_halving();
const CollectiveAlgorithm& direct_all_to_all();
const CollectiveAlgorithm& shift();
const CollectiveAlgorithm& in_network_tree();
const CollectiveAlgorithm& hierarchical_ring();
const CollectiveAlgorithm& hierarchical_tree();
const CollectiveAlgorithm& hierarchical_all_to_all();
const CollectiveAlgorithm& designed();

}  // namespace network

std::optional<Seconds> CollectiveAlgorithm::closed_form(workloads::CollectiveKind /*kind*/, Bytes /*full_size*/,
                                                        const GroupStructure& /*groups*/) const {
  return std::nullopt;
}

const std::vector<const CollectiveAlgorithm*>& collective_algorithms() {
  using namespace network;
  static const std::vector<const CollectiveAlgorithm*> all{&torus(),
                                                           &torus_all_to_all(),
                                                           &ring(),
                                                           &tree(),
                                                           &recursive_halving(),
                                                           &direct(),
                                                           &direct_all_to_all(),
                                                           &shift(),
                                                           &in_network(),
                                                           &in_network_tree(),
                                                           &hierarchical_ring(),
                                                           &hierarchical_tree(),
                                                           &hierarchical_all_to_all(),
                                                           &designed()};
  return all;
}

bool runs(const CollectiveAlgorithm& algorithm, workloads::CollectiveKind kind) {
  using namespace network;
  using enum workloads::CollectiveKind;
  const auto is_one_of = [&](std::initializer_list<const CollectiveAlgorithm*> algorithms) {
    return std::find(algorithms.begin(), algorithms.end(), &algorithm) != algorithms.end();
  };
  if (is_one_of({&torus()})) return true;
  switch (kind) {
    case all_to_all:
      return is_one_of({&torus_all_to_all(), &direct(), &direct_all_to_all(), &hierarchical_all_to_all()});
    case point_to_point: return is_one_of({&shift()});
    case broadcast:
    case reduce: return is_one_of({&ring(), &tree(), &in_network(), &hierarchical_ring(), &hierarchical_tree()});
    case all_gather:
    case reduce_scatter:
      return is_one_of({&ring(), &recursive_halving(), &direct(), &in_network(), &hierarchical_ring(), &designed()});
    case all_reduce: break;
  }
  return !is_one_of({&torus_all_to_all(), &direct_all_to_all(), &shift(), &hierarchical_all_to_all()});
}

namespace network {

bool without_torus(const topologies::Cluster& cluster, const GroupStructure& groups) {
  return !cluster.unit_is_torus() || (groups.units > 1 && groups.local == 1);
}

Seconds local_step(const GroupStructure& groups, const topologies::Protocol& protocol) {
  return groups.local_hop + protocol.local_step;
}
Seconds remote_step(const GroupStructure& groups, const topologies::Protocol& protocol) {
  return groups.step_slowdown * (groups.remote_hop + protocol.remote_step);
}

std::vector<topologies::Protocol> protocols_of(const topologies::NodeSpec& node, std::string_view algorithm) {
  enum Family { of_links, nvls, nvls_tree };
  const auto family = [](const topologies::Protocol& protocol) {
    return protocol.name.starts_with("NVLSTree") ? nvls_tree : protocol.name.starts_with("NVLS") ? nvls : of_links;
  };
  const auto of = [&](Family wanted) {
    std::vector<topologies::Protocol> found;
    for (const auto& protocol : node.protocols) {
      if (family(protocol) == wanted) found.push_back(protocol);
    }
    return found;
  };
  if (algorithm == "in-network tree") {
    if (auto found = of(nvls_tree); !found.empty()) return found;
  }
  if (algorithm == "in-network tree" || algorithm == "in-network") {
    if (auto found = of(nvls); !found.empty()) return found;
  }
  auto found = of(of_links);
  if (algorithm == "direct all-to-all")
    std::erase_if(found, [](const topologies::Protocol& protocol) { return protocol.name == "LL128"; });
  return found;
}

double carried(Bytes full_size, const topologies::Protocol& protocol) {
  return static_cast<double>(full_size.value()) / protocol.efficiency;
}

topologies::Protocol launched(topologies::Protocol protocol) {
  protocol.launch = Seconds(0);
  return protocol;
}

Seconds route_latency(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to) {
  Seconds total(0);
  for (const auto link : cluster.route(from, to)) total += cluster.link(link).latency;
  return total;
}

void append_route(const topologies::Cluster& cluster, topologies::DeviceId from, topologies::DeviceId to,
                  std::vector<topologies::LinkId>& links) {
  const auto routes = cluster.routes(from, to);
  links.insert(links.end(), routes.begin(), routes.end());
}

std::vector<topologies::DeviceId> by_unit(const NetworkGroup& group) {
  std::vector<topologies::DeviceId> members;
  members.reserve(group.members.size());
  for (const auto& unit : group.units) members.insert(members.end(), unit.begin(), unit.end());
  return members;
}

std::vector<std::size_t> rail_starts(const topologies::Cluster& cluster, const NetworkGroup& group,
                                     const GroupStructure& groups) {
  if (groups.rails == 1) return {0};
  const auto& unit = group.units.front();
  std::vector<topologies::NodeId> nics;
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < unit.size() && std::cmp_less(starts.size(), groups.rails); ++i) {
    const topologies::NodeId nic = cluster.nic_of(unit[i]);
    if (std::find(nics.begin(), nics.end(), nic) != nics.end()) continue;
    nics.push_back(nic);
    starts.push_back(i);
  }
  return starts;
}

}  // namespace network
}  // namespace lockstep::collectives
