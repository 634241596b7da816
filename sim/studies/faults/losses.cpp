#include "sim/studies/faults/losses.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>

#include "sim/metrics/link_loads.hpp"
#include "sim/studies/faults/refine.hpp"
#include "topologies/fabrics/component_counts.hpp"
#include "topologies/fabrics/hosts_of_units.hpp"

namespace lockstep::faults {
namespace {

using topologies::Cluster;
using topologies::LinkId;
using topologies::NodeId;

bool in_network(const topologies::Link& link) {
  return link.kind == topologies::LinkKind::network || link.kind == topologies::LinkKind::dcn ||
         link.kind == topologies::LinkKind::ici;
}

/// Small numbers for values, in the order in which they come.
template <class Value>
class Numbers {
 public:
  std::int32_t operator()(const Value& value) {
    return known_.try_emplace(value, static_cast<std::int32_t>(known_.size())).first->second;
  }

 private:
  std::map<Value, std::int32_t> known_;
};

/// The first of those that look the same gets a row, the others are counted there.
template <class Look>
class Rows {
 public:
  /// `count` parts that look so. Null: others looked the same.
  PossibleLoss* add(const Look& look, std::int64_t count) {
    const auto [row, is_new] = rows_.try_emplace(look, losses.size());
    if (is_new) return &losses.emplace_back();
    losses[row->second].alike += count;
    return nullptr;
  }
  std::vector<PossibleLoss> losses;

 private:
  std::map<Look, std::size_t> rows_;
};

/// What the step uses of the links at each node, and of each link that stands for its class.
struct Use {
  Use(const Simulation& whole) : of_link(whole.preparation.machine.cluster->links(), 0.0) {
    const timeline::Interval step{Seconds(0), whole.run.timeline.makespan()};
    for (const auto& load : metrics::link_loads(whole.program, whole.run.phases, whole.link_members, step,
                                                whole.run.timeline.repetition()))
      of_link[load.link] = load.used;
  }
  Indexed<LinkId, double> of_link;
};

/// From a device of the cluster to the class of its rank.
std::int32_t class_of(const Simulation& whole, topologies::DeviceId device) {
  return whole.ranks.class_of_rank[whole.preparation.machine.mesh->rank_of(device)];
}

std::vector<std::int32_t> looks_of_nodes(const Cluster& cluster, const Simulation& whole) {
  std::vector<std::int32_t> colours;
  for (NodeId node = 0; node < cluster.nodes(); ++node) {
    colours.push_back(node < cluster.devices() ? class_of(whole, node)
                                               : -1 - static_cast<std::int32_t>(cluster.node(node).kind));
  }
  Numbers<std::tuple<topologies::LinkKind, double, double>> labels;
  std::vector<Joint> joints;
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.from < link.to)
      joints.push_back({link.from, link.to, labels({link.kind, link.bandwidth.value(), link.latency.value()})});
  }
  return refined(std::move(colours), joints);
}

/// How many switches, or cables, each that is modelled stands for: those of the network with every cable over those of
/// the sprayed one, for parts as far from the chips. 1 where paths are hashed.
class Counts {
 public:
  Counts(const scenario::Scenario& scenario, const Cluster& modelled) : heights_(heights(modelled)) {
    auto spec = scenario.cluster;
    spec.fabric.routing = spec.between_halls.routing = topologies::FabricRouting::ecmp;
    const Cluster every = build_cluster(spec);
    const auto heights_of_every = heights(every);
    for (NodeId node = 0; node < every.nodes(); ++node) ++switches_[heights_of_every[node]].first;
    for (NodeId node = 0; node < modelled.nodes(); ++node) ++switches_[heights_[node]].second;
    for (LinkId id = 0; id < every.links(); ++id) ++cables_[between(every.link(id), heights_of_every)].first;
    for (LinkId id = 0; id < modelled.links(); ++id) ++cables_[between(modelled.link(id), heights_)].second;
  }
  [[nodiscard]] std::int64_t of_switch(NodeId node) const { return ratio(switches_.at(heights_[node])); }
  [[nodiscard]] std::int64_t of_link(const topologies::Link& link) const {
    return ratio(cables_.at(between(link, heights_)));
  }

 private:
  using Heights = Indexed<NodeId, int>;
  using Pair = std::pair<std::int64_t, std::int64_t>;  ///< with every cable, as modelled

  static std::int64_t ratio(const Pair& counts) {
    return std::max<std::int64_t>(1, counts.first / std::max<std::int64_t>(1, counts.second));
  }
  static std::pair<int, int> between(const topologies::Link& link, const Heights& heights) {
    return {heights[link.from], heights[link.to]};
  }
  static Heights heights(const Cluster& cluster) {
    Heights heights(cluster.nodes(), cluster.nodes());
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device) heights[device] = 0;
    for (bool changed = true; changed;) {
      changed = false;
      for (LinkId id = 0; id < cluster.links(); ++id) {
        const auto& link = cluster.link(id);
        if (heights[link.from] <= heights[link.to] + 1) continue;
        heights[link.from] = heights[link.to] + 1;
        changed = true;
      }
    }
    return heights;
  }

  Heights heights_;
  std::map<int, Pair> switches_;
  std::map<std::pair<int, int>, Pair> cables_;
};

