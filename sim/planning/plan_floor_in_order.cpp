// The longest path through a schedule's actions, each rank's one after the other, and what each holds meanwhile.
#include <algorithm>

#include "sim/planning/plan_floor.hpp"

namespace lockstep {
namespace {

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }

/// A rank on its way through its actions.
struct Rank {
  double free = 0;      ///< when its compute stream is
  double reduced = 0;   ///< when the gradients so far are, at the earliest
  std::int64_t bytes = 0, most_bytes = 0;
};

}  // namespace

Floor PlanFloors::in_order(const ActionSequence& sequence, const ScheduleChoice& choice) {
  const auto& base = space_.base();
  const auto& shape = sequence.shape;
  const bool overlaps = space_.schedule(choice).overlaps;
  const auto& stages = parts(shape.stages());
  const auto microbatches = at(shape.microbatches);
  // When inputs and gradients of outputs arrive, by part and microbatch.
  arrival_.assign(at(stages.size()) * microbatches, 0.0);
  drain_.assign(at(stages.size()) * microbatches, 0.0);
  const auto place = [&](std::int32_t part, std::int32_t microbatch) { return at(part) * microbatches + at(microbatch); };

  std::vector<Rank> ranks(at(shape.ranks));
  std::vector<char> accumulates(at(shape.ranks) * at(stages.size()), 0);  // by rank and part
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    ranks[at(rank)].bytes = base.step.memory_overhead.value();
    for (const auto part : shape.stages_of(rank)) ranks[at(rank)].bytes += stages.of(part).held;
    ranks[at(rank)].most_bytes = ranks[at(rank)].bytes;
  }

  for (const auto& action : sequence.actions) {
    auto& rank = ranks[at(action.rank)];
    const auto& part = stages.of(action.part);
    const auto here = place(action.part, action.microbatch);
    // Of a pair each half waits for its own input, and both compute on one chip.
    const double before = rank.free;
    const bool paired = action.half > 0;
    const double compute_free = paired ? never : before;
    const auto hand_on = [&](std::int32_t next, double ready, std::vector<double>& arrivals) {
      const auto to = shape.rank_of(next, action.microbatch);
      arrivals[place(next, action.microbatch)] = ready + (to == action.rank ? 0 : send(action.rank, to, stages.of(std::max(next, action.part)).sent));
    };
    switch (action.work) {
      case PipelineWork::forward: {
        const auto after = part.forward.after({compute_free, arrival_[here]});
        rank.free = paired ? std::max(before + part.forward_compute, after.free) : after.free;
        if (action.part + 1 < stages.size()) {
          hand_on(action.part + 1, after.data, arrival_);
        } else {
          drain_[here] = after.data;
        }
        rank.bytes += part.kept;
        break;
      }
      case PipelineWork::backward: {
        const auto after = part.backward.after({compute_free, drain_[here]});
        rank.free = paired ? std::max(before + part.backward_compute, after.free) : after.free;
        if (action.part > 0) {
          const bool sends = shape.rank_of(action.part - 1, action.microbatch) != action.rank;
          hand_on(action.part - 1, sends ? std::max(after.data, after.free) : after.data, drain_);  // whole before anything is sent
        }
        rank.bytes -= part.kept;
        break;
      }
      case PipelineWork::input_gradient: {
        const auto after = part.input_gradient.after({compute_free, drain_[here]});
        rank.free = paired ? std::max(before, after.free) : after.free;
        if (action.part > 0) hand_on(action.part - 1, after.data, drain_);
        rank.bytes -= part.kept;
        break;
      }
      case PipelineWork::weight_gradient: rank.free += part.weight_gradient.free_free; break;
    }
    if (action.work == PipelineWork::backward || action.work == PipelineWork::weight_gradient) {
      if (!paired && !overlaps) {
        const bool whole = action.work == PipelineWork::backward;
        rank.reduced = action.last ? reduced(part, {before, whole ? drain_[here] : never}, whole, rank.reduced) : std::max(rank.reduced, before) + part.reduced_each;
      }
      auto& known = accumulates[at(action.rank) * at(stages.size()) + at(action.part)];
      if (known == 0) rank.bytes += part.gradients;
      known = 1;
    }
    if (action.half != 1) rank.most_bytes = std::max(rank.most_bytes, rank.bytes);
  }

  Floor floor;
  double before_barrier = 0, after_barrier = 0;
  for (std::int32_t rank = 0; rank < shape.ranks; ++rank) {
    const auto& own = ranks[at(rank)];
    floor.bytes = std::max(floor.bytes, own.most_bytes);
    before_barrier = std::max({before_barrier, own.free, own.reduced});
    after_barrier = std::max(after_barrier, published(shape.stages_of(rank), stages));
  }
  floor.seconds = before_barrier + base.step.step_overhead.value();
  if (base.step.optimizer_barrier) floor.seconds += (shape.ranks > 1 ? prices_.norm_over_stages : 0) + after_barrier;
  return floor;
}

/// Block by block: the gradients of each are reduced after its backward and after those before it.
double PlanFloors::reduced(const Part& part, Front front, bool whole, double stream) const {
  for (int block = part.blocks.last; block > part.blocks.first; --block) {
    const auto& kind = kinds_[at(space_.kinds()[at(block - 1)])];
    stream = std::max(stream, front.free) + kind.reduced;
    if (whole) {
      front = kind.backward.after(front);
    } else {
      front.free += kind.weight_gradient.free_free;
    }
  }
  return stream;
}

/// From the barrier on: block by block the update, then its weights to where they are stored.
double PlanFloors::published(const std::vector<std::int32_t>& own, const Parts& stages) const {
  double free = 0, stream = 0;
  for (const auto number : own) {
    const auto& part = stages.of(number);
    for (int block = part.blocks.first; block < part.blocks.last; ++block) {
      const auto number_of_kind = at(space_.kinds()[at(block)]);
      free += sketch_.state.kinds[number_of_kind].update;
      stream = std::max(stream, free) + kinds_[number_of_kind].published_along_data;
    }
  }
  return std::max(free, stream);
}

}  // namespace lockstep
