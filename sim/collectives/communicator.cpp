#include "sim/collectives/communicator.hpp"

#include <algorithm>

namespace lockstep {

Communicator make_communicator(const Mesh& mesh, const std::vector<std::string>& axes) {
  const auto dimensions = mesh.dimensions(axes);
  const SlotLayout slots(dimensions);
  Communicator result;
  for (const auto& axis : axes) result.name += (result.name.empty() ? "" : "+") + axis;
  result.slots = slots.total;
  for (const auto& group : mesh.groups(axes)) {
    ProgramGroup flows{group.members, {}};
    for (const auto& lane : group.lanes) {
      if (dimensions[static_cast<std::size_t>(lane.dimension)].shape == GroupDimension::Shape::ring) {
        Flow flow{slots.ring(lane.dimension, lane.direction), {}};
        auto hops = lane.hops;
        if (lane.direction < 0) std::reverse(hops.begin(), hops.end());  // hop i leads back from i + 1 to i
        for (const auto& hop : hops) flow.links.insert(flow.links.end(), hop.begin(), hop.end());
        flows.flows.push_back(std::move(flow));
        continue;
      }
      for (std::size_t i = 0; i < lane.hops.size(); ++i) {
        flows.flows.push_back({slots.hop(lane.dimension, lane.direction, static_cast<int>(i)), lane.hops[i]});
      }
    }
    result.groups.push_back(std::move(flows));
  }
  return result;
}

}  // namespace lockstep
