#include "sim/studies/planning/plan_tree.hpp"

#include <algorithm>
#include <tuple>

namespace lockstep::planning {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order than the engine's
constexpr std::size_t most_known = 20'000;

template <class Known>
void make_room(Known& known) {
  if (known.size() > most_known) known.clear();
}

/// For how long the forwards and input gradients of a model occupy the communication stream that is busy longest. Their
/// collectives are the same for every number of tokens; those of weight gradients depend on it (SummaryBook::state).
double longest_stream(const std::vector<int>& order, const PassesSummary& summary, const CollectiveCosts& costs) {
  BusyStreams busy{};
  for (const int kind : order) {
    const auto& block = summary.kinds[position_of(kind)];
    for (const auto* pass : {&block.forward, &block.input_gradient}) occupy(busy, *pass, summary, costs);
  }
  return *std::max_element(busy.begin(), busy.end());
}

}  // namespace

bool goes_first(const PlanBranch& a, const PlanBranch& b) {
  return std::tie(a.bound_s, a.choice, a.level) < std::tie(b.bound_s, b.choice, b.level);
}

/// The branch of a node. Its bound divides the passes of the largest microbatches, with the least recomputation, evenly
/// over the pipeline, and with them what their collectives occupy. Smaller microbatches take no less time: k times a
/// k-th of the work takes at least as long as the whole. All stages together keep their streams busy for a sum of
/// times, so some stage's stream is busy for an even share of it or longer.
PlanBranch PlanTree::root(std::int32_t number) {
  const auto& node = node_at(number);
  PlanBranch branch{0, PlanBranch::Level::degrees, {}, number, node.plans, 0};
  branch.choice.degrees = node.degrees;
  const auto most = static_cast<double>(node.microbatches.front());
  auto largest = branch.choice;
  largest.microbatches = node.microbatches.front();
  largest.recompute = space_.least_recomputation();
  const auto& summary = lightest_passes(node, largest);
  const auto& passes = at_least(least_passes_, number, summary);
  const auto& schedules = space_.base().search.schedules;
  const bool overlaps = node.degrees.pipeline > 1 &&
                        std::any_of(schedules.begin(), schedules.end(),
                                    [](const auto& name) { return workloads::find_schedule(name)->overlaps; });
  double work = 0, compute = 0;
  for (const int kind : space_.kinds()) {
    const auto& timed = passes.kinds[position_of(kind)];
    const auto& block = summary.kinds[position_of(kind)];
    const auto backward = std::min(timed.backward.path.free_free,
                                   timed.input_gradient.path.free_free + timed.weight_gradient.path.free_free);
    compute += block.forward.compute + block.backward.compute;
    work += overlaps ? block.forward.compute + block.backward.compute : timed.forward.path.free_free + backward;
  }
  const double busy = longest_stream(space_.kinds(), summary, book_.least_costs(number, summary));
  branch.bound_s = std::max({work, busy, compute + space_.lost_beside_collectives() * busy}) * most /
                   node.degrees.pipeline * rounding;
  ++bounds_;
  return branch;
}

PlanTree::Branches PlanTree::below(const PlanBranch& branch) {
  make_room();
  Branches result;
  switch (branch.level) {
    case PlanBranch::Level::degrees: tokens_of(branch, result); break;
    case PlanBranch::Level::tokens: steps_of(branch, result); break;
    case PlanBranch::Level::step: cost_classes_of(branch, result); break;
    case PlanBranch::Level::cost_class: plans_of(branch, result); break;
    case PlanBranch::Level::plan: break;
  }
  return result;
}

void PlanTree::take(PlanBranch branch, const LowerBound& bound, double above, Branches& result) {
  ++bounds_;
  if (bound.bytes > space_.memory().value()) {
    result.too_large += branch.plans;
    return;
  }
  branch.bound_s = std::max(above, bound.seconds * rounding);
  branch.bytes = bound.bytes;
  result.branches.push_back(branch);
}

