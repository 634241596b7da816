// Which plans of a space are the one that its scenario's file has.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {
namespace {

/// Whether axes of more than one rank have the same groups, in whatever order their ranks are.
bool lie_alike(const PlanSpace::Placement& one, const PlanSpace::Placement& other) {
  const auto groups = [](const PlanSpace::Placement& placement) {
    std::map<std::string, std::set<std::tuple<topologies::AxisId, int, int>>> made;
    for (const auto& axis : placement) {
      auto& factors = made[axis.name == "fsdp" ? "data" : axis.name];
      for (const auto& factor : axis.factors) {
        if (factor.size > 1) factors.emplace(factor.axis, factor.size, factor.stride);
      }
    }
    std::erase_if(made, [](const auto& axis) { return axis.second.empty(); });
    return made;
  };
  return groups(one) == groups(other);
}

}  // namespace

std::vector<PlanChoice> PlanSpace::find_plans_of(const scenario::Scenario& scenario) const {
  const auto node =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const Node& one) { return one.degrees == degrees_of_file_; });
  const auto recompute = std::find(recomputations_.begin(), recomputations_.end(), scenario.derive.recompute);
  if (node == nodes_.end() || recompute == recomputations_.end()) return {};
  PlanChoice plan{node->degrees,
                  scenario.parallel.zero,
                  static_cast<std::int32_t>(recompute - recomputations_.begin()),
                  scenario.batch.microbatches,
                  0,
                  {}};
  const bool replicated = plan.degrees.data * plan.degrees.context * plan.degrees.expert > 1;
  if (!replicated) plan.zero = node->zeros.front();
  if (std::find(node->zeros.begin(), node->zeros.end(), plan.zero) == node->zeros.end() ||
      std::find(node->microbatches.begin(), node->microbatches.end(), plan.microbatches) == node->microbatches.end())
    return {};
  const auto& pipeline = scenario.pipeline;
  const auto& orders = schedules(plan.degrees.pipeline, plan.microbatches);
  const auto order = std::find_if(orders.begin(), orders.end(), [&](const ScheduleChoice& one) {
    return one.schedule < 0 ||
           (schedule(one).name == pipeline.schedule && !pipeline.group && pipeline.memory_limit.empty() &&
            one.chunks == pipeline.chunks.value_or(schedule(one).usual_chunks));
  });
  if (order == orders.end()) return {};
  plan.schedule = *order;
  const bool is_placed = std::all_of(scenario.mesh.begin(), scenario.mesh.end(),
                                     [](const topologies::AxisRequest& axis) { return axis.place.has_value(); });
  std::optional<Placement> own;
  if (is_placed) {
    const auto placed = place_as_requested(cluster_, scenario.mesh);
    if (const auto* axes = std::get_if<0>(&placed)) own = *axes;
  }
  std::vector<PlanChoice> plans;
  for (; plan.placement < std::ssize(node->placements); ++plan.placement) {
    if (!is_placed || (own && lie_alike(node->placements[position_of(plan.placement)], *own))) plans.push_back(plan);
  }
  return plans;
}

}  // namespace lockstep::planning
