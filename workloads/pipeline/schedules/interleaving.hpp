#pragma once
/// Code that the schedules on linear and looped placements share. A rank takes its work in passes, forwards in one
/// sequence and backwards in the same one with the chunks reversed. The schedules differ in how far the backwards trail
/// the forwards.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::workloads {

/// The passes of any rank, each one microbatch (or slice of one) through one of its chunks: a group of them through the
/// first chunk, the same group through the next, and so on; then the next group. The last group may be smaller.
/// Backwards take the slices of a microbatch last first.
class InterleavedPasses {
 public:
  InterleavedPasses(const PipelineShape& shape, std::int32_t group) : shape_(shape), group_(group) {}

  [[nodiscard]] std::int32_t count() const { return shape_.microbatches * shape_.chunks; }
  /// A lag of more passes than there are counts as a lag of all of them.
  [[nodiscard]] std::int32_t at_most_all(std::int32_t passes) const { return std::min(passes, count()); }
  /// None before the first pass and after the last.
  [[nodiscard]] std::optional<PipelineAction> forward(std::int32_t rank, std::int32_t pass) const;
  [[nodiscard]] std::optional<PipelineAction> backward(PipelineWork work, std::int32_t rank, std::int32_t pass) const;

 private:
  struct Pass {
    std::int32_t chunk;
    std::int32_t microbatch;
  };
  [[nodiscard]] std::optional<Pass> at(std::int32_t pass) const;

  PipelineShape shape_;
  std::int32_t group_;
};

void append(PipelineCells& cells, const std::optional<PipelineAction>& action);

/// Interleaved 1F1B with split backward; on a linear placement, of one chunk.
[[nodiscard]] PipelineOrder split_interleaved_order(const ScheduleRequest& request, StagePlacement placement);

/// 1F1B whose passes are slices of microbatches, on a linear placement or interleaved on a looped one.
[[nodiscard]] PipelineOrder sliced_order(const ScheduleRequest& request, StagePlacement placement);

/// Megatron's objection, if any, to the group size that the request names.
[[nodiscard]] std::optional<ScheduleProblem> named_group_rule(const ScheduleRequest& request);

}  // namespace lockstep::workloads
