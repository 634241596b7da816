#include "sim/planning/plan_floor.hpp"

#include <algorithm>
#include <limits>

namespace lockstep {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// What rank r of a bidirectional pipeline runs: both stages with half of the microbatches each; else its own chunks with all.
struct Share {
  std::int32_t part;
  double microbatches;
};

std::vector<Share> shares(StagePlacement placement, std::int32_t ranks, std::int32_t chunks, double microbatches, std::int32_t rank) {
  if (placement == StagePlacement::bidirectional) return {{rank, microbatches / 2}, {ranks - 1 - rank, microbatches / 2}};
  std::vector<Share> result;
  for (std::int32_t run = 0; run < chunks; ++run) {
    const auto backwards = (placement == StagePlacement::v || placement == StagePlacement::wave) && run % 2 == 1;
    result.push_back({run * ranks + (backwards ? ranks - 1 - rank : rank), microbatches});
  }
  return result;
}

}  // namespace

PlanFloors::PlanFloors(const PlanSpace& space, const PlanSketch& sketch, std::span<const double> prices, double norm_over_stages, const StageRoutes* routes)
    : space_(space), sketch_(sketch), routes_(routes), norm_over_stages_(norm_over_stages) {
  const auto busy = [&](std::int32_t collective, std::array<double, plan_axes.size()>& streams) {
    for (std::size_t axis = 0; axis < streams.size(); ++axis) {
      if ((sketch.collectives[at(collective)].axes >> axis & 1U) != 0) streams[axis] += prices[at(collective)];
    }
  };
  for (const auto& sketched : sketch.kinds) {
    Kind kind{path_of(sketched.forward, prices), path_of(sketched.backward, prices), path_of(sketched.input_gradient, prices), path_of(sketched.weight_gradient, prices), {}, {}, {}, 0};
    for (const auto* pass : {&sketched.forward, &sketched.backward}) {
      for (const auto& step : pass->steps) {
        if (step.collective >= 0) busy(step.collective, kind.each);
      }
      for (const auto gather : pass->gathers) busy(gather, kind.each);
    }
    for (const auto collective : sketched.each_microbatch) busy(collective, kind.each);
    for (const auto collective : sketched.last_microbatch) busy(collective, kind.once);
    for (const auto collective : sketched.publish) busy(collective, kind.published);
    for (const auto* chain : {&sketched.each_microbatch, &sketched.last_microbatch}) {
      for (const auto collective : *chain) {
        if ((sketch.collectives[at(collective)].axes >> data_axis & 1U) != 0) kind.reduced += prices[at(collective)];
      }
    }
    kinds_.push_back(kind);
  }
}

const std::vector<PlanFloors::Part>& PlanFloors::parts(std::int32_t count) {
  const auto [known, is_new] = parts_.try_emplace(count);
  auto& made = known->second;
  if (!is_new) return made;
  const auto first_block = split_layers(space_.layers(), count, {}).first_block;
  for (std::size_t i = 0; i + 1 < first_block.size(); ++i) {
    Part part;
    part.first = first_block[i];
    part.last = first_block[i + 1];
    for (int block = part.first; block < part.last; ++block) {
      const auto number = at(sketch_.order[at(block)]);
      const auto& kind = kinds_[number];
      const auto& sketched = sketch_.kinds[number];
      const bool leads = block == part.first;
      part.forward = leads ? kind.forward : part.forward.then(kind.forward);
      part.backward = leads ? kind.backward : kind.backward.then(part.backward);
      part.input_gradient = leads ? kind.input_gradient : kind.input_gradient.then(part.input_gradient);
      part.weight_gradient.free_free = (leads ? 0 : part.weight_gradient.free_free) + kind.weight_gradient.free_free;
      part.forward_compute += sketched.forward.compute;
      part.backward_compute += sketched.backward.compute;
      for (std::size_t axis = 0; axis < plan_axes.size(); ++axis) {
        part.each[axis] += kind.each[axis];
        part.once[axis] += kind.once[axis];
        part.published[axis] += kind.published[axis];
      }
      part.update += sketched.update;
      part.held += sketched.held;
      part.gradients += sketched.gradients;
      const bool counted = block > 0 && sketch_.kinds[at(sketch_.order[at(block - 1)])].keeps_output;
      part.kept += sketched.kept + (sketched.keeps_input && !counted ? sketched.input : 0);
    }
    part.sent = sketch_.kinds[at(sketch_.order[at(part.first)])].sent;
    made.push_back(part);
  }
  return made;
}

double PlanFloors::send(std::int32_t from, std::int32_t to, std::int64_t bytes) const {
  return routes_ == nullptr ? 0 : routes_->time(from, to, static_cast<double>(bytes));
}

double PlanFloors::reduced(const Part& part, double end, bool split) const {
  double now = end - part.backward.free_free;  // the last cell, a whole backward or only its weight gradients
  double stream = now;
  for (int block = part.last; block > part.first; --block) {
    const auto& kind = kinds_[at(sketch_.order[at(block - 1)])];
    stream = std::max(stream, now) + kind.reduced;
    now += (split ? kind.weight_gradient : kind.backward).free_free;
  }
  return std::max(stream, end);
}

