#include "sim/collectives/communicator.hpp"

#include <algorithm>

namespace lockstep::collectives {

std::vector<Flow> flows_of_lanes(const std::vector<topologies::Lane>& lanes, const Dimensions& dimensions) {
  const SlotLayout slots(dimensions);
  std::vector<Flow> flows;
  for (const auto& lane : lanes) {
    if (dimensions[lane.dimension].shape == topologies::GroupDimension::Shape::ring) {
      Flow flow{slots.ring(lane.dimension, lane.direction), {}};
      auto hops = lane.hops;
      if (lane.direction < 0) std::reverse(hops.begin(), hops.end());  // hop i leads back from i + 1 to i
      for (const auto& hop : hops) flow.links.insert(flow.links.end(), hop.begin(), hop.end());
      flows.push_back(std::move(flow));
      continue;
    }
    for (std::size_t i = 0; i < lane.hops.size(); ++i) {
      flows.push_back({slots.hop(lane.dimension, lane.direction, static_cast<int>(i)), lane.hops[i]});
    }
  }
  return flows;
}

}  // namespace lockstep::collectives
