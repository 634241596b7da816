#pragma once
/// How long the operations of a sharded layer take, and its passes, before there is a step graph: closed forms of
/// collectives, no contention. Placement, the order of automatic schedules and the planner's bounds start from these
/// times.
#include <vector>

#include "sim/collectives/collective_model.hpp"
#include "sim/cost/time_model.hpp"
#include "topologies/chips/chip_kernels.hpp"
#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/sharded_layers/sharded_layer.hpp"
#include "workloads/step/build_step.hpp"
#include "workloads/step/step_graph.hpp"

namespace lockstep::cost {

/// The time of a compute step: the time that a replay gives, otherwise the time of its kernel.
[[nodiscard]] Seconds operation_time(const ComputeRates& rates, const workloads::StepWork& work);
/// The time of a compute step or a collective.
[[nodiscard]] Seconds operation_time(const ComputeRates& rates, const workloads::BlockStep& step,
                                     collectives::CollectiveModel& collectives);

/// By how much kernels slow down while `held` multiprocessors are not theirs; 1 on chips that have none.
[[nodiscard]] double slowdown_without(const topologies::ChipKernels& chip, int held);
/// The factor by which compute takes longer while collectives run on the same chip: the larger of the factors for the
/// multiprocessors and for the memory bandwidth that the collectives take.
[[nodiscard]] double overlap_slowdown(const topologies::ChipKernels& chip);

/// One microbatch through a layer, its compute and the communication that the next step waits for one after the other:
/// what a stage of a pipeline takes. Collectives of weights and gradients, and steps on streams beside, take no time.
[[nodiscard]] workloads::StageTimes time_one_after_another(const workloads::ShardedLayer& layer,
                                                           collectives::CollectiveModel& collectives,
                                                           const ComputeRates& rates);

/// The buckets of one layer's collectives on its arrays, in the order in which they come.
class LayerBuckets {
 public:
  explicit LayerBuckets(const workloads::Bucketing& rule) : merges_(rule.merges()) {}

  void add(workloads::CollectiveKind kind, const workloads::AxisNames& axes, Bytes full_size);
  void add(const std::vector<workloads::DerivedCollective>& chain);
  /// One after the other.
  [[nodiscard]] Seconds cost(collectives::CollectiveModel& model) const;

  struct Bucket {
    workloads::CollectiveKind kind;
    workloads::AxisNames axes;
    Bytes full_size;
  };
  [[nodiscard]] const std::vector<Bucket>& all() const { return all_; }

 private:
  bool merges_;
  std::vector<Bucket> all_;
};

/// One layer in one step with collectives beside compute, as far as dependencies and streams allow; compute slows down
/// beside them as the chip says, and all of the communication counts a tenth besides, since not all of it hides: what a
/// placement of the mesh costs.
struct OverlappedTime {
  Seconds each;  ///< every microbatch
  Seconds once;  ///< once a step besides: gradients of the last microbatch beside its backward, updated weights at the
                 ///< step's end or ahead beside the next forward
};
[[nodiscard]] OverlappedTime time_overlapped(const workloads::ShardedLayer& layer,
                                             collectives::CollectiveModel& collectives, const ComputeRates& rates,
                                             const workloads::StepOptions& options);

}  // namespace lockstep::cost
