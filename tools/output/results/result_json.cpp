#include "tools/output/results/result_json.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/metrics/reserved_memory.hpp"
#include "tools/output/elements/json_document.hpp"
#include "tools/output/results/chip_kinds.hpp"
#include "tools/output/results/error_band_text.hpp"
#include "tools/output/results/expected_bubble.hpp"
#include "tools/output/results/link_load_text.hpp"
#include "tools/output/results/local_updates_text.hpp"
#include "tools/output/results/memory_verdict.hpp"
#include "tools/output/results/scenario_inputs.hpp"
#include "tools/output/results/scenario_notes.hpp"
#include "tools/output/results/step_distribution_text.hpp"

namespace lockstep::output {
namespace {

using Json = nlohmann::ordered_json;

Json breakdown(const metrics::Breakdown& value) {
  return {{"compute_s", value.compute.value()},
          {"exposed_comm_s", value.exposed_comm.value()},
          {"bubble_s", value.bubble.value()}};
}

/// What an allocator reserves on ranks of a step. A result has the fullest rank twice: in its stage, and by itself.
class Reserved {
 public:
  explicit Reserved(const Simulation& simulation)
      : step_(simulation.preparation.step), memory_(step_, simulation.program, simulation.run.timeline) {}
  Bytes of(const metrics::MemoryUse& use) {
    const auto [known, is_new] = of_ranks_.try_emplace(use.rank, Bytes(0));
    if (is_new) known->second = metrics::reserved_memory(step_, memory_, use);
    return known->second;
  }

