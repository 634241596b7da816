#pragma once
/// A plan for a model that nobody has split yet.
#include <cstdint>
#include <optional>
#include <string>

#include "sim/core/units.hpp"
#include "tools/commands/given_scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::commands {

struct FastestPlan {
  std::string name;
  std::int64_t space = 0;            ///< plans searched
  Bytes peak{0}, program_memory{0};  ///< of a chip
};
/// Where the scenario lacks a plan: searches for the fastest one that keeps within the chips' memory and splits the
/// scenario by it; otherwise nothing. Throws ConfigError if there is none.
[[nodiscard]] std::optional<FastestPlan> take_fastest_plan(GivenScenario& given, spdlog::logger& log);
/// The same; gives the line that says so, and that the plan may not fit where that is so.
[[nodiscard]] std::string split_by_fastest_plan(GivenScenario& given, spdlog::logger& log);

}  // namespace lockstep::commands
