#pragma once
/// The best plan of a space, proven: best-first branch and bound. Every plan that could be better than the worst plan
/// shown has been simulated; every other plan has a lower bound above that plan's time (plan_bound.hpp) or does not
/// fit. A search that is stopped before that has the best plans it found, and a bound of what it did not look at.
#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "sim/studies/planning/plan_figures.hpp"
#include "sim/studies/planning/plan_workers.hpp"

namespace lockstep::planning {

/// Rounded to nine digits, so that plans that differ by rounding alone are equally fast and come in canonical order.
[[nodiscard]] double compared_time(double step_s);

struct RankedPlan {
  PlanChoice choice;
  double bound_s = 0;
  PlanFigures figures;
  std::optional<StepDraws> draws{};  ///< of the best few, where a network hashes
};

/// Every plan of the space is counted once: as pruned, simulated or open.
struct SearchProof {
  std::int64_t space = 0;
  std::int64_t pruned_by_bound = 0;   ///< bound above the last plan shown
  std::int64_t pruned_by_memory = 0;  ///< least memory above the chip's
  std::int64_t simulated = 0;         ///< those that turned out not to fit included
  std::int64_t did_not_fit = 0;       ///< of the simulated
  std::int64_t open = 0;              ///< of a search that was stopped: neither pruned nor simulated
  double lowest_open_s = 0;           ///< their lower bound
};

struct SearchResult {
  std::vector<RankedPlan> best;  ///< fastest first; fewer than asked for if the space has fewer that fit
  SearchProof proof;
  std::int64_t bounds = 0;  ///< lower bounds computed
  double wall_s = 0, bounds_s = 0;
  bool stopped = false;          ///< by SearchOptions::limit_s or interrupted
  bool all_of_interest = false;  ///< no plan beside `best` is below the time of SearchOptions::worth_until
  /// By how much a plan that was not looked at may be faster than the best, as a share of the best; 0: proven.
  [[nodiscard]] double gap() const;
};

struct SearchOptions {
  std::size_t top = 5;
  int jobs = 1;
  engine::EngineKind engine = engine::EngineKind::automatic;
  /// Real time after which the search stops with its best answer so far. Before, it spends a quarter of its time on
  /// finding good plans early; without a limit, it times only plans that the proof needs.
  double limit_s = std::numeric_limits<double>::infinity();
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  /// Asked again and again, may be empty; true ends the search as limit_s does, but not before one plan that fits is
  /// known, if there is one.
  std::function<bool()> interrupted;
  /// Asked about every plan that is found, in the order of their steps, for the step above which no plan matters: the
  /// search ends there, and `top` is the most that it finds. Empty: the fastest `top` plans are what matters.
  std::function<double(const RankedPlan&)> worth_until;
};

/// Whether a search with these options, since then, has used up its time or is interrupted.
[[nodiscard]] bool is_over(const SearchOptions& options, std::chrono::steady_clock::time_point started);

[[nodiscard]] SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, spdlog::logger& log);
/// By these workers; SearchOptions::jobs and engine are theirs.
[[nodiscard]] SearchResult search_plans(const PlanSpace& space, const SearchOptions& options, PlanWorkers& workers);

}  // namespace lockstep::planning
