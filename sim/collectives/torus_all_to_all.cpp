// All-to-all, routed dimension by dimension, each chunk the shorter way. Along dimension d the X members
// of a ring hold X V/N bytes and send each other chunks of X V/N / X^2:
//   ring: a link carries, per direction, floor(X^2/4)/2 chunks (X^2/8 for even X: a quarter of an all-gather);
//   ring of a twisted torus: X times the hops along its axis from a chip to another on average, half for each
//   direction; line: hop i carries (i+1)(X-1-i) chunks per direction.
#include <algorithm>

#include "sim/collectives/torus_algorithms.hpp"

namespace lockstep::collectives::torus {
namespace {

double chunk(const Dimensions& dimensions, const topologies::GroupDimension& dimension, Bytes full_size) {
  return static_cast<double>(full_size.value()) / members(dimensions) / dimension.members;
}

double ring_chunks(const topologies::GroupDimension& ring) {
  const int x = ring.members;
  return ring.twisted ? x * ring.twisted->exchange : (x * x / 4) / 2.0;
}

}  // namespace

Phase plan_all_to_all(const Dimensions& dimensions, Bytes full_size) {
  const SlotLayout slots(dimensions);
  Phase phase{latency(dimensions), Indexed<SlotId, double>(slots.total, 0.0)};
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const auto& dimension = dimensions[d];
    const double size = chunk(dimensions, dimension, full_size);
    for (const int direction : {+1, -1}) {
      if (dimension.shape == topologies::GroupDimension::Shape::ring) {
        phase.slot_bytes[slots.ring(d, direction)] = size * ring_chunks(dimension);
        continue;
      }
      for (int i = 0; i + 1 < dimension.members; ++i) {
        phase.slot_bytes[slots.hop(d, direction, i)] = size * (i + 1) * (dimension.members - 1 - i);
      }
    }
  }
  return phase;
}

/// The dimension whose links are loaded longest decides.
Seconds cost_all_to_all(const Dimensions& dimensions, Bytes full_size) {
  double longest = 0;
  for (const auto& dimension : dimensions) {
    const int x = dimension.members;
    const double chunks =
        dimension.shape == topologies::GroupDimension::Shape::ring ? ring_chunks(dimension) : (x / 2) * (x - x / 2);
    longest = std::max(longest,
                       chunk(dimensions, dimension, full_size) * chunks * dimension.sharing / dimension.link.value());
  }
  return latency(dimensions) + Seconds(longest);
}

}  // namespace lockstep::collectives::torus
