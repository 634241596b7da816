#include "sim/studies/planning/plan_bound.hpp"

#include <algorithm>
#include <limits>

namespace lockstep::planning {
namespace {

/// The parts of rank r and their microbatches. In a bidirectional pipeline these are both stages with half of the
/// microbatches each, otherwise the rank's own chunks with all microbatches.
template <class Visit>
void for_each_share(workloads::StagePlacement placement, std::int32_t ranks, std::int32_t chunks, double microbatches,
                    std::int32_t rank, Visit visit) {
  if (placement == workloads::StagePlacement::bidirectional) {
    visit(rank, microbatches / 2);
    visit(ranks - 1 - rank, microbatches / 2);
    return;
  }
  for (std::int32_t run = 0; run < chunks; ++run) {
    const auto backwards =
        (placement == workloads::StagePlacement::v || placement == workloads::StagePlacement::wave) && run % 2 == 1;
    visit(run * ranks + (backwards ? ranks - 1 - rank : rank), microbatches);
  }
}

}  // namespace

PlanBounds::Part PlanBounds::part_of(const StageParts::Blocks& blocks) const {
  Part part;
  part.blocks = blocks;
  const auto& order = space_.kinds();
  for (int block = blocks.first; block < blocks.last; ++block) {
    const auto number = position_of(order[position_of(block)]);
    const auto& kind = plan_.passes.kinds[number];
    const auto& passes = plan_.summary.kinds[number];
    const auto& state = plan_.state.kinds[number];
    const bool leads = block == blocks.first;
    const PassPath &forward = kind.forward.path, &backward = kind.backward.path,
                   &input_gradient = kind.input_gradient.path;
    part.forward = leads ? forward : part.forward.then(forward);
    part.backward = leads ? backward : backward.then(part.backward);
    part.input_gradient = leads ? input_gradient : input_gradient.then(part.input_gradient);
    part.weight_gradient.free_free = (leads ? 0 : part.weight_gradient.free_free) + kind.weight_gradient.path.free_free;
    part.forward_compute += passes.forward.compute;
    part.backward_compute += passes.backward.compute;
    for (std::size_t axis = 0; axis < plan_axes.size(); ++axis) {
      part.each[axis] += kind.each[axis] + state.each[axis];
      part.once[axis] += state.once[axis];
      part.published[axis] += state.published[axis];
    }
    part.update += state.update;
    part.held += state.held;
    part.gradients += state.gradients;
    const bool counted = block > 0 && plan_.summary.kinds[position_of(order[position_of(block - 1)])].keeps_output;
    const auto kept = passes.kept + (passes.keeps_input && !counted ? passes.input : 0);
    const auto for_weights = passes.kept_for_weights + passes.between;
    // While this block runs forwards, everything of the blocks before it is kept. While it runs backwards, nothing of
    // the blocks after it is kept, or only what gradients of weights read.
    part.forward_most = std::max(part.forward_most, part.kept + passes.forward_most);
    part.backward_most = (leads ? passes.backward_most : std::max(part.backward_most, passes.backward_most)) - kept;
    part.input_gradient_most = (leads ? passes.input_gradient_most
                                      : std::max(part.input_gradient_most + for_weights, passes.input_gradient_most)) -
                               kept;
    part.kept += kept;
    part.kept_for_weights += for_weights;
  }
  part.sent = plan_.summary.kinds[position_of(order[position_of(blocks.first)])].sent;
  return part;
}

const PlanBounds::Parts& PlanBounds::parts(std::int32_t count) {
  const auto [known, is_new] = parts_.try_emplace(count);
  auto& made = known->second;
  if (!is_new) return made;
  made.places = &space_.parts(count);
  for (const auto& blocks : made.places->different) made.different.push_back(part_of(blocks));
  return made;
}

double PlanBounds::send(std::int32_t from, std::int32_t to, std::int64_t bytes) {
  if (plan_.stages == nullptr) return 0;
  if (bytes != sent_bytes_) sends_ = &plan_.stages->times(bytes);
  sent_bytes_ = bytes;
  return sends_->between(from, to);
}

void PlanBounds::fill_and_drain(const Parts& parts, const workloads::Schedule& schedule,
                                const workloads::PipelineShape& shape) {
  arrival_.assign(position_of(parts.size()), 0.0);
  drain_.assign(position_of(parts.size()), 0.0);
  for (std::int32_t part = 0; part + 1 < parts.size(); ++part) {
    const auto from = shape.rank_of(part, 0), to = shape.rank_of(part + 1, 0);
    const auto sent = parts.of(part + 1).sent;
    const auto front = parts.of(part).forward.after({0, arrival_[part]});
    arrival_[part + 1] = std::max(0.0, front.data) + send(from, to, sent);
    const auto& back = schedule.splits_backward ? parts.of(part).input_gradient : parts.of(part).backward;
    drain_[part + 1] = drain_[part] + send(to, from, sent) +
                       std::max({0.0, back.data_data, schedule.splits_backward ? never : back.data_free});
  }
}

double PlanBounds::reduced(const Part& part, double end, bool split) const {
  double now = end - part.backward.free_free;  // the last cell, a whole backward or only its weight gradients
  double stream = now;
  for (int block = part.blocks.last; block > part.blocks.first; --block) {
    const auto& own = plan_.passes.kinds[kind(block - 1)];
    stream = std::max(stream, now) + plan_.state.kinds[kind(block - 1)].reduced;
    now += (split ? own.weight_gradient : own.backward).path.free_free;
  }
  return std::max(stream, end);
}

LowerBound PlanBounds::of(std::int32_t pipeline, std::int64_t microbatches, const ScheduleChoice& choice) {
  const auto& base = space_.base();
  const auto& schedule = space_.schedule(choice);
  const auto& stages = parts(pipeline * choice.chunks);
  const auto many = static_cast<double>(microbatches);
  const bool split = schedule.splits_backward;
  const bool one_chunk = choice.chunks == 1 && schedule.placement != workloads::StagePlacement::bidirectional;
  fill_and_drain(stages, schedule, {schedule.placement, pipeline, choice.chunks, 2});

  LowerBound bound;
  double before_barrier = 0, after_barrier = 0;
  for (std::int32_t rank = 0; rank < pipeline; ++rank) {
    double begin = std::numeric_limits<double>::infinity(), work = 0, without_weights = 0, backwards = 0;
    std::int32_t lowest = stages.size();
    BusyStreams busy{}, published{};
    std::int64_t held = base.step.memory_overhead.value(), kept = 0;
    double update = 0;
    for_each_share(schedule.placement, pipeline, choice.chunks, many, rank, [&](std::int32_t number, double count) {
      const auto& part = stages.of(number);
      begin = std::min(begin, arrival_[number]);
      lowest = std::min(lowest, number);
      if (schedule.overlaps) {
        // Both halves of a pair compute on one chip, and no two backwards overlap.
        work += count * (part.forward_compute + part.backward_compute);
        backwards += count * (split ? std::min(part.backward.free_free, part.input_gradient.free_free)
                                    : part.backward.free_free);
      } else if (split) {
        // Such an order may keep some backwards whole.
        work +=
            count * (part.forward.free_free +
                     std::min(part.backward.free_free, part.input_gradient.free_free + part.weight_gradient.free_free));
        without_weights += count * (part.forward.free_free + part.input_gradient.free_free);
      } else {
        work += count * (part.forward.free_free + part.backward.free_free);
      }
      for (std::size_t axis = 0; axis < plan_axes.size(); ++axis) {
        busy[axis] += count * part.each[axis] + part.once[axis] + part.published[axis];
        if (!base.step.publish_ahead) published[axis] += part.published[axis];
      }
      update += part.update;
      held += part.held;
      kept =
          schedule.placement == workloads::StagePlacement::bidirectional ? std::max(kept, part.kept) : kept + part.kept;
    });
    const double end = begin + std::max(work, backwards);
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
    bound.seconds = std::max(bound.seconds, *std::max_element(busy.begin(), busy.end()));
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
