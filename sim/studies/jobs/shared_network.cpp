#include "sim/studies/jobs/shared_network.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include "sim/core/errors.hpp"
#include "topologies/fabrics/best_hosts.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/fabrics/graph_of_cluster.hpp"
#include "topologies/fabrics/hosts_of_units.hpp"

namespace lockstep::jobs {
namespace {

using topologies::HostId;

const topologies::GivenNetwork* network_of(const scenario::Scenario& scenario) {
  return std::get_if<topologies::GivenNetwork>(&scenario.cluster.fabric.kind);
}

auto ends_of(const topologies::Cable& cable) {
  const auto place = [](const topologies::CableEnd& end) {
    const auto* adapter = std::get_if<topologies::AdapterEnd>(&end);
    return adapter != nullptr ? std::tuple(0, adapter->host, adapter->adapter)
                              : std::tuple(1, std::get<topologies::SwitchEnd>(end).network_switch, 0);
  };
  return std::tuple(place(cable.from), place(cable.to), cable.count, cable.rate, cable.latency);
}

bool same(const topologies::NetworkGraph& one, const topologies::NetworkGraph& other) {
  const auto equal = [](const auto& a, const auto& b, auto alike) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), alike);
  };
  return equal(one.hosts, other.hosts,
               [](const auto& a, const auto& b) { return a.name == b.name && a.adapters == b.adapters; }) &&
         equal(one.switches, other.switches, [](const auto& a, const auto& b) { return a.name == b.name; }) &&
         equal(one.cables, other.cables, [](const auto& a, const auto& b) { return ends_of(a) == ends_of(b); });
}

}  // namespace

std::vector<Job> on_written_network(const std::vector<Job>& jobs, std::int32_t nodes) {
  const auto generated = [](const Job& job) {
    const auto& cluster = job.scenario.cluster;
    return network_of(job.scenario) == nullptr && cluster.node() != nullptr && cluster.halls == 1;
  };
  if (!std::all_of(jobs.begin(), jobs.end(), generated)) {
    if (nodes > 0)
      throw ConfigError(
          {{{"--nodes", 0, 0}, "", "a network of a file has its own hosts", "only for generated fabrics"}});
    return jobs;
  }
  const auto& first = jobs.front().scenario;
  Problems problems;
  std::int32_t all = 0;
  for (const auto& [scenario, start] : jobs) {
    all += scenario.cluster.units;
    const auto differs = [&, &of = scenario](const std::string& key, const std::string& what) {
      problems.add({of.where(key), key, what + first.name, "one network for all jobs"});
    };
    if (scenario.cluster.fabric != first.cluster.fabric) differs("cluster.fabric", "is another than that of ");
    const auto &node = *scenario.cluster.node(), &other = *first.cluster.node();
    if (node.nics != other.nics || node.nic != other.nic) differs("cluster.node", "has other NICs than the nodes of ");
  }
  if (nodes > 0 && nodes < all)
    problems.add({{"--nodes", 0, 0},
                  "",
                  "there are " + std::to_string(nodes),
                  "at least the " + std::to_string(all) + " that the jobs have together"});
  problems.throw_if_any();
  auto whole = first.cluster;
  whole.units = nodes > 0 ? nodes : all;
  whole.groups.clear();
  whole.order = {};
  for (const auto& why : why_not_a_cluster(whole)) {
    const auto key = why.key.empty() ? "cluster" : "cluster." + why.key;
    problems.add({first.where(key), key, why.what + ", for the " + std::to_string(whole.units) + " nodes of all jobs",
                  why.expected});
  }
  problems.throw_if_any();
  const auto graph = std::make_shared<const topologies::NetworkGraph>(graph_of(whole));
  auto placed = jobs;
  HostId next = 0;
  for (auto& job : placed) {
    std::vector<HostId> hosts(position_of(job.scenario.cluster.units));
    std::iota(hosts.begin(), hosts.end(), next);
    next += job.scenario.cluster.units;
    job.scenario.cluster = on_graph(std::move(job.scenario.cluster), graph, std::move(hosts));
  }
  return placed;
}

void check_one_network(const std::vector<Job>& jobs) {
  Problems problems;
  std::map<HostId, const scenario::Scenario*> taken;
  const scenario::Scenario* first = nullptr;
  for (const auto& job : jobs) {
    const auto& scenario = job.scenario;
    const auto wrong = [&](const std::string& key, const std::string& what, const std::string& expected) {
      problems.add({scenario.where(key), key, what, expected});
    };
    const auto* network = network_of(scenario);
    if (network == nullptr) {
      wrong("cluster.graph", "missing: jobs meet on the network of a file, or all on one generated fabric of nodes",
            "cluster.graph, the same for all jobs, and cluster.placement with the hosts of this one");
      continue;
    }
    if (first == nullptr) first = &scenario;
    if (!same(*network->graph, *network_of(*first)->graph)) {
      wrong("cluster.graph", "is another network than that of " + first->name, "one network for all jobs");
      continue;
    }
    if (scenario.cluster.fabric.routing != first->cluster.fabric.routing)
      wrong("cluster.routing", "is another than that of " + first->name, "one routing for all jobs");
    std::string both;
    for (const auto host : hosts_of(scenario)) {
      const auto [holder, is_new] = taken.try_emplace(host, &scenario);
      if (!is_new && both.empty())
        both = "host " + network->graph->hosts[host].name + " is also one of " + holder->second->name;
    }
    if (!both.empty()) wrong("cluster.placement", both, "hosts that no other job has");
  }
  problems.throw_if_any();
}

