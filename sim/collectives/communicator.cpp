#include "sim/collectives/communicator.hpp"

#include <utility>

namespace lockstep::collectives {

std::vector<Flow> flows_of_lanes(const std::vector<topologies::Lane>& lanes, const Dimensions& dimensions) {
  const SlotLayout slots(dimensions);
  std::vector<Flow> flows;
  flows.reserve(lanes.size());
  for (const auto& lane : lanes) {
    if (dimensions[lane.dimension].shape == topologies::GroupDimension::Shape::ring) {
      flows.push_back({slots.ring(lane.dimension, lane.direction), lane.links});
      continue;
    }
    int hop = 0;
    for (auto& links : lane.hops())
      flows.push_back({slots.hop(lane.dimension, lane.direction, hop++), std::move(links)});
  }
  return flows;
}

}  // namespace lockstep::collectives
