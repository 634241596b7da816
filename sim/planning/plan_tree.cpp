#include "sim/planning/plan_tree.hpp"

#include <algorithm>
#include <tuple>

namespace lockstep {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order than the engine's
constexpr std::size_t most_known = 20'000;

template <class Known>
void make_room(Known& known) {
  if (known.size() > most_known) known.clear();
}

}  // namespace

bool goes_first(const PlanBranch& a, const PlanBranch& b) {
  return std::tie(a.floor_s, a.choice, a.level) < std::tie(b.floor_s, b.choice, b.level);
}

/// The passes of the largest microbatches, with the least recomputation, shared out evenly: more and smaller microbatches take
/// no less, since k times the time of a k-th is never below the time of the whole.
PlanBranch PlanTree::root(std::int32_t number) {
  const auto& node = node_at(number);
  PlanBranch branch{0, PlanBranch::Level::degrees, {}, number, node.plans};
  branch.choice.degrees = node.degrees;
  const auto most = static_cast<double>(node.microbatches.front());
  auto largest = branch.choice;
  largest.microbatches = node.microbatches.front();
  largest.recompute = space_.least_recomputation();
  const auto& sketch = lightest_passes(node, largest);
  const auto& passes = at_least(least_passes_, number, sketch);
  const auto& schedules = space_.base().search.schedules;
  const bool overlaps = node.degrees.pipeline > 1 && std::any_of(schedules.begin(), schedules.end(), [](const auto& name) { return find_schedule(name)->overlaps; });
  double work = 0;
  for (const int kind : space_.kinds()) {
    const auto& timed = passes.kinds[static_cast<std::size_t>(kind)];
    const auto& block = sketch.kinds[static_cast<std::size_t>(kind)];
    const auto backward = std::min(timed.backward.path.free_free, timed.input_gradient.path.free_free + timed.weight_gradient.path.free_free);
    work += overlaps ? block.forward.compute + block.backward.compute : timed.forward.path.free_free + backward;
  }
  branch.floor_s = work * most / node.degrees.pipeline * rounding;
  ++floors_;
  return branch;
}

PlanTree::Branches PlanTree::below(const PlanBranch& branch) {
  make_room();
  Branches result;
  switch (branch.level) {
    case PlanBranch::Level::degrees: tokens_of(branch, result); break;
    case PlanBranch::Level::tokens: steps_of(branch, result); break;
    case PlanBranch::Level::step: priced_of(branch, result); break;
    case PlanBranch::Level::priced: plans_of(branch, result); break;
    case PlanBranch::Level::plan: break;
  }
  return result;
}

void PlanTree::take(PlanBranch branch, const Floor& floor, double above, Branches& result) {
  ++floors_;
  if (floor.bytes > space_.memory().value()) {
    result.too_large += branch.plans;
    return;
  }
  branch.floor_s = std::max(above, floor.seconds * rounding);
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
      branch.plans = std::ssize(space_.schedules(node.degrees.pipeline, microbatches)) * std::ssize(node.placements) * std::ssize(node.zeros);
      if (branch.plans > 0) take(branch, floor_of_tokens(above.node, branch.choice), above.floor_s, result);
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
    take(branch, floor_of_step(above.node, branch.choice), above.floor_s, result);
  }
}

void PlanTree::priced_of(const PlanBranch& above, Branches& result) {
  const auto pipeline = above.choice.degrees.pipeline;
  const auto placed = this->placed(above.node, above.choice);
  std::vector<std::int64_t> alike(placed.alike.first.size(), 0);
  for (const auto set : placed.alike.which) ++alike[static_cast<std::size_t>(set)];
  for (std::size_t set = 0; set < alike.size(); ++set) {
    PlanFloors floors(space_, placed.on(placed.alike.first[set]));
    for (const auto& form : space_.schedule_forms(pipeline, above.choice.microbatches)) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::priced;
      branch.choice.placement = placed.alike.first[set];
      branch.choice.schedule = form.front();
      branch.plans = alike[set] * std::ssize(form);
      take(branch, floors.of(pipeline, above.choice.microbatches, form.front()), above.floor_s, result);
    }
  }
}