void check_hosts_can_change(const std::vector<Job>& jobs) {
  Problems problems;
  for (const auto& job : jobs) {
    if (job.scenario.cluster.groups.empty()) continue;
    problems.add({job.scenario.where("cluster.groups"), "cluster.groups",
                  "nodes of several kinds stand on hosts of their own", "--hosts given, or nodes of one kind"});
  }
  problems.throw_if_any();
}

const topologies::NetworkGraph& graph_of(const scenario::Scenario& scenario) { return *network_of(scenario)->graph; }

std::vector<HostId> hosts_of(const scenario::Scenario& scenario) {
  return hosts_of_units(*network_of(scenario), scenario.cluster.units);
}

std::vector<std::string> host_names(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto host : hosts_of(scenario)) names.push_back(graph_of(scenario).hosts[host].name);
  return names;
}

std::vector<scenario::Scenario> on_hosts(const std::vector<Job>& jobs, std::vector<std::vector<HostId>> hosts,
                                         HostShares choice) {
  std::vector<scenario::Scenario> scenarios;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    scenarios.push_back(jobs[job].scenario);
    auto& given = std::get<topologies::GivenNetwork>(scenarios.back().cluster.fabric.kind);
    given.hosts = std::move(hosts[job]);
    given.choice = std::string(name(choice));
  }
  return scenarios;
}

std::vector<scenario::Scenario> with_hosts(const std::vector<Job>& jobs, HostShares shares) {
  std::vector<scenario::Scenario> scenarios;
  for (const auto& job : jobs) scenarios.push_back(job.scenario);
  if (shares == HostShares::as_given) return scenarios;
  std::vector<HostId> all;
  std::vector<std::size_t> wanted;
  for (const auto& scenario : scenarios) {
    const auto own = hosts_of(scenario);
    all.insert(all.end(), own.begin(), own.end());
    wanted.push_back(own.size());
  }
  std::sort(all.begin(), all.end());  // as the file lists them
  const topologies::HostBlocks blocks(graph_of(scenarios.front()));
  all = blocks.best(all, static_cast<int>(all.size()));
  std::vector<std::vector<HostId>> chosen(jobs.size());
  for (const auto host : all) {
    // Interleaved: to the job that has had the smallest part of its hosts; packed: to the first that is not complete.
    std::size_t to = jobs.size();
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      if (chosen[job].size() == wanted[job]) continue;
      if (to == jobs.size()) {
        to = job;
      } else if (shares == HostShares::interleaved &&
                 chosen[job].size() * wanted[to] < chosen[to].size() * wanted[job]) {
        to = job;
      }
    }
    chosen[to].push_back(host);
  }
  return on_hosts(jobs, std::move(chosen), shares);
}

CommonLinks common_links(const std::vector<const topologies::Cluster*>& clusters,
                         const std::vector<const scenario::Scenario*>& scenarios,
                         const std::vector<const Indexed<topologies::LinkId, BytesPerSecond>*>& rates) {
  CommonLinks common;
  std::map<std::tuple<std::string, std::string, int>, topologies::LinkId> between_switches;
  Problems problems;
  for (std::size_t job = 0; job < clusters.size(); ++job) {
    const auto& cluster = *clusters[job];
    std::map<std::pair<topologies::NodeId, topologies::NodeId>, int> parallel;
    auto& numbers = common.of_job.emplace_back();
    bool differs = false;
    for (topologies::LinkId id = 0; id < cluster.links(); ++id) {
      const auto& link = cluster.link(id);
      const auto& from = cluster.node(link.from);
      const auto& to = cluster.node(link.to);
      const auto rate = (*rates[job])[id];
      const auto next = common.rates.next_id();
      auto number = next;
      const bool inside = link.kind == topologies::LinkKind::network &&
                          from.kind == topologies::NodeKind::network_switch &&
                          to.kind == topologies::NodeKind::network_switch;
      if (inside) {
        const int which = parallel[{link.from, link.to}]++;
        number = between_switches.try_emplace({from.name, to.name, which}, next).first->second;
      }
      if (number == next) {
        common.rates.push_back(rate);
        common.names.push_back(cluster.link_name(id));
      } else if (common.rates[number] != rate && !differs) {
        differs = true;
        const auto& scenario = *scenarios[job];
        problems.add({scenario.where("cluster"), "cluster",
                      "gives " + cluster.link_name(id) + " another rate than the jobs before it do",
                      "the same fabric, background load and perturbations of switches in all jobs"});
      }
      numbers.push_back(number);
    }
  }
  problems.throw_if_any();
  return common;
}

}  // namespace lockstep::jobs
