#pragma once
/// Simulated scenarios side by side: what differs between them, and where the difference in step time comes from.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/studies/memory_fit.hpp"
#include "tools/output/elements/terminal.hpp"
#include "tools/output/results/scenario_inputs.hpp"

namespace lockstep::output {

/// A part of the critical rank's step; all parts add up to the step time.
struct StepPart {
  std::string what;  ///< "computing", "exposed fsdp all_gather", "idle (bubble)"
  std::string axis;  ///< of exposed communication, else ""
  double seconds = 0;
};

/// A scenario with what its result.json says.
struct ComparedScenario {
  std::string name;
  ScenarioInputs inputs;
  std::string result;                                        ///< result.json
  std::optional<std::pair<double, double>> band_s;           ///< where 80 % of similar measured steps lay
  std::optional<std::pair<double, double>> routing_draws_s;  ///< best and worst step under seeds of a network's hash
  std::vector<double> drawn_steps_s;  ///< where steps were drawn: one after the other, the same draws in all scenarios
  double step_s = 0, tokens_per_step = 0, tokens_per_s = 0, tokens_per_s_per_chip = 0;
  std::optional<double> mfu;
  double bubble_of_step = 0, bubble_of_span = 0;
  std::int64_t peak_bytes = 0, capacity_bytes = 0;
  std::optional<studies::Fit> fit;  ///< none of replayed operations
  std::vector<StepPart> parts;
};

[[nodiscard]] ComparedScenario read_compared(std::string name, ScenarioInputs inputs, std::string result_json);
/// Parts in which `other` differs from `first`, in seconds, the largest first; they add up to the difference in step
/// time.
[[nodiscard]] std::vector<StepPart> contributors(const ComparedScenario& first, const ComparedScenario& other);

/// "-" for an input that the scenario does not have.
[[nodiscard]] std::string value_of(const ScenarioInputs& inputs, const std::string& what);
/// Names of inputs in which any two differ, in reading order.
[[nodiscard]] std::vector<std::string> changed_inputs(const std::vector<ComparedScenario>& scenarios);
/// The parts of the difference in step time, one line each. If the steps do different work, also the parts of the
/// difference in the chips' time for a token.
[[nodiscard]] std::string difference_text(const ComparedScenario& first, const ComparedScenario& other);

/// Everything is compared with the first scenario.
/// `width` as Table::to_string.
[[nodiscard]] std::string comparison_text(const std::vector<ComparedScenario>& scenarios,
                                          std::size_t width = text_width());
[[nodiscard]] std::string comparison_json(const std::vector<ComparedScenario>& scenarios);
/// SVG: a bar for each step, stacked of computing, exposed communication by axis, and idle time.
[[nodiscard]] std::string comparison_picture(const std::vector<ComparedScenario>& scenarios);

}  // namespace lockstep::output
