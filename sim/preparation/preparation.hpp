#pragma once
/// Everything before the engine: Scenario -> Machine, ShardedModel, StepPipeline -> StepGraph -> Program of all ranks.
/// Every problem that only shows up here is a ConfigError at its place in the scenario file.
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/cost/time_model.hpp"
#include "sim/program/several_chips.hpp"
#include "sim/scenario/scenario.hpp"
#include "topologies/cluster/cluster.hpp"
#include "topologies/placement/mesh.hpp"
#include "workloads/sharded_layers/plan.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/step/build_step.hpp"
#include "workloads/step/step_graph.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::preparation {

/// The chips with their links, the mesh of ranks on them, and what collectives between those ranks cost.
struct Machine {
  std::shared_ptr<const topologies::Cluster> cluster;
  std::shared_ptr<const topologies::Mesh> mesh;
  std::shared_ptr<collectives::CollectiveModel>
      collectives;  ///< of the mesh; it grows when asked, so one thread at a time
};

/// The layers as every rank computes and holds them. They depend on the sizes of the mesh's axes, not on where the axes
/// lie.
struct ShardedModel {
  workloads::Plan plan;
  workloads::ShardedLayers
      layers;  ///< by kind; if only some layers are recomputed, first all kinds that keep, then all that recompute;
               ///< if sequences are cut, first all kinds of the first slice, then all of the second, ...
  Indexed<workloads::BlockId, workloads::KindId> order;
  std::int64_t expert_ranks = 1;  ///< that share out the experts of a layer
  workloads::Parallel parallel;   ///< with the sizes of the mesh's axes
};

/// What a scenario's step runs on, what it runs, and in what order.
struct Preparation {
  Machine machine;
  ShardedModel model;
  workloads::StepPipeline pipeline;  ///< which stage runs which layers when
};

/// A preparation and a step that was built from it.
struct PreparedStep : Preparation {
  workloads::StepGraph step;
};

/// The scenario's cluster, whose networks avoid what is missing. Throws ConfigError for perturbations it cannot have.
[[nodiscard]] topologies::Cluster cluster_of(const scenario::Scenario& scenario);
/// The chip's rates under the scenario's time model; throws ConfigError if the chip lacks the precision.
[[nodiscard]] cost::ComputeRates rates_of(const scenario::Scenario& scenario);
/// The same of each kind of chip that the cluster has; the first is rates_of.
[[nodiscard]] program::RatesOfChips rates_of_chips(const scenario::Scenario& scenario);
/// The model under the scenario's plan, for mesh axes whose sizes the scenario states. Throws ConfigError for shardings
/// that do not divide.
[[nodiscard]] ShardedModel sharded_model(const scenario::Scenario& scenario);
/// The weights of each layer alone, under the same plan: their size, and the collectives that gradients and updates
/// need.
[[nodiscard]] ShardedModel sharded_weights(const scenario::Scenario& scenario);
/// Which stage of the mesh's pipeline axis runs which layers, and in what order. If only some layers of a stage are
/// recomputed, they are chosen here.
[[nodiscard]] workloads::StepPipeline place_pipeline(const scenario::Scenario& scenario, const Machine& machine,
                                                     const ShardedModel& model);
/// What stands on which stage, as a text that `pipeline.layout` takes.
[[nodiscard]] std::string layout_of(const Preparation& prepared);
/// With what depends on the chip and on the model: the way to the host, the load of experts.
[[nodiscard]] workloads::StepOptions step_options(const scenario::Scenario& scenario, const ShardedModel& model);
/// Scenario -> Machine, ShardedModel, StepPipeline. Throws ConfigError also for axes that do not make up the cluster
/// and placements that do not fit.
[[nodiscard]] Preparation prepare(const scenario::Scenario& scenario);
/// As prepare, and the step graph of all microbatches. The way through does not need it: sim/timing builds a step of as
/// few microbatches as it needs.
[[nodiscard]] PreparedStep prepare_step(const scenario::Scenario& scenario);
/// Refuses a step of so many microbatches that has more operations than sim/scenario/limits.hpp allows, before memory
/// is spent on it.
void check_step_size(const scenario::Scenario& scenario, const Preparation& prepared, std::int64_t microbatches);
/// StepGraph -> Program of all ranks, with the scenario's perturbations.
[[nodiscard]] program::Program lower_with_perturbations(const scenario::Scenario& scenario, const Preparation& prepared,
                                                        const workloads::StepGraph& step);
[[nodiscard]] program::Program lower_with_perturbations(const scenario::Scenario& scenario,
                                                        const PreparedStep& prepared);
/// Refuses local updates, for a study of steps in which all ranks meet; `why` says what it cannot do.
void refuse_local_updates(const scenario::Scenario& scenario, const std::string& why);
/// Refuses a step so long that its shortest event would be lost in rounding.
void refuse_endless_step(const scenario::Scenario& scenario, Seconds time);

}  // namespace lockstep::preparation
