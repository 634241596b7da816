#pragma once
/// Small models on a pipeline of a named schedule.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/workloads/small_models.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {

inline std::vector<bool> are_layers(const Derived& model) {
  std::vector<bool> layers;
  for (const int kind : model.order) layers.push_back(model.kinds[static_cast<std::size_t>(kind)].is_layer);
  return layers;
}

inline workloads::StepPipeline on_schedule(const Derived& model, const std::string& schedule, std::int32_t ranks,
                                           std::int32_t microbatches) {
  workloads::ScheduleRequest request;
  request.name = schedule;
  request.ranks = ranks;
  request.microbatches = microbatches;
  workloads::StepPipeline pipeline;
  pipeline.order = make_order(request);
  pipeline.kinds = model.order;
  pipeline.first_block =
      workloads::split_layers(are_layers(model), pipeline.order.shape.virtual_stages(), {}).first_block;
  return pipeline;
}

/// P = 4 and M = 8, which every schedule takes; enough layers for two chunks on each rank.
inline constexpr std::int32_t pipeline_ranks = 4, pipeline_microbatches = 8;
inline constexpr std::int64_t pipeline_layers = 9;

/// Ranks of the pipeline on which a block stands: one, or two where microbatches come from both ends.
inline std::vector<std::int32_t> stages_of_block(const workloads::StepPipeline& pipeline, int block) {
  const auto& shape = pipeline.order.shape;
  const auto part = pipeline.stage_of_block(block);
  std::vector<std::int32_t> stages{shape.rank_of(part, 0)};
  const auto other = shape.rank_of(part, shape.microbatches - 1);
  if (other != stages.front()) stages.push_back(other);
  return stages;
}

inline const workloads::ShardedLayer& kind_of_block(const Derived& model, int block) {
  return model.kinds[static_cast<std::size_t>(model.order[static_cast<std::size_t>(block)])];
}

inline int blocks(const Derived& model) { return static_cast<int>(model.order.size()); }

inline bool is_send(const workloads::StepOp& op) {
  return op->kind == workloads::StepOp::Kind::collective && op->collective == workloads::CollectiveKind::point_to_point;
}

}  // namespace lockstep::test
