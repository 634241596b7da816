#pragma once
/// Branch and bound over all orders of a small problem.
#include <cstdint>
#include <optional>

#include "workloads/pipeline/design/lower_bound.hpp"

namespace lockstep::workloads {

struct ExactResult {
  std::optional<Words> words;  ///< shorter than `makespan`, the shortest found; none: nothing shorter was found
  double makespan = 0;
  bool complete = false;  ///< every order was looked at or ruled out, so that nothing shorter exists
};

/// Looks for orders shorter than `makespan`, one letter after the other in the order of their starts. Of two states
/// in which every track is equally far, the one that is nowhere earlier is ruled out; so is a state whose remaining
/// work, with the least times before and after it, cannot end before `makespan`. At most `most_nodes` states.
[[nodiscard]] ExactResult exact_search(const DesignProblem& problem, const LeastTimes& least, double makespan,
                                       std::int64_t most_nodes);

}  // namespace lockstep::workloads
