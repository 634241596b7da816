#include "sim/planning/sketch_book.hpp"

namespace lockstep {
namespace {

std::int32_t smallest_factor(std::int32_t number) {
  for (std::int32_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

}  // namespace

const PassesSketch& SketchBook::passes(const PlanChoice& choice) {
  const auto& degrees = choice.degrees;
  const bool gathers = choice.zero == 3;
  const auto sequences = this->sequences(choice);
  PlanChoice like = choice;
  like.degrees.data = smallest_factor(degrees.data);
  like.degrees.pipeline = 1;
  like.microbatches = choice.microbatches > 1 ? 2 : 1;  // several add up their weight gradients
  like.zero = gathers ? 3 : choice.zero == 2 && like.microbatches > 1 ? 2 : 0;  // gradients reduced every time are not added up
  const auto [known, is_new] = passes_.try_emplace({like.degrees, like.zero, like.recompute, sequences, like.microbatches});
  if (is_new) {
    const auto scenario = space_.scenario(like, sequences * like.degrees.data * like.degrees.expert * like.microbatches);
    known->second = sketch_passes(scenario, derive_blocks(scenario));
  }
  return known->second;
}

StateSketch SketchBook::state(const PlanChoice& choice, std::int64_t sequences) const {
  PlanChoice like{choice.degrees, choice.zero, space_.least_recomputation(), 1, 0, {}};
  like.degrees.pipeline = 1;
  const auto scenario = space_.scenario(like, sequences * choice.degrees.data * choice.degrees.expert);
  return sketch_state(scenario, derive_blocks(scenario));
}

const StateSketch& SketchBook::state(const PlanChoice& choice) {
  auto axes = choice.degrees;
  axes.pipeline = 1;
  const auto [known, is_new] = states_.try_emplace({axes, choice.zero});
  auto& states = known->second;
  if (is_new) {
    PlanChoice most = choice;
    most.microbatches = 1;
    states.most = state(choice, sequences(most));
    states.alike = state(choice, 1) == states.most;
  }
  if (states.alike) return states.most;
  const auto own = sequences(choice);
  const auto [other, is_other] = states.others.try_emplace(own);
  if (is_other) other->second = state(choice, own);
  return other->second;
}

std::int64_t SketchBook::sequences(const PlanChoice& choice) const {
  return space_.base().batch.sequences / (std::int64_t{choice.degrees.data} * choice.degrees.expert) / choice.microbatches;
}

}  // namespace lockstep
