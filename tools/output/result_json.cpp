#include "tools/output/result_json.hpp"

#include <nlohmann/json.hpp>

namespace lockstep {
namespace {

using Json = nlohmann::ordered_json;

Json breakdown(const Breakdown& value) {
  return {{"compute_s", value.compute.value()}, {"exposed_comm_s", value.exposed_comm.value()}, {"bubble_s", value.bubble.value()}};
}

Json memory(const MemoryUse& value) {
  return {{"peak_bytes", value.peak.value()},           {"capacity_bytes", value.capacity.value()},
          {"fits", value.fits},                         {"weights_bytes", value.weights.value()},
          {"gradients_bytes", value.gradients.value()}, {"optimizer_bytes", value.optimizer.value()},
          {"activations_bytes", value.activations.value()}, {"other_bytes", value.other.value()},
          {"peak_at_s", value.peak_at.value()},         {"weight_padding_bytes", value.weight_padding.value()}};
}

Json communication(const std::vector<CommunicationUse>& uses) {
  Json list = Json::array();
  for (const auto& use : uses) {
    list.push_back({{"axis", use.axis}, {"kind", std::string(name(use.kind))}, {"count", use.count},
                    {"full_size_bytes", use.full_size.value()}, {"busy_s", use.busy.value()}, {"exposed_s", use.exposed.value()}});
  }
  return list;
}

Json mesh(const Preparation& preparation) {
  Json list = Json::array();
  for (const auto& axis : preparation.mesh->axes()) {
    Json shapes = Json::array();
    for (const auto& dimension : preparation.mesh->dimensions({axis.name})) shapes.push_back(dimension.label);
    list.push_back({{"axis", axis.name}, {"size", axis.size()}, {"shape", shapes}});
  }
  return list;
}

}  // namespace

std::string version() { return LOCKSTEP_VERSION; }

std::string result_json(const Scenario& scenario, const Simulation& simulation, WallTimes times) {
  const auto& metrics = simulation.metrics;
  const auto& engine = simulation.run.statistics;
  const double chips = static_cast<double>(metrics.chips);
  Json result;
  result["scenario"] = scenario.name;
  result["model"] = scenario.model.name;
  result["cluster"] = simulation.preparation.cluster->name();
  result["step_time_s"] = metrics.step_time.value();
  result["tokens_per_step"] = metrics.tokens;
  result["tokens_per_s"] = metrics.tokens_per_second();
  result["tokens_per_s_per_chip"] = metrics.tokens_per_second() / chips;
  result["model_flops_per_step"] = metrics.model_flops.value();
  result["mfu"] = metrics.mfu();
  result["hfu"] = metrics.hfu();
  result["mfu_convention"] = std::string("model FLOPs without recomputation; attention ") +
                             (scenario.training.causal_attention ? "halved (causal)" : "in full");
  result["tflops_per_chip"] = metrics.model_flops.value() / metrics.step_time.value() / chips / 1e12;
  result["chips"] = metrics.chips;
  result["params"] = metrics.parameters;
  result["mesh"] = mesh(simulation.preparation);
  result["critical_rank"] = simulation.rank;
  result["breakdown"] = breakdown(metrics.breakdown);
  result["comm"] = communication(metrics.communication);
  result["pipeline"] = {{"schedule", "none"}, {"bubble_fraction_step", metrics.breakdown.bubble / metrics.step_time},
                        {"bubble_fraction_span", metrics.breakdown.bubble / metrics.step_time}};
  result["memory"] = memory(metrics.memory);
  result["stages"] = Json::array({{{"stage", 0}, {"ranks", metrics.chips}, {"breakdown", breakdown(metrics.breakdown)}, {"memory", memory(metrics.memory)}}});
  result["engine"] = {{"folded", simulation.ranks.count() < metrics.chips},
                      {"rank_classes", simulation.ranks.count()},
                      {"ranks", metrics.chips},
                      {"link_classes", simulation.link_classes},
                      {"links", simulation.links},
                      {"ops", simulation.program.ops.size()},
                      {"activities", engine.activities},
                      {"wall_s", times == WallTimes::shown ? Json(engine.wall_seconds) : Json()},
                      {"fold_wall_s", times == WallTimes::shown ? Json(simulation.fold_seconds) : Json()},
                      {"time_model", std::string(name(scenario.time_model))}};
  result["versions"] = {{"lockstep", version()}, {"format", 1}};
  return result.dump(2) + "\n";
}

}  // namespace lockstep
