#pragma once
/// Which ranks a trace shows: ranks with identical lanes are shown once.
#include <cstdint>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::trace {

struct ShownRank {
  std::int32_t rank;    ///< of the program as run
  std::int32_t number;  ///< the lowest rank of the mesh with these lanes
  std::int32_t alike;   ///< how many ranks of the mesh have these lanes
};

/// One for every distinct set of lanes, the critical rank's first, the others by number.
[[nodiscard]] std::vector<ShownRank> distinct_ranks(const Simulation& simulation);

}  // namespace lockstep::trace
