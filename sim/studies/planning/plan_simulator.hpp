#pragma once
/// Step times of the plans of one space, one after the other in this process, as `lockstep run` finds them: the same
/// way from scenario to timeline, in the shorter form of step_time.hpp, with what plans have in common made once.

#include <map>
#include <memory>
#include <tuple>

#include "sim/simulate.hpp"
#include "sim/studies/planning/plan_space.hpp"

namespace lockstep::planning {

class PlanSimulator {
 public:
  /// One thread at a time; `space` must outlive it.
  explicit PlanSimulator(const PlanSpace& space) : space_(space), cluster_(std::shared_ptr<void>{}, &space.cluster()) {}

  /// `engine`: what a run would use; in this process, SimGrid's place is taken by MaxMinNetwork.
  [[nodiscard]] double step_s(const PlanChoice& choice, engine::EngineKind engine, spdlog::logger& log);

 private:
  struct Placed {
    std::shared_ptr<const topologies::Mesh> mesh;
    std::shared_ptr<collectives::CollectiveModel> collectives;
  };
  struct Blocks {
    preparation::ShardedModel model;
    workloads::ShardedLayers joined;
  };
  const Placed& placed(const PlanSpace::Node& node, const PlanChoice& choice, const scenario::Scenario& scenario);
  const Blocks& blocks(const PlanChoice& choice, const scenario::Scenario& scenario);

  const PlanSpace& space_;
  std::shared_ptr<const topologies::Cluster> cluster_;  // that of the space
  std::map<std::tuple<Degrees, std::int32_t, bool>, Placed> placed_;
  std::map<std::tuple<Degrees, std::int32_t, std::int32_t, std::int64_t>, Blocks> blocks_;
};

}  // namespace lockstep::planning
