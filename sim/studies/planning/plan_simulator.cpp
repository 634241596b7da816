#include "sim/studies/planning/plan_simulator.hpp"

#include <utility>

#include "sim/timing/step_time.hpp"

namespace lockstep::planning {
namespace {

constexpr std::size_t most_kept =
    64;  // of each kind of thing that plans have in common; neighbours in a search come close together

/// Room for one more.
template <class Map>
void make_room(Map& kept) {
  if (kept.size() >= most_kept) kept.clear();
}

}  // namespace

const PlanSimulator::Placed& PlanSimulator::placed(const PlanSpace::Node& node, const PlanChoice& choice,
                                                   const scenario::Scenario& scenario) {
  const std::tuple key{node.degrees, choice.placement, choice.zero == 3};
  if (const auto known = placed_.find(key); known != placed_.end()) return known->second;
  make_room(placed_);
  auto& made = placed_[key];
  auto axes = std::get<0>(place_as_requested(*cluster_, scenario.mesh));
  made.mesh = std::make_shared<const topologies::Mesh>(*cluster_, std::move(axes), "as the plan says");
  made.collectives = std::make_shared<collectives::CollectiveModel>(*cluster_, *made.mesh, scenario.collectives);
  return made;
}

const PlanSimulator::Blocks& PlanSimulator::blocks(const PlanChoice& choice, const scenario::Scenario& scenario) {
  auto degrees = choice.degrees;
  const std::tuple key{degrees, choice.zero, choice.recompute, choice.microbatches};
  if (const auto known = blocks_.find(key); known != blocks_.end()) return known->second;
  make_room(blocks_);
  auto& made = blocks_[key];
  made.model = preparation::sharded_model(scenario);
  made.joined = timing::joined_layers(scenario, made.model);
  return made;
}

double PlanSimulator::step_s(const PlanChoice& choice, engine::EngineKind engine, spdlog::logger& log) {
  const auto& node = space_.node_of(choice);
  const auto scenario = space_.scenario(node, choice);
  const auto& place = placed(node, choice, scenario);
  const auto& known = blocks(choice, scenario);
  return timing::step_time(scenario, {cluster_, place.mesh, place.collectives}, known.model, known.joined, engine, log)
      .value();
}

}  // namespace lockstep::planning