Floor PlanFloors::of(std::int32_t pipeline, std::int64_t microbatches, const ScheduleChoice& choice, bool in_detail) {
  const auto& base = space_.base();
  const auto name = choice.schedule < 0 ? std::string("1f1b") : base.search.schedules[at(choice.schedule)];
  const auto& schedule = *find_schedule(name);
  const auto& stages = parts(pipeline * choice.chunks);
  const auto many = static_cast<double>(microbatches);
  const bool split = schedule.splits_backward;
  const bool one_chunk = choice.chunks == 1 && schedule.placement != StagePlacement::bidirectional;
  const PipelineShape shape{schedule.placement, pipeline, choice.chunks, 2};

  // From the start of the step to the first microbatch's input on each part; from a part's last backward to the end.
  std::vector<double> arrival(stages.size(), 0.0), drain(stages.size(), 0.0);
  for (std::size_t part = 0; part + 1 < stages.size(); ++part) {
    const auto here = static_cast<std::int32_t>(part);
    const auto from = shape.rank_of(here, 0), to = shape.rank_of(here + 1, 0);
    const auto front = stages[part].forward.after({0, arrival[part]});
    arrival[part + 1] = std::max(0.0, front.data) + send(from, to, stages[part + 1].sent);
    const auto& back = split ? stages[part].input_gradient : stages[part].backward;
    drain[part + 1] = drain[part] + send(to, from, stages[part + 1].sent) + std::max({0.0, back.data_data, split ? never : back.data_free});
  }

  Floor floor;
  double before_barrier = 0, after_barrier = 0;
  for (std::int32_t rank = 0; rank < pipeline; ++rank) {
    const auto own = shares(schedule.placement, pipeline, choice.chunks, many, rank);
    double begin = std::numeric_limits<double>::infinity(), work = 0, without_weights = 0;
    std::int32_t lowest = own.front().part;
    std::array<double, plan_axes.size()> busy{}, published{};
    std::int64_t held = base.step.memory_overhead.value(), kept = 0;
    double update = 0;
    for (const auto& [number, count] : own) {
      const auto& part = stages[at(number)];
      begin = std::min(begin, arrival[at(number)]);
      lowest = std::min(lowest, number);
      if (schedule.overlaps) {
        work += count * (part.forward_compute + part.backward_compute);
      } else if (split) {
        // Such an order may keep some backwards whole.
        work += count * (part.forward.free_free + std::min(part.backward.free_free, part.input_gradient.free_free + part.weight_gradient.free_free));
        without_weights += count * (part.forward.free_free + part.input_gradient.free_free);
      } else {
        work += count * (part.forward.free_free + part.backward.free_free);
      }
      for (std::size_t axis = 0; axis < plan_axes.size(); ++axis) {
        busy[axis] += count * part.each[axis] + part.once[axis] + part.published[axis];
        published[axis] += part.published[axis];
      }
      update += part.update;
      held += part.held;
      kept = schedule.placement == StagePlacement::bidirectional ? std::max(kept, part.kept) : kept + part.kept;
    }
    const double end = begin + work;
    if (split || schedule.overlaps) {
      // The last input gradient may hand on before its rank's other work, and weight gradients may all come later.
      before_barrier = std::max(before_barrier, end);
      if (!schedule.overlaps) {
        const auto& last = stages[at(lowest)].input_gradient;
        before_barrier = std::max(before_barrier, begin + without_weights + (last.free_data - last.free_free) + drain[at(lowest)]);
      }
    } else {
      before_barrier = std::max(before_barrier, end + drain[at(lowest)]);
    }
    if (one_chunk) before_barrier = std::max(before_barrier, reduced(stages[at(rank)], end, split));
    after_barrier = std::max({after_barrier, update, *std::max_element(published.begin(), published.end())});
    floor.seconds = std::max(floor.seconds, *std::max_element(busy.begin(), busy.end()));

    if (in_detail) {
      const auto& most = space_.in_flight(pipeline, microbatches, choice)[at(rank)];
      kept = 0;
      for (std::size_t i = 0; i < most.parts.size(); ++i) {
        const auto& part = stages[at(most.parts[i])];
        kept += part.kept * most.microbatches[i] + (most.gradients[i] ? part.gradients : 0);
      }
    }
    floor.bytes = std::max(floor.bytes, held + kept);
  }
  if (base.step.optimizer_barrier) {
    floor.seconds = std::max(floor.seconds, before_barrier + (pipeline > 1 ? norm_over_stages_ : 0) + after_barrier);
  } else {
    floor.seconds = std::max(floor.seconds, before_barrier);
  }
  floor.seconds += base.step.step_overhead.value();
  return floor;
}

Floor PlanFloors::of(std::int32_t pipeline, std::int64_t microbatches) {
  Floor least{std::numeric_limits<double>::infinity(), std::numeric_limits<std::int64_t>::max()};
  for (const auto& choice : space_.schedules(pipeline, microbatches)) {
    const auto floor = of(pipeline, microbatches, choice, false);
    least = {std::min(least.seconds, floor.seconds), std::min(least.bytes, floor.bytes)};
  }
  return least;
}

}  // namespace lockstep
