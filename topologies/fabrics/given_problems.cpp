#include "topologies/fabrics/given_problems_private.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "topologies/fabrics/hosts_of_units.hpp"

namespace lockstep::topologies {
namespace {

constexpr std::int64_t most_cables = 4'000'000;  // refused before memory is spent on them
constexpr int most_switches = 60'000;            // distances between them fit into two bytes

std::string and_more(std::size_t more, const std::string& what) {
  return more == 0 ? "" : " (and " + std::to_string(more) + " more " + what + (more == 1 ? ")" : "s)");
}

/// Names are those of a network; a problem with one of them stands for all like it.
class GivenCheck {
 public:
  GivenCheck(const FabricSpec& spec, const GivenNetwork& keys, const EndCount& ends)
      : spec_(spec), graph_(*keys.graph), keys_(keys), ends_(ends), hosts_(hosts_of_units(keys, ends.units())) {}

  std::optional<ClusterProblem> problem() const {
    if (ends_.unit != UnitKind::node)
      return ClusterProblem{"graph", "hosts of a graph are nodes, and this cluster has pods or halls", "nodes"};
    if (ends_.units() > graph_.hosts.count()) {
      return ClusterProblem{
          "graph",
          std::to_string(ends_.units()) + " nodes on a graph of " + std::to_string(graph_.hosts.size()) + " hosts",
          "at most as many nodes as hosts"};
    }
    if (auto found = adapters()) return found;
    if (auto found = cables()) return found;
    return connections();
  }

 private:
  [[nodiscard]] std::optional<ClusterProblem> adapters() const {
    std::vector<HostId> others;
    for (const HostId host : hosts_) {
      if (std::cmp_not_equal(graph_.hosts[host].adapters.size(), ends_.per_unit)) others.push_back(host);
    }
    if (others.empty()) return std::nullopt;
    const NetworkHost& first = graph_.hosts[others.front()];
    return ClusterProblem{
        "graph",
        "host " + first.name + " has " + std::to_string(first.adapters.size()) + " adapters" +
            and_more(others.size() - 1, "host") + ", and a node has " + std::to_string(ends_.per_unit) + " NICs",
        "a node with as many NICs, such as {like: NAME, nics: {count: " + std::to_string(first.adapters.size()) +
            ", ...}}"};
  }

  [[nodiscard]] std::optional<ClusterProblem> cables() const {
    if (graph_.switches.count() > most_switches) {
      return ClusterProblem{"graph", std::to_string(graph_.switches.size()) + " switches",
                            "at most " + std::to_string(most_switches)};
    }
    std::int64_t count = 0;
    for (const Cable& cable : graph_.cables) count += cable.count;
    if (count <= most_cables) return std::nullopt;
    return ClusterProblem{"graph", std::to_string(count) + " cables", "at most " + std::to_string(most_cables)};
  }

  /// Hosts that share no network with the first are on the other side.
  [[nodiscard]] std::optional<ClusterProblem> connections() const {
    const UsedNetwork network = used_network(spec_, keys_, ends_);
    Indexed<EndId, bool> has_port(network.names.size(), false);
    for (const PortOfEnd& port : network.ports) has_port[port.end] = true;
    for (const EndId end : network.names.ids()) {
      if (has_port[end]) continue;
      return ClusterProblem{"graph", "no cable leads from adapter " + network.names[end] + " to another host",
                            "a cable for every adapter of the hosts that are used"};
    }
    const Indexed<EndId, int> networks = separate_networks(network);
    std::map<std::set<int>, std::vector<HostId>> by_networks;
    for (int unit = 0; unit < ends_.units(); ++unit) {
      const auto first = networks.begin() + std::ptrdiff_t{unit} * ends_.per_unit;
      by_networks[{first, first + ends_.per_unit}].push_back(hosts_[position_of(unit)]);
    }
    for (const auto& [some, hosts] : by_networks) {
      for (const auto& [others, other_hosts] : by_networks) {
        const bool meet =
            std::any_of(some.begin(), some.end(), [&others = others](int of) { return others.contains(of); });
        if (!meet) return parted(hosts, other_hosts);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] ClusterProblem parted(const std::vector<HostId>& some, const std::vector<HostId>& others) const {
    const auto named = [&](const std::vector<HostId>& hosts) {
      return graph_.hosts[hosts.front()].name + and_more(hosts.size() - 1, "host");
    };
    return {"graph", "no cables lead from " + named(some) + " to " + named(others), "hosts that are all joined"};
  }

  const FabricSpec& spec_;
  const NetworkGraph& graph_;
  const GivenNetwork& keys_;
  const EndCount& ends_;
  std::vector<HostId> hosts_;
};

}  // namespace

std::optional<ClusterProblem> why_not_on_graph(const FabricSpec& spec, const GivenNetwork& keys, const EndCount& ends) {
  if (keys.graph == nullptr) return ClusterProblem{"graph", "is missing", "a file that describes the network"};
  return GivenCheck(spec, keys, ends).problem();
}

}  // namespace lockstep::topologies
