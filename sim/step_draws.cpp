#include "sim/step_draws.hpp"

#include <algorithm>

namespace lockstep {
namespace {

bool is_hashed(const topologies::FabricSpec& fabric) {
  return fabric.routing == topologies::FabricRouting::ecmp &&
         !std::holds_alternative<topologies::Crossbar>(fabric.kind);
}

}  // namespace

StepDraws::StepDraws(std::vector<Seconds> times) : times_(std::move(times)) { std::sort(times_.begin(), times_.end()); }

Seconds StepDraws::quantile(double q) const {
  const double place = q * static_cast<double>(times_.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 == times_.size()) return times_.back();
  const double above = place - static_cast<double>(below);
  return times_[below] * (1 - above) + times_[below + 1] * above;
}

bool is_hashed(const topologies::ClusterSpec& cluster) {
  return (cluster.units > 1 && is_hashed(cluster.fabric)) || (cluster.halls > 1 && is_hashed(cluster.between_halls));
}

scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further) {
  scenario.cluster.fabric.seed += further;
  scenario.cluster.between_halls.seed += further;
  return scenario;
}

bool draws_documents(const scenario::Scenario& scenario) { return !scenario.lengths.documents.empty(); }

scenario::Scenario with_other_documents(scenario::Scenario scenario, std::uint64_t further) {
  scenario.lengths.seed += further;
  return scenario;
}

}  // namespace lockstep
