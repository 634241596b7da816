#include "sim/studies/planning/summary_book.hpp"

#include <algorithm>
#include <cmath>

#include "sim/preparation/documents.hpp"

namespace lockstep::planning {
namespace {

std::int32_t smallest_factor(std::int32_t number) {
  for (std::int32_t factor = 2; factor * factor <= number; ++factor) {
    if (number % factor == 0) return factor;
  }
  return number;
}

}  // namespace

SummaryBook::SummaryBook(const PlanSpace& space) : space_(space) {
  number(norm_over_stages_);
  if (!space.base().lengths.documents.empty()) documents_ = preparation::documents_of_step(space.base());
}

void SummaryBook::leave_least_attention(workloads::ShardedLayers& layers) const {
  if (documents_.empty()) return;
  for (auto& layer : layers) {
    for (auto* pass : {&layer.forward, &layer.backward}) {
      for (auto& step : *pass) {
        if (!step.attends) continue;
        const double least = preparation::least_attended(space_.base(), documents_, *step.attends);
        step.flops = step.flops * least;
        // Rounded up, since a kernel with fewer keys takes longer for each.
        step.shape.k = static_cast<std::int64_t>(std::ceil(static_cast<double>(step.shape.k) * least));
      }
    }
  }
}

const PassesSummary& SummaryBook::passes(const PlanChoice& choice) {
  const auto& degrees = choice.degrees;
  const auto sequences = this->sequences(choice);
  PlanChoice like = choice;
  like.degrees.data = smallest_factor(degrees.data);
  like.degrees.pipeline = 1;
  // Adds up gradients of weights, or reduces them every time; those of experts that no other rank has are added up.
  const bool adds_up_of_experts = choice.zero >= 2 && degrees.data == 1 && degrees.expert > 1;
  like.microbatches = choice.microbatches > 1 && (choice.zero < 2 || adds_up_of_experts) ? 2 : 1;
  like.zero = choice.zero == 3 ? 3 : adds_up_of_experts && like.microbatches > 1 ? 2 : 0;  // gathers weights or not
  const auto summary_of = [&](std::int32_t zero) -> PassesSummary& {
    return passes_[{like.degrees, zero, like.recompute, sequences, like.microbatches}];
  };
  auto& known = summary_of(like.zero);
  if (!known.kinds.empty()) return known;
  // Passes that gather weights and those that do not, from one derivation where both are allowed.
  const auto& zeros = space_.base().search.zero;
  const bool replicated = like.degrees.data * like.degrees.context * like.degrees.expert > 1;
  const bool both = like.microbatches == 1 && replicated && std::find(zeros.begin(), zeros.end(), 3) != zeros.end();
  if (both) like.zero = 3;
  const auto scenario = space_.scenario(like, sequences * like.degrees.data * like.degrees.expert * like.microbatches);
  auto model = preparation::sharded_model(scenario);
  leave_least_attention(model.layers);
  const auto fill = [&](std::int32_t zero, WeightGathers gathers) {
    auto& summary = summary_of(zero);
    summary = summarize_passes(scenario, model, gathers);
    number(summary);
  };
  fill(like.zero, WeightGathers::counted);
  if (both) fill(0, WeightGathers::left_out);
  return known;
}

StateSummary SummaryBook::state(const PlanChoice& choice, std::int64_t sequences) {
  PlanChoice like{choice.degrees, choice.zero, space_.least_recomputation(), 1, 0, {}};
  like.degrees.pipeline = 1;
  const auto scenario = space_.scenario(like, sequences * choice.degrees.data * choice.degrees.expert);
  auto made = summarize_state(scenario, preparation::sharded_weights(scenario));
  number(made);
  return made;
}

const StateSummary& SummaryBook::state(const PlanChoice& choice) {
  auto axes = choice.degrees;
  axes.pipeline = 1;
  auto& states = states_[{axes, choice.zero}];
  const auto add = [&](std::int64_t sequences) {
    const auto place = states.lower_bound(sequences);
    if (place != states.end() && place->first == sequences) return;
    auto made = std::make_shared<const StateSummary>(state(choice, sequences));
    for (const auto& [other, known] : states) {
      if (*known == *made) made = known;
    }
    states.emplace_hint(place, sequences, std::move(made));
  };
  if (states.empty()) {
    PlanChoice most = choice;
    most.microbatches = 1;
    add(sequences(most));
    add(1);
  }
  const auto own = sequences(choice);
  const auto more = states.lower_bound(own);
  if (more->first != own && std::prev(more)->second != more->second) add(own);
  return *states.lower_bound(own)->second;
}

void SummaryBook::number(CollectiveList& list) {
  for (const auto& one : list.collectives) {
    const auto& copies = one.copies;
    list.numbers.push_back(
        numbers_
            .try_emplace({one.kind, one.axes, one.size.value(), copies.each, copies.groups, copies.groups_per_token},
                         static_cast<std::int32_t>(numbers_.size()))
            .first->second);
  }
}

std::int64_t SummaryBook::sequences(const PlanChoice& choice) const {
  return space_.base().batch.sequences / (std::int64_t{choice.degrees.data} * choice.degrees.expert) /
         choice.microbatches;
}

}  // namespace lockstep::planning
