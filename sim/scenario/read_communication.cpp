#include <algorithm>
#include <array>
#include <cctype>

#include "sim/collectives/algorithms.hpp"
#include "sim/scenario/reading_private.hpp"

namespace lockstep::scenario {
namespace {

workloads::Bucketing::Unit layer_or_matrix(const YamlView& view) {
  return view.choice({"layer", "matrix"}) == 0 ? workloads::Bucketing::Unit::layer : workloads::Bucketing::Unit::matrix;
}

void read_gradient_buckets(const YamlView& view, workloads::Bucketing& buckets) {
  if (!view.exists()) return;
  const auto text = view.text();
  if (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    buckets = {workloads::Bucketing::Unit::size, view.bytes()};
  } else {
    buckets.unit = layer_or_matrix(view);
  }
}

/// Multiprocessors that the libraries hold unless told otherwise: DeepEP's README (normal kernels), and Megatron's
/// default of --moe-hybridep-num-sms.
constexpr std::int32_t deepep_sms = 20, hybridep_sms = 16;

void read_dispatcher(const YamlView& view, const YamlView& sms, Scenario& scenario) {
  auto& copies = scenario.derive.token_copies;
  if (!view.exists()) {
    if (sms.exists()) sms.problem("there is no dispatcher that could hold them", "dispatcher: deepep beside it");
    return;
  }
  if (!scenario.replay && scenario.model.layers > 0 && !scenario.model.experts)
    view.problem("the model has no experts", "a dispatcher only with a mixture of experts");
  const auto chosen = view.choice({"nccl", "deepep", "hybridep"});
  copies.path = chosen == 0 ? workloads::TokenPath::each_expert : workloads::TokenPath::forwarded;
  copies.multiprocessors = std::array{-1, deepep_sms, hybridep_sms}[chosen];
  const auto chips = scenario.cluster.chips();
  if (std::any_of(chips.begin(), chips.end(), [](const auto& chip) { return chip.torus.has_value(); }))
    view.problem("chips of a torus exchange tokens over its axes", "no dispatcher, or a cluster of nodes");
  if (!sms.exists()) return;
  copies.multiprocessors = static_cast<std::int32_t>(sms.integer(0, 10'000));
  for (const auto& chip : chips) {
    if (!chip.kernels || chip.kernels->units == 0 || copies.multiprocessors < chip.kernels->units) continue;
    sms.problem(chip.name + " has " + std::to_string(chip.kernels->units) + " multiprocessors",
                "fewer than those, since kernels run beside the transfers");
    break;
  }
}

/// Algorithms by kind of collective.
void read_algorithms(const YamlView& view, collectives::CollectiveRules& rules) {
  if (!view.exists() || !view.expect_map("{all_gather: ring, ...}")) return;
  std::vector<std::string> names;
  for (const auto* algorithm : collectives::collective_algorithms()) names.emplace_back(algorithm->name());
  for (const auto kind : workloads::all_collective_kinds) {
    const auto wanted = view[name(kind)];
    if (!wanted.exists()) continue;
    const auto chosen = wanted.choice(names);
    rules.algorithms[kind] = names[chosen];
    if (collectives::runs(*collectives::collective_algorithms()[chosen], kind)) continue;
    std::string able;
    for (const auto* algorithm : collectives::collective_algorithms()) {
      if (collectives::runs(*algorithm, kind)) able += (able.empty() ? "" : ", ") + std::string(algorithm->name());
    }
    wanted.problem("`" + names[chosen] + "` runs no " + std::string(name(kind)), "one of " + able);
  }
  view.refuse_unknown_keys();
}

/// 16-bit, 8-bit or 4-bit. Half a byte and its scale stand as one here: narrow_activation_gathers makes them smaller.
void read_activation_gathers(const YamlView& view, Scenario& scenario) {
  const auto chosen = view.choice({"16-bit", "8-bit", "4-bit"});
  if (chosen == 0) return;
  scenario.derive.operand_element = Bytes(1);
  const auto precision = scenario.training.precision;
  const bool reads = chosen == 1 ? has_8_bits(precision) : precision == topologies::Precision::nvfp4;
  if (!reads)
    view.problem("products in " + std::string(name(precision)) + " do not read " + (chosen == 1 ? "8" : "4") + " bits",
                 chosen == 1 ? "training.precision: fp8 or int8" : "training.precision: nvfp4");
}

}  // namespace

void read_communication(const YamlView& view, KeyReader& keys, Scenario& scenario) {
  if (!view.exists() || !view.expect_map("{prefetch: 1, ...}")) return;
  auto& step = scenario.step;
  auto& derive = scenario.derive;
  const auto prefetch = keys.optional(view, "prefetch");
  if (prefetch.exists()) step.prefetch = static_cast<int>(prefetch.integer(0, 1'000'000));
  const auto in_flight = keys.optional(view, "reductions_in_flight");
  if (in_flight.exists()) step.reductions_in_flight = static_cast<int>(in_flight.integer(0, 1'000'000));
  const auto weights = keys.optional(view, "weight_buckets");
  if (weights.exists()) step.weight_buckets.unit = layer_or_matrix(weights);
  read_gradient_buckets(keys.optional(view, "gradient_buckets"), step.gradient_buckets);
  keys.flag(view, "host_waits_for_transfers", step.host_waits_for_transfers);
  keys.flag(view, "regather_weights", derive.regather_weights);
  keys.flag(view, "share_activation_gathers", derive.share_activation_gathers);
  keys.flag(view, "collective_matmul", derive.collective_matmul);
  const auto updated = keys.optional(view, "updated_weights");
  if (updated.exists()) step.publish_ahead = updated.choice({"at the end", "ahead"}) == 1;
  const auto gathers = keys.optional(view, "activation_gathers");
  if (gathers.exists()) read_activation_gathers(gathers, scenario);
  read_algorithms(keys.optional(view, "algorithms"), scenario.collectives);
  const auto rings = keys.optional(view, "rings");
  if (rings.exists())
    scenario.collectives.units = rings.choice({"rank_order", "topology_aware"}) == 1
                                     ? collectives::UnitOrder::topology_aware
                                     : collectives::UnitOrder::ranks;
  const auto dispatcher = keys.optional(view, "dispatcher");
  read_dispatcher(dispatcher, keys.optional(view, "dispatcher_sms"), scenario);
  view.refuse_unknown_keys();
}

}  // namespace lockstep::scenario
