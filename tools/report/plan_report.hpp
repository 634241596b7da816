#pragma once
/// The pages of `lockstep plan`: the best plans of a scenario, or the best plan of each of several clusters.
#include <span>
#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/studies/planning/memory_front.hpp"
#include "tools/report/page.hpp"

namespace lockstep::report {

/// HTML. `front`: best plans under less and less memory. `best`: the step of the best plan; null where there is none.
[[nodiscard]] std::optional<std::string> plan_report(const planning::PlanSpace& space,
                                                     const planning::SearchResult& result,
                                                     std::span<const planning::MemoryPoint> front,
                                                     const Simulation* best);

/// The best plan for a number of chips.
struct ChipsRow {
  std::int64_t chips = 0;
  std::optional<planning::PlanFigures> figures{};
  Bytes memory{0};              ///< what a program can have of a chip
  double gap = 0;               ///< as planning::SearchResult::gap
  double days = 0, cost = 0;    ///< of a training; 0: none asked for
  std::string plan, placement;  ///< or why there is none
};
/// `met`: what is said about a deadline; may be empty.
[[nodiscard]] std::optional<std::string> chips_report(const scenario::Scenario& scenario,
                                                      const std::vector<ChipsRow>& rows, const std::string& met);

}  // namespace lockstep::report
