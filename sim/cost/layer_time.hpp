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

/// What a step leaves the collectives of one of its microbatches to hide behind: those of the last one's gradients,
/// or those of updated weights before the first. A stage of a pipeline runs `passes` passes of the next chunk between
/// the last pass of a chunk and that of the next one, so the collectives of all but one chunk run beside so many.
/// Those of the last chunk have the rest of that chunk's own pass; `bare` is the share that comes when it has ended.
struct Cover {
  double chunks = 1;  ///< of a stage
  double passes = 1;
  double bare = 0;
};

/// A pass of one layer: its longest chain of operations that wait for each other, what runs beside that, and all that
/// is computed and communicated. Compute slows down beside communication as the chip says, and all of the communication
/// counts a tenth besides, since not all of it hides.
struct OverlappedPass {
  double slowdown = 1;  ///< of computation beside communication
  Seconds path{0}, hidden{0}, computation{0}, communication{0};
  /// `more`: communication beside the pass from elsewhere. While communication runs for B beside C of computation, at
  /// most B / slowdown of it gets done, so that both take C + B (1 - 1 / slowdown), and C x slowdown at most.
  [[nodiscard]] Seconds beside(Seconds more) const;
  /// What communication that comes once a step adds to it on the stage that nothing else covers: with T(c) = beside(c),
  /// V chunks, N passes and a share b that is bare,
  ///   (b more + (1 - b) (T(more) - T(0))) / V + N (T(more / N) - T(0)) (1 - 1 / V).
  [[nodiscard]] Seconds added_by(Seconds more, const Cover& cover) const;
};

/// One layer in one step with collectives beside compute, as far as dependencies and streams allow: what a placement of
/// the mesh costs.
struct OverlappedTime {
  OverlappedPass forward, backward;  ///< of every microbatch
  Seconds reduced;                   ///< gradients of the last microbatch besides
  Seconds published;                 ///< updated weights
  [[nodiscard]] Seconds each() const { return forward.beside(Seconds(0)) + backward.beside(Seconds(0)); }
};
[[nodiscard]] OverlappedTime time_overlapped(const workloads::ShardedLayer& layer,
                                             collectives::CollectiveModel& collectives, const ComputeRates& rates,
                                             const workloads::StepOptions& options);

}  // namespace lockstep::cost
