// The mesh that closed forms choose for a scenario without one, beside every other placement of its axes, by
// simulation:
//   T(chosen) <= 1.02 T(best).
// The scenarios are those in which what the closed forms leave out once led to another mesh: reductions of the last
// microbatch that hide behind the cool-down of chunks (GPT-3 with few microbatches got tensor ranks on two nodes and
// 7 % longer steps), or behind nothing (gradients in one bucket: pipeline stages stood in a node, 3.6 % longer).
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/simulate.hpp"
#include "tests/property/silent_log.hpp"

namespace lockstep {
namespace {

struct Step {
  const char* name;
  const char* text;
};
void PrintTo(const Step& step, std::ostream* out) { *out << step.name; }

class DefaultMesh : public testing::TestWithParam<Step> {};

double time_of(const scenario::Scenario& scenario) {
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.detail = Detail::totals;
  return simulate(scenario, options, test::silent()).metrics.step_time.value();
}

TEST_P(DefaultMesh, IsAsGoodAsTheBest) {
  const auto scenario = scenario::scenario_of_text(GetParam().text, GetParam().name, ".");
  const auto cluster = preparation::cluster_of(scenario);
  const auto placements = std::get<0>(every_placement(cluster, scenario.mesh));
  ASSERT_GT(placements.size(), 1U);
  double best = 0, worst = 0;
  std::string of_the_best;
  for (const auto& axes : placements) {
    auto placed = scenario;
    std::string text;
    for (auto& request : placed.mesh) {
      const auto axis =
          std::find_if(axes.begin(), axes.end(), [&](const auto& other) { return other.name == request.name; });
      if (axis == axes.end() || axis->factors.empty()) continue;
      request.place = place_text(cluster, *axis);
      for (const auto& part : *request.place) text += request.name + " " + part + " ";
    }
    const double time = time_of(placed);
    worst = std::max(worst, time);
    if (best > 0 && time >= best) continue;
    best = time;
    of_the_best = text;
  }
  EXPECT_LE(time_of(scenario), 1.02 * best) << "the best is " << of_the_best;
  EXPECT_GT(worst, 1.02 * best) << "a choice among equals would prove nothing";
}

INSTANTIATE_TEST_SUITE_P(Steps, DefaultMesh,
                         testing::Values(Step{"few microbatches of many chunks", R"(
format: 1
model: gpt3-175b
cluster: {node: dgx-h100, nodes: 1344}
parallel: {tensor: 4, data: 336, pipeline: 8, zero: 1}
pipeline: {schedule: interleaved, chunks: 12}
batch: {sequences: 2688, sequence_length: 2048, microbatches: 8}
training:
  precision: fp8
  kept_activations: {format: 8-bit, functions: 16-bit}
  master_weights: true
  attention_kernel: flash-attention-2
communication:
  collective_matmul: true
  share_activation_gathers: false
  activation_gathers: 8-bit
  updated_weights: ahead
)"},
                                         Step{"gradients in one bucket", R"(
format: 1
model: {layers: 40, d_model: 6144, d_ff: 24576, heads: 48, vocabulary: 51200, mlp: plain}
cluster: {node: {like: dgx-a100, nics: {count: 4, rate: 200 Gbps, pcie: 31.5 GB/s}}, nodes: 32}
parallel: {tensor: 4, data: 32, pipeline: 2, sequence_parallel: false}
batch: {sequences: 1024, sequence_length: 2048, microbatches: 4}
training: {recompute: full, master_weights: true}
communication: {gradient_buckets: 1 TB}
)"},
                                         Step{"weights sharded over nodes", R"(
format: 1
model: llama-2-7b
cluster: {node: a3-high-h100, nodes: 16}
parallel: {fsdp: 8, data: 16}
batch: {sequences: 512, sequence_length: 4096}
)"},
                                         Step{"tensor ranks beside stages", R"(
format: 1
model: llama-3-70b
cluster: {node: dgx-h100, nodes: 8}
parallel: {tensor: 4, data: 4, pipeline: 4, zero: 1}
batch: {sequences: 128, sequence_length: 8192, microbatches: 32}
)"},
                                         Step{"weights on a torus", R"(
format: 1
model: llama-2-13b
cluster: tpu-v5p:4x4x4
parallel: {tensor: 4, fsdp: 16}
batch: {sequences: 64, sequence_length: 4096}
)"}));

}  // namespace
}  // namespace lockstep
