// The rates that a chip reaches in the precision of a scenario.
#include "sim/preparation/preparing_private.hpp"

namespace lockstep::preparation {
namespace {

std::string calibrated_chips() {
  std::string names;
  const auto catalog = scenario::data_root() / "topologies/catalog";
  for (const auto& name : topologies::chip_names(catalog)) {
    Problems problems;
    if (topologies::load_chip(catalog, name, problems).kernels) names += (names.empty() ? "" : ", ") + name;
  }
  return names;
}

const topologies::ChipKernels& kernels_of(const scenario::Scenario& scenario, const topologies::Chip& chip) {
  if (!chip.kernels)
    refuse(scenario, "model_of_time", "chip " + chip.name + " has no kernel times",
           "one of " + calibrated_chips() + ", or kernels in the chip's block");
  if (const auto missing = cost::unmeasured_precision(chip, scenario.training.precision)) {
    refuse(scenario, "model_of_time",
           "kernels of chip " + chip.name + " are not known in " + std::string(name(*missing)),
           "a precision of its kernels.matrix");
  }
  return *chip.kernels;
}

cost::ComputeRates rates_on(const scenario::Scenario& scenario, const topologies::Chip& chip) {
  const auto peak_at = [&](topologies::Precision precision, const std::string& for_what) {
    if (const auto peak = chip.peak_for(precision)) return *peak;
    std::string known;
    for (const auto& [has, rate] : chip.peak) known += (known.empty() ? "" : ", ") + std::string(name(has));
    refuse(scenario, "training.precision",
           "chip " + chip.name + " has no " + std::string(name(precision)) + " rate" + for_what, "one of " + known);
  };
  const auto precision = scenario.training.precision;
  const auto wide = cost::in_16_bits(precision);
  cost::ComputeRates rates{scenario.time_model,
                           peak_at(precision, ""),
                           peak_at(wide, ", at which attention and the unembedding run"),
                           chip.memory_bandwidth,
                           {}};
  if (rates.model == cost::TimeModel::calibrated) {
    auto kernels = kernels_of(scenario, chip);
    if (scenario.training.flash_attention_2 && kernels.flash_attention_2)
      kernels.set_attention(*kernels.flash_attention_2);
    const auto reached = [&](topologies::Precision at) { return kernels.matrix.at(at) * kernels.sustained; };
    rates.kernels = {rates.flops * reached(cost::measured_as(precision, kernels)), rates.in_16_bits * reached(wide),
                     rates.memory * kernels.memory, kernels};
  }
  return rates;
}

}  // namespace

cost::ComputeRates rates_of(const scenario::Scenario& scenario) { return rates_on(scenario, scenario.cluster.chip()); }

program::RatesOfChips rates_of_chips(const scenario::Scenario& scenario) {
  program::RatesOfChips rates;
  for (const auto& chip : scenario.cluster.chips()) rates.push_back(rates_on(scenario, chip));
  return rates;
}

}  // namespace lockstep::preparation
