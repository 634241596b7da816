#pragma once
/// The best plan of a space, proven: best-first branch and bound. Every plan that could be better than the worst plan
/// shown has been simulated; every other plan has a lower bound above that plan's time (plan_bound.hpp) or does not
/// fit.
#include <functional>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {

/// A simulated plan, on its critical rank.
struct PlanFigures {
  double step_s = 0, compute_s = 0, bubble_s = 0;
  std::array<double, plan_axes.size() + 1> exposed_s{};  ///< by axis; the last: over several axes
  double mfu = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t weights_bytes = 0, gradients_bytes = 0, optimizer_bytes = 0, activations_bytes = 0, other_bytes = 0;
};

/// Rounded to nine digits, so that plans that differ by rounding alone are equally fast and come in canonical order.
[[nodiscard]] double compared_time(double step_s);

struct RankedPlan {
  PlanChoice choice;
  double bound_s = 0;
  PlanFigures figures;
};

/// Every plan of the space is counted in one of the four.
struct SearchProof {
  std::int64_t space = 0;
  std::int64_t pruned_by_bound = 0;   ///< bound above the last plan shown
  std::int64_t pruned_by_memory = 0;  ///< least memory above the chip's
  std::int64_t simulated = 0;         ///< those that turned out not to fit included
  std::int64_t did_not_fit = 0;       ///< of the simulated
};

struct SearchResult {
  std::vector<RankedPlan> best;  ///< fastest first; fewer than asked for if the space has fewer that fit
  SearchProof proof;
  std::int64_t bounds = 0;  ///< lower bounds computed
  double wall_s = 0, bounds_s = 0;
};

struct SearchOptions {
  std::size_t top = 5;
  int jobs = 1;
  engine::EngineKind engine = engine::EngineKind::automatic;
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
};

[[nodiscard]] SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log);

/// A scenario's plan as `lockstep run` would simulate it. SimGrid's engine is one for each process.
[[nodiscard]] PlanFigures simulated_figures(const scenario::Scenario& scenario, engine::EngineKind engine,
                                            spdlog::logger& log);
/// The same in a process of its own. Throws ConfigError for what the scenario asks for and cannot have.
[[nodiscard]] PlanFigures figures_in_child(const scenario::Scenario& scenario, engine::EngineKind engine,
                                           spdlog::logger& log);

}  // namespace lockstep::planning
