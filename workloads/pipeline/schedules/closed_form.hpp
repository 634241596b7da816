#pragma once
/// A schedule's bubble and activations by the formulas of the literature, to print beside the simulated values.
#include <optional>
#include <string>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

struct ClosedForm {
  enum class Of { step, span };  ///< which of the two bubbles (pipeline_timing.hpp)
  Of of = Of::step;
  std::string expression;               ///< "(P-1)(F+I-W)", without latency
  double value = 0;                     ///< in the unit of the times, on the worst rank
  std::string latency_expression;       ///< the time that latency adds, "" if there is no form
  std::string latency_conditions;       ///< "P divides M"; "" if it always holds
  std::optional<double> latency_value;  ///< none if there is no form or its conditions do not hold
  bool applies = true;                  ///< the conditions hold; a latency without a form breaks them
  std::string conditions;               ///< "F = I, W <= F, M >= 2P"; "" if it always holds
  std::string broken;                   ///< those conditions that do not hold
  std::string symbols;                  ///< the meaning of the letters, B above all
  std::string note;                     ///< a remark on what the form leaves out, or ""
  std::string activations_expression;   ///< peak activations of a rank, "" if there is no form
  std::optional<double> activations;    ///< on the worst rank until W, in microbatches through all chunks of a rank
};

/// None for schedules without one (wave, v-1f1b, a user's order). If stages differ, the form is evaluated for their
/// mean and does not apply.
[[nodiscard]] std::optional<ClosedForm> closed_form(const ScheduleRequest& request);

}  // namespace lockstep::workloads
