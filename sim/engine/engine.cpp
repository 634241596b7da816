#include "sim/engine/engine.hpp"

#include <spdlog/logger.h>

#include <chrono>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/engine/max_min_network.hpp"
#include "sim/engine/reference_network.hpp"
#include "sim/engine/runtime.hpp"
#include "sim/engine/simgrid/simgrid_network.hpp"

namespace lockstep {

namespace {

std::unique_ptr<Network> make_network(const Program& program, EngineKind kind, std::vector<PhaseSpan>* phases) {
  switch (kind) {
    case EngineKind::simgrid: return std::make_unique<SimGridNetwork>(program, phases);
    case EngineKind::max_min: return std::make_unique<MaxMinNetwork>(program);
    case EngineKind::reference: return std::make_unique<ReferenceNetwork>(program);
  }
  throw InternalError("unknown kind of engine");
}

}  // namespace

EngineResult run(const Program& program, const EngineOptions& options, spdlog::logger& log) {
  const auto begin = std::chrono::steady_clock::now();
  check(program);
  std::vector<PhaseSpan> phases;
  const std::unique_ptr<Network> network = make_network(program, options.kind, options.record_phases ? &phases : nullptr);
  Runtime runtime(program, *network, options.progress);
  const std::chrono::duration<double> setup = std::chrono::steady_clock::now() - begin;
  Timeline timeline = runtime.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

  const EngineStatistics statistics{runtime.computes() + network->flows(), network->flows(), wall.count()};
  log.debug("engine: {} ops on {} ranks, {} activities ({} flows), {} instants, {:.3f} s ({:.3f} s of it setup)",
            program.ops.size(), program.ranks(), statistics.activities, statistics.flows, runtime.instants(),
            wall.count(), setup.count());
  return {std::move(timeline), statistics, std::move(phases)};
}

}  // namespace lockstep
