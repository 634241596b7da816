#pragma once
/// Arrays that are split over the two digits of an axis (topologies/placement/axis_digits.hpp).
#include "workloads/sharding/notation.hpp"

namespace lockstep::workloads {

/// Whether an array is split along an axis of the mesh, or along a digit of it.
[[nodiscard]] bool splits(const std::string& axis, const ShardedTensor& array);
/// The axes of a group, in which an axis stands for its two digits.
[[nodiscard]] AxisNames whole_axes(AxisNames axes);

}  // namespace lockstep::workloads