void PlanTree::plans_of(const PlanBranch& above, Branches& result) {
  const auto pipeline = above.choice.degrees.pipeline;
  const auto microbatches = above.choice.microbatches;
  const auto placed = this->placed(above.node, above.choice);
  const auto& which = placed.alike.which;
  PlanFloors floors(space_, placed.on(above.choice.placement));
  const auto& forms = space_.schedule_forms(pipeline, microbatches);
  const auto form = std::find_if(forms.begin(), forms.end(), [&](const auto& one) { return one.front() == above.choice.schedule; });
  for (const auto& schedule : *form) {
    const auto floor = floors.in_order(sequences_.sequence(pipeline, microbatches, schedule), schedule);
    for (auto placement = above.choice.placement; placement < std::ssize(which); ++placement) {
      if (which[static_cast<std::size_t>(placement)] != which[static_cast<std::size_t>(above.choice.placement)]) continue;
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::plan;
      branch.choice.placement = placement;
      branch.choice.schedule = schedule;
      branch.plans = 1;
      take(branch, floor, above.floor_s, result);
    }
  }
}

template <class Timed, class Sketch>
const ByPlacement<Timed>& PlanTree::by_placement(Known<ByPlacement<Timed>>& known, std::int32_t node, const Sketch& sketch) {
  const auto [found, is_new] = known.try_emplace({node, &sketch});
  auto& made = found->second;
  if (!is_new) return made;
  auto prices = book_.prices(node, sketch);
  made.which = std::move(prices.which);
  for (const auto& different : prices.different) made.different.push_back(timed(sketch, different));
  return made;
}

template <class Timed, class Sketch>
const Timed& PlanTree::at_least(Known<Timed>& known, std::int32_t node, const Sketch& sketch) {
  const auto [found, is_new] = known.try_emplace({node, &sketch});
  if (is_new) found->second = timed(sketch, book_.least_prices(node, sketch));
  return found->second;
}

void PlanTree::make_room() {
  lockstep::make_room(least_passes_);
  lockstep::make_room(least_states_);
  lockstep::make_room(passes_);
  lockstep::make_room(states_);
}

PlanTree::Placed PlanTree::placed(std::int32_t number, const PlanChoice& choice) {
  const auto& node = node_at(number);
  const auto& sketch = sketches_.passes(choice);
  Placed made{sketch, by_placement(passes_, number, sketch), by_placement(states_, number, sketches_.state(choice)), {}, book_.stages(number), PlacementSets(node.placements.size())};
  if (node.degrees.pipeline > 1) {
    const auto norms = book_.prices(number, sketches_.norm_over_stages());
    for (const auto which : norms.which) made.norms.push_back(norms.different[static_cast<std::size_t>(which)].front());
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
const PassesSketch& PlanTree::lightest_passes(const Node& node, PlanChoice choice) {
  choice.zero = node.zeros.front();
  const auto& first = sketches_.passes(choice);
  for (const auto zero : node.zeros) {
    choice.zero = zero;
    if (&sketches_.passes(choice) == &first) continue;
    choice.zero = 2;
    return sketches_.passes(choice);
  }
  return first;
}

/// Of everything that the ZeRO stage decides, the least.
Floor PlanTree::floor_of_tokens(std::int32_t number, const PlanChoice& choice) {
  const auto& node = node_at(number);
  auto any = choice;
  any.zero = node.zeros.front();
  auto state = at_least(least_states_, number, sketches_.state(any));
  for (const auto zero : node.zeros) {
    any.zero = zero;
    state = least(state, at_least(least_states_, number, sketches_.state(any)));
  }
  const auto& sketch = lightest_passes(node, choice);
  return PlanFloors(space_, {sketch, at_least(least_passes_, number, sketch), state, least_norm(number), nullptr}).of(node.degrees.pipeline, choice.microbatches);
}

Floor PlanTree::floor_of_step(std::int32_t number, const PlanChoice& choice) {
  const auto& sketch = sketches_.passes(choice);
  const PlanParts parts{sketch, at_least(least_passes_, number, sketch), at_least(least_states_, number, sketches_.state(choice)), least_norm(number), nullptr};
  return PlanFloors(space_, parts).of(choice.degrees.pipeline, choice.microbatches);
}

std::vector<Floor> PlanTree::floors_of(const PlanChoice& choice) {
  const auto pipeline = choice.degrees.pipeline;
  const auto number = static_cast<std::int32_t>(&space_.node_of(choice) - space_.nodes().data());
  const auto placed = this->placed(number, choice);
  PlanFloors floors(space_, placed.on(choice.placement));
  return {{root(number).floor_s, 0},
          floor_of_tokens(number, choice),
          floor_of_step(number, choice),
          floors.of(pipeline, choice.microbatches, choice.schedule),
          floors.in_order(sequences_.sequence(pipeline, choice.microbatches, choice.schedule), choice.schedule)};
}

}  // namespace lockstep
