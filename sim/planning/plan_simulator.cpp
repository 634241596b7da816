#include "sim/planning/plan_simulator.hpp"

#include <utility>

#include "sim/planning/joined_steps.hpp"
#include "sim/planning/steady_periods.hpp"
#include "sim/program/lower.hpp"
#include "workloads/schedules/verify_order.hpp"

namespace lockstep {
namespace {

constexpr std::size_t most_kept = 64;  // of each kind of thing that plans have in common; neighbours in a search come close together

/// Room for one more.
template <class Map>
void make_room(Map& kept) {
  if (kept.size() >= most_kept) kept.clear();
}

}  // namespace

const PlanSimulator::Placed& PlanSimulator::placed(const PlanSpace::Node& node, const PlanChoice& choice, const Scenario& scenario) {
  const std::tuple key{node.degrees, choice.placement, choice.zero == 3};
  if (const auto known = placed_.find(key); known != placed_.end()) return known->second;
  make_room(placed_);
  auto& made = placed_[key];
  auto axes = std::get<0>(place_as_requested(*cluster_, scenario.mesh));
  made.mesh = std::make_shared<const Mesh>(*cluster_, std::move(axes), "as the plan says");
  made.collectives = std::make_shared<CollectiveModel>(*cluster_, *made.mesh, scenario.collectives);
  return made;
}

const PlanSimulator::Blocks& PlanSimulator::blocks(const PlanChoice& choice, const Scenario& scenario) {
  auto degrees = choice.degrees;
  const std::tuple key{degrees, choice.zero, choice.recompute, choice.microbatches};
  if (const auto known = blocks_.find(key); known != blocks_.end()) return known->second;
  make_room(blocks_);
  auto& made = blocks_[key];
  made.derived = derive_blocks(scenario);
  const auto rates = rates_of(scenario);
  const auto options = step_options(scenario, made.derived);
  for (const auto& block : made.derived.blocks) {
    made.joined.push_back(with_joined_steps(block, rates, options));
  }
  return made;
}

double PlanSimulator::step_s(const PlanChoice& choice, EngineKind engine, spdlog::logger& log) {
  const auto& node = space_.node_of(choice);
  const auto scenario = space_.scenario(node, choice);
  const auto& place = placed(node, choice, scenario);
  const auto& known = blocks(choice, scenario);
  Preparation preparation;
  preparation.cluster = cluster_;
  preparation.mesh = place.mesh;
  preparation.collectives = place.collectives;
  preparation.plan = known.derived.plan;
  preparation.blocks = known.derived.blocks;
  preparation.order = known.derived.order;
  preparation.expert_ranks = known.derived.expert_ranks;
  preparation.pipeline = place_pipeline(scenario, preparation);
  const auto& schedule = space_.schedule(choice.schedule);
  // Where two halves run beside each other, their steps take turns on the compute stream; where backwards are split, what waits
  // for what depends on which part comes first; and which collectives slow down the kernels beside them is told step by step.
  const bool as_they_are = schedule.overlaps || schedule.splits_backward || scenario.time_model == TimeModel::calibrated;
  const auto& joined = as_they_are ? known.derived.blocks : known.joined;
  auto options = step_options(scenario, preparation);
  options.memory = false;
  const auto simulated = [&] {
    preparation.step = build_step(joined, preparation.order, preparation.pipeline, options);
    auto folded = fold(lower_with_perturbations(scenario, preparation));
    auto timeline = run(folded.program, {engine == EngineKind::reference ? engine : EngineKind::max_min, {}, false}, log).timeline;
    return std::pair{std::move(folded.program), std::move(timeline)};
  };

  const auto whole = preparation.pipeline;
  const auto steady = options.expert_load.variation > 0 ? std::nullopt : steady_periods(whole.order);
  for (std::size_t kept = 6; steady && kept < steady->periods(); kept *= 2) {
    auto periods = *steady;
    const auto fewer = steady->periods() - kept;
    preparation.pipeline.order = without_periods(whole.order, fewer, periods);
    if (!verify_order(preparation.pipeline.order).empty()) break;  // work put off for many microbatches is missing then
    const auto [program, timeline] = simulated();
    const auto period = repeated_period(preparation.step, preparation.pipeline, periods, program, timeline);
    if (period) return (timeline.makespan() + *period * static_cast<double>(fewer)).value();
  }
  preparation.pipeline = whole;
  return simulated().second.makespan().value();
}

}  // namespace lockstep
