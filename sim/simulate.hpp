#pragma once
/// The way through: a scenario becomes a timeline by pure steps from value to value.
#include <functional>
#include <string>
#include <vector>

#include "sim/engine/engine.hpp"
#include "sim/metrics/elasticity.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/program/fold.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// All that an engine needs: the program of the step, one rank of each class.
struct FoldedStep {
  preparation::Preparation preparation;
  program::FoldedProgram folded;
  double fold_seconds = 0;  ///< real time spent on folding
};

struct Simulation {
  preparation::Preparation preparation;
  program::Program program;    ///< as run: its ranks are rank classes, its links link classes
  program::RankClasses ranks;  ///< which class each rank of the mesh is in
  std::int32_t link_classes = 0;
  std::int32_t links = 0;   ///< of the cluster
  double fold_seconds = 0;  ///< real time spent on folding
  engine::EngineResult run;
  metrics::Metrics metrics;
  topologies::RankId rank = 0;                  ///< whose breakdown, communication and memory `metrics` holds
  program::LinkClasses link_members;            ///< which links of the cluster each link of `program` stands for
  std::vector<metrics::Elasticity> elasticity;  ///< the strongest first; empty if not asked for (studies/sensitivity)
};

struct SimulateOptions {
  engine::EngineKind engine = engine::EngineKind::automatic;
  bool fold = true;  ///< false: every rank its own class; same spans, much more work
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  bool record_phases = false;                                             ///< for link loads
};

/// Scenario -> ... -> Program. Not `fold`: every rank its own class. Refuses all that `simulate` refuses.
[[nodiscard]] FoldedStep folded_step(const scenario::Scenario& scenario, bool fold = true,
                                     program::FoldedLinks links = program::FoldedLinks::that_can_fill);
/// ... -> Program -> Timeline -> Metrics.
[[nodiscard]] Simulation simulate(const scenario::Scenario& scenario, const SimulateOptions& options,
                                  spdlog::logger& log);
/// The rest of that for a step that is folded already.
[[nodiscard]] Simulation simulate(const scenario::Scenario& scenario, FoldedStep step, const SimulateOptions& options,
                                  spdlog::logger& log);

/// Makes `metrics` those of another rank than the critical one; its lane is that of its class.
void look_at(Simulation& simulation, topologies::RankId rank);

/// What needs no lane of a rank: step time, model FLOPs, peak, and so MFU.
[[nodiscard]] metrics::Metrics measure_step(const scenario::Scenario& scenario,
                                            const preparation::Preparation& preparation,
                                            const timeline::Timeline& timeline);
/// All of it.
[[nodiscard]] metrics::Metrics measure(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                                       const program::Program& program, const timeline::Timeline& timeline);

}  // namespace lockstep
