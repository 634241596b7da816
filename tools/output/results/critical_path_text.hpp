#pragma once
/// One line each on what sets the step time and on what would shorten it.
#include <span>
#include <string>

#include "sim/metrics/critical_path.hpp"
#include "sim/metrics/elasticity.hpp"
#include "sim/studies/sensitivity/faster_parts.hpp"

namespace lockstep::output {

/// "critical path: 61.2 % compute, 20.1 % transfer (mostly fsdp all_gather), ...", the largest share first.
[[nodiscard]] std::string critical_path_line(const metrics::CriticalPath& path, Seconds step_time);
/// "what would help most: 1 % more compute rate makes the step 0.61 % shorter, more ici bandwidth 0.20 %"; empty if
/// nothing is known to help.
[[nodiscard]] std::string what_would_help(std::span<const metrics::Elasticity> elasticities);
/// "twice as fast, cable leaf-a - spine-x and 3 alike: the step 4.10 % shorter": a line for each cable or switch that
/// helps; empty if none was looked at.
[[nodiscard]] std::string what_twice_as_fast_brings(std::span<const sensitivity::FasterPart> parts);

}  // namespace lockstep::output
