#pragma once
/// The forward passes of a step alone, for log-probabilities: the same layers, collectives and pipeline order, without
/// backward passes and update.
#include "sim/preparation/preparation.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::rl {

[[nodiscard]] Seconds forward_time(const scenario::Scenario& scenario, const preparation::Preparation& prepared,
                                   spdlog::logger& log);

}  // namespace lockstep::rl
