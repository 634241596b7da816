#pragma once
/// The cables and switches that the step uses most: how much shorter it would be if they were twice as fast. A NIC is
/// as fast as its cable: both become faster together.
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep::sensitivity {

struct FasterPart {
  std::string name;        ///< "leaf-a - spine-x", "leaf-a": the first of those alike
  bool is_switch = false;  ///< with all its links; otherwise one link, both ways
  bool with_nics = false;  ///< some of the links end at NICs, which were made faster with them
  std::int64_t alike = 1;  ///< parts that carry the same and were made faster together, itself included
  double used = 0;         ///< largest share of the bandwidth of one of its links that the step uses
  double gain = 0;         ///< share of the step time that is saved
};

/// `simulation`: of the scenario's whole step, with phases recorded, as simulate_with_elasticity makes it. The most
/// helpful part first; none under closed forms, which look at no link.
[[nodiscard]] std::vector<FasterPart> faster_parts(const scenario::Scenario& scenario, const Simulation& simulation,
                                                   spdlog::logger& log);

}  // namespace lockstep::sensitivity
