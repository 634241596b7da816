#pragma once
/// One pair of functions per algorithm; collective.cpp holds the table from kind to pair.
#include "sim/collectives/collective.hpp"

namespace lockstep::collectives::torus {

/// Bandwidth that a dimension adds to a group: 2 W / sharing for a ring, W / sharing for a line.
[[nodiscard]] BytesPerSecond bandwidth(const topologies::GroupDimension& dimension);
[[nodiscard]] BytesPerSecond bandwidth(const Dimensions& dimensions);  ///< sum over the dimensions
/// The time of the most hops that data makes: ceil(X/2) around a ring, X-1 along a line.
[[nodiscard]] Seconds latency(const Dimensions& dimensions);

/// The split over the dimensions of the data that every member receives, such that it arrives soonest.
struct Spread {
  Indexed<topologies::DimensionId, double> share;  ///< of each dimension; together 1
  BytesPerSecond
      bandwidth;  ///< rate at which it arrives; the sum over the dimensions if none of them delays the others
};
/// `own`: shards of V/N that a member starts with: 1 in an all-gather, 0 in a broadcast.
[[nodiscard]] Spread spread(const Dimensions& dimensions, int own);

[[nodiscard]] Phase plan_all_gather(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_all_gather(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Phase plan_reduce_scatter(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_reduce_scatter(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Phase plan_all_to_all(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_all_to_all(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Phase plan_broadcast(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_broadcast(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Phase plan_reduce(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_reduce(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Phase plan_shift(const Dimensions& dimensions, Bytes full_size);
[[nodiscard]] Seconds cost_shift(const Dimensions& dimensions, Bytes full_size);

}  // namespace lockstep::collectives::torus
