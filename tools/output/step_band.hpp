#pragma once
/// How far a predicted step may be off: the error of validated steps that are like it, and the paths that connections
/// may get where a network hashes.
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>

#include "sim/simulate.hpp"

namespace lockstep::output {

/// From the fastest seed less the mean error of validated steps to the slowest one and that error more. None where
/// neither is known.
[[nodiscard]] std::optional<std::pair<Seconds, Seconds>> step_time_band(const scenario::Scenario& scenario,
                                                                        const Simulation& simulation);
/// " +- 4.3 % (as dgxc_benchmarking: ...)", after the step time; with the whole band where seeds widen it; "" where no
/// validated step is like it.
[[nodiscard]] std::string trust_text(const scenario::Scenario& scenario, const Simulation& simulation);
[[nodiscard]] nlohmann::ordered_json draws_json(const RoutingDraws& draws);

}  // namespace lockstep::output
