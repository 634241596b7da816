#include "topologies/graph/node_description.hpp"

#include <algorithm>
#include <utility>

namespace lockstep::topologies {

const char* name(PcieDistance distance) {
  switch (distance) {
    case PcieDistance::pix: return "PIX";
    case PcieDistance::pxb: return "PXB";
    case PcieDistance::phb: return "PHB";
    case PcieDistance::node: return "NODE";
    case PcieDistance::sys: return "SYS";
  }
  return "";
}

void choose_nearest_nics(NodeDescription& node, const std::vector<std::vector<PcieDistance>>& distance_of_gpu_to_nic) {
  std::vector<int> serves(node.nics.size());
  const auto preference = [&](std::size_t nic) {  // the least is best
    const auto rate = node.nics[nic].rate.value_or(BytesPerSecond(0));
    return std::pair(-rate.value(), serves[nic]);
  };
  for (std::size_t gpu = 0; gpu < node.gpus.size(); ++gpu) {
    const auto& distances = distance_of_gpu_to_nic[gpu];
    if (distances.empty()) continue;
    NodeGpu& of = node.gpus[gpu];
    of.nic_distance = *std::min_element(distances.begin(), distances.end());
    for (std::size_t nic = 0; nic < distances.size(); ++nic) {
      if (distances[nic] != of.nic_distance) continue;
      ++of.equally_near;
      if (!of.nearest_nic || preference(nic) < preference(*of.nearest_nic)) of.nearest_nic = nic;
    }
    ++serves[*of.nearest_nic];
  }
}

}  // namespace lockstep::topologies
