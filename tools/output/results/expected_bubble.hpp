#pragma once
/// The literature's bubble of a scenario's schedule, at the mean times of its stages.
#include <optional>

#include "sim/simulate.hpp"
#include "workloads/pipeline/schedules/closed_form.hpp"

namespace lockstep::output {

struct ExpectedBubble {
  workloads::ClosedForm form;  ///< in seconds
  workloads::StageTimes
      times;  ///< mean over the stages, in seconds: compute and the communication inside a stage that nothing hides
};

/// None without a pipeline or for an order without a closed form.
[[nodiscard]] std::optional<ExpectedBubble> expected_bubble(const scenario::Scenario& scenario,
                                                            const Simulation& simulation);

}  // namespace lockstep::output
