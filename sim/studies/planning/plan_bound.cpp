#include "sim/studies/planning/plan_bound.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::planning {
PlanBounds::VirtualStage PlanBounds::virtual_stage_of(const VirtualStageBlocks::Blocks& blocks) const {
  VirtualStage stage;
  stage.blocks = blocks;
  const auto& order = space_.kinds();
  for (int block = blocks.first; block < blocks.last; ++block) {
    const auto number = position_of(order[position_of(block)]);
    const auto& kind = plan_.passes.kinds[number];
    const auto& passes = plan_.summary.kinds[number];
    const auto& state = plan_.state.kinds[number];
    const bool leads = block == blocks.first;
    const PassPath &forward = kind.forward.path, &backward = kind.backward.path,
                   &input_gradient = kind.input_gradient.path;
    stage.forward = leads ? forward : stage.forward.then(forward);
    stage.backward = leads ? backward : backward.then(stage.backward);
    stage.input_gradient = leads ? input_gradient : input_gradient.then(stage.input_gradient);
    stage.weight_gradient.free_free =
        (leads ? 0 : stage.weight_gradient.free_free) + kind.weight_gradient.path.free_free;
    stage.forward_load = stage.forward_load.then({passes.forward.compute, kind.forward.streams});
    stage.backward_load = PassLoad{passes.backward.compute, kind.backward.streams}.then(stage.backward_load);
    stage.input_gradient_load =
        PassLoad{passes.input_gradient.compute, kind.input_gradient.streams}.then(stage.input_gradient_load);
    // Gradients of weights do not wait for each other.
    stage.weight_gradient_load.compute += passes.weight_gradient.compute;
    add(stage.weight_gradient_load.streams.between, kind.weight_gradient.streams.between);
    add(stage.reduced_each, state.each);
    add(stage.each, kind.each);
    add(stage.each, state.each);
    add(stage.once, state.once);
    add(stage.published, state.published);
    stage.update += state.update;
    stage.held += state.held;
    stage.gradients += state.gradients;
    const bool counted = block > 0 && plan_.summary.kinds[position_of(order[position_of(block - 1)])].keeps_output;
    const auto kept = passes.kept + (passes.keeps_input && !counted ? passes.input : 0);
    const auto for_weights = passes.kept_for_weights + passes.between;
    // While this block runs forwards, everything of the blocks before it is kept. While it runs backwards, nothing of
    // the blocks after it is kept, or only what gradients of weights read.
    stage.forward_most = std::max(stage.forward_most, stage.kept + passes.forward_most);
    stage.backward_most = (leads ? passes.backward_most : std::max(stage.backward_most, passes.backward_most)) - kept;
    stage.input_gradient_most =
        (leads ? passes.input_gradient_most
               : std::max(stage.input_gradient_most + for_weights, passes.input_gradient_most)) -
        kept;
    stage.kept += kept;
    stage.kept_for_weights += for_weights;
  }
  // Nobody waits for the gradients of the model's input.
  if (blocks.first == 0) stage.backward_load.streams.last = stage.input_gradient_load.streams.last = {};
  stage.sent = plan_.summary.kinds[position_of(order[position_of(blocks.first)])].sent;
  return stage;
}

BusyStreams PlanBounds::until_barrier(const VirtualStage& stage, bool split) {
  auto backward = stage.backward_load.streams.all();
  if (split) {  // some backwards may be whole
    auto parts = stage.input_gradient_load.streams.all();
    add(parts, stage.weight_gradient_load.streams.between);
    backward = least(backward, parts);
  }
  auto busy = stage.forward_load.streams.all();
  add(busy, backward);
  add(busy, stage.reduced_each);
  return busy;
}

const PlanBounds::VirtualStages& PlanBounds::virtual_stages(std::int32_t count) {
  const auto [known, is_new] = virtual_stages_.try_emplace(count);
  auto& made = known->second;
  if (!is_new) return made;
  made.places = &space_.virtual_stages(count);
  for (const auto& blocks : made.places->different) made.different.push_back(virtual_stage_of(blocks));
  return made;
}

double PlanBounds::send(std::int32_t from, std::int32_t to, std::int64_t bytes) {
  if (plan_.stages == nullptr) return 0;
  if (bytes != sent_bytes_) sends_ = &plan_.stages->times(bytes);
  sent_bytes_ = bytes;
  return sends_->between(from, to);
}

void PlanBounds::fill_and_drain(const VirtualStages& stages, const workloads::Schedule& schedule,
                                const workloads::PipelineShape& shape) {
  arrival_.assign(position_of(stages.size()), 0.0);
  drain_.assign(position_of(stages.size()), 0.0);
  for (std::int32_t stage = 0; stage + 1 < stages.size(); ++stage) {
    const auto from = shape.rank_of(stage, 0), to = shape.rank_of(stage + 1, 0);
    const auto sent = stages.of(stage + 1).sent;
    const auto front = stages.of(stage).forward.after({0, arrival_[stage]});
    arrival_[stage + 1] = std::max(0.0, front.data) + send(from, to, sent);
    const auto& back = schedule.splits_backward ? stages.of(stage).input_gradient : stages.of(stage).backward;
    drain_[stage + 1] = drain_[stage] + send(to, from, sent) +
                        std::max({0.0, back.data_data, schedule.splits_backward ? never : back.data_free});
  }
}

