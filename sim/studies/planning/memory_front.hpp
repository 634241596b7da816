#pragma once
/// The best plan for each of several amounts of memory: what a step costs that leaves room on the chip.
#include <optional>
#include <vector>

#include "sim/studies/planning/plan_search.hpp"

namespace lockstep::planning {

/// The answer to one amount of memory.
struct MemoryPoint {
  Bytes memory{0};  ///< of a chip that a plan may take
  std::optional<RankedPlan> best{};
  SearchProof proof{};
  double gap = 0;  ///< as SearchResult::gap
  /// False: the plan that is best under more memory takes no more than this. Every plan that fits here fits there too,
  /// so it is the best here as well, and nothing was searched.
  bool searched = true;
};

/// Best plans under all, three, two and one quarter of the memory that `found`, the result for `scenario`, was searched
/// under, most memory first. A search of its own for each, and none below the first under which nothing fits, which is
/// the last point. Ends early where SearchOptions::interrupted says so. The choices are those of the scenario's
/// PlanSpace.
[[nodiscard]] std::vector<MemoryPoint> memory_front(const scenario::Scenario& scenario, Bytes memory,
                                                    const SearchResult& found, SearchOptions options,
                                                    spdlog::logger& log);

}  // namespace lockstep::planning
