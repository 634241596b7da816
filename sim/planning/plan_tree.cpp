#include "sim/planning/plan_tree.hpp"

#include <algorithm>
#include <tuple>

#include "sim/simulate.hpp"

namespace lockstep {
namespace {

constexpr double rounding = 1 - 1e-9;  // sums in another order than the engine's

}  // namespace

bool goes_first(const PlanBranch& a, const PlanBranch& b) {
  return std::tie(a.floor_s, a.choice, a.level) < std::tie(b.floor_s, b.choice, b.level);
}

PlanTree::Branches PlanTree::roots() {
  Branches result;
  for (std::size_t node = 0; node < space_.nodes().size(); ++node) result.branches.push_back(root(node));
  return result;
}

/// The passes of the largest microbatches, without recomputation, shared out evenly: more and smaller microbatches take no
/// less, since k times the time of a k-th is never below the time of the whole.
PlanBranch PlanTree::root(std::size_t number) {
  const auto& node = space_.nodes()[number];
  PlanBranch branch{0, PlanBranch::Level::degrees, {}, static_cast<std::int32_t>(number), node.plans};
  branch.choice.degrees = node.degrees;
  branch.choice.microbatches = node.microbatches.front();
  auto largest = space_.scenario(node, branch.choice, false);
  largest.derive.recompute = {};
  const auto sketch = sketch_of(largest, derive_blocks(largest));
  const auto prices = book_.least_prices(node, sketch);
  const auto& schedules = space_.base().search.schedules;
  const bool overlaps = node.degrees.pipeline > 1 && std::any_of(schedules.begin(), schedules.end(), [](const auto& name) { return find_schedule(name)->overlaps; });
  double work = 0;
  std::vector<double> of_kind;
  for (const auto& kind : sketch.kinds) {
    const auto backward = std::min(path_of(kind.backward, prices).free_free, path_of(kind.input_gradient, prices).free_free + path_of(kind.weight_gradient, prices).free_free);
    of_kind.push_back(overlaps ? kind.forward.compute + kind.backward.compute : path_of(kind.forward, prices).free_free + backward);
  }
  for (const int kind : sketch.order) work += of_kind[static_cast<std::size_t>(kind)];
  branch.floor_s = work * static_cast<double>(branch.choice.microbatches) / node.degrees.pipeline * rounding;
  branch.choice.microbatches = 1;
  ++floors_;
  return branch;
}

PlanTree::Branches PlanTree::below(const PlanBranch& branch) {
  Branches result;
  if (branch.level == PlanBranch::Level::degrees) {
    steps_of(branch, result);
  } else {
    plans_of(branch, result);
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

void PlanTree::plans_of(const PlanBranch& above, Branches& result) {
  const auto& node = space_.nodes()[static_cast<std::size_t>(above.node)];
  const auto sketched = sketch(node, above.choice);
  for (std::size_t placement = 0; placement < node.placements.size(); ++placement) {
    auto floors = floors_on(node, placement, sketched);
    for (const auto& schedule : space_.schedules(node.degrees.pipeline, above.choice.microbatches)) {
      PlanBranch branch = above;
      branch.level = PlanBranch::Level::plan;
      branch.choice.placement = static_cast<std::int32_t>(placement);
      branch.choice.schedule = schedule;
      branch.plans = 1;
      take(branch, floors.of(node.degrees.pipeline, above.choice.microbatches, schedule, true), above.floor_s, result);
    }
  }
}

Floor PlanTree::floor_of_step(const PlanSpace::Node& node, const PlanChoice& choice) {
  const auto sketched = sketch(node, choice);
  return PlanFloors(space_, sketched, book_.least_prices(node, sketched), norm_over_stages(node, std::nullopt), nullptr).of(node.degrees.pipeline, choice.microbatches);
}

PlanFloors PlanTree::floors_on(const PlanSpace::Node& node, std::size_t placement, const PlanSketch& sketched) {
  const auto* routes = node.degrees.pipeline > 1 ? &book_.routes(node, placement) : nullptr;
  return {space_, sketched, book_.prices(node, placement, sketched), norm_over_stages(node, placement), routes};
}

std::vector<Floor> PlanTree::floors_of(const PlanChoice& choice) {
  const auto& node = space_.node_of(choice);
  const auto sketched = sketch(node, choice);
  return {{root(static_cast<std::size_t>(&node - space_.nodes().data())).floor_s, 0},
          floor_of_step(node, choice),
          floors_on(node, static_cast<std::size_t>(choice.placement), sketched).of(node.degrees.pipeline, choice.microbatches, choice.schedule, true)};
}

PlanSketch PlanTree::sketch(const PlanSpace::Node& node, const PlanChoice& choice) const {
  const auto scenario = space_.scenario(node, choice, false);
  return sketch_of(scenario, derive_blocks(scenario));
}

double PlanTree::norm_over_stages(const PlanSpace::Node& node, std::optional<std::size_t> placement) {
  if (node.degrees.pipeline == 1) return 0;
  PlanSketch one;
  one.collectives.push_back({CollectiveKind::all_reduce, 1U << pipeline_axis_number, Bytes(4), {}});
  return placement ? book_.price(node, *placement, one.collectives.front()) : book_.least_prices(node, one).front();
}

}  // namespace lockstep
