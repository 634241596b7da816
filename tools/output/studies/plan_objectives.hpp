#pragma once
/// `lockstep plan` for another aim than the healthy step: under draws, or for a run with failures.
#include <nlohmann/json.hpp>
#include <string>

#include "sim/studies/planning/robust_plans.hpp"
#include "sim/studies/planning/run_plans.hpp"

namespace lockstep::output {

[[nodiscard]] std::string_view name(planning::Objective objective);  ///< as the command line has it

/// `shown`: how many plans.
[[nodiscard]] std::string robust_text(const planning::PlanSpace& space, const planning::RobustPlans& plans,
                                      const planning::RobustOptions& options, std::size_t shown);
/// The value of `objective` in the JSON of a plan; its `plans` are in the order of `best`.
[[nodiscard]] nlohmann::ordered_json robust_json(const planning::RobustPlans& plans,
                                                 const planning::RobustOptions& options, std::size_t shown);

[[nodiscard]] std::string run_plans_text(const planning::PlanSpace& space, const planning::RunPlans& plans,
                                         std::size_t shown);
[[nodiscard]] nlohmann::ordered_json run_plans_json(const planning::RunPlans& plans, std::size_t shown);

}  // namespace lockstep::output