void PlanTree::tokens_of(const PlanBranch& above, Branches& result) {
  const auto& node = node_at(above.node);
  for (std::int32_t recompute = 0; recompute < std::ssize(space_.recomputations()); ++recompute) {
    for (const auto microbatches : node.microbatches) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::tokens;
      branch.choice.recompute = recompute;
      branch.choice.microbatches = microbatches;
      branch.plans = std::ssize(space_.schedules(node.degrees.pipeline, microbatches)) * std::ssize(node.placements) *
                     std::ssize(node.zeros);
      if (branch.plans > 0) take(branch, bound_of_tokens(above.node, branch.choice), above.bound_s, result);
    }
  }
}

void PlanTree::steps_of(const PlanBranch& above, Branches& result) {
  const auto& node = node_at(above.node);
  for (const auto zero : node.zeros) {
    PlanBranch branch = above;
    branch.level = PlanBranch::Level::step;
    branch.choice.zero = zero;
    branch.plans = above.plans / std::ssize(node.zeros);
    take(branch, bound_of_step(above.node, branch.choice), above.bound_s, result);
  }
}

void PlanTree::cost_classes_of(const PlanBranch& above, Branches& result) {
  const auto pipeline = above.choice.degrees.pipeline;
  const auto placed = this->placed(above.node, above.choice);
  std::vector<std::int64_t> alike(placed.alike.first.size(), 0);
  for (const auto set : placed.alike.which) ++alike[position_of(set)];
  for (std::size_t set = 0; set < alike.size(); ++set) {
    PlanBounds bounds(space_, placed.on(placed.alike.first[set]));
    for (const auto& form : space_.schedule_forms(pipeline, above.choice.microbatches)) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::cost_class;
      branch.choice.placement = placed.alike.first[set];
      branch.choice.schedule = form.front();
      branch.plans = alike[set] * std::ssize(form);
      take(branch, bounds.of(pipeline, above.choice.microbatches, form.front()), above.bound_s, result);
    }
  }
}

void PlanTree::plans_of(const PlanBranch& above, Branches& result) {
  const auto pipeline = above.choice.degrees.pipeline;
  const auto microbatches = above.choice.microbatches;
  const auto placed = this->placed(above.node, above.choice);
  const auto& which = placed.alike.which;
  PlanBounds bounds(space_, placed.on(above.choice.placement));
  const auto& forms = space_.schedule_forms(pipeline, microbatches);
  const auto form =
      std::find_if(forms.begin(), forms.end(), [&](const auto& one) { return one.front() == above.choice.schedule; });
  for (const auto& schedule : *form) {
    const auto bound = bound_of_order(bounds, pipeline, microbatches, schedule);
    for (auto placement = above.choice.placement; placement < std::ssize(which); ++placement) {
      if (which[position_of(placement)] != which[position_of(above.choice.placement)]) continue;
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::plan;
      branch.choice.placement = placement;
      branch.choice.schedule = schedule;
      branch.plans = 1;
      take(branch, bound, above.bound_s, result);
    }
  }
}

/// A design's order follows the times of its plan, so it has the bound of every order.
LowerBound PlanTree::bound_of_order(PlanBounds& bounds, std::int32_t pipeline, std::int64_t microbatches,
                                    const ScheduleChoice& schedule) {
  if (space_.schedule(schedule).designs) return bounds.of(pipeline, microbatches, schedule);
  return bounds.in_order(sequences_.sequence(pipeline, microbatches, schedule), schedule);
}

template <class Timed, class Summary>
const ByPlacement<Timed>& PlanTree::by_placement(Known<ByPlacement<Timed>>& known, std::int32_t node,
                                                 const Summary& summary) {
  const auto [found, is_new] = known.try_emplace({node, &summary});
  auto& made = found->second;
  if (!is_new) return made;
  auto costs = book_.costs(node, summary);
  made.which = std::move(costs.which);
  for (const auto& different : costs.different) made.different.push_back(timed(summary, different));
  return made;
}

