// All-gather and its mirror image, reduce-scatter. Every member must receive the N-1 shards it lacks,
// V (N-1)/N bytes, and dimension d brings its share w_d of them (torus_spread.cpp):
//   ring: each direction carries w_d V (N-1)/N / 2 over every link (the shard exactly opposite is split);
//   line: hop i of X-1 carries, upwards, the i+1 shards below it, so (i+1)/(X-1) of w_d V (N-1)/N.
#include "sim/collectives/torus_algorithms.hpp"

namespace lockstep::collectives::torus {
namespace {

double received(const Dimensions& dimensions, Bytes full_size) {
  const double n = members(dimensions);
  return static_cast<double>(full_size.value()) * (n - 1) / n;
}

Phase plan(const Dimensions& dimensions, Bytes full_size, int towards) {
  const SlotLayout slots(dimensions);
  Phase phase{latency(dimensions), Indexed<SlotId, double>(slots.total, 0.0)};
  const double all = received(dimensions, full_size);
  const Spread parts = spread(dimensions, 1);
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const auto& dimension = dimensions[d];
    const double share = all * parts.share[d];
    for (const int direction : {+1, -1}) {
      if (dimension.shape == topologies::GroupDimension::Shape::ring) {
        phase.slot_bytes[slots.ring(d, direction)] = share / 2;
        continue;
      }
      const int hops = dimension.members - 1;
      for (int i = 0; i < hops; ++i) {
        const int shards = direction == towards ? i + 1 : hops - i;
        phase.slot_bytes[slots.hop(d, direction, i)] = share * shards / hops;
      }
    }
  }
  return phase;
}

}  // namespace

Phase plan_all_gather(const Dimensions& dimensions, Bytes full_size) { return plan(dimensions, full_size, +1); }
Phase plan_reduce_scatter(const Dimensions& dimensions, Bytes full_size) { return plan(dimensions, full_size, -1); }

/// T = V (N-1)/N / bandwidth + latency; one wrapped axis: V (X-1)/(X W_bidi) + ceil(X/2) alpha.
Seconds cost_all_gather(const Dimensions& dimensions, Bytes full_size) {
  return latency(dimensions) + Seconds(received(dimensions, full_size) / spread(dimensions, 1).bandwidth.value());
}

Seconds cost_reduce_scatter(const Dimensions& dimensions, Bytes full_size) {
  return cost_all_gather(dimensions, full_size);
}

}  // namespace lockstep::collectives::torus
