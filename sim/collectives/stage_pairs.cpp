#include "sim/collectives/stage_pairs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "sim/collectives/slot_loads.hpp"

namespace lockstep::collectives {

StagePairRoutes::Transfer StagePairRoutes::transfer(Direction direction, double bytes) const {
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

StagePairs connect_stages(const topologies::Cluster& cluster, const topologies::Mesh& mesh,
                          const std::vector<PipelineLine>& lines, workloads::StageId low, workloads::StageId high) {
  StagePairs pairs;
  pairs.communicator.name = "pipeline " + std::to_string(low) + "-" + std::to_string(high);
  pairs.communicator.slots = 2;
  if (const auto* node = cluster.node_spec()) pairs.routes.protocols = node->protocols;
  for (const auto& line : lines) {
    const IndexedArray<SlotId, topologies::RankId, 2> ends{line[low], line[high]};
    ProgramGroup group{{ends[0], ends[1]}, {}};
    for (const SlotId direction : ends.ids()) {
      auto route = cluster.route(mesh.device_of(ends[direction]), mesh.device_of(ends[1 - direction]));
      Seconds latency(0);
      for (const auto link : route) latency += cluster.link(link).latency;
      pairs.routes.latency = std::max(pairs.routes.latency, latency);
      group.flows.push_back({direction, std::move(route)});
    }
    std::sort(group.members.begin(), group.members.end());
    pairs.communicator.groups.push_back(std::move(group));
  }
  for (const auto& load :
       slot_loads(pairs.communicator, [&](topologies::LinkId link) { return cluster.link(link).bandwidth; }).loads) {
    for (const auto& [slot, flows] : load.crossings) {
      auto& seconds_per_byte = pairs.routes.seconds_per_byte[slot];
      seconds_per_byte = std::max(seconds_per_byte, flows / load.bandwidth.value());
    }
  }
  return pairs;
}

}  // namespace lockstep::collectives
