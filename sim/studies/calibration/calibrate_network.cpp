#include "sim/studies/calibration/calibrate_network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "sim/collectives/group_network.hpp"
#include "sim/collectives/nccl_size.hpp"
#include "sim/studies/calibration/yaml_number.hpp"

namespace lockstep::calibration {
namespace {

constexpr double most_launch = 5000;  // microseconds
constexpr int most_evaluations = 6000;

/// A number in the description of a network: what it is varied in, and how it is set.
struct Place {
  FitParameter limits;
  std::function<void(NodeNetwork&, double)> set;
};

std::vector<Place> places_of(const NodeNetwork& network) {
  constexpr double least = 0.01;
  const auto micros = [](Seconds time) { return time.value() * 1e6; };
  std::vector<Place> places{{{"scale_up.efficiency", network.node.scale_up_efficiency, least, 1},
                             [](NodeNetwork& n, double v) { n.node.scale_up_efficiency = v; }}};
  if (network.node.in_network_reduction) {
    places.push_back({{"scale_up.in_network_reduction", network.node.in_network_efficiency, least, 1},
                      [](NodeNetwork& n, double v) { n.node.in_network_efficiency = v; }});
  }
  places.push_back({{"fabric.efficiency", network.fabric.efficiency, least, 1},
                    [](NodeNetwork& n, double v) { n.fabric.efficiency = v; }});
  for (std::size_t i = 0; i < network.node.protocols.size(); ++i) {
    const auto& protocol = network.node.protocols[i];
    if (protocol.efficiency < 1) {  // the one that reaches everything says what the links' efficiency is
      places.push_back({{protocol.name + ".efficiency", protocol.efficiency, least, 1},
                        [i](NodeNetwork& n, double v) { n.node.protocols[i].efficiency = v; }});
    }
    places.push_back({{protocol.name + ".launch", micros(protocol.launch), 0, most_launch},
                      [i](NodeNetwork& n, double v) { n.node.protocols[i].launch = Seconds(v * 1e-6); }});
    places.push_back({{protocol.name + ".remote_launch", micros(protocol.remote_launch), 0, most_launch},
                      [i](NodeNetwork& n, double v) { n.node.protocols[i].remote_launch = Seconds(v * 1e-6); }});
  }
  return places;
}

/// All ranks of a run as one group on a cluster of their own.
struct Machine {
  std::unique_ptr<topologies::Cluster> cluster;
  std::unique_ptr<topologies::Mesh> mesh;
  std::unique_ptr<collectives::GroupNetwork> group;
};

constexpr int most_all_to_all = 512;                   // ranks that can always exchange directly
constexpr std::int64_t most_pairs_of_nodes = 350'000;  // a fit makes the machine hundreds of times

topologies::ClusterSpec spec_for(const NodeNetwork& network, int ranks, int nodes) {
  topologies::ClusterSpec spec;
  topologies::NodeSpec node = network.node;
  if (const int used = ranks / nodes; used < node.chips) node = part_of(std::move(node), used);
  spec.unit = node;
  spec.units = nodes;
  spec.fabric = network.fabric;
  return spec;
}

Machine machine_for(const NodeNetwork& network, int ranks, int nodes) {
  Machine machine{std::make_unique<topologies::Cluster>(build_cluster(spec_for(network, ranks, nodes))), nullptr,
                  nullptr};
  topologies::MeshAxis all{"all", {}};
  for (std::size_t i = 0; i < machine.cluster->axes().size(); ++i)
    all.factors.push_back({static_cast<int>(i), machine.cluster->axes()[i].size, 1});
  machine.mesh = std::make_unique<topologies::Mesh>(*machine.cluster, std::vector{all}, "");
  machine.group =
      std::make_unique<collectives::GroupNetwork>(*machine.cluster, *machine.mesh, std::vector<std::string>{"all"});
  return machine;
}

void check_sizes(const NodeNetwork& network, const std::vector<TimedCollective>& timed) {
  const auto& node = network.node;
  Problems problems;
  for (const auto& one : timed) {
    const int used = one.ranks / one.nodes;
    if (used > node.chips || (used < node.chips && node.nics * used % node.chips != 0 && one.nodes > 1)) {
      problems.add({one.where, "",
                    std::to_string(used) + " ranks on a node of " + std::to_string(node.chips) + " chips and " +
                        std::to_string(node.nics) + " NICs",
                    "a node that has them"});
      continue;
    }
    for (const auto& problem : why_not_a_cluster(spec_for(network, one.ranks, one.nodes)))
      problems.add({one.where, problem.key, problem.what, problem.expected});
  }
  problems.throw_if_any();
  for (const auto& one : timed) {
    if (one.kind != workloads::CollectiveKind::all_to_all || one.ranks <= most_all_to_all) continue;
    if (std::int64_t{one.nodes} * one.nodes > most_pairs_of_nodes ||
        machine_for(network, one.ranks, one.nodes)
            .group->choices(one.kind, collectives::full_size_of(one.kind, one.size, one.ranks))
            .empty()) {
      problems.add({one.where, "",
                    "an all_to_all of " + std::to_string(one.ranks) + " ranks has too many pairs for a fit",
                    "fewer ranks"});
    }
  }
  problems.throw_if_any();
}

}  // namespace

std::vector<CollectiveResidual> predicted_collectives(const NodeNetwork& network,
                                                      const std::vector<TimedCollective>& timed) {
  std::map<std::pair<int, int>, Machine> machines;
  std::vector<CollectiveResidual> residuals;
  for (const auto& one : timed) {
    auto& machine = machines[{one.ranks, one.nodes}];
    if (!machine.group) machine = machine_for(network, one.ranks, one.nodes);
    const auto choice = machine.group->choose(one.kind, collectives::full_size_of(one.kind, one.size, one.ranks));
    residuals.push_back({one, choice.cost, choice.label});
  }
  return residuals;
}

NetworkCalibration calibrate_network(const NodeNetwork& network, const std::vector<TimedCollective>& timed) {
  check_sizes(network, timed);
  const auto places = places_of(network);
  std::vector<FitParameter> parameters;
  for (const auto& place : places) parameters.push_back(place.limits);
  const auto network_with = [&](const std::vector<double>& values) {
    NodeNetwork made = network;
    for (std::size_t i = 0; i < places.size(); ++i) places[i].set(made, values[i]);
    return made;
  };
  const auto errors = [&](const std::vector<double>& values) {
    std::vector<double> logs;
    for (const auto& residual : predicted_collectives(network_with(values), timed))
      logs.push_back(std::log(residual.predicted / residual.measured.time));
    return logs;
  };
  NetworkCalibration calibration{network, fit(parameters, errors, most_evaluations), {}};
  std::vector<double> values;
  for (const auto& parameter : calibration.fit.parameters) values.push_back(parameter.after);
  calibration.network = network_with(values);
  calibration.residuals = predicted_collectives(calibration.network, timed);
  return calibration;
}

void set_network(const NodeNetwork& network, topologies::ClusterSpec& cluster) {
  auto* node = std::get_if<topologies::NodeSpec>(&cluster.unit);
  if (node == nullptr || node->protocols.size() != network.node.protocols.size()) return;
  node->scale_up_efficiency = network.node.scale_up_efficiency;
  node->in_network_efficiency = network.node.in_network_efficiency;
  node->protocols = network.node.protocols;
  if (cluster.fabric.name == network.fabric.name) cluster.fabric.efficiency = network.fabric.efficiency;
}

std::string cluster_yaml(const NetworkCalibration& calibration, const std::string& source) {
  const auto& node = calibration.network.node;
  const auto time = [](Seconds seconds) { return yaml_number(seconds.value() * 1e6) + " us"; };
  std::string text = "node:\n  like: " + node.name + "\n  scale_up: {kind: " + std::string(name(node.scale_up)) +
                     ", link: " + yaml_number(node.scale_up_link.value() / 1e9) +
                     " GB/s, efficiency: " + yaml_number(node.scale_up_efficiency) +
                     ", latency: " + time(node.scale_up_latency);
  if (node.in_network_reduction) text += ", in_network_reduction: " + yaml_number(node.in_network_efficiency);
  for (const auto& uplink : node.uplinks) {
    text += (&uplink == &node.uplinks.front() ? ", uplinks: [{chips: " : ", {chips: ") + std::to_string(uplink.chips) +
            ", link: " + yaml_number(uplink.link.value() / 1e9) + " GB/s}";
  }
  text += node.uplinks.empty() ? "}\n" : "]}\n";
  if (!node.protocols.empty()) text += "  protocols:\n";
  for (const auto& protocol : node.protocols) {
    text += "    - {name: " + protocol.name + ", efficiency: " + yaml_number(protocol.efficiency) +
            ", launch: " + time(protocol.launch) + ", local_step: " + time(protocol.local_step) +
            ", remote_step: " + time(protocol.remote_step) + ", remote_launch: " + time(protocol.remote_launch) + "}\n";
  }
  text += "  sources: [" + yaml_quoted(source) + "]\n";
  const bool between_nodes = std::any_of(calibration.residuals.begin(), calibration.residuals.end(),
                                         [](const auto& residual) { return residual.measured.nodes > 1; });
  if (between_nodes)
    text += "fabric: {like: " + calibration.network.fabric.name +
            ", efficiency: " + yaml_number(calibration.network.fabric.efficiency) + "}\n";
  return text;
}

}  // namespace lockstep::calibration
