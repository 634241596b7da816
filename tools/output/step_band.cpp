#include "tools/output/step_band.hpp"

#include <nlohmann/json.hpp>

#include "sim/core/quantity_text.hpp"
#include "sim/studies/validation/expected_error.hpp"
#include "tools/output/table.hpp"

namespace lockstep::output {
namespace {

bool spread(const RoutingDraws& draws) { return draws.worst() > draws.best() * (1 + 1e-8); }

}  // namespace

std::optional<std::pair<Seconds, Seconds>> step_time_band(const scenario::Scenario& scenario,
                                                          const Simulation& simulation) {
  const auto family = validation::expected_error(scenario);
  const auto& draws = simulation.routing_draws;
  if (!family && !(draws && spread(*draws))) return std::nullopt;
  const double error = family ? family->mean_abs : 0;
  const auto step = simulation.metrics.step_time;
  return std::pair{(draws ? draws->best() : step) * (1 - error), (draws ? draws->worst() : step) * (1 + error)};
}

std::string trust_text(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto family = validation::expected_error(scenario);
  if (!family) return "";
  std::string text = " +- " + percent(family->mean_abs) + " (as " + family->name;
  if (const auto& draws = simulation.routing_draws; draws && spread(*draws)) {
    const auto band = *step_time_band(scenario, simulation);
    text += "; with the seeds " + format(band.first) + " to " + format(band.second);
  }
  return text + ")";
}

nlohmann::ordered_json draws_json(const RoutingDraws& draws) {
  return {{"seeds", draws.count()},
          {"best_step_time_s", draws.best().value()},
          {"median_step_time_s", draws.median().value()},
          {"worst_step_time_s", draws.worst().value()}};
}

}  // namespace lockstep::output
