#pragma once
/// From groups of a torus to the engine's communicators: every ring and line becomes flows over links.
#include "sim/collectives/collective.hpp"
#include "sim/collectives/phases.hpp"
#include "topologies/placement/mesh.hpp"

namespace lockstep::collectives {

/// The flows of one group: one for each ring and direction, one for each hop and direction of a line; slots as
/// SlotLayout numbers them.
[[nodiscard]] std::vector<Flow> flows_of_lanes(const std::vector<topologies::Lane>& lanes,
                                               const Dimensions& dimensions);

}  // namespace lockstep::collectives
