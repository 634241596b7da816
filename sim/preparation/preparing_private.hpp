#pragma once
/// Parts of the way from a Scenario to a StepGraph and a Program that stand in files of their own.
#include <string>
#include <vector>

#include "sim/preparation/preparation.hpp"

namespace lockstep::preparation {

/// Throws the ConfigError of one problem, at the place of `key` in the scenario's file.
[[noreturn]] inline void refuse(const scenario::Scenario& scenario, const std::string& key, const std::string& what,
                                const std::string& expected) {
  throw ConfigError({{scenario.where(key), key, what, expected}});
}

/// The model under the scenario's plan, for axes of these sizes.
[[nodiscard]] ShardedModel sharded_model(const scenario::Scenario& scenario,
                                         const std::vector<topologies::AxisRequest>& axes);

/// Refuses a step with more weights or bytes than sim/scenario/limits.hpp allows, before memory is spent on it.
void check_size(const scenario::Scenario& scenario, const ShardedModel& model);
/// Refuses a pipeline whose stages run more forward passes than sim/scenario/limits.hpp allows.
void check_passes(const scenario::Scenario& scenario, std::int64_t stages);
/// Refuses a step of which one stage computes for longer than sim/scenario/limits.hpp allows.
void refuse_endless_step(const scenario::Scenario& scenario, const program::Program& program);

}  // namespace lockstep::preparation
