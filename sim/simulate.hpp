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
  Preparation preparation;
  FoldedProgram folded;
  double fold_seconds = 0;  ///< real time spent on folding
};

struct Simulation {
  Preparation preparation;
  Program program;    ///< as run: its ranks are rank classes, its links link classes
  RankClasses ranks;  ///< which class each rank of the mesh is in
  std::int32_t link_classes = 0;
  std::int32_t links = 0;   ///< of the cluster
  double fold_seconds = 0;  ///< real time spent on folding
  EngineResult run;
  Metrics metrics;
  RankId rank = 0;                     ///< whose breakdown, communication and memory `metrics` holds
  LinkClasses link_members;            ///< which links of the cluster each link of `program` stands for
  std::vector<Elasticity> elasticity;  ///< the strongest first; empty if not asked for (studies/sensitivity)
};

struct SimulateOptions {
  EngineKind engine = EngineKind::simgrid;
  bool fold = true;  ///< false: every rank its own class; same spans, much more work
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  bool record_phases = false;                                             ///< for link loads
};

/// Scenario -> ... -> Program. Not `fold`: every rank its own class. Refuses all that `simulate` refuses.
[[nodiscard]] FoldedStep folded_step(const Scenario& scenario, bool fold = true,
                                     FoldedLinks links = FoldedLinks::that_can_fill);
/// ... -> Program -> Timeline -> Metrics.
[[nodiscard]] Simulation simulate(const Scenario& scenario, const SimulateOptions& options, spdlog::logger& log);
/// The rest of that for a step that is folded already.
[[nodiscard]] Simulation simulate(const Scenario& scenario, FoldedStep step, const SimulateOptions& options,
                                  spdlog::logger& log);

/// Makes `metrics` those of another rank than the critical one; its lane is that of its class.
void look_at(Simulation& simulation, RankId rank);

/// What needs no lane of a rank: step time, model FLOPs, peak, and so MFU.
[[nodiscard]] Metrics measure_step(const Scenario& scenario, const Preparation& preparation, const Timeline& timeline);
/// All of it.
[[nodiscard]] Metrics measure(const Scenario& scenario, const Preparation& preparation, const Program& program,
                              const Timeline& timeline);

}  // namespace lockstep
