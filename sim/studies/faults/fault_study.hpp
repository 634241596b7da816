#pragma once
/// The step without each switch and each cable of the cluster's networks, one at a time.
/// docs/howto/bring_your_network.md
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/units.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/scenario/scenario.hpp"

namespace spdlog {
class logger;
}

namespace lockstep::faults {

struct Loss {
  std::string name;
  bool is_switch = true;
  std::int64_t alike = 1;  ///< parts whose loss is the same, itself included
  Seconds step{0};
  std::string partition;  ///< why the job cannot go on without it; empty: it can, in `step`
};

struct FaultStudy {
  Seconds whole{0};           ///< the step without a loss
  std::vector<Loss> losses;   ///< those that part the job first, then the longest step first
  std::int64_t left_out = 0;  ///< kinds of loss that were not simulated
};

struct FaultOptions {
  std::int64_t most = 64;                                                 ///< losses to simulate
  int jobs = 1;                                                           ///< simulations at a time
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
};

/// The scenario with its axes where the whole cluster has them.
[[nodiscard]] scenario::Scenario placed_as(scenario::Scenario scenario, const preparation::Preparation& preparation);

struct LostStep {
  Seconds step{0};
  std::string partition;  ///< why the job cannot go on; empty: it can, in `step`
};
/// The steps of scenarios that have lost parts, each in a process of its own.
[[nodiscard]] std::vector<LostStep> steps_without(const std::vector<scenario::Scenario>& scenarios,
                                                  const FaultOptions& options, spdlog::logger& log);

/// The job keeps its placement. Flows whose route is intact keep it under a hash; the others take another path.
[[nodiscard]] FaultStudy study_faults(const scenario::Scenario& scenario, const FaultOptions& options,
                                      spdlog::logger& log);

}  // namespace lockstep::faults