 private:
  const workloads::StepGraph& step_;
  metrics::StepMemory memory_;
  std::map<std::int32_t, Bytes> of_ranks_;
};

/// `reserved`: nothing for replayed operations, which have no weights.
Json memory(const Simulation& simulation, const metrics::MemoryUse& value, std::optional<Reserved>& reserved) {
  const auto& step = simulation.preparation.step;
  Json result{{"peak_bytes", value.peak.value()}, {"capacity_bytes", value.capacity.value()}};
  result.update(fit_json(reserved ? std::optional(studies::fit_of(value.peak, value.capacity)) : std::nullopt));
  result["peak_band"] = peak_band_json(value.peak);
  result["spare_bytes"] = (value.capacity - value.peak).value();
  result["reserved_bytes"] = reserved ? Json(reserved->of(value).value()) : Json();
  for (const auto kind : workloads::all_memory_kinds)
    result[std::string(name(kind)) + "_bytes"] = value.of(kind).value();
  result["other_bytes"] = value.other().value();
  result["weight_padding_bytes"] = value.weight_padding.value();
  result["stage"] = value.stage;
  result["rank"] = simulation.ranks.representative[value.rank];
  result["peak_at_s"] = value.peak_at.value();
  if (value.peak_op >= 0) {
    const auto& op = step.op(value.peak_op);
    result["peak_in"] = {{"pass", name(op.pass)},
                         {"block", step.block_names[op.block]},
                         {"microbatch", value.peak_microbatch},
                         {"operation", op->name}};
  } else {
    result["peak_in"] = Json();
  }
  result["activations_by_block"] = Json::array();
  for (const auto& block : value.activations_by_block) {
    result["activations_by_block"].push_back({{"block", step.block_names[block.block]},
                                              {"microbatches", block.microbatches},
                                              {"bytes", block.size.value()}});
  }
  return result;
}

Json communication(const std::vector<metrics::CommunicationUse>& uses) {
  Json list = Json::array();
  for (const auto& use : uses) {
    list.push_back({{"axis", use.axis},
                    {"kind", use.kind ? Json(name(*use.kind)) : Json()},
                    {"count", use.count},
                    {"full_size_bytes", use.full_size.value()},
                    {"busy_s", use.busy.value()},
                    {"exposed_s", use.exposed.value()}});
  }
  return list;
}

Json mesh(const preparation::Preparation& preparation) {
  Json list = Json::array();
  for (const auto& axis : preparation.machine.mesh->axes()) {
    list.push_back(
        {{"axis", axis.name}, {"size", axis.size()}, {"shape", preparation.machine.mesh->shapes(axis.name)}});
  }
  return list;
}

Json idle(const metrics::IdleTime& value) {
  return {{"fill_s", value.fill.value()},
          {"drain_s", value.drain.value()},
          {"dependency_s", value.dependency.value()},
          {"imbalance_s", value.imbalance.value()},
          {"transfer_s", value.transfer.value()},
          {"collective_s", value.collective.value()}};
}

Json pipeline(const scenario::Scenario& scenario, const Simulation& simulation) {
  const auto& pipeline = simulation.preparation.pipeline;
  const auto& shape = pipeline.order.shape;
  const auto& metrics = simulation.metrics;
  Json result;
  result["schedule"] = schedule_text(scenario, pipeline.order);
  result["placement"] = std::string(name(shape.placement));
  result["stages"] = shape.ranks;
  result["chunks"] = shape.chunks;
  result["microbatches"] = shape.whole_microbatches();
  result["slices"] = shape.slices;
  result["layout"] = preparation::layout_of(simulation.preparation);
  result["bubble_fraction_step"] = metrics.bubble_fraction_step();
  result["bubble_fraction_span"] = metrics.bubble_fraction_span();
  const auto bubble = expected_bubble(scenario, simulation);
  if (bubble) {
    result["closed_form"] = {{"expression", bubble->form.expression},
                             {"bubble_s", bubble->form.value},
                             {"of", bubble->form.of == workloads::ClosedForm::Of::step ? "step" : "span"},
                             {"applies", bubble->form.applies},
                             {"conditions", bubble->form.conditions},
                             {"symbols", bubble->form.symbols},
                             {"forward_s", bubble->times.forward},
                             {"input_gradient_s", bubble->times.input_gradient},
                             {"weight_gradient_s", bubble->times.weight_gradient}};
  } else {
    result["closed_form"] = Json();
  }
  return result;
}

Json stage_json(const Simulation& simulation, const metrics::StageMetrics& stage, std::optional<Reserved>& reserved) {
  std::int64_t ranks = 0;
  for (std::size_t lane = 0; lane < simulation.program.stage_of_rank.size(); ++lane) {
    if (simulation.program.stage_of_rank[lane] == stage.stage) ranks += simulation.ranks.size[lane];
  }
  const auto& pipeline = simulation.preparation.pipeline;
  Json parts = Json::array();
  for (const auto virtual_stage : pipeline.order.shape.virtual_stages_of(stage.stage)) {
    const auto first = pipeline.first_block[virtual_stage];
    parts.push_back({{"part", virtual_stage},
                     {"blocks", pipeline.blocks_of(virtual_stage)},
                     {"first_block", simulation.preparation.step.block_names[first]}});
  }
  return {{"stage", stage.stage},
          {"ranks", ranks},
          {"rank", simulation.ranks.representative[stage.rank]},
          {"parts", parts},
          {"breakdown", breakdown(stage.breakdown)},
          {"idle", idle(stage.idle)},
          {"memory", memory(simulation, stage.memory, reserved)}};
}

/// The most used classes of links; without folding every link is a class of its own.
Json links(const Simulation& simulation) {
  constexpr std::size_t most = 100;
  if (simulation.run.phases.empty()) return {};
  auto loads =
      metrics::link_loads(simulation.program, simulation.run.phases, simulation.link_members,
                          {Seconds(0), simulation.run.timeline.makespan()}, simulation.run.timeline.repetition());
  if (loads.size() > most) loads.resize(most);
  return link_load_json(*simulation.preparation.machine.cluster, loads);
}

Json critical_path(const metrics::CriticalPath& path) {
  Json parts = Json::array();
  for (const auto& part : path.parts) {
    parts.push_back({{"kind", std::string(name(part.kind))},
                     {"what", part.what},
                     {"time_s", part.time.value()},
                     {"spans", part.spans}});
  }
  return {{"spans", path.length()}, {"rank_changes", path.rank_changes()}, {"parts", parts}};
}

/// Null when it was not asked for.
Json elasticity(const std::vector<metrics::Elasticity>& values) {
  if (values.empty()) return {};
  Json list = Json::array();
  for (const auto& one : values) list.push_back({{"parameter", one.parameter}, {"value", one.value}});
  return list;
}

/// Null when it was not asked for.
Json twice_as_fast(std::span<const sensitivity::FasterPart> parts) {
  if (parts.empty()) return {};
  Json list = Json::array();
  for (const auto& part : parts) {
    list.push_back({{"part", part.name},
                    {"kind", part.is_switch ? "switch" : "cable"},
                    {"with_nics", part.with_nics},
                    {"alike", part.alike},
                    {"used_share", part.used},
                    {"shorter_step_share", part.gain}});
  }
  return list;
}

/// Null where no network hashes.
Json draws(const Simulation& simulation) {
  return simulation.routing_draws ? draws_json(*simulation.routing_draws) : Json();
}

}  // namespace

std::string result_json(const scenario::Scenario& scenario, const Simulation& simulation, WallTimes times,
                        std::span<const sensitivity::FasterPart> faster) {
  const auto& metrics = simulation.metrics;
  const auto& engine = simulation.run.statistics;
  const double chips = static_cast<double>(metrics.chips);
  const auto if_known = [&](double value) {
    return scenario.replay ? Json() : Json(value);
  };  // replayed operations have no FLOPs
  Json result;
  result["scenario"] = scenario.name;
  result["model"] = scenario.model.name;
  result["cluster"] = simulation.preparation.machine.cluster->name();
  result["notes"] = notes_of(scenario);
  result["step_time_s"] = metrics.step_time.value();
  result["step_time_band"] = band_json(validation::error_band(scenario, simulation), metrics.step_time);
  result["routing_draws"] = draws(simulation);
  result["document_draws"] = simulation.document_draws ? document_draws_json(*simulation.document_draws) : Json();
  result["step_distribution"] = simulation.distribution ? distribution_json(*simulation.distribution) : Json();
  result["tokens_per_step"] = metrics.tokens;
  result["tokens_per_s"] = metrics.tokens_per_second();
  result["tokens_per_s_per_chip"] = metrics.tokens_per_second() / chips;
  result["model_flops_per_step"] = if_known(metrics.model_flops.value());
  result["mfu"] = if_known(metrics.mfu());
  result["hfu"] = if_known(metrics.hfu());
  result["mfu_convention"] = std::string("model FLOPs without recomputation; attention ") +
                             (scenario.training.causal_attention ? "halved (causal)" : "in full");
  result["tflops_per_chip"] = if_known(metrics.model_flops.value() / metrics.step_time.value() / chips / 1e12);
  result["chips"] = metrics.chips;
  result["params"] = scenario.replay ? Json() : Json(metrics.parameters);
  result["mesh"] = mesh(simulation.preparation);
  result["critical_rank"] = simulation.rank;
  result["breakdown"] = breakdown(metrics.breakdown);
  result["chip_kinds"] = Json::array();
  for (const auto& kind : chip_kinds_of(simulation))
    result["chip_kinds"].push_back(
        {{"chip", kind.chip}, {"chips", kind.chips}, {"breakdown", breakdown(kind.breakdown)}});
  result["comm"] = communication(metrics.communication);
  result["pipeline"] = pipeline(scenario, simulation);
  std::optional<Reserved> reserved;
  if (!scenario.replay) reserved.emplace(simulation);
  result["memory"] = memory(simulation, metrics.memory, reserved);
  result["stages"] = Json::array();
  for (const auto& stage : metrics.stages) result["stages"].push_back(stage_json(simulation, stage, reserved));
  result["links"] = links(simulation);
  result["local_updates"] =
      metrics.local_updates ? local_updates_json(*scenario.step.local_updates, *metrics.local_updates) : Json();
  result["critical_path"] = critical_path(metrics.critical_path);
  result["elasticity"] = elasticity(simulation.elasticity);
  result["twice_as_fast"] = twice_as_fast(faster);
  result["engine"] = {{"name", name(simulation.run.kind)},
                      {"folded", simulation.ranks.count() < metrics.chips},
                      {"rank_classes", simulation.ranks.count()},
                      {"ranks", metrics.chips},
                      {"link_classes", simulation.link_classes},
                      {"links", simulation.links},
                      {"ops", simulation.run.timeline.whole_ops()},
                      {"ops_simulated", simulation.program.ops.size()},
                      {"activities", engine.activities},
                      {"wall_s", times == WallTimes::shown ? Json(engine.wall_seconds) : Json()},
                      {"fold_wall_s", times == WallTimes::shown ? Json(simulation.fold_seconds) : Json()},
                      {"model_of_time", std::string(name(scenario.time_model))}};
  return json_document(result);
}

}  // namespace lockstep::output
