#pragma once
#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::planning {

/// Times the best few plans under the usual number of seeds where a network of the cluster hashes. The order of the
/// plans stays that of the scenario's own seed.
void draw_paths(const PlanSpace& space, std::vector<RankedPlan>& best);

}  // namespace lockstep::planning
