#include "sim/planning/plan_tree.hpp"

#include <algorithm>
#include <tuple>

namespace lockstep {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order than the engine's

const std::vector<PricedCollective> sum_over_stages{{CollectiveKind::all_reduce, 1U << pipeline_axis_number, Bytes(4), {}}};

}  // namespace

bool goes_first(const PlanBranch& a, const PlanBranch& b) {
  return std::tie(a.floor_s, a.choice, a.level) < std::tie(b.floor_s, b.choice, b.level);
}

PlanTree::Branches PlanTree::roots() {
  Branches result;
  for (std::size_t node = 0; node < space_.nodes().size(); ++node) result.branches.push_back(root(node));
  return result;
}

/// The passes of the largest microbatches, with the least recomputation, shared out evenly: more and smaller microbatches take
/// no less, since k times the time of a k-th is never below the time of the whole.
PlanBranch PlanTree::root(std::size_t number) {
  const auto& node = space_.nodes()[number];
  PlanBranch branch{0, PlanBranch::Level::degrees, {}, static_cast<std::int32_t>(number), node.plans};
  branch.choice.degrees = node.degrees;
  const auto most = static_cast<double>(node.microbatches.front());
  auto largest = branch.choice;
  largest.microbatches = node.microbatches.front();
  largest.recompute = space_.least_recomputation();
  const auto& passes = sketches_.passes(largest);
  const auto prices = book_.least_prices(node, passes.collectives);
  const auto& schedules = space_.base().search.schedules;
  const bool overlaps = node.degrees.pipeline > 1 && std::any_of(schedules.begin(), schedules.end(), [](const auto& name) { return find_schedule(name)->overlaps; });
  double work = 0;
  std::vector<double> of_kind;
  for (const auto& kind : passes.kinds) {
    const auto backward = std::min(path_of(kind.backward, prices).free_free, path_of(kind.input_gradient, prices).free_free + path_of(kind.weight_gradient, prices).free_free);
    of_kind.push_back(overlaps ? kind.forward.compute + kind.backward.compute : path_of(kind.forward, prices).free_free + backward);
  }
  for (const int kind : space_.kinds()) work += of_kind[static_cast<std::size_t>(kind)];
  branch.floor_s = work * most / node.degrees.pipeline * rounding;
  ++floors_;
  return branch;
}

PlanTree::Branches PlanTree::below(const PlanBranch& branch) {
  Branches result;
  switch (branch.level) {
    case PlanBranch::Level::degrees: steps_of(branch, result); break;
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

void PlanTree::steps_of(const PlanBranch& above, Branches& result) {
  const auto& node = space_.nodes()[static_cast<std::size_t>(above.node)];
  for (const auto zero : node.zeros) {
    for (std::int32_t recompute = 0; recompute < std::ssize(space_.recomputations()); ++recompute) {
      for (const auto microbatches : node.microbatches) {
        PlanBranch branch = above;
        branch.level = PlanBranch::Level::step;
        branch.choice.zero = zero;
        branch.choice.recompute = recompute;
        branch.choice.microbatches = microbatches;
        branch.plans = std::ssize(space_.schedules(node.degrees.pipeline, microbatches)) * std::ssize(node.placements);
        if (branch.plans == 0) continue;
        take(branch, floor_of_step(node, branch.choice), above.floor_s, result);
      }
    }
  }
}

void PlanTree::priced_of(const PlanBranch& above, Branches& result) {
  const auto& node = space_.nodes()[static_cast<std::size_t>(above.node)];
  const auto sketched = sketch(above.choice);
  for (const auto& priced : priced_placements(node, sketched)) {
    PlanFloors floors(space_, sketched, priced.prices);
    for (const auto& schedule : space_.schedules(node.degrees.pipeline, above.choice.microbatches)) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::priced;
      branch.choice.placement = priced.placements.front();
      branch.choice.schedule = schedule;
      branch.plans = std::ssize(priced.placements);
      take(branch, floors.of(node.degrees.pipeline, above.choice.microbatches, schedule), above.floor_s, result);
    }
  }
}

void PlanTree::plans_of(const PlanBranch& above, Branches& result) {
  const auto& node = space_.nodes()[static_cast<std::size_t>(above.node)];
  const auto sketched = sketch(above.choice);
  for (const auto& priced : priced_placements(node, sketched)) {
    if (priced.placements.front() != above.choice.placement) continue;
    PlanFloors floors(space_, sketched, priced.prices);
    const auto floor = floors.in_order(sequences_.sequence(node.degrees.pipeline, above.choice.microbatches, above.choice.schedule), above.choice.schedule);
    for (const auto placement : priced.placements) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::plan;
      branch.choice.placement = placement;
      branch.plans = 1;
      take(branch, floor, above.floor_s, result);
    }
  }
}

PlanPrices PlanTree::prices(const Node& node, std::size_t placement, const PlanSketch& sketch) {
  return {book_.prices(node, placement, sketch.passes.collectives), book_.prices(node, placement, sketch.state.collectives),
          node.degrees.pipeline > 1 ? book_.prices(node, placement, sum_over_stages).front() : 0, book_.stages(node, placement)};
}

std::vector<PlanTree::Priced> PlanTree::priced_placements(const Node& node, const PlanSketch& sketch) {
  std::vector<Priced> result;
  for (std::size_t placement = 0; placement < node.placements.size(); ++placement) {
    auto own = prices(node, placement, sketch);
    auto same = std::find_if(result.begin(), result.end(), [&](const auto& one) { return one.prices == own; });
    if (same == result.end()) same = result.insert(result.end(), {std::move(own), {}});
    same->placements.push_back(static_cast<std::int32_t>(placement));
  }
  return result;
}

Floor PlanTree::floor_of_step(const Node& node, const PlanChoice& choice) {
  const auto sketched = sketch(choice);
  const PlanPrices least{book_.least_prices(node, sketched.passes.collectives), book_.least_prices(node, sketched.state.collectives),
                         node.degrees.pipeline > 1 ? book_.least_prices(node, sum_over_stages).front() : 0, nullptr};
  return PlanFloors(space_, sketched, least).of(node.degrees.pipeline, choice.microbatches);
}

std::vector<Floor> PlanTree::floors_of(const PlanChoice& choice) {
  const auto& node = space_.node_of(choice);
  const auto sketched = sketch(choice);
  const auto own = prices(node, static_cast<std::size_t>(choice.placement), sketched);
  PlanFloors floors(space_, sketched, own);
  return {{root(static_cast<std::size_t>(&node - space_.nodes().data())).floor_s, 0},
          floor_of_step(node, choice),
          floors.of(node.degrees.pipeline, choice.microbatches, choice.schedule),
          floors.in_order(sequences_.sequence(node.degrees.pipeline, choice.microbatches, choice.schedule), choice.schedule)};
}

}  // namespace lockstep
