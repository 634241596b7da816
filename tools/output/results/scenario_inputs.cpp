#include "tools/output/results/scenario_inputs.hpp"

#include <algorithm>
#include <string>

#include "sim/core/quantity_text.hpp"
#include "tools/output/elements/table.hpp"
#include "tools/output/results/local_updates_text.hpp"
#include "workloads/sharded_layers/loss_elements.hpp"

namespace lockstep::output {
namespace {

std::string yes(bool value) { return value ? "yes" : "no"; }

std::string text_of(const workloads::Bucketing& buckets) {
  switch (buckets.unit) {
    case workloads::Bucketing::Unit::matrix: return "matrix";
    case workloads::Bucketing::Unit::layer: return "layer";
    case workloads::Bucketing::Unit::size: return format(buckets.size);
  }
  return "";
}

std::string text_of(const std::optional<workloads::KeptFormat>& kept) {
  if (!kept) return "16 bits";
  return std::to_string(kept->bits) + " bits" +
         (kept->scaled_together > 0 ? ", a scale for " + std::to_string(kept->scaled_together) : "");
}

std::string_view text_of(workloads::OpPart part) {
  switch (part) {
    case workloads::OpPart::other: return "others";
    case workloads::OpPart::norm: return "norms";
    case workloads::OpPart::core_attention: return "core attention";
    case workloads::OpPart::latent_projection: return "latent projections";
    case workloads::OpPart::recurrence: return "recurrences";
    case workloads::OpPart::streams: return "residual streams";
    case workloads::OpPart::mlp: return "MLP";
    case workloads::OpPart::mlp_activation: return "activation of the MLP";
    case workloads::OpPart::experts: return "experts";
    case workloads::OpPart::expert_activation: return "activation of experts";
  }
  return "";
}

std::string text_of(const workloads::Recompute& recompute, const std::optional<std::vector<std::int64_t>>& layers) {
  std::string text = recompute.all ? "full" : recompute.any() ? "" : "none";
  for (const auto part : recompute.parts) text += (text.empty() ? "" : ", ") + std::string(text_of(part));
  for (const auto& kept : recompute.kept) text += (text.empty() ? "all but " : ", ") + kept;
  if (!layers) return text;
  std::string numbers;
  for (const auto number : *layers) numbers += (numbers.empty() ? "" : ", ") + std::to_string(number);
  text += " in " + numbers + (numbers == "1" ? " layer" : " layers") +
          (layers->size() == 1 ? " of a stage" : " of the stages");
  return text;
}

std::string text_of(const workloads::Offload& offload) {
  std::string text;
  if (offload.optimizer) text = "optimizer, host memory of " + format(offload.host_memory);
  if (offload.activation_layers > 0)
    text += (text.empty() ? "" : "; ") + std::string("activations of ") + std::to_string(offload.activation_layers) +
            (offload.activation_layers == 1 ? " layer" : " layers") + " of a stage";
  return text.empty() ? "none" : text;
}

std::string loss_text(const workloads::DerivePolicy& derive) {
  const auto* loss = std::find_if(workloads::losses.begin(), workloads::losses.end(),
                                  [&](const auto& one) { return one.second == derive.loss_element; });
  return (loss == workloads::losses.end() ? "other" : std::string(loss->first)) + ", " +
         std::to_string(derive.loss_tiles) + (derive.loss_tiles == 1 ? " tile" : " tiles") + ", logits computed " +
         (derive.loss_again ? "again" : "once");
}

std::string padding_text(const workloads::DerivePolicy& derive) {
  if (derive.rows_multiple == 1) return "no";
  return "to a multiple of " + std::to_string(derive.rows_multiple) +
         (derive.filled_by_copies ? ", by copies" : ", as routed");
}

std::string text_of(const topologies::FabricSpec& fabric) {
  std::string text =
      fabric.name + ", " + std::string(name(fabric.kind)) +
      (fabric.routing == topologies::FabricRouting::spray ? ", spraying"
                                                          : ", ECMP by seed " + std::to_string(fabric.seed));
  for (const double factor : fabric.oversubscription) text += ", " + fixed(factor, 2) + ":1";
  return text;
}

std::string text_of(const topologies::RankOrder& order) {
  switch (order.kind) {
    case topologies::RankOrder::Kind::packed: return "packed";
    case topologies::RankOrder::Kind::round_robin: return "round robin";
    case topologies::RankOrder::Kind::scattered: return "scattered by seed " + std::to_string(order.seed);
    case topologies::RankOrder::Kind::listed: return "as listed";
  }
  return "";
}

void add_parallel(const scenario::Scenario& scenario, const preparation::Preparation& preparation,
                  ScenarioInputs& inputs) {
  for (const auto& axis : preparation.machine.mesh->axes()) {
    std::string shapes;
    for (const auto& shape : preparation.machine.mesh->shapes(axis.name))
      shapes += (shapes.empty() ? "" : ", ") + shape;
    inputs.emplace_back("axis " + axis.name, std::to_string(axis.size()) + (shapes.empty() ? "" : ": " + shapes));
  }
  const auto& order = preparation.pipeline.order;
  inputs.emplace_back("ZeRO of data", std::to_string(scenario.parallel.zero));
  inputs.emplace_back("sequence parallel", yes(scenario.parallel.sequence_parallel));
  inputs.emplace_back("schedule", schedule_text(scenario, order));
  inputs.emplace_back("stages",
                      std::to_string(order.shape.ranks) +
                          (order.shape.chunks > 1 ? " of " + std::to_string(order.shape.chunks) + " chunks" : ""));
}

void add_details(const scenario::Scenario& scenario, ScenarioInputs& inputs) {
  const auto& step = scenario.step;
  inputs.emplace_back("prefetch", std::to_string(step.prefetch));
  inputs.emplace_back("reductions in flight", std::to_string(step.reductions_in_flight));
  inputs.emplace_back("buckets of weights", text_of(step.weight_buckets));
  inputs.emplace_back("buckets of gradients", text_of(step.gradient_buckets));
  inputs.emplace_back("optimizer barrier", yes(step.optimizer_barrier));
  inputs.emplace_back("host waits for transfers", yes(step.host_waits_for_transfers));
  const auto& kernel = scenario.training.attention_kernel;
  inputs.emplace_back("attention kernel", kernel.empty() ? "usual" : kernel);
  inputs.emplace_back("fused attention", yes(scenario.blocks.fused_attention));
  inputs.emplace_back("dropout", yes(scenario.blocks.dropout));
  inputs.emplace_back("loss", loss_text(scenario.derive));
  inputs.emplace_back("weights stored in fp32", yes(scenario.derive.stored_element == Bytes(4)));
  inputs.emplace_back("grouped products of experts", yes(scenario.derive.grouped_products));
  inputs.emplace_back("rows of experts padded", padding_text(scenario.derive));
  inputs.emplace_back("elementwise traffic", fixed(scenario.derive.elementwise_traffic, 2));
  inputs.emplace_back("weights gathered again", yes(scenario.derive.regather_weights));
  inputs.emplace_back("gathered activations kept", yes(scenario.derive.share_activation_gathers));
  inputs.emplace_back("collective matmul", yes(scenario.derive.collective_matmul));
  inputs.emplace_back("recompute", text_of(scenario.derive.recompute, scenario.training.recompute_layers));
  inputs.emplace_back("offload to the host", text_of(step.offload));
  inputs.emplace_back("kept activations", text_of(scenario.derive.kept));
  inputs.emplace_back("kept results of attention", text_of(scenario.derive.kept_attention));
  inputs.emplace_back("8-bit weights kept", std::to_string(scenario.training.low_precision_copies));
  inputs.emplace_back("sends in order", yes(scenario.lower.sends_in_order));
  for (const auto& [kind, algorithm] : scenario.collectives.algorithms)
    inputs.emplace_back("algorithm of " + std::string(name(kind)), algorithm);
  inputs.emplace_back("order in rings",
                      scenario.collectives.units == collectives::UnitOrder::ranks ? "ranks" : "topology");
  const auto& plan = scenario.plan;
  inputs.emplace_back("shardings of one's own", std::to_string(plan.activations.size() + plan.weights.size() +
                                                               plan.gradients.size() + plan.optimizer.size()));
  inputs.emplace_back("perturbations", std::to_string(scenario.perturbations.size()));
}

constexpr std::string_view described_in_the_file = "inline";  // what readers call a block

}  // namespace

std::string model_text(const scenario::Scenario& scenario) {
  const auto& model = scenario.model;
  if (model.name != described_in_the_file) return model.name;
  return "a model of " + std::to_string(model.layers) + (model.layers == 1 ? " layer" : " layers");
}

std::string schedule_text(const scenario::Scenario& scenario, const workloads::PipelineOrder& order) {
  if (!order.schedule.empty()) return order.schedule;
  return order.shape.ranks > 1 || !scenario.pipeline.file.empty() ? scenario.pipeline.schedule : "none";
}

std::string chips_text(const scenario::Scenario& scenario) {
  const auto& groups = scenario.cluster.groups;
  if (scenario.cluster.chips().count() > 1) {
    std::string text;
    for (const auto& group : groups)
      text += (text.empty() ? "" : " and ") + with_separators(static_cast<double>(group.units) * group.node.chips) +
              ' ' + group.node.chip.name;
    return text;
  }
  const auto chips = scenario.chips();
  const auto& name = scenario.cluster.chip().name;
  return with_separators(static_cast<double>(chips)) + ' ' +
         (name != described_in_the_file ? name
          : chips == 1                  ? "chip"
                                        : "chips");
}

ScenarioInputs inputs_of(const scenario::Scenario& scenario, const preparation::Preparation& preparation) {
  const auto& cluster = *preparation.machine.cluster;
  ScenarioInputs inputs = {{"model", model_text(scenario)}};
  if (!scenario.replay)
    inputs.emplace_back("parameters",
                        fixed(static_cast<double>(count_parameters(scenario.model).total()) / 1e9, 2) + "e9");
  inputs.emplace_back("chips", chips_text(scenario));
  inputs.emplace_back("cluster", cluster.name());
  if (scenario.cluster.units > 1) inputs.emplace_back("network", text_of(scenario.cluster.fabric));
  if (const auto* given = std::get_if<topologies::GivenNetwork>(&scenario.cluster.fabric.kind);
      given != nullptr && !given->choice.empty())
    inputs.emplace_back("hosts", given->choice);
  if (scenario.cluster.halls > 1) inputs.emplace_back("between halls", text_of(scenario.cluster.between_halls));
  if (scenario.cluster.units > 1) inputs.emplace_back("order of ranks", text_of(scenario.cluster.order));
  add_parallel(scenario, preparation, inputs);
  inputs.emplace_back("sequences", with_separators(static_cast<double>(scenario.batch.sequences)));
  inputs.emplace_back("sequence length", with_separators(static_cast<double>(scenario.batch.sequence_length)));
  inputs.emplace_back("microbatches", std::to_string(scenario.batch.microbatches));
  inputs.emplace_back("precision", std::string(name(scenario.training.precision)));
  inputs.emplace_back("optimizer", std::string(name(scenario.step.optimizer.kind)) +
                                       (scenario.step.optimizer.master_weights ? ", master weights" : ""));
  inputs.emplace_back("local updates", inputs_text(scenario.step.local_updates));
  inputs.emplace_back("causal attention", yes(scenario.training.causal_attention));
  inputs.emplace_back("rates", std::string(name(scenario.time_model)));
  add_details(scenario, inputs);
  return inputs;
}

}  // namespace lockstep::output
