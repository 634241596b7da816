#pragma once
/// The power of a cluster's chips over one step: each chip draws what its state says. docs/models/cost.md.
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/economics/price_list.hpp"

namespace lockstep::economics {

struct PowerProfile {
  /// A piece of the step, as long as 1/1000 of the simulated time; a piece of a period that repeats stands for all of
  /// its repetitions.
  struct Window {
    Seconds start, end;  ///< simulated
    Seconds in_step;     ///< the time that it takes in the whole step
    Watts power{0};      ///< mean of all chips together
  };
  std::vector<Window> windows;
  Joules step{0};                           ///< of all chips in one step
  Watts mean{0}, least{0}, most{0};         ///< of all chips together
  Watts idle{0};                            ///< all chips together while nothing runs
  double computing = 0, communicating = 0;  ///< shares of the chips' time; the rest is idle
};

/// `power` by kind of chip of the machine.
[[nodiscard]] PowerProfile power_over_step(const Simulation& simulation,
                                           const Indexed<topologies::ChipKindId, ChipPower>& power);

}  // namespace lockstep::economics
