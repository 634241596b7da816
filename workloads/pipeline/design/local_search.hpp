#pragma once
/// Shortens an order by moving letters along its longest chain of waits.
#include <cstdint>
#include <functional>

#include "workloads/pipeline/design/design_problem.hpp"

namespace lockstep::workloads {

/// At most `most_letters` letters are timed, so that equal input gives equal output on any machine. Ends early when
/// the makespan is at `bound`, or when `stopped` (null: never) says so. The result fits the limits and is never longer
/// than `words`.
[[nodiscard]] Words local_search(const DesignProblem& problem, Words words, double bound, std::int64_t most_letters,
                                 const std::function<bool()>* stopped = nullptr);

}  // namespace lockstep::workloads
