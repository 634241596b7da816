#include "sim/collectives/stage_pairs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/collectives/algorithms.hpp"
#include "sim/collectives/slot_loads.hpp"

namespace lockstep::collectives {

StagePairRoutes::Transfer StagePairRoutes::transfer(Direction direction, double bytes) const {
  bytes /= flows;
  const double per_byte = direction == both ? std::max(seconds_per_byte[0], seconds_per_byte[1])
                                            : seconds_per_byte[direction == upward ? 0 : 1];
  if (protocols.empty()) return {latency, bytes, latency + Seconds(bytes * per_byte)};
  Transfer best;
  for (const auto& protocol : protocols) {
    Transfer transfer{latency + protocol.launch + protocol.remote_step, bytes / protocol.efficiency, Seconds(0)};
    transfer.time = transfer.latency + Seconds(transfer.bytes * per_byte);
    if (&protocol == &protocols.front() || transfer.time < best.time) best = transfer;
  }
  return best;
}

std::vector<PipelineLine> pipeline_lines(const topologies::Mesh& mesh) {
  std::vector<PipelineLine> lines;
  for (auto& line : mesh.groups({"pipeline"})) lines.push_back(std::move(line.members));
  return lines;
}

namespace {

/// The two ways between the ends of a line.
std::vector<Flow> flows_between(const topologies::Cluster& cluster, topologies::DeviceId low,
                                topologies::DeviceId high) {
  return {{0, cluster.routes(low, high)}, {1, cluster.routes(high, low)}};
}

StagePairRoutes routes_of(const topologies::Cluster& cluster, const Communicator& pairs,
                          const topologies::GroupOrbits* orbits) {
  StagePairRoutes routes;
  routes.flows = cluster.flows_of_connection();
  if (const auto* node = cluster.node_spec()) routes.protocols = network::protocols_of(*node, "shift");
  for (const auto& group : pairs.groups) {
    for (const auto& flow : group.flows) {
      Seconds latency(0);
      for (const auto link : flow.links) latency += cluster.link(link).latency;
      routes.latency = std::max(routes.latency, latency / routes.flows);
    }
  }
  const auto bandwidth = [&](topologies::LinkId link) { return cluster.link(link).bandwidth; };
  for (const auto& load : slot_loads(pairs, bandwidth, {}, orbits).loads) {
    for (const auto& [slot, flows] : load.crossings) {
      auto& seconds_per_byte = routes.seconds_per_byte[slot];
      seconds_per_byte = std::max(seconds_per_byte, flows / load.bandwidth.value());
    }
  }
  return routes;
}

}  // namespace

StagePairRoutes connect_stages(const topologies::Cluster& cluster, const topologies::GroupOrbits& lines,
                               std::int32_t low, std::int32_t high) {
  Communicator pairs;
  pairs.slots = 2;
  for (const auto& line : lines.groups()) {
    pairs.groups.push_back({{}, flows_between(cluster, line[position_of(low)], line[position_of(high)])});
  }
  return routes_of(cluster, pairs, &lines);
}

StagePairs connect_stages(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                          const std::vector<PipelineLine>& lines, workloads::StageId low, workloads::StageId high) {
  StagePairs pairs;
  pairs.communicator.name = "pipeline " + std::to_string(low) + "-" + std::to_string(high);
  pairs.communicator.slots = 2;
  for (const auto& line : lines) {
    const auto first = line[low], second = line[high];
    pairs.communicator.groups.push_back({{std::min(first, second), std::max(first, second)},
                                         flows_between(cluster, mesh.device_of(first), mesh.device_of(second))});
  }
  pairs.routes = routes_of(cluster, pairs.communicator, nullptr);
  return pairs;
}

}  // namespace lockstep::collectives
