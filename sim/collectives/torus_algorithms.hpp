#pragma once
/// One pair of functions per algorithm; collective.cpp holds the table from kind to pair.
#include "sim/collectives/collective.hpp"

namespace lockstep::torus {

/// Bandwidth that a dimension adds to a group: 2 W / sharing for a ring, W / sharing for a line.
[[nodiscard]] BytesPerSecond bandwidth(const GroupDimension& dimension);
[[nodiscard]] BytesPerSecond bandwidth(const Dimensions& dimensions);  ///< sum over the dimensions
/// Hops that data makes at most, in time: ceil(X/2) around a ring, X-1 along a line.
[[nodiscard]] Seconds latency(const Dimensions& dimensions);

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

}  // namespace lockstep::torus
