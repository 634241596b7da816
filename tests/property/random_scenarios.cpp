#include "tests/property/random_scenarios.hpp"

#include <spdlog/logger.h>

#include <algorithm>

#include "sim/core/errors.hpp"
#include "tests/source_dir.hpp"

namespace lockstep::test {
namespace {

struct Axes {
  std::string parallel;  ///< without the replicas, which take the other chips
  int ranks;             ///< of one replica
  bool pipeline = false, experts = false;
};

const std::vector<Axes> dense_axes{{"", 1},
                                   {"tensor: 2", 2},
                                   {"tensor: 4", 4},
                                   {"tensor: 8", 8},
                                   {"tensor: 4, sequence_parallel: false", 4},
                                   {"context: 2", 2},
                                   {"tensor: 2, context: 2", 4},
                                   {"pipeline: 2", 2, true},
                                   {"pipeline: 4", 4, true},
                                   {"tensor: 2, pipeline: 2", 4, true}};
const std::vector<Axes> expert_axes{
    {"expert: 4", 4, false, true}, {"tensor: 2, expert: 4", 8, false, true}, {"expert: 2, pipeline: 2", 4, true, true}};

}  // namespace

void RandomScenario::draw_calibrated() {
  const auto cluster = one_of({"a100:1", "h100:1", "h100:2", "h800:1", "h200:1", "b200:1", "mi300x:1", "tpu-v5p:4x2",
                               "tpu-v6e:4x2", "tpu-v5e:4x2"});
  const int chips = cluster == "h100:2" ? 16 : 8;
  const bool experts = one_in(4);
  const auto& axes = experts ? expert_axes[below(expert_axes.size())] : dense_axes[below(dense_axes.size())];
  const int replicas = chips / axes.ranks;
  const std::int64_t microbatches = axes.pipeline ? 4 << below(2) : 1 << below(3);
  layers_ = axes.pipeline ? 8 : 4 << below(2);
  length_ = 256 << (2 * below(3));
  sequences_ = replicas * (axes.experts ? 4 : 1) * microbatches * (1 << below(2));

  set("cluster", cluster);
  set("model_of_time", "calibrated");
  set("model.layers", std::to_string(layers_));
  const std::int64_t width = 512 << below(4);
  set("model.d_model", std::to_string(width));
  set("model.heads", std::to_string(std::max<std::int64_t>(8, width / 128)));
  set("model.kv_heads", "8");
  set("model.vocabulary", one_of({"8192", "32768"}));
  if (!experts) set("model.d_ff", std::to_string(width * 7 / 2));
  if (experts)
    set("model.moe", "{experts: 8, experts_per_token: 2, d_ff: " + std::to_string(width) +
                         (one_in(2) ? ", shared_experts: 1" : "") + "}");
  if (one_in(3)) set("model.mlp", "plain");
  if (one_in(3)) set("model.norm", "layer_norm");
  if (one_in(5)) set("model.parallel_residual", "true");
  set("batch.sequences", std::to_string(sequences_));
  set("batch.sequence_length", std::to_string(length_));
  set("batch.microbatches", std::to_string(microbatches));
  std::string parallel = axes.parallel;
  const bool fsdp = replicas > 1 && one_in(2);
  if (replicas > 1)
    parallel += (parallel.empty() ? "" : ", ") + std::string(fsdp ? "fsdp: " : "data: ") + std::to_string(replicas);
  keeps_order_ = axes.parallel.empty() && !fsdp;
  if (replicas > 1 && !fsdp) parallel += ", zero: " + std::to_string(below(3));
  set("parallel", "{" + parallel + "}");
  if (axes.pipeline) set("pipeline.schedule", one_of({"1f1b", "gpipe", "interleaved", "zb-h1"}));
  set("communication.collective_matmul", one_of({"true", "false"}));
  set("communication.prefetch", one_of({"0", "1", "2"}));
  set("communication.gradient_buckets", one_of({"layer", "matrix", "25 MB"}));
  if (one_in(3)) set("communication.weight_buckets", "matrix");
  if (one_in(3)) set("communication.updated_weights", "ahead");
  if (one_in(3)) set("communication.share_activation_gathers", "false");
  set("training.recompute", one_of({"none", "none", "selective", "full"}));
  if (one_in(3)) set("training.attention", "unfused");
  if (one_in(3)) set("training.optimizer_barrier", "false");
  if (one_in(3)) set("training.gradient_precision", "fp32");
  if (one_in(4)) set("training.master_weights", "true");
}

void RandomScenario::set(const std::string& key, const std::string& value) {
  for (auto& [path, text] : keys_) {
    if (path != key) continue;
    text = value;
    return;
  }
  keys_.push_back({key, value});
}

std::string RandomScenario::text() const {
  std::string text = "format: 1\n", map;
  std::vector<std::string> written;
  for (const auto& [path, value] : keys_) {
    const auto dot = path.find('.');
    const auto top = path.substr(0, dot);
    if (std::find(written.begin(), written.end(), top) != written.end()) continue;
    written.push_back(top);
    if (dot == std::string::npos) {
      text += path + ": " + value + "\n";
      continue;
    }
    text += top + ":\n";
    for (const auto& [other, its] : keys_) {
      if (other.starts_with(top + ".")) text += "  " + other.substr(dot + 1) + ": " + its + "\n";
    }
  }
  return text;
}

scenario::Scenario RandomScenario::load() const {
  return scenario::scenario_of_text(text(), "random scenario", source_dir);
}

std::optional<Prepared> prepared(const RandomScenario& drawn) {
  try {
    auto scenario = drawn.load();
    auto preparation = preparation::prepare_step(scenario);
    auto folded = fold(lower_with_perturbations(scenario, preparation));
    return Prepared{std::move(scenario), std::move(preparation), std::move(folded)};
  } catch (const ConfigError&) {
    return {};
  }
}

double step_s(const program::Program& folded, bool contention) {
  spdlog::logger silent("test");
  return engine::run(folded, {contention ? engine::EngineKind::max_min : engine::EngineKind::reference, {}, false},
                     silent)
      .timeline.makespan()
      .value();
}

}  // namespace lockstep::test
