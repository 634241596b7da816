#pragma once
/// The best plan under what varies from step to step. Variations only slow a step down, so the step without them, which
/// is what the search orders plans by, is no longer than any of its draws: a plan whose healthy step is above the best
/// figure found so far cannot win. All plans meet the same draws. docs/howto/good_and_bad_weeks.md
#include <string>
#include <vector>

#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::planning {

/// What of a plan's draws is to be least. The regret of a draw is the step's time beyond that of the plan that is the
/// fastest in this draw; the largest of all draws counts.
enum class Objective { median, p95, regret };

struct DrawnPlan {
  RankedPlan plan;
  StepDraws steps;
  double regret_s = 0;  ///< the largest over the draws
  [[nodiscard]] double figure_s(Objective objective) const;
};

struct RobustOptions {
  int draws = 0;
  Objective objective = Objective::p95;
};

struct RobustPlans {
  SearchResult search;           ///< `best`: the plans that were drawn, in the order of their healthy steps;
                                 ///< of a search that was stopped also some that were not
  std::vector<DrawnPlan> plans;  ///< the best first
  double worth_until_s = 0;      ///< no plan with a longer healthy step can win
  std::string unproven;          ///< why another plan may be better after all; empty: none is
};

/// `search.top`: the most plans to draw. Throws ConfigError for a scenario in which nothing varies.
[[nodiscard]] RobustPlans search_robust_plans(const PlanSpace& space, SearchOptions search,
                                              const RobustOptions& options, spdlog::logger& log);

/// For plans drawn alike: the largest time of each beyond the fastest of a draw.
[[nodiscard]] std::vector<double> largest_regrets(const std::vector<const StepDraws*>& plans);

}  // namespace lockstep::planning
