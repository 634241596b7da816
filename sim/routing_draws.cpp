#include "sim/routing_draws.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool is_hashed(const topologies::FabricSpec& fabric) {
  return fabric.routing == topologies::FabricRouting::ecmp &&
         !std::holds_alternative<topologies::Crossbar>(fabric.kind);
}

}  // namespace

RoutingDraws::RoutingDraws(std::vector<Seconds> times) : times_(std::move(times)) {
  std::sort(times_.begin(), times_.end());
}

Seconds RoutingDraws::median() const {
  const auto middle = times_.size() / 2;
  return times_.size() % 2 == 1 ? times_[middle] : (times_[middle - 1] + times_[middle]) / 2;
}

bool is_hashed(const topologies::ClusterSpec& cluster) {
  return (cluster.units > 1 && is_hashed(cluster.fabric)) || (cluster.halls > 1 && is_hashed(cluster.between_halls));
}

scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further) {
  scenario.cluster.fabric.seed += further;
  scenario.cluster.between_halls.seed += further;
  return scenario;
}

}  // namespace lockstep
