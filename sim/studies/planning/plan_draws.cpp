#include "sim/studies/planning/plan_draws.hpp"

#include <spdlog/logger.h>

#include <algorithm>

namespace lockstep::planning {

void draw_paths(const PlanSpace& space, std::vector<RankedPlan>& best) {
  constexpr std::size_t most_plans = 5;
  if (!is_hashed(space.base().cluster)) return;
  spdlog::logger silent("draws");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;  // as many in one process as there are
  options.draws = usual_draws;
  for (std::size_t i = 0; i < std::min(most_plans, best.size()); ++i)
    best[i].draws =
        simulate(space.scenario(space.node_of(best[i].choice), best[i].choice), options, silent).routing_draws;
}

}  // namespace lockstep::planning
