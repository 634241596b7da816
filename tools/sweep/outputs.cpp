#include "tools/sweep/outputs.hpp"

#include <array>
#include <cmath>
#include <limits>

namespace lockstep::sweep {
namespace {

double of_a_model(const scenario::Scenario& scenario, double value) {
  return scenario.replay ? std::numeric_limits<double>::quiet_NaN() : value;
}

using S = const scenario::Scenario&;
using R = const Simulation&;

constexpr std::array outputs = {
    SweepOutput{"step_time_s", "s", false, [](S, R r) { return r.metrics.step_time.value(); }},
    SweepOutput{"tokens_per_step", "count", true, [](S, R r) { return static_cast<double>(r.metrics.tokens); }},
    SweepOutput{"tokens_per_s", "count", false, [](S, R r) { return r.metrics.tokens_per_second(); }},
    SweepOutput{"tokens_per_s_per_chip", "count", false,
                [](S, R r) { return r.metrics.tokens_per_second() / static_cast<double>(r.metrics.chips); }},
    SweepOutput{"mfu", "share", false, [](S s, R r) { return of_a_model(s, r.metrics.mfu()); }},
    SweepOutput{"hfu", "share", false, [](S s, R r) { return of_a_model(s, r.metrics.hfu()); }},
    SweepOutput{"chips", "count", true, [](S, R r) { return static_cast<double>(r.metrics.chips); }},
    SweepOutput{"params", "count", true,
                [](S s, R r) { return of_a_model(s, static_cast<double>(r.metrics.parameters)); }},
    SweepOutput{"model_flops_per_step", "FLOP", false,
                [](S s, R r) { return of_a_model(s, r.metrics.model_flops.value()); }},
    SweepOutput{"compute_s", "s", false, [](S, R r) { return r.metrics.breakdown.compute.value(); }},
    SweepOutput{"exposed_comm_s", "s", false, [](S, R r) { return r.metrics.breakdown.exposed_comm.value(); }},
    SweepOutput{"bubble_s", "s", false, [](S, R r) { return r.metrics.breakdown.bubble.value(); }},
    SweepOutput{"bubble_fraction_step", "share", false, [](S, R r) { return r.metrics.bubble_fraction_step(); }},
    SweepOutput{"bubble_fraction_span", "share", false, [](S, R r) { return r.metrics.bubble_fraction_span(); }},
    SweepOutput{"peak_bytes", "B", true, [](S, R r) { return static_cast<double>(r.metrics.memory.peak.value()); }},
    SweepOutput{"capacity_bytes", "B", true,
                [](S, R r) { return static_cast<double>(r.metrics.memory.capacity.value()); }},
    SweepOutput{"fits", "count", true,
                [](S s, R r) {
                  const auto& memory = r.metrics.memory;
                  const auto fit = studies::fit_of(memory.peak, memory.capacity);
                  return of_a_model(s, fit == studies::Fit::does_not_fit ? 0.0 : 1.0);
                }},
};

}  // namespace

std::span<const SweepOutput> sweep_outputs() { return outputs; }

const SweepOutput& output_named(std::string_view name, const std::string& option) {
  std::vector<std::string> names;
  std::string list;
  for (const auto& output : outputs) {
    if (output.name == name) return output;
    names.emplace_back(output.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  const auto near = did_you_mean(name, names);
  throw ConfigError({{{option, 0, 0},
                      "",
                      "'" + std::string(name) + "' is not an output of a sweep",
                      near.empty() ? "one of " + list : near}});
}

std::optional<studies::Fit> fit_of_point(double fits, double peak_bytes, double capacity_bytes) {
  if (std::isnan(fits)) return {};
  const auto bytes = [](double value) { return Bytes(std::llround(value)); };
  return studies::fit_of(bytes(peak_bytes), bytes(capacity_bytes));
}

std::size_t place_of_output(std::string_view name) {
  return static_cast<std::size_t>(&output_named(name, "sweep") - outputs.data());
}

std::vector<double> outputs_of(const scenario::Scenario& scenario, const Simulation& simulation) {
  std::vector<double> values;
  for (const auto& output : outputs) values.push_back(output.of(scenario, simulation));
  return values;
}

}  // namespace lockstep::sweep
