#pragma once
#include <string>

#include "sim/simulate.hpp"

namespace lockstep::output {

/// A row per stage over the whole step: its passes by microbatch, and below them when it waits for communication. SVG.
[[nodiscard]] std::string pipeline_picture(const scenario::Scenario& scenario, const Simulation& simulation);

}  // namespace lockstep::output