template <class Timed, class Summary>
const Timed& PlanTree::at_least(Known<Timed>& known, std::int32_t node, const Summary& summary) {
  const auto [found, is_new] = known.try_emplace({node, &summary});
  if (is_new) found->second = timed(summary, book_.least_costs(node, summary));
  return found->second;
}

void PlanTree::make_room() {
  planning::make_room(least_passes_);
  planning::make_room(least_states_);
  planning::make_room(passes_);
  planning::make_room(states_);
}

PlanTree::Placed PlanTree::placed(std::int32_t number, const PlanChoice& choice) {
  const auto& node = node_at(number);
  const auto& summary = summaries_.passes(choice);
  Placed made{summary,
              by_placement(passes_, number, summary),
              by_placement(states_, number, summaries_.state(choice)),
              {},
              book_.stages(number),
              PlacementSets(node.placements.size())};
  if (node.degrees.pipeline > 1) {
    const auto norms = book_.costs(number, summaries_.norm_over_stages());
    for (const auto which : norms.which) made.norms.push_back(norms.different[position_of(which)].alone.front());
    made.alike.tell_apart(norms.which, norms.different.size());
  } else {
    made.norms.assign(node.placements.size(), 0);
  }
  made.alike.tell_apart(made.passes.which, made.passes.different.size());
  made.alike.tell_apart(made.states.which, made.states.different.size());
  made.alike.tell_apart(made.stages.which, made.stages.different.size());
  return made;
}

/// Passes of ZeRO-2 neither wait for weights nor add up gradients, so they take and hold no more than any others.
const PassesSummary& PlanTree::lightest_passes(const Node& node, PlanChoice choice) {
  choice.zero = node.zeros.front();
  const auto& first = summaries_.passes(choice);
  for (const auto zero : node.zeros) {
    choice.zero = zero;
    if (&summaries_.passes(choice) == &first) continue;
    choice.zero = 2;
    return summaries_.passes(choice);
  }
  return first;
}

/// The bound takes the least of everything that depends on the ZeRO stage.
LowerBound PlanTree::bound_of_tokens(std::int32_t number, const PlanChoice& choice) {
  const auto& node = node_at(number);
  auto any = choice;
  any.zero = node.zeros.front();
  auto state = at_least(least_states_, number, summaries_.state(any));
  for (const auto zero : node.zeros) {
    any.zero = zero;
    state = least(state, at_least(least_states_, number, summaries_.state(any)));
  }
  const auto& summary = lightest_passes(node, choice);
  return PlanBounds(space_, {summary, at_least(least_passes_, number, summary), state, least_norm(number), nullptr})
      .of(node.degrees.pipeline, choice.microbatches);
}

LowerBound PlanTree::bound_of_step(std::int32_t number, const PlanChoice& choice) {
  const auto& summary = summaries_.passes(choice);
  const PlanParts parts{summary, at_least(least_passes_, number, summary),
                        at_least(least_states_, number, summaries_.state(choice)), least_norm(number), nullptr};
  return PlanBounds(space_, parts).of(choice.degrees.pipeline, choice.microbatches);
}

std::vector<LowerBound> PlanTree::bounds_of(const PlanChoice& choice) {
  const auto pipeline = choice.degrees.pipeline;
  const auto number = static_cast<std::int32_t>(&space_.node_of(choice) - space_.nodes().data());
  const auto placed = this->placed(number, choice);
  PlanBounds bounds(space_, placed.on(choice.placement));
  return {{root(number).bound_s, 0},
          bound_of_tokens(number, choice),
          bound_of_step(number, choice),
          bounds.of(pipeline, choice.microbatches, choice.schedule),
          bound_of_order(bounds, pipeline, choice.microbatches, choice.schedule)};
}

}  // namespace lockstep::planning
