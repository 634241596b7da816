#include "sim/studies/design_networks/timed_networks.hpp"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "sim/core/quantity_text.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/studies/design_networks/step_bound.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::design_networks {
namespace {

constexpr double rounding = 1 - 1e-9;

/// A step too large for its graph has no bound; simulations of it are shorter, since they leave out what repeats.
double bound_of(const scenario::Scenario& scenario) {
  const auto prepared = preparation::prepare(scenario);  // throws what is wrong with the scenario
  try {
    preparation::check_step_size(scenario, prepared, scenario.batch.microbatches);
  } catch (const ConfigError&) {
    return 0;
  }
  return step_bound(preparation::lower_with_perturbations(scenario, preparation::prepare_step(scenario))).value();
}

/// What one scenario adds to a TimedNetwork, as text that passes from a child.
std::string one_run(const scenario::Scenario& scenario, const DesignAim& aim, double tokens, engine::EngineKind engine,
                    spdlog::logger& log) {
  SimulateOptions options;
  options.engine = engine;
  options.detail = Detail::totals;
  const auto simulation = simulate(scenario, options, log);
  const auto cost = economics::cost_of_run(scenario, simulation, *aim.prices, tokens);
  const auto& memory = simulation.metrics.memory;
  std::string text;
  for (const double figure :
       {cost.step.value(), cost.run.value(), cost.for_chips, cost.for_network, cost.for_energy, cost.total,
        cost.energy.value(), static_cast<double>(studies::fit_of(memory.peak, memory.capacity))})
    text += exact(figure) + "\n";
  std::map<std::string, double> exposed;
  for (const auto& use : metrics::communication_of(simulation.preparation.step, simulation.program,
                                                   simulation.run.timeline, simulation.metrics.critical_rank))
    exposed[use.axis] += use.exposed.value();
  for (const auto& [axis, seconds] : exposed) text += exact(seconds) + " " + axis + "\n";
  return text;
}

}  // namespace

double NetworkTimes::tokens_of(std::size_t scenario) const {
  const auto& workloads = space_.workloads();
  const double all = std::accumulate(workloads.begin(), workloads.end(), 0.0,
                                     [](double sum, const Workload& one) { return sum + one.weight; });
  return aim_.tokens * workloads[scenario].weight / all;
}

double NetworkTimes::least_run_s() {
  bounds_s_.clear();
  double run_s = 0;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    bounds_s_.push_back(bound_of(scenarios_[i]));
    const auto& batch = scenarios_[i].batch;
    const auto of_a_step = static_cast<double>(batch.sequences) * static_cast<double>(batch.sequence_length);
    run_s += tokens_of(i) / of_a_step * bounds_s_.back();
  }
  return run_s;
}

TimedNetwork NetworkTimes::simulated(engine::EngineKind engine, spdlog::logger& log) const {
  TimedNetwork network;
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    std::istringstream text(studies::in_child([&] { return one_run(scenarios_[i], aim_, tokens_of(i), engine, log); }));
    std::string number;
    const auto next = [&] {
      text >> number;
      return std::stod(number);
    };
    const double step_s = next();
    if (i < bounds_s_.size() && step_s < bounds_s_[i] * rounding)
      throw InternalError("a step of " + scenarios_[i].name + " takes " + std::to_string(step_s) +
                          " s, which is below its bound of " + std::to_string(bounds_s_[i]) + " s");
    network.step_s.push_back(step_s);
    for (auto* sum : {&network.run_s, &network.for_chips, &network.for_network, &network.for_energy, &network.total,
                      &network.energy_j})
      *sum += next();
    network.fit = std::max(network.fit, static_cast<studies::Fit>(next()));
    auto& exposed = network.exposed_s.emplace_back();
    for (std::string axis; text >> number && std::getline(text >> std::ws, axis);) exposed[axis] = std::stod(number);
  }
  return network;
}

}  // namespace lockstep::design_networks
