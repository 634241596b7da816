#include "sim/step_draws.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

bool is_hashed(const topologies::FabricSpec& fabric) {
  return fabric.routing == topologies::FabricRouting::ecmp &&
         !std::holds_alternative<topologies::Crossbar>(fabric.kind);
}

}  // namespace

StepDraws::StepDraws(std::vector<Seconds> times) : in_order_(std::move(times)), times_(in_order_) {
  std::sort(times_.begin(), times_.end());
}

Seconds StepDraws::quantile(double q) const {
  const double place = q * static_cast<double>(times_.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 == times_.size()) return times_.back();
  const double above = place - static_cast<double>(below);
  return times_[below] * (1 - above) + times_[below + 1] * above;
}

Seconds StepDraws::mean() const {
  return std::accumulate(times_.begin(), times_.end(), Seconds(0)) / static_cast<double>(times_.size());
}

// Of N sorted times x_1 <= ... <= x_N, x_i is the largest of m drawn without repetition in C(i-1, m-1) of C(N, m) sets.
Seconds StepDraws::slowest_of(std::size_t steps) const {
  if (steps == 0 || steps > times_.size()) throw InternalError("StepDraws: more steps than draws");
  Seconds sum(0);
  double share = static_cast<double>(steps) / static_cast<double>(times_.size());  // of sets whose largest is x_i
  for (auto i = times_.size(); i >= steps; --i) {
    sum += times_[i - 1] * share;
    share *= static_cast<double>(i - steps) / static_cast<double>(i - 1);
    if (i == 1) break;
  }
  return sum;
}

bool is_hashed(const topologies::ClusterSpec& cluster) {
  return (cluster.units > 1 && is_hashed(cluster.fabric)) || (cluster.halls > 1 && is_hashed(cluster.between_halls));
}

scenario::Scenario with_routing_seed(scenario::Scenario scenario, std::uint64_t further) {
  scenario.cluster.fabric.seed += further;
  scenario.cluster.between_halls.seed += further;
  return scenario;
}

scenario::Scenario with_other_expert_loads(scenario::Scenario scenario, std::uint64_t further) {
  scenario.routing.seed += further;
  return scenario;
}

bool draws_documents(const scenario::Scenario& scenario) { return !scenario.lengths.documents.empty(); }

scenario::Scenario with_other_documents(scenario::Scenario scenario, std::uint64_t further) {
  scenario.lengths.seed += further;
  return scenario;
}

namespace {

/// What a variation is called, and where its seed is.
struct Variation {
  std::string name;
  std::uint64_t* seed;
};
Variation of(program::Perturbation& variation) {
  if (auto* jitter = std::get_if<program::Jitter>(&variation)) return {"jitter", &jitter->seed};
  if (auto* stragglers = std::get_if<program::Stragglers>(&variation)) return {"stragglers", &stragglers->seed};
  if (auto* links = std::get_if<program::FlakyLinks>(&variation)) return {"flaky links", &links->seed};
  throw InternalError("a perturbation that is no variation");
}

/// Of the draw of the variation at this place of its list.
std::uint64_t seed_of(std::uint64_t seed, std::size_t place, std::uint64_t draw) {
  std::seed_seq seeds{seed, static_cast<std::uint64_t>(place), draw, draw >> 32};
  std::mt19937_64 random(seeds);
  return random();
}

StepCause cause_of(const program::Perturbation& variation, std::size_t place, const std::string& name) {
  return {name, true, [variation, place](scenario::Scenario scenario, std::uint64_t draw) {
            auto drawn = variation;
            auto& seed = *of(drawn).seed;
            seed = seed_of(seed, place, draw);
            scenario.perturbations.push_back(drawn);
            return scenario;
          }};
}

}  // namespace

std::vector<StepCause> causes_of(const scenario::Scenario& scenario) {
  std::vector<StepCause> causes;
  std::map<std::string, int> several;
  for (std::size_t place = 0; place < scenario.variations.size(); ++place) {
    auto variation = scenario.variations[place];
    const auto name = of(variation).name;
    const auto number = ++several[name];
    causes.push_back(cause_of(variation, place, number == 1 ? name : name + " " + std::to_string(number)));
  }
  if (draws_documents(scenario)) causes.push_back({"documents", false, with_other_documents});
  if (scenario.model.experts && scenario.routing.variation > 0)
    causes.push_back({"expert loads", false, with_other_expert_loads});
  if (is_hashed(scenario.cluster)) causes.push_back({"hashed paths", false, with_routing_seed});
  return causes;
}

}  // namespace lockstep
