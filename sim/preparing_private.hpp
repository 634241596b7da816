#pragma once
/// Parts of the way from a Scenario to a StepGraph and a Program that stand in files of their own.
#include <string>
#include <vector>

#include "sim/simulate.hpp"

namespace lockstep {

/// Throws the ConfigError of one problem, at the place of `key` in the scenario's file.
[[noreturn]] inline void refuse(const Scenario& scenario, const std::string& key, const std::string& what, const std::string& expected) {
  throw ConfigError({{scenario.where(key), key, what, expected}});
}

enum class Derived { blocks, weights };
/// Plan and derived blocks, or their weights alone, for given axis sizes; needs no placement.
void derive_plan(const Scenario& scenario, const std::vector<AxisRequest>& requests, Preparation& preparation, Derived what = Derived::blocks);

/// Refuses a step with more operations, weights or bytes than sim/limits.hpp allows, before memory is spent on it.
void check_size(const Scenario& scenario, const Preparation& preparation);
/// Refuses a step that computes for longer than its shortest event could be told from rounding.
void refuse_endless_step(const Scenario& scenario, const Program& program);

}  // namespace lockstep
