// The rates that a chip reaches in the precision of a scenario.
#include "sim/preparation/preparing_private.hpp"

namespace lockstep::preparation {
namespace {

/// Megatron Core runs overlapped passes as nodes of a plan, each with events and an autograd call of its own, and where
/// tokens are not dropped each pair stops for their counts, so the host launches less in the same time. Fitted to three
/// steps that wait for the host (docs/models/kernels.md).
constexpr double host_of_overlapped_passes = 1.5;

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

/// The chip with the kernels of attention that the scenario names.
topologies::Chip with_attention(const scenario::Scenario& scenario, topologies::Chip chip) {
  const auto& named = scenario.training.attention_kernel;
  if (named.empty()) return chip;
  const auto* found = chip.kernels ? topologies::attention_called(*chip.kernels, named) : nullptr;
  if (found == nullptr) {
    const auto names = chip.kernels ? topologies::attention_names(*chip.kernels) : "";
    refuse(scenario, "training.attention_kernel",
           "no kernels of attention '" + named + "' are known on chip " + chip.name,
           names.empty() ? "the key left out, since the chip's file names no library" : "one of " + names);
  }
  chip.kernels->attention = topologies::AttentionKernels(*found);
  return chip;
}

/// The share of attention in the time that a step's products and attention take together, at equal clocks.
double share_of_attention(const scenario::Scenario& scenario, const cost::KernelRates& rates) {
  const auto& model = scenario.model;
  if (scenario.replay || !model.attention || !scenario.blocks.fused_attention) return 0;
  const auto length = scenario.batch.sequence_length;
  const bool causal = scenario.training.causal_attention;
  const double others = forward_flops_per_token(model, 0, causal);
  const double attention = forward_flops_per_token(model, length, causal) - others;
  workloads::KernelShape shape{1, length, model.head_size, length, causal};
  shape.dropout = scenario.blocks.dropout;
  if (model.latent && !model.indexer) {  // with an indexer, heads attend to the latents themselves
    shape.n = (model.head_size + model.latent->value_head_size) / 2;
    shape.unlike_heads = model.head_size != model.latent->value_head_size;
  }
  const double forward = cost::attention_overhead(rates.chip, shape);
  shape.backward = true;
  const double time =
      attention * (forward + 2 * cost::attention_overhead(rates.chip, shape)) / rates.in_16_bits.value();
  const double time_of_others = 3 * others / rates.products.value();
  return time > 0 ? time / (time + time_of_others) : 0;
}

cost::ComputeRates rates_on(const scenario::Scenario& scenario, const topologies::Chip& of_cluster) {
  const auto chip = with_attention(scenario, of_cluster);
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
    if (scenario.pipeline.schedule == "overlap-1f1b") kernels.host = kernels.host * host_of_overlapped_passes;
    const auto reached = [&](topologies::Precision at) { return kernels.matrix.at(at) * kernels.sustained; };
    rates.kernels = {rates.flops * reached(cost::measured_as(precision, kernels)), rates.in_16_bits * reached(wide),
                     rates.memory * kernels.memory, kernels};
    const double clock = cost::attention_clock(kernels, share_of_attention(scenario, *rates.kernels));
    rates.kernels->chip.attention.forward *= clock;
    rates.kernels->chip.attention.backward *= clock;
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
