#pragma once
/// The time below which no order of a machine's units brings a step. Docs: docs/howto/place_ranks.md.
#include <string>

#include "sim/scenario/scenario.hpp"

namespace lockstep::place_ranks {

struct PlacementBound {
  Seconds time{0};
  std::string why;  ///< "nodes and their NICs alone", "compute of the stages alone", or the links of a cut
};

/// The larger of two bounds. 1: the step on the same nodes, where whatever leaves a node only needs its NICs, with each
/// collective at its bound for any algorithm. 2: of each part of the network that does not hold whole groups, the bytes
/// that some group must send and receive across its edge in one step, over what the links there carry. Throws
/// ConfigError as preparation does. `any_layers`: nor does any split of layers over stages; then 1 is compute alone,
/// and there is no 2.
[[nodiscard]] PlacementBound placement_bound(const scenario::Scenario& scenario, bool any_layers = false);

/// The same nodes on one switch without limits, latencies and perturbations, in the order of their numbers.
[[nodiscard]] scenario::Scenario on_a_crossbar(scenario::Scenario scenario);

}  // namespace lockstep::place_ranks
