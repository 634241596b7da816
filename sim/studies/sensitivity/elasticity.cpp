#include "sim/studies/sensitivity/elasticity.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <thread>
#include <utility>

#include "sim/simulate.hpp"
#include "sim/studies/isolated.hpp"

namespace lockstep::sensitivity {
namespace {

/// A parameter is made better by this factor. One-sided: at a kink, where another chain becomes the critical one, the
/// question is what an improvement brings, and that is the derivative on its side. Small, so that few kinks lie on the
/// way; not smaller, since near events may change places without end.
constexpr double better = 1.001;

double makespan_of(const program::Program& program, engine::EngineKind engine, spdlog::logger& log) {
  return engine::run(program, {engine, {}, false}, log).timeline.makespan().value();
}

std::string bytes_of(double value) { return {reinterpret_cast<const char*>(&value), sizeof value}; }

}  // namespace

struct Elasticities::Running {
  Running(std::vector<MachineParameter> list, studies::Child started)
      : parameters(std::move(list)), child(std::move(started)) {}
  std::vector<MachineParameter> parameters;
  studies::Child child;
};

Elasticities::Elasticities(const scenario::Scenario& scenario, const preparation::PreparedStep& preparation,
                           const program::FoldedProgram& folded, engine::EngineKind engine, spdlog::logger& log) {
  const MachineParameters parameters(scenario, preparation, folded, engine);
  studies::Child child([&] {
    std::string makespans;
    std::deque<studies::Child> running;  // as many at a time as there are processors
    for (const auto& parameter : parameters.list()) {
      if (running.size() >= std::max(std::thread::hardware_concurrency(), 1U)) {
        makespans += running.front().answer();
        running.pop_front();
      }
      running.emplace_back([&] {
        auto machine = parameters.as_it_is();
        parameter.improve(machine, better);
        return bytes_of(makespan_of(parameters.program_on(machine), engine, log));
      });
    }
    for (auto& last : running) makespans += last.answer();
    return makespans;
  });
  running_ = std::make_unique<Running>(parameters.list(), std::move(child));
}

Elasticities::~Elasticities() = default;

std::vector<metrics::Elasticity> Elasticities::of(Seconds step_time) {
  const auto makespans = running_->child.answer();
  std::vector<metrics::Elasticity> result;
  for (std::size_t i = 0; i < running_->parameters.size(); ++i) {
    double makespan = 0;
    std::memcpy(&makespan, makespans.data() + i * sizeof makespan, sizeof makespan);
    const auto& parameter = running_->parameters[i];
    // A step that is a sum of times, of which a share s follows from the parameter, has s.
    const double change = (makespan / step_time.value() - 1) / (1 - 1 / better);
    result.push_back({parameter.name, parameter.is_rate ? change : -change, parameter.is_rate});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const metrics::Elasticity& a, const metrics::Elasticity& b) { return a.gain() > b.gain(); });
  return result;
}

Simulation simulate_with_elasticity(const scenario::Scenario& scenario, const SimulateOptions& options,
                                    spdlog::logger& log) {
  const auto tell = [&](std::string_view stage, double fraction) {
    if (options.progress) options.progress(stage, fraction);
  };
  preparation::refuse_local_updates(scenario, "elasticities are those of one step");
  tell("preparing", 0);
  auto preparation = preparation::prepare_step(scenario);
  auto whole = lower_with_perturbations(scenario, preparation);
  // A faster NIC may fill a link that it cannot fill as it is, so every link counts here; and the step is not folded in
  // time, since the state may repeat after another time on each of the machines.
  timing::TimedStep timed;
  timed.folded = options.fold ? fold(std::move(whole), program::FoldedLinks::all) : unfolded(std::move(whole));
  Elasticities elasticities(scenario, preparation, timed.folded, options.engine, log);
  timed.run =
      engine::run(timed.folded.program,
                  {options.engine, [&](double fraction) { tell("simulating", fraction); }, options.record_phases}, log);
  timed.step = std::move(preparation.step);
  auto simulation = measured(scenario, std::move(preparation), std::move(timed));
  tell("simulating better machines", 0);
  simulation.elasticity = elasticities.of(simulation.metrics.step_time);
  tell("done", 1);
  return simulation;
}

}  // namespace lockstep::sensitivity
