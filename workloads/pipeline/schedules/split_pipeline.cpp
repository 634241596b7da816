#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "sim/core/quantity_text.hpp"
#include "workloads/pipeline/schedules/split_pipeline_private.hpp"

namespace lockstep::workloads {

ComparedTimes::ComparedTimes(const PipelineTimes& times) {
  double longest = times.latency;
  for (const auto& stage : times.stages) {
    longest = std::max({longest, stage.forward, stage.input_gradient, stage.weight_gradient});
  }
  tolerance_ = 1e-9 * longest;
}

SplitPipeline::SplitPipeline(const ScheduleRequest& request, PipelineOrder empty,
                             const Indexed<StageId, double>& limits)
    : times_(request.times),
      activations_(request.activations),
      order_(std::move(empty)),
      compare_(times_),
      ranks_(order_.ranks.size()) {
  const auto microbatches = order_.shape.microbatches;
  for (const StageId rank : ranks_.ids()) {
    ranks_[rank].limit = limits[rank];
    order_.ranks[rank].reserve(std::int64_t{3} * microbatches * order_.shape.chunks);
  }
  forwards_.resize(order_.shape.virtual_stages());
  for (auto& stage : forwards_) stage.ends.reserve(microbatches);
  input_gradients_ = forwards_;
}

bool SplitPipeline::has_forward_input(std::int32_t stage) const {
  return stage == 0 || forwards(stage - 1) > forwards(stage);
}

bool SplitPipeline::has_input_gradient_input(std::int32_t stage) const {
  return stage + 1 == order_.shape.virtual_stages() || input_gradients(stage + 1) > input_gradients(stage);
}

double SplitPipeline::arrival(const Done& from, std::int32_t from_stage, std::int32_t stage, std::int32_t m) const {
  if (m >= from.run)
    throw InternalError("an automatic schedule runs stage " + std::to_string(stage) + " ahead of its input");
  return from.ends[m] + (rank_of(from_stage) == rank_of(stage) ? 0 : times_.latency);
}

double SplitPipeline::forward_arrival(std::int32_t stage) const {
  return stage == 0 ? 0 : arrival(forwards_[stage - 1], stage - 1, stage, forwards(stage));
}

double SplitPipeline::input_gradient_arrival(std::int32_t stage) const {
  const bool last = stage + 1 == order_.shape.virtual_stages();
  return last ? 0 : arrival(input_gradients_[stage + 1], stage + 1, stage, input_gradients(stage));
}

double SplitPipeline::run(const PipelineAction& action, double arrival, double activations) {
  auto& rank = ranks_[rank_of(action.stage)];
  auto& cells = order_.ranks[rank_of(action.stage)];
  const double start = std::max(rank.now, arrival);
  if (cells.empty()) {
    rank.first_start = start;
  } else {
    rank.bubble += start - rank.now;
    longest_bubble_ = std::max(longest_bubble_, rank.bubble);
  }
  rank.now = start + times_.of(action);
  rank.held += activations;
  cells.push_back({action, {}});
  return rank.now;
}

void SplitPipeline::forward(std::int32_t stage) {
  auto& done = forwards_[stage];
  const PipelineAction action{PipelineWork::forward, stage, done.run};
  done.ends.push_back(run(action, forward_arrival(stage), activations_.forward));
  ++done.run;
}

void SplitPipeline::input_gradient(std::int32_t stage) {
  auto& done = input_gradients_[stage];
  if (done.run >= forwards(stage)) throw InternalError("an automatic schedule runs a backward ahead of its forward");
  const PipelineAction action{PipelineWork::input_gradient, stage, done.run};
  done.ends.push_back(run(action, input_gradient_arrival(stage), activations_.input_gradient));
  ranks_[rank_of(stage)].owed.push_back({PipelineWork::weight_gradient, stage, done.run});
  ++done.run;
}

void SplitPipeline::weight_gradient(std::int32_t rank) {
  auto& owed = ranks_[rank].owed;
  const auto action = owed.front();
  owed.pop_front();
  run(action, 0, activations_.weight_gradient);
}

double SplitPipeline::longest_span() const {
  double longest = 0;
  for (const auto& rank : ranks_) longest = std::max(longest, rank.now - rank.first_start);
  return longest;
}

void SplitPipeline::make_room(std::int32_t rank, double activations) {
  while (held(rank) + activations > limit(rank) && !owed(rank).empty()) weight_gradient(rank);
}

void SplitPipeline::make_room_for_forward(std::int32_t rank) {
  make_room(rank, activations_.forward + backward_reserve(activations_));
}

void SplitPipeline::make_room_for_backward(std::int32_t rank) { make_room(rank, backward_reserve(activations_)); }

double SplitPipeline::fill_wait(std::int32_t rank, double arrival) {
  while (!owed(rank).empty() && compare_.at_most(now(rank) + times_.of(owed(rank).front()), arrival)) {
    weight_gradient(rank);
  }
  return arrival - now(rank);
}

void SplitPipeline::settle_owed(std::int32_t rank) {
  while (!owed(rank).empty()) weight_gradient(rank);
}

double backward_reserve(const ActivationModel& activations) { return std::max(0.0, activations.input_gradient); }

Indexed<StageId, double> limits_in_activations(const ScheduleRequest& request, std::int32_t chunks, double usual,
                                               double least) {
  const auto& model = request.activations;
  const std::int64_t given = request.times.stages.count();
  const std::int64_t stages = std::int64_t{request.ranks} * chunks;
  if (given != 1 && given != stages) {
    throw ScheduleError("stages", "times of " + std::to_string(given) + " stages are given",
                        "one for all, or one for each of " + std::to_string(stages));
  }
  const double kept = model.forward + model.input_gradient + model.weight_gradient;
  if (!(model.forward > 0) || !(model.weight_gradient <= 0) || !(std::abs(kept) <= 1e-9 * model.forward)) {
    throw ScheduleError("memory-limit", "the two gradients do not let go of just what a forward holds",
                        "activations of a forward, an input gradient and a weight gradient that add up to 0");
  }
  Indexed<StageId, double> limits(request.memory_limit.begin(), request.memory_limit.end());
  const auto ranks = request.ranks;
  if (limits.empty()) limits = {usual};
  if (limits.size() == 1) limits.assign(ranks, limits.front());
  if (limits.count() != ranks) {
    throw ScheduleError("memory-limit", std::to_string(limits.size()) + " limits are given",
                        "one for all ranks, or one for each of " + std::to_string(ranks));
  }
  const double whole = model.forward * chunks;
  const double least_that_works = least + backward_reserve(model) / whole;
  constexpr double rounding = 1 + 1e-9;
  for (const StageId rank : limits.ids()) {
    if (!(limits[rank] * rounding >= least_that_works)) {
      throw ScheduleError("memory-limit",
                          "nothing fits under " + exact(limits[rank]) + " microbatches on rank " + std::to_string(rank),
                          "at least " + exact(least_that_works));
    }
    limits[rank] *= whole * rounding;
  }
  return limits;
}

}  // namespace lockstep::workloads
