// The keys of a cluster on a graph: the file, its routing, and the hosts that the ranks stand on.
#include <algorithm>
#include <numeric>
#include <set>

#include "sim/core/readable_file.hpp"
#include "sim/scenario/read_hosts_private.hpp"
#include "topologies/fabrics/best_hosts.hpp"
#include "topologies/graph/read_network.hpp"

namespace lockstep::scenario {
namespace {

class GivenNetworkReader {
 public:
  GivenNetworkReader(const YamlView& cluster, std::filesystem::path folder, topologies::ClusterSpec& spec,
                     Problems& problems)
      : cluster_(cluster), folder_(std::move(folder)), spec_(spec), problems_(problems) {}

  void read() {
    refuse_shape();
    auto& fabric = spec_.fabric;
    fabric.oversubscription.clear();  // of the usual network; a file has its own
    if (const auto routing = cluster_["routing"]; routing.exists()) {
      fabric.routing =
          routing.choice({"spray", "ecmp"}) == 0 ? topologies::FabricRouting::spray : topologies::FabricRouting::ecmp;
    }
    given_.graph = graph();
    const auto placement = cluster_["placement"];
    if (given_.graph != nullptr) {
      fabric.name = given_.graph->name;
      place(placement);
    } else if (placement.exists()) {
      for (const auto* key : {"hosts", "best", "free"}) static_cast<void>(placement[key]);  // known, whatever they say
    }
    if (placement.is_map()) placement.refuse_unknown_keys();
    if (given_.graph == nullptr) return;
    number_units_as_neighbours();
    fabric.kind = std::move(given_);
  }

 private:
  /// What the file says cannot be said in the fabric too.
  void refuse_shape() const {
    const auto fabric = cluster_["fabric"];
    if (!fabric.is_map()) return;
    for (const auto* key : {"kind", "radix", "tiers", "oversubscription", "nodes_per_scalable_unit", "rails",
                            "routers_per_group", "nics_per_router", "global_links_per_router"}) {
      if (const auto view = fabric[key]; view.exists())
        view.problem("the graph's file says it", "no such key beside cluster.graph");
    }
  }

  [[nodiscard]] std::shared_ptr<const topologies::NetworkGraph> graph() const {
    const auto view = cluster_["graph"];
    const std::string expected = "the file of a network, seen from the scenario's folder";
    if (!expect_value(view, expected)) return nullptr;
    const auto file = folder_ / view.text();
    if (const auto why = why_unreadable(file); !why.empty()) {
      view.problem(why == "no such file" ? "there is no file '" + view.text() + "'" : "'" + view.text() + "' " + why,
                   expected);
      return nullptr;
    }
    const auto before = problems_.size();
    auto import = topologies::read_network(file, problems_);
    if (problems_.size() > before) return nullptr;
    return std::make_shared<const topologies::NetworkGraph>(std::move(import.graph));
  }

  /// The hosts of each group, one group after the other, where groups name them.
  void hosts_of_groups(const YamlView& placement) {
    std::set<topologies::HostId> taken;
    std::size_t named = 0, numbered = 0;
    const auto groups = cluster_["groups"].items();
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const auto hosts = groups[i]["hosts"];
      if (!hosts.exists()) {
        if (groups[i]["nodes"].exists()) ++numbered;
        continue;
      }
      ++named;
      const auto list = read_hosts(hosts, folder_, *given_.graph, problems_);
      for (const auto host : list) {
        if (taken.insert(host).second) continue;
        hosts.problem("host '" + given_.graph->hosts[host].name + "' is in another group too", "one group for each");
        break;
      }
      given_.hosts.insert(given_.hosts.end(), list.begin(), list.end());
      if (i < spec_.groups.size()) spec_.groups[i].units = static_cast<int>(list.size());
    }
    if (named == 0) return;
    for (const auto* key : {"hosts", "best", "free"}) static_cast<void>(placement.is_map() && placement[key].exists());
    if (numbered > 0)
      cluster_["groups"].problem("some groups name their hosts and some do not",
                                 placement.exists() ? "none that does, beside a placement" : "all or none");
    else if (placement.exists())
      placement.problem("the groups name their hosts", "one of the two");
    spec_.units = static_cast<int>(given_.hosts.size());
  }

