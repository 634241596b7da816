#include "sim/studies/roofline/threshold_search.hpp"

#include <cmath>

namespace lockstep::roofline {
namespace {

constexpr std::int64_t shallow = 6;
constexpr std::int64_t deep = 10;

Seconds layer_math(const scenario::Scenario& scenario) {
  const auto& model = scenario.model;
  const double tokens = static_cast<double>(scenario.batch.sequences * scenario.batch.sequence_length);
  const double chips = static_cast<double>(scenario.chips());
  const auto peak = scenario.cluster.chip().peak_for(scenario.training.precision).value_or(FlopsPerSecond(1));
  return Flops(12 * tokens * static_cast<double>(model.d_model) * static_cast<double>(model.d_ff) / chips) / peak;
}

}  // namespace

Seconds exposed_per_layer(scenario::Scenario scenario,
                          const std::function<Seconds(const scenario::Scenario&)>& exposed) {
  scenario.model.layers = shallow;
  const auto few = exposed(scenario);
  scenario.model.layers = deep;
  const auto many = exposed(scenario);
  return (many - few) / static_cast<double>(deep - shallow);
}

double simulated_token_threshold(const scenario::Scenario& scenario, double low, double high, double tolerance,
                                 const std::function<Seconds(const scenario::Scenario&)>& exposed) {
  const double chips = static_cast<double>(scenario.chips());
  auto hides = [&](double tokens_per_chip) {
    auto trial = scenario;
    trial.batch.sequence_length =
        static_cast<std::int64_t>(std::llround(tokens_per_chip * chips / static_cast<double>(trial.batch.sequences)));
    return exposed_per_layer(trial, exposed) < layer_math(trial) * 1e-6;
  };
  while (high / low > 1 + tolerance) {
    const double middle = std::sqrt(low * high);
    (hides(middle) ? high : low) = middle;
  }
  return std::sqrt(low * high);
}

}  // namespace lockstep::roofline
