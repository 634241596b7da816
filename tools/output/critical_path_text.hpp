#pragma once
/// One line each on what sets the step time and on what would shorten it.
#include <span>
#include <string>

#include "sim/metrics/critical_path.hpp"
#include "sim/metrics/elasticity.hpp"

namespace lockstep::output {

/// "critical path: 61.2 % compute, 20.1 % transfer (mostly fsdp all_gather), ...", the largest share first.
[[nodiscard]] std::string critical_path_line(const metrics::CriticalPath& path, Seconds step_time);
/// "what would help most: 1 % more compute rate makes the step 0.61 % shorter, more ici bandwidth 0.20 %"; empty if
/// nothing is known to help.
[[nodiscard]] std::string what_would_help(std::span<const metrics::Elasticity> elasticities);

}  // namespace lockstep::output
