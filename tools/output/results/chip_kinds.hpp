#pragma once
/// How long each kind of chip computes in a step on nodes of several kinds.
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::output {

struct ChipKindUse {
  std::string chip;
  std::int64_t chips = 0;
  metrics::Breakdown breakdown;  ///< of the one of them that computes longest
};

/// In the order of nodes; empty if all chips are of one kind.
[[nodiscard]] std::vector<ChipKindUse> chip_kinds_of(const Simulation& simulation);
/// Says for which kind the others wait. Empty if all chips are of one kind.
[[nodiscard]] std::string chip_kinds_line(const std::vector<ChipKindUse>& kinds);

}  // namespace lockstep::output