double PlanBounds::reduced(const VirtualStage& stage, double end, bool split) const {
  double now = end - stage.backward.free_free;  // the last cell, a whole backward or only its weight gradients
  double stream = now;
  for (int block = stage.blocks.last; block > stage.blocks.first; --block) {
    const auto& own = plan_.passes.kinds[kind(block - 1)];
    stream = std::max(stream, now) + plan_.state.kinds[kind(block - 1)].reduced;
    now += (split ? own.weight_gradient : own.backward).path.free_free;
  }
  return std::max(stream, end);
}

LowerBound PlanBounds::of(std::int32_t pipeline, std::int64_t microbatches, const ScheduleChoice& choice) {
  const auto& base = space_.base();
  const auto& schedule = space_.schedule(choice);
  const auto& stages = virtual_stages(pipeline * choice.chunks);
  const auto placement = schedule.placement_for(choice.chunks);
  const workloads::PipelineShape shape{placement, pipeline, choice.chunks, static_cast<std::int32_t>(microbatches)};
  const bool split = schedule.splits_backward;
  const bool one_chunk = choice.chunks == 1 && placement != workloads::StagePlacement::bidirectional;
  fill_and_drain(stages, schedule, shape);

  LowerBound bound;
  double before_barrier = 0, after_barrier = 0;
  for (std::int32_t rank = 0; rank < pipeline; ++rank) {
    double begin = std::numeric_limits<double>::infinity(), work = 0, without_weights = 0, backwards = 0, compute = 0;
    std::int32_t lowest = stages.size();
    BusyStreams busy{}, published{}, gradients{};
    std::int64_t held = base.step.memory_overhead.value(), kept = 0;
    double update = 0;
    shape.for_each_virtual_stage_of(rank, [&](std::int32_t number, double count) {
      const auto& stage = stages.of(number);
      begin = std::min(begin, arrival_[number]);
      lowest = std::min(lowest, number);
      compute += count * (stage.forward_load.compute + stage.backward_load.compute);
      const auto each = until_barrier(stage, split);
      if (schedule.overlaps) {
        // Both halves of a pair compute on one chip, and no two backwards overlap.
        backwards += count * (split ? std::min(stage.backward.free_free, stage.input_gradient.free_free)
                                    : stage.backward.free_free);
      } else if (split) {
        // Such an order may keep some backwards whole.
        work += count *
                (stage.forward.free_free +
                 std::min(stage.backward.free_free, stage.input_gradient.free_free + stage.weight_gradient.free_free));
        without_weights += count * (stage.forward.free_free + stage.input_gradient.free_free);
      } else {
        work += count * (stage.forward.free_free + stage.backward.free_free);
      }
      for (std::size_t axis = 0; axis < busy.size(); ++axis) {
        busy[axis] += count * stage.each[axis] + stage.once[axis] + stage.published[axis];
        gradients[axis] += count * each[axis] + stage.once[axis];
        if (!base.step.publish_ahead) published[axis] += stage.published[axis];
      }
      update += stage.update;
      held += stage.held;
      kept = placement == workloads::StagePlacement::bidirectional ? std::max(kept, stage.kept) : kept + stage.kept;
    });
    if (schedule.overlaps) work = compute;
    const double end = begin + std::max(work, backwards);
    before_barrier = std::max(before_barrier, begin + span(compute, gradients));
    if (split || schedule.overlaps) {
      // The last input gradient may hand on before its rank's other work, and weight gradients may all come later.
      before_barrier = std::max(before_barrier, end);
      if (!schedule.overlaps) {
        const auto& last = stages.of(lowest).input_gradient;
        before_barrier =
            std::max(before_barrier, begin + without_weights + (last.free_data - last.free_free) + drain_[lowest]);
      }
    } else {
      before_barrier = std::max(before_barrier, end + drain_[lowest]);
    }
    if (one_chunk) before_barrier = std::max(before_barrier, reduced(stages.of(rank), end, split));
    after_barrier = std::max({after_barrier, update, *std::max_element(published.begin(), published.end())});
    bound.seconds = std::max({bound.seconds, *std::max_element(busy.begin(), busy.end()), span(compute, busy)});
    bound.bytes = std::max(bound.bytes, held + kept);
  }
  if (base.step.optimizer_barrier) {
    bound.seconds =
        std::max(bound.seconds, before_barrier + (pipeline > 1 ? plan_.norm_over_stages : 0) + after_barrier);
  } else {
    bound.seconds = std::max(bound.seconds, before_barrier);
  }
  bound.seconds += base.step.step_overhead.value();
  return bound;
}

LowerBound PlanBounds::of(std::int32_t pipeline, std::int64_t microbatches) {
  LowerBound least{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
  for (const auto& form : space_.schedule_forms(pipeline, microbatches)) {
    const auto bound = of(pipeline, microbatches, form.front());
    least = {std::min(least.seconds, bound.seconds), std::min(least.bytes, bound.bytes)};
  }
  return least;
}

}  // namespace lockstep::planning
