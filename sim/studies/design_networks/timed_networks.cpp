#include "sim/studies/design_networks/timed_networks.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

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

/// What one scenario adds to a TimedNetwork, as numbers that pass from a child.
struct OneRun {
  double step_s, run_s, chips, network, energy, total, joules, fits;
};

OneRun one_run(const scenario::Scenario& scenario, const DesignAim& aim, double tokens, engine::EngineKind engine,
               spdlog::logger& log) {
  SimulateOptions options;
  options.engine = engine;
  options.explained = false;
  const auto simulation = simulate(scenario, options, log);
  const auto cost = economics::cost_of_run(scenario, simulation, *aim.prices, tokens);
  const auto& memory = simulation.metrics.memory;
  return {cost.step.value(), cost.run.value(), cost.for_chips,      cost.for_network,
          cost.for_energy,   cost.total,       cost.energy.value(), memory.peak <= memory.capacity ? 1.0 : 0.0};
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
    const auto text = studies::in_child([&] {
      const auto run = one_run(scenarios_[i], aim_, tokens_of(i), engine, log);
      return std::string(reinterpret_cast<const char*>(&run), sizeof run);
    });
    OneRun run{};
    std::memcpy(&run, text.data(), std::min(text.size(), sizeof run));
    if (i < bounds_s_.size() && run.step_s < bounds_s_[i] * rounding)
      throw InternalError("a step of " + scenarios_[i].name + " takes " + std::to_string(run.step_s) +
                          " s, which is below its bound of " + std::to_string(bounds_s_[i]) + " s");
    network.step_s.push_back(run.step_s);
    network.run_s += run.run_s;
    network.for_chips += run.chips;
    network.for_network += run.network;
    network.for_energy += run.energy;
    network.total += run.total;
    network.energy_j += run.joules;
    network.fits = network.fits && run.fits > 0;
  }
  return network;
}

}  // namespace lockstep::design_networks
