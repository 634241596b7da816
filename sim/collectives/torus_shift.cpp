// Point to point between neighbours, all members at once: each sends full_size to the next along the
// first dimension (a pipeline hop, or one step of ring attention).
#include "sim/collectives/torus_algorithms.hpp"

namespace lockstep::collectives::torus {

Phase plan_shift(const Dimensions& dimensions, Bytes full_size) {
  const SlotLayout slots(dimensions);
  Phase phase{dimensions.front().hop_latency, Indexed<SlotId, double>(slots.total, 0.0)};
  const double bytes = static_cast<double>(full_size.value());
  if (dimensions.front().shape == topologies::GroupDimension::Shape::ring) {
    phase.slot_bytes[slots.ring(0, +1)] = bytes;
  } else {
    for (int i = 0; i + 1 < dimensions.front().members; ++i) phase.slot_bytes[slots.hop(0, +1, i)] = bytes;
  }
  return phase;
}

Seconds cost_shift(const Dimensions& dimensions, Bytes full_size) {
  const auto& dimension = dimensions.front();
  return dimension.hop_latency + full_size / (dimension.link / static_cast<double>(dimension.sharing));
}

}  // namespace lockstep::collectives::torus
