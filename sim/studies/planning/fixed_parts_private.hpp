#pragma once
#include "sim/scenario/scenario.hpp"

namespace lockstep::planning {

/// Throws ConfigError with every part of a scenario that belongs to one plan or that no bound of a plan knows.
void refuse_fixed_parts(const scenario::Scenario& scenario);

}  // namespace lockstep::planning