  void place(const YamlView& placement) {
    const auto before = problems_.size();
    if (cluster_["groups"].exists()) {
      hosts_of_groups(placement);
      if (!given_.hosts.empty() || problems_.size() > before) return;
      if (const auto best = placement["best"]; best.exists())
        best.problem("the best hosts may be of any kind", "hosts, or hosts of each group");
    }
    if (placement.exists() && placement.expect_map("a map with hosts, or with best and free")) {
      const auto hosts = placement["hosts"], best = placement["best"], free = placement["free"];
      if (hosts.exists() == best.exists())
        placement.problem(hosts.exists() ? "has hosts and best" : "has neither hosts nor best", "one of the two");
      if (hosts.exists() && free.exists()) free.problem("is for best, and the hosts are listed", "hosts alone");
      if (hosts.exists()) given_.hosts = read_hosts(hosts, folder_, *given_.graph, problems_);
      if (best.exists()) choose(best, free);
    } else if (!cluster_["nodes"].exists() && spec_.groups.empty()) {
      spec_.units = given_.graph->hosts.count();
    }
    if (given_.hosts.empty() || problems_.size() > before) return;
    const auto count = static_cast<int>(given_.hosts.size());
    if (const auto nodes = cluster_["nodes"]; nodes.exists() && spec_.units != count) {
      nodes.problem(std::to_string(spec_.units) + " nodes on " + std::to_string(count) + " hosts",
                    std::to_string(count) + ", or no such key");
    }
    if (!spec_.groups.empty() && spec_.units != count) {
      cluster_["groups"].problem(
          "have " + std::to_string(spec_.units) + " nodes, and the placement has " + std::to_string(count) + " hosts",
          "as many nodes as hosts");
    }
    spec_.units = count;
  }

  /// Units are numbered so that neighbours in the network follow one another; ranks stand on them in the list's order.
  void number_units_as_neighbours() {
    if (const auto order = cluster_["order"]; order.exists()) {
      if (!given_.hosts.empty()) order.problem("the placement gives the order of ranks", "one of the two");
      return;
    }
    auto listed = given_.hosts;
    if (listed.empty() && spec_.units <= given_.graph->hosts.count()) {
      listed.resize(static_cast<std::size_t>(spec_.units));
      std::iota(listed.begin(), listed.end(), 0);
    }
    const auto places = neighbours_together(listed);
    if (std::is_sorted(places.begin(), places.end())) return;
    given_.hosts.clear();
    std::vector<int> unit_of(places.size());
    for (const int place : places) {
      unit_of[static_cast<std::size_t>(place)] = static_cast<int>(given_.hosts.size());
      given_.hosts.push_back(listed[static_cast<std::size_t>(place)]);
    }
    spec_.order.kind = topologies::RankOrder::Kind::listed;
    const int chips = std::max(0, spec_.node()->chips);
    for (const int unit : unit_of) {
      for (int chip = 0; chip < chips; ++chip) spec_.order.devices.push_back(unit * chips + chip);
    }
  }

  /// The places of a list such that hosts that lie together follow one another, those of each group by themselves.
  [[nodiscard]] std::vector<int> neighbours_together(const std::vector<topologies::HostId>& listed) const {
    const topologies::HostBlocks blocks(*given_.graph);
    if (spec_.groups.empty()) return blocks.neighbours_together(listed);
    std::vector<int> places;
    for (const auto& group : spec_.groups) {
      const auto first = std::ssize(places), last = std::min(first + group.units, std::ssize(listed));
      for (const int place : blocks.neighbours_together({listed.begin() + first, listed.begin() + last}))
        places.push_back(static_cast<int>(first) + place);
    }
    return places;
  }

  /// The best hosts among the free ones, and how far the first free ones would lie apart.
  void choose(const YamlView& best, const YamlView& free) {
    const auto& graph = *given_.graph;
    std::vector<topologies::HostId> hosts;
    if (free.exists()) {
      hosts = read_hosts(free, folder_, graph, problems_);
    } else {
      hosts.resize(graph.hosts.size());
      std::iota(hosts.begin(), hosts.end(), 0);
    }
    const auto count = static_cast<std::size_t>(best.integer(1));
    if (count > hosts.size()) {
      best.problem(std::to_string(count) + " hosts of " + std::to_string(hosts.size()) + " free ones",
                   "at most " + std::to_string(hosts.size()));
      return;
    }
    const topologies::HostBlocks blocks(graph);
    given_.hosts = blocks.best(hosts, static_cast<int>(count));
    const std::size_t free_hosts = hosts.size();
    hosts.resize(count);
    given_.choice =
        "best " + std::to_string(count) + " of " + std::to_string(free_hosts) +
        " free; blocks of hosts by tier, leaves first: " + topologies::spread_text(blocks.spread(given_.hosts)) +
        "; of the first ones: " + topologies::spread_text(blocks.spread(hosts));
  }

  const YamlView& cluster_;
  std::filesystem::path folder_;
  topologies::ClusterSpec& spec_;
  Problems& problems_;
  topologies::GivenNetwork given_;
};

}  // namespace

void read_given_network(const YamlView& cluster, const std::filesystem::path& folder, topologies::ClusterSpec& spec,
                        Problems& problems) {
  GivenNetworkReader(cluster, folder, spec, problems).read();
}

}  // namespace lockstep::scenario
