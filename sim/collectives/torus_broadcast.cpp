// Broadcast from member 0 and its mirror image, reduce to member 0, pipelined in small pieces. Dimension d
// carries its share w_d of V: a ring sends half of it each way round (X-1 hops), a line all of it outwards. Beside
// other dimensions, the members at a line's near end get its share back from their neighbours, which have it by another
// way: the first member has only its outward links to send the whole of V once.
#include "sim/collectives/torus_algorithms.hpp"

namespace lockstep::collectives::torus {
namespace {

Seconds pipeline_latency(const Dimensions& dimensions) {
  Seconds total(0);
  for (const auto& dimension : dimensions) total += dimension.hop_latency * static_cast<double>(dimension.members - 1);
  return total;
}

Phase plan(const Dimensions& dimensions, Bytes full_size, int outwards) {
  const SlotLayout slots(dimensions);
  const Spread parts = spread(dimensions, 0);
  Phase phase{pipeline_latency(dimensions), Indexed<SlotId, double>(slots.total, 0.0)};
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const auto& dimension = dimensions[d];
    const double share = static_cast<double>(full_size.value()) * parts.share[d];
    if (dimension.shape == topologies::GroupDimension::Shape::ring) {
      for (const int direction : {+1, -1}) phase.slot_bytes[slots.ring(d, direction)] = share / 2;
      continue;
    }
    for (int i = 0; i + 1 < dimension.members; ++i) phase.slot_bytes[slots.hop(d, outwards, i)] = share;
    if (dimensions.size() > 1) phase.slot_bytes[slots.hop(d, -outwards, 0)] = share;
  }
  return phase;
}

}  // namespace

Phase plan_broadcast(const Dimensions& dimensions, Bytes full_size) { return plan(dimensions, full_size, +1); }
Phase plan_reduce(const Dimensions& dimensions, Bytes full_size) { return plan(dimensions, full_size, -1); }

Seconds cost_broadcast(const Dimensions& dimensions, Bytes full_size) {
  return pipeline_latency(dimensions) + full_size / spread(dimensions, 0).bandwidth;
}
Seconds cost_reduce(const Dimensions& dimensions, Bytes full_size) { return cost_broadcast(dimensions, full_size); }

}  // namespace lockstep::collectives::torus
