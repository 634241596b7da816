#include "sim/studies/planning/action_sequence.hpp"

#include <map>

#include "workloads/pipeline/pipeline_timing.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::planning {
namespace {

constexpr std::size_t most_actions = 8'000'000;

bool ends_gradients(const workloads::PipelineAction& action) {
  return action.work == workloads::PipelineWork::backward || action.work == workloads::PipelineWork::weight_gradient;
}

}  // namespace

ActionSequence sequence_of(const workloads::PipelineOrder& order) {
  ActionSequence made{order.shape, {}};
  made.actions.reserve(static_cast<std::size_t>(order.cells()));
  std::map<std::pair<std::int32_t, std::int32_t>, std::size_t> last;  // by rank and stage
  for (const auto& [rank, index] : time_order(order, {}).by_start) {
    const auto& cell = order.ranks[rank][index];
    std::int8_t half = cell.second ? 1 : 0;
    for_each_action(cell, [&, rank = rank](const workloads::PipelineAction& action) {
      if (ends_gradients(action)) last[{rank, action.stage}] = made.actions.size();
      made.actions.push_back({action.work, half, false, rank, action.stage, action.microbatch});
      half = cell.second ? 2 : 0;
    });
  }
  for (const auto& [where, index] : last) made.actions[index].last = true;
  return made;
}

const ActionSequence& SequenceBook::sequence(std::int32_t pipeline, std::int64_t microbatches,
                                             const ScheduleChoice& choice) {
  const std::tuple key{pipeline, microbatches, choice};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  if (actions_ > most_actions) {
    known_.clear();
    actions_ = 0;
  }
  workloads::ScheduleRequest request;
  request.name = space_.schedule(choice).name;
  request.ranks = pipeline;
  request.microbatches = static_cast<std::int32_t>(microbatches);
  request.chunks = choice.chunks;
  auto made = sequence_of(choice.schedule < 0 ? workloads::single_stage(1, microbatches).order : make_order(request));
  actions_ += made.actions.size();
  return known_.emplace(key, std::move(made)).first->second;
}

}  // namespace lockstep::planning
