#pragma once
/// What the literature says a schedule's bubble and activations are, to print beside the simulated ones.
#include <optional>
#include <string>

#include "workloads/schedules/schedules.hpp"

namespace lockstep {

struct ClosedForm {
  enum class Of { step, span };  ///< which of the two bubbles (pipeline_timing.hpp)
  Of of = Of::step;
  std::string expression;   ///< "(P-1)(F+I-W)"
  double value = 0;         ///< in the unit of the times
  std::string latency_expression;      ///< what latency adds, "" if the literature has no form
  std::optional<double> latency_value;
  bool applies = true;      ///< the conditions below hold
  std::string conditions;   ///< "F = I and W <= F, M >= 2P"
  std::string symbols;      ///< what the letters of the expression stand for
  std::string activations_expression;  ///< peak activations of a rank
  std::optional<double> activations;   ///< on the worst rank, in microbatches through all chunks of a rank
};

/// None for schedules without one (wave, a user's order).
[[nodiscard]] std::optional<ClosedForm> closed_form(const ScheduleRequest& request);

}  // namespace lockstep
