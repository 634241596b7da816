#pragma once
/// Expands sharded layers into the DAG of one training step: microbatches, layers, weight prefetch, gradient buckets,
/// optimizer.
#include <cstdint>

#include "workloads/sharded_layers/optimizer.hpp"
#include "workloads/step/bucketing.hpp"
#include "workloads/step/expert_load.hpp"
#include "workloads/step/local_updates.hpp"
#include "workloads/step/sequence_load.hpp"
#include "workloads/step/step_graph.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::workloads {

/// What is moved to the host's memory. The part of the host that belongs to one chip has a link in each direction and a
/// memory of its own.
struct Offload {
  bool optimizer = false;              ///< state and update; gradients go down, updated weights come up
  std::int32_t activation_layers = 0;  ///< first layers of each stage whose activations go to the host and back
  BytesPerSecond link{0};              ///< one way between chip and host
  BytesPerSecond host_memory{50e9};    ///< rate at which the host's update reads and writes
};

struct StepOptions {
  std::int64_t microbatches = 1;
  int prefetch = 1;  ///< blocks whose weights may be gathered ahead of the one that computes
  int reductions_in_flight =
      1;  ///< blocks whose whole gradients may wait for their reduction while the next one computes
  Bucketing weight_buckets{};  ///< matrix or layer
  Bucketing gradient_buckets{};
  bool optimizer_barrier = true;     ///< no update before all gradients are reduced
  Bytes gradient_element{2};         ///< as accumulated
  Bytes gradient_reduce_element{2};  ///< as collectives carry them
  bool gradient_clipping = false;    ///< the update waits for the norm of all gradients
  bool publish_ahead = false;  ///< updated weights are gathered in the next step, block by block before their first
                               ///< use; else at the step's end
  OptimizerSpec optimizer{};
  std::optional<LocalUpdates> local_updates{};  ///< of sites; the layers know nothing of their axis
  Offload offload{};
  Seconds step_overhead{0};  ///< at the end of the step, on every rank: data loading, logging
  Bytes memory_overhead{0};  ///< of the framework, throughout
  ExpertLoad expert_load{};
  SequenceLoad sequence_load{};
  bool memory = true;  ///< also buffers: what is held from when to when
  /// A backward sends its input's gradient on before the gradients of its weights are there; the layers are in that
  /// order (delayed_weights.hpp).
  bool delay_weight_gradients = false;
  bool scatter_sends = false;  ///< ranks that hold the same send a part each to the next stage, and gather it there
  bool host_waits_for_transfers = false;  ///< a rank's host waits for each transfer between stages, and for all that
                                          ///< was launched before it, before it launches the kernels of the next cell
};

/// `kinds[order[i]]` is the i-th block of the model, under its plan; the pipeline says which stage runs which blocks
/// and in what order. The number of microbatches is the pipeline's, not the options'.
[[nodiscard]] StepGraph build_step(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order,
                                   const StepPipeline& pipeline, const StepOptions& options);
/// Without a pipeline: options.microbatches one after the other.
[[nodiscard]] StepGraph build_step(const ShardedLayers& kinds, const Indexed<BlockId, KindId>& order,
                                   const StepOptions& options);

}  // namespace lockstep::workloads
