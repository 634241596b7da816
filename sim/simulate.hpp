#pragma once
/// The way through: a scenario becomes a timeline by pure steps from value to value.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/elasticity.hpp"
#include "sim/engine/engine.hpp"
#include "sim/metrics/metrics.hpp"
#include "sim/program/fold.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {

/// Everything before the engine: each member is made from those above it, and prints itself.
struct Preparation {
  std::shared_ptr<const Cluster> cluster;
  std::shared_ptr<const Mesh> mesh;
  std::shared_ptr<CollectiveModel> collectives;  ///< of the mesh; grows when asked, so one thread at a time
  Plan plan;
  std::vector<DerivedBlock> blocks;  ///< by kind
  std::vector<int> order;            ///< kinds in forward order
  std::int64_t expert_ranks = 1;     ///< that share out the experts of a layer
  StepPipeline pipeline;             ///< which stage runs which blocks when
  StepGraph step;
};

/// All that an engine needs: the program of the step, one rank of each class.
struct FoldedStep {
  Preparation preparation;
  FoldedProgram folded;
  double fold_seconds = 0;  ///< real time spent on folding
};

struct Simulation {
  Preparation preparation;
  Program program;              ///< as run: its ranks are rank classes, its links link classes
  RankClasses ranks;            ///< which class each rank of the mesh is in
  std::int32_t link_classes = 0;
  std::int32_t links = 0;       ///< of the cluster
  double fold_seconds = 0;      ///< real time spent on folding
  EngineResult run;
  Metrics metrics;
  RankId rank = 0;              ///< whose breakdown, communication and memory `metrics` holds
  LinkClasses link_members;     ///< which links of the cluster each link of `program` stands for
  std::vector<Elasticity> elasticity;  ///< the strongest first; empty if not asked for
};

struct SimulateOptions {
  EngineKind engine = EngineKind::simgrid;
  bool fold = true;  ///< false: every rank its own class; same spans, much more work
  std::function<void(std::string_view stage, double fraction)> progress;  ///< may be empty
  bool record_phases = false;  ///< for link loads
  bool elasticity = false;     ///< simulate it again for every parameter of the machine
};

/// The scenario's cluster, whose networks avoid what is missing. Throws ConfigError for perturbations it cannot have.
[[nodiscard]] Cluster cluster_of(const Scenario& scenario);
/// Scenario -> Cluster -> Mesh -> Plan -> StepGraph. Throws ConfigError for what only shows up here:
/// axes that do not make up the cluster, placements that do not fit, shardings that do not divide.
[[nodiscard]] Preparation prepare(const Scenario& scenario);
/// The part of it that needs no placement: plan, blocks and their order, for axes whose sizes the scenario states.
[[nodiscard]] Preparation derive_blocks(const Scenario& scenario);
/// Which stage of the mesh's pipeline axis runs which blocks, and in what order; the last part of `prepare`. Where only
/// some layers of a stage are recomputed, this is where they are chosen.
[[nodiscard]] StepPipeline place_pipeline(const Scenario& scenario, Preparation& preparation);
/// With what depends on the chip and on the model: the way to the host, the load of experts.
[[nodiscard]] StepOptions step_options(const Scenario& scenario, const Preparation& preparation);
/// StepGraph -> Program of all ranks, with the scenario's perturbations.
[[nodiscard]] Program lower_with_perturbations(const Scenario& scenario, const Preparation& preparation);
/// The chip's rates under the scenario's time model; throws ConfigError if the chip lacks the precision.
[[nodiscard]] ComputeRates rates_of(const Scenario& scenario);
/// Scenario -> ... -> Program. Not `fold`: every rank its own class. Refuses all that `simulate` refuses.
[[nodiscard]] FoldedStep folded_step(const Scenario& scenario, bool fold = true);
/// ... -> Program -> Timeline -> Metrics.
[[nodiscard]] Simulation simulate(const Scenario& scenario, const SimulateOptions& options, spdlog::logger& log);
/// The rest of that for a step that is folded already.
[[nodiscard]] Simulation simulate(const Scenario& scenario, FoldedStep step, const SimulateOptions& options, spdlog::logger& log);

/// Makes `metrics` those of another rank than the critical one; its lane is that of its class.
void look_at(Simulation& simulation, RankId rank);

[[nodiscard]] Metrics measure(const Scenario& scenario, const Preparation& preparation, const Program& program, const Timeline& timeline);

}  // namespace lockstep
