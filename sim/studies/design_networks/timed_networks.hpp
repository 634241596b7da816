#pragma once
/// The scenarios of a design on one network: what the machine costs, what a run takes at least, what it takes.
#include <map>
#include <string>
#include <vector>

#include "sim/studies/design_networks/network_space.hpp"
#include "sim/studies/economics/run_cost.hpp"
#include "sim/studies/memory_fit.hpp"

namespace lockstep::design_networks {

/// What is trained, for how much.
struct DesignAim {
  double tokens = 0;  ///< of all scenarios together, shared out by weight
  const economics::PriceList* prices = nullptr;
};

/// A simulation of all scenarios; money and power are those of economics::RunCost, added up.
struct TimedNetwork {
  std::vector<double> step_s;  ///< by scenario
  double run_s = 0;
  double for_chips = 0, for_network = 0, for_energy = 0, total = 0;
  double energy_j = 0;
  studies::Fit fit = studies::Fit::fits;  ///< the worst of the scenarios
  [[nodiscard]] bool is_answer() const { return fit != studies::Fit::does_not_fit; }
  /// By scenario and mesh axes: seconds of a step in which the critical rank only communicates along them.
  std::vector<std::map<std::string, double>> exposed_s;
};

/// Least and simulated times of the scenarios on one network.
class NetworkTimes {
 public:
  NetworkTimes(const NetworkSpace& space, std::vector<scenario::Scenario> scenarios, const DesignAim& aim)
      : space_(space), scenarios_(std::move(scenarios)), aim_(aim) {}

  /// No run takes less than this: step_bound, without failures. 0 for a step with more operations than one bound looks
  /// at. Throws ConfigError for scenarios that this network cannot run.
  [[nodiscard]] double least_run_s();
  /// Each scenario in a process of its own. Throws InternalError if a step takes less than its bound.
  [[nodiscard]] TimedNetwork simulated(engine::EngineKind engine, spdlog::logger& log) const;

 private:
  [[nodiscard]] double tokens_of(std::size_t scenario) const;

  const NetworkSpace& space_;
  std::vector<scenario::Scenario> scenarios_;
  const DesignAim& aim_;
  std::vector<double> bounds_s_;  ///< of a step, by scenario
};

}  // namespace lockstep::design_networks
