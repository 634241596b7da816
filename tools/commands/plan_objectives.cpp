// `lockstep plan` with another aim than the healthy step.
#include <algorithm>

#include "sim/studies/planning/robust_plans.hpp"
#include "sim/studies/planning/run_plans.hpp"
#include "tools/commands/plan_arguments_private.hpp"
#include "tools/output/studies/plan_objectives.hpp"

namespace lockstep::commands {
namespace {

/// The plans shown, in their new order, take the place of those that the search found.
template <class Plans>
planning::SearchResult reordered(planning::SearchResult search, const Plans& plans, std::size_t shown) {
  search.best.clear();
  for (std::size_t i = 0; i < std::min(shown, plans.size()); ++i) search.best.push_back(plans[i].plan);
  return search;
}

planning::Objective objective_named(const std::string& word) {
  using enum planning::Objective;
  for (const auto objective : {median, p95, regret}) {
    if (output::name(objective) == word) return objective;
  }
  return p95;
}

}  // namespace

PlansByObjective search_by_objective(const PlanArguments& arguments, const planning::PlanSpace& space,
                                     const planning::SearchOptions& options, spdlog::logger& log) {
  auto search = options;
  search.top = arguments.most;
  if (arguments.for_run) {
    goodput::check_has_reliability(space.base());
    const auto plans = search_plans_for_run(space, search, log);
    if (plans.plans.empty()) return {plans.search, "", {}, 0};
    return {reordered(plans.search, plans.plans, arguments.top), output::run_plans_text(space, plans, arguments.top),
            output::run_plans_json(plans, arguments.top), plans.plans.front().useful_step_s};
  }
  const planning::RobustOptions drawing{arguments.draws, objective_named(arguments.objective)};
  const auto plans = search_robust_plans(space, search, drawing, log);
  if (plans.plans.empty()) return {plans.search, "", {}, 0};
  return {reordered(plans.search, plans.plans, arguments.top),
          output::robust_text(space, plans, drawing, arguments.top), output::robust_json(plans, drawing, arguments.top),
          plans.plans.front().steps.mean().value()};
}

}  // namespace lockstep::commands
