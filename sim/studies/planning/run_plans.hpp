#pragma once
/// The best plan for a run of many steps with failures: that with the shortest step over goodput. No plan's goodput is
/// above that of a run whose hosts share a checkpoint evenly and whose speed no missing host and no broken part
/// reduces, so a plan whose step, over that goodput, is above the best one found cannot win. docs/models/goodput.md
#include <string>
#include <vector>

#include "sim/studies/goodput/renewal.hpp"
#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::planning {

struct PlanOfRun {
  RankedPlan plan;
  goodput::RunModel model;
  goodput::TimeShares shares;
  double useful_step_s = 0;  ///< time of the run for each step's work
};

struct RunPlans {
  SearchResult search;           ///< `best`: the plans whose runs were computed, in the order of their steps
  std::vector<PlanOfRun> plans;  ///< the best first
  double most_goodput = 1;       ///< of any plan
  double worth_until_s = 0;      ///< no plan with a longer step can win
  std::string unproven;          ///< why another plan may be better after all; empty: none is
};

/// `search.top`: the most plans whose runs are computed. The scenario of `space` must say what interrupts it. Throws
/// ConfigError if no plan's run gets on.
[[nodiscard]] RunPlans search_plans_for_run(const PlanSpace& space, SearchOptions search, spdlog::logger& log);

}  // namespace lockstep::planning