std::vector<PossibleLoss> losses_of_cluster(const scenario::Scenario& scenario, const Simulation& whole) {
  const Cluster& cluster = *whole.preparation.machine.cluster;
  const auto looks = looks_of_nodes(cluster, whole);
  const auto tiers = topologies::network_tiers(cluster);
  const Counts counts(scenario, cluster);
  const Use use(whole);
  Rows<std::int32_t> switches;
  Rows<std::tuple<std::int32_t, std::int32_t, double, double>> cables;
  Indexed<NodeId, double> use_at(cluster.nodes(), 0.0);
  Indexed<NodeId, bool> joins_units(cluster.nodes(), false);
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    for (const NodeId end : {link.from, link.to}) {
      use_at[end] = std::max(use_at[end], use.of_link[id]);
      joins_units[end] = joins_units[end] || in_network(link);
    }
  }
  for (NodeId node = cluster.devices(); node < cluster.nodes(); ++node) {
    if (cluster.node(node).kind != topologies::NodeKind::network_switch || !joins_units[node]) continue;
    const auto count = counts.of_switch(node);
    if (auto* loss = switches.add(looks[position_of(node)], count)) {
      const auto name = cluster.node(node).name;
      const double left = 1 - 1.0 / static_cast<double>(count);
      *loss = {count == 1 ? name : "one of " + std::to_string(count) + " in " + name,
               true,
               tiers[node],
               count,
               use_at[node],
               [name, left](scenario::Scenario& without) {
                 without.perturbations.emplace_back(program::DegradedNode{name, left});
               }};
    }
  }
  for (LinkId id = 0; id < cluster.links(); ++id) {
    const auto& link = cluster.link(id);
    if (link.from > link.to || !in_network(link)) continue;
    const auto count = counts.of_link(link);
    const auto ends = std::minmax(looks[position_of(link.from)], looks[position_of(link.to)]);
    if (auto* loss = cables.add({ends.first, ends.second, link.bandwidth.value(), link.latency.value()}, count)) {
      const auto from = cluster.node(link.from).name, to = cluster.node(link.to).name;
      const double left = 1 - 1.0 / static_cast<double>(count);
      *loss = {(count == 1 ? "cable " : "one of " + std::to_string(count) + " cables ") + from + " - " + to,
               false,
               topologies::tier_of(link, tiers),
               count,
               use.of_link[id],
               [from, to, left](scenario::Scenario& without) {
                 without.perturbations.emplace_back(program::DegradedLink{from, to, left});
                 without.perturbations.emplace_back(program::DegradedLink{to, from, left});
               }};
    }
  }
  auto all = std::move(switches.losses);
  all.insert(all.end(), std::make_move_iterator(cables.losses.begin()), std::make_move_iterator(cables.losses.end()));
  return all;
}

/// The switches and cables of a file one by one. Those that sprayed packets use as one have no node each in the
/// cluster, so the part is taken out of the graph on which the cluster stands.
class LossesOfGraph {
 public:
  LossesOfGraph(const topologies::GivenNetwork& given, const Simulation& whole)
      : graph_(*given.graph), switches_(graph_.switches.count()) {
    for (const auto& network_switch : graph_.switches) {
      (void)network_switch;
      colours_.push_back(-1);
    }
    Numbers<std::vector<std::int32_t>> kinds_of_hosts;
    colours_.insert(colours_.end(), graph_.hosts.size(), -2);
    const Cluster& cluster = *whole.preparation.machine.cluster;
    const auto hosts = hosts_of_units(given, cluster.devices() / cluster.unit_size());
    for (topologies::DeviceId first = 0; first < cluster.devices(); first += cluster.unit_size()) {
      std::vector<std::int32_t> classes;
      for (topologies::DeviceId device = first; device < first + cluster.unit_size(); ++device)
        classes.push_back(class_of(whole, device));
      colours_[position_of(switches_ + hosts[position_of(cluster.unit_of(first))])] = kinds_of_hosts(classes);
    }
    Numbers<std::tuple<int, double, double, int>> labels;
    for (const auto& cable : graph_.cables) {
      const auto label =
          labels({cable.count, cable.rate.value_or(BytesPerSecond(0)).value(),
                  cable.latency.value_or(Seconds(-1)).value(), std::max(adapter(cable.from), adapter(cable.to))});
      joints_.push_back({node(cable.from), node(cable.to), label});
    }
    find_tiers();
  }

