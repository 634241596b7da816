#include "sim/engine/engine.hpp"

#include <spdlog/logger.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "sim/core/errors.hpp"
#include "sim/engine/load_simgrid.hpp"
#include "sim/engine/max_min/max_min_network.hpp"
#include "sim/engine/reference/reference_network.hpp"
#include "sim/engine/runtime/runtime.hpp"

namespace lockstep::engine {
namespace {

constexpr std::array<std::pair<EngineKind, std::string_view>, 4> engines{{{EngineKind::automatic, "automatic"},
                                                                          {EngineKind::simgrid, "simgrid"},
                                                                          {EngineKind::max_min, "max_min"},
                                                                          {EngineKind::reference, "reference"}}};

std::unique_ptr<Network> make_network(const program::Program& program, EngineKind kind,
                                      std::vector<timeline::PhaseSpan>* phases) {
  switch (kind) {
    case EngineKind::automatic: break;  // chosen before
    case EngineKind::simgrid: return simgrid_network(program, phases);
    case EngineKind::max_min: return std::make_unique<MaxMinNetwork>(program, phases);
    case EngineKind::reference: return std::make_unique<ReferenceNetwork>(program);
  }
  throw InternalError("unknown kind of engine");
}

}  // namespace

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : engines) names.emplace_back(name);
  return names;
}

std::string_view name(EngineKind kind) {
  const auto found =
      std::find_if(engines.begin(), engines.end(), [&](const auto& engine) { return engine.first == kind; });
  if (found == engines.end()) throw InternalError("unknown kind of engine");
  return found->second;
}

EngineKind engine_named(std::string_view name) {
  const auto found =
      std::find_if(engines.begin(), engines.end(), [&](const auto& engine) { return engine.second == name; });
  if (found == engines.end()) throw InternalError("unknown name of an engine");
  return found->first;
}

void load(EngineKind kind) {
  if (kind == EngineKind::simgrid) load_simgrid();
  if (kind == EngineKind::automatic) (void)has_simgrid();
}

bool is_irregular(const program::Program& program) {
  constexpr std::size_t ranks_of_a_regular_stage = 8;
  const std::set<std::int32_t> stages(program.stage_of_rank.begin(), program.stage_of_rank.end());
  return program.stage_of_rank.size() > ranks_of_a_regular_stage * stages.size();
}

EngineKind chosen(EngineKind kind, const program::Program& program) {
  if (kind != EngineKind::automatic) return kind;
  return is_irregular(program) || !has_simgrid() ? EngineKind::max_min : EngineKind::simgrid;
}

EngineResult run(const program::Program& program, const EngineOptions& options, spdlog::logger& log) {
  const auto begin = std::chrono::steady_clock::now();
  check(program);
  std::vector<timeline::PhaseSpan> phases;
  const EngineKind kind = chosen(options.kind, program);
  const std::unique_ptr<Network> network = make_network(program, kind, options.record_phases ? &phases : nullptr);
  const Setup setup(program, options.chains ? Chains::longest(program) : Chains::each_alone(program));
  Runtime runtime(setup, *network, options.progress);
  const std::chrono::duration<double> before = std::chrono::steady_clock::now() - begin;
  timeline::Timeline timeline = runtime.run();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;

  const EngineStatistics statistics{runtime.computes() + network->flows(), network->flows(), wall.count()};
  log.debug(
      "engine: {} ops in {} chains on {} ranks, {} activities ({} flows), {} instants, {:.3f} s ({:.3f} s of it setup)",
      program.ops.size(), runtime.chains(), program.ranks(), statistics.activities, statistics.flows,
      runtime.instants(), wall.count(), before.count());
  return {std::move(timeline), statistics, std::move(phases), kind};
}

}  // namespace lockstep::engine
