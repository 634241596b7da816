#pragma once
/// A plan for a model that nobody has split yet.
#include <string>

#include "tools/commands/given_scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::commands {

/// Where the scenario lacks a plan: searches for the fastest one that fits, splits the scenario by it, and gives the
/// line that says so; otherwise "". Throws ConfigError if nothing fits.
[[nodiscard]] std::string split_by_fastest_plan(GivenScenario& given, spdlog::logger& log);

}  // namespace lockstep::commands