  [[nodiscard]] std::vector<PossibleLoss> all() const {
    const auto looks = refined(colours_, joints_);
    Rows<std::int32_t> switches;
    Rows<std::tuple<std::int32_t, std::int32_t, std::int32_t>> cables;
    for (const topologies::SwitchId id : graph_.switches.ids()) {
      auto* loss = switches.add(looks[position_of(id)], 1);
      if (loss == nullptr) continue;
      *loss = {graph_.switches[id].name,
               true,
               tiers_[position_of(id)],
               1,
               0,
               [this_switch = id](scenario::Scenario& without) {
                 edit(without, [&](topologies::NetworkGraph& graph) {
                   std::erase_if(graph.cables, [&](const topologies::Cable& cable) {
                     return is(cable.from, this_switch) || is(cable.to, this_switch);
                   });
                 });
               }};
    }
    for (std::size_t position = 0; position < graph_.cables.size(); ++position) {
      const Joint& joint = joints_[position];
      const auto ends = std::minmax(looks[position_of(joint.one)], looks[position_of(joint.other)]);
      auto* loss = cables.add({ends.first, ends.second, joint.label}, graph_.cables[position].count);
      if (loss == nullptr) continue;
      const auto& cable = graph_.cables[position];
      *loss = {"cable " + name(cable.from) + " - " + name(cable.to),
               false,
               std::max(tiers_[position_of(joint.one)], tiers_[position_of(joint.other)]),
               cable.count,
               0,
               [position](scenario::Scenario& without) {
                 edit(without, [&](topologies::NetworkGraph& graph) {
                   if (--graph.cables[position].count == 0)
                     graph.cables.erase(graph.cables.begin() + static_cast<std::ptrdiff_t>(position));
                 });
               }};
    }
    auto list = std::move(switches.losses);
    list.insert(list.end(), std::make_move_iterator(cables.losses.begin()),
                std::make_move_iterator(cables.losses.end()));
    return list;
  }

 private:
  template <class Change>
  static void edit(scenario::Scenario& scenario, Change change) {
    auto& given = std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind);
    auto graph = std::make_shared<topologies::NetworkGraph>(*given.graph);
    change(*graph);
    given.graph = std::move(graph);
  }
  /// As topologies::network_tiers.
  void find_tiers() {
    tiers_.assign(colours_.size(), 0);
    std::fill_n(tiers_.begin(), switches_, std::numeric_limits<int>::max() - 1);
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& joint : joints_) {
        auto& one = tiers_[position_of(joint.one)];
        auto& other = tiers_[position_of(joint.other)];
        auto& higher = one > other ? one : other;
        const int found = std::min(one, other) + 1;
        if (higher <= found) continue;
        higher = found;
        changed = true;
      }
    }
  }
  static bool is(const topologies::CableEnd& end, topologies::SwitchId id) {
    const auto* network_switch = std::get_if<topologies::SwitchEnd>(&end);
    return network_switch != nullptr && network_switch->network_switch == id;
  }
  static int adapter(const topologies::CableEnd& end) {
    const auto* adapter = std::get_if<topologies::AdapterEnd>(&end);
    return adapter == nullptr ? -1 : adapter->adapter;
  }
  [[nodiscard]] std::int32_t node(const topologies::CableEnd& end) const {
    if (const auto* adapter = std::get_if<topologies::AdapterEnd>(&end)) return switches_ + adapter->host;
    return std::get<topologies::SwitchEnd>(end).network_switch;
  }
  [[nodiscard]] std::string name(const topologies::CableEnd& end) const {
    if (const auto* network_switch = std::get_if<topologies::SwitchEnd>(&end))
      return graph_.switches[network_switch->network_switch].name;
    const auto& at = std::get<topologies::AdapterEnd>(end);
    return graph_.hosts[at.host].name + '/' + graph_.hosts[at.host].adapters[position_of(at.adapter)];
  }

  const topologies::NetworkGraph& graph_;
  std::int32_t switches_;
  std::vector<std::int32_t> colours_;  ///< switches, then hosts
  std::vector<Joint> joints_;          ///< one for each cable of the graph
  std::vector<int> tiers_;             ///< of switches and hosts
};

}  // namespace

std::vector<PossibleLoss> possible_losses(const scenario::Scenario& scenario, const Simulation& whole) {
  const auto& fabric = scenario.cluster.fabric;
  const auto* given = std::get_if<topologies::GivenNetwork>(&fabric.kind);
  const bool of_graph = given != nullptr && fabric.routing == topologies::FabricRouting::spray;
  auto all = of_graph ? LossesOfGraph(*given, whole).all() : losses_of_cluster(scenario, whole);
  std::stable_sort(all.begin(), all.end(), [](const PossibleLoss& a, const PossibleLoss& b) {
    return std::pair(a.is_switch, a.used) > std::pair(b.is_switch, b.used);
  });
  return all;
}

}  // namespace lockstep::faults
