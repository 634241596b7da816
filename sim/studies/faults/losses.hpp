#pragma once
/// The switches and cables that a job's networks can lose, those that look the same from the job once.
#include <functional>
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::faults {

struct PossibleLoss {
  std::string name;  ///< the first's: "spine-03", "cable leaf-a - spine-03"
  bool is_switch = true;
  int tier = 0;            ///< as topologies::network_tiers has it; 0: a cable of a torus
  std::int64_t alike = 1;  ///< how many such parts there are, itself included
  double used = 0;         ///< largest share of a link's bandwidth that the whole step uses; 0 where it is not known
  std::function<void(scenario::Scenario&)> take;  ///< takes the part out of the scenario's cluster
};

/// `whole`: the step without losses, with its phases recorded. Switches and cables inside nodes are left out; so are
/// chips and NICs. Where sprayed packets use several switches or cables as one, the loss is that of one of them.
/// Switches first, then the most used first.
[[nodiscard]] std::vector<PossibleLoss> possible_losses(const scenario::Scenario& scenario, const Simulation& whole);

}  // namespace lockstep::faults
