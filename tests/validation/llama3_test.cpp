// LLaMA-3 70B on a v5p pod, 16x20x28: L 80, D 8192, F 28672, N 64, K 8, H 128, V 128256; TP 4 x FSDP 2240.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/validation/validated.hpp"

namespace lockstep {
namespace {

constexpr double layers = 80, d = 8192, f = 28672, kv = 8 * 128, vocabulary = 128256;
const scenario::KeyOverride two_layers{
    "model", "{layers: 2, d_model: 8192, d_ff: 28672, heads: 64, kv_heads: 8, vocabulary: 128256}"};

Simulation simulated(const scenario::Scenario& scenario) {
  spdlog::logger silent("test");
  return simulate(scenario, {}, silent);
}

// MLP 3 L D F = 56.4e9, attention L (2 D^2 + 2 D K H) = 12.1e9, both vocabulary matrices 2 V D = 2.1e9, norms.
TEST(Llama3, Has70Point55BillionParameters) {
  const double mlp = 3 * layers * d * f;
  const double attention = layers * (2 * d * d + 2 * d * kv);
  const double tables = 2 * vocabulary * d;
  EXPECT_NEAR(mlp, 56.3e9, 0.1e9);
  EXPECT_NEAR(attention, 12e9, 0.1e9);
  EXPECT_NEAR(tables, 2.1e9, 0.05e9);
  const auto preparation = preparation::prepare_step(test::shipped("llama3-70b-v5p.yaml"));
  const auto parameters = static_cast<double>(preparation.step.parameters);
  EXPECT_DOUBLE_EQ(parameters, mlp + attention + tables + (2 * layers + 1) * d);
  EXPECT_NEAR(parameters / 70.55e9, 1, 1e-3);
}

// 3 x forward = 6 FLOPs a matmul weight and token, and causal attention 3 x 4 T N H L / 2 a token; the chips
// compute just that. 6 x 70e9 x 15e12 = 6.3e24 over a training.
TEST(Llama3, ModelFlopsAreSixPerWeightAndToken) {
  const auto scenario = test::shipped("llama3-70b-v5p.yaml");
  const double weights = 3 * layers * d * f + layers * (2 * d * d + 2 * d * kv) + vocabulary * d;
  const double per_token = 6 * weights + 3 * 4 * 2048 * d * layers / 2;
  const double tokens = 2240 * 2048;
  const auto metrics = simulated(scenario).metrics;
  EXPECT_NEAR(metrics.model_flops.value() / (tokens * per_token), 1, 1e-12);
  EXPECT_NEAR(metrics.executed_flops.value() / metrics.model_flops.value(), 1, 1e-9);
  EXPECT_NEAR(per_token * 15e12 / 6.3e24, 1, 0.05);
}

// The three parts of the critical rank's step are the step.
TEST(Llama3, TheBreakdownIsTheStep) {
  const auto metrics = simulated(test::shipped("llama3-70b-v5p.yaml", {two_layers})).metrics;
  const auto& part = metrics.breakdown;
  EXPECT_NEAR((part.compute + part.exposed_comm + part.bubble).value() / metrics.step_time.value(), 1, 1e-9);
  EXPECT_GT(part.compute.value(), 0);
  EXPECT_GT(part.exposed_comm.value(), 0);
}

// FSDP as it is meant: while layer i computes, the weights of layer i+1 arrive; only the first gather is waited for.
TEST(Llama3, TheNextLayersWeightsArriveWhileOneComputes) {
  const auto simulation = simulated(test::shipped("llama3-70b-v5p.yaml", {two_layers}));
  const auto& step = simulation.preparation.step;
  const auto& timeline = simulation.run.timeline;
  const auto rank = simulation.metrics.critical_rank;
  auto within = [&](const std::string& block, bool gather) {
    timeline::Interval whole{timeline.makespan(), Seconds(0)};
    for (workloads::OpId id = 0; id < step.size(); ++id) {
      const auto& op = step.op(id);
      if (op.pass != workloads::StepPass::forward || step.block_names[static_cast<std::size_t>(op.block)] != block)
        continue;
      const bool is_gather =
          op->kind == workloads::StepOp::Kind::collective && op->role == workloads::CollectiveRole::weight;
      if (gather ? !is_gather : op->kind != workloads::StepOp::Kind::compute) continue;
      const auto span = timeline.span(id, rank);
      whole = {std::min(whole.start, span.start), std::max(whole.end, span.end)};
    }
    return whole;
  };
  const auto arriving = within("layer 1", true);
  const auto computing = within("layer 0", false);
  EXPECT_LT(arriving.start, computing.end);
  EXPECT_GT(arriving.end, computing.start);
  const auto overlap = std::min(arriving.end, computing.end) - std::max(arriving.start, computing.start);
  EXPECT_GT(overlap.value(), 0.3 * (arriving.end - arriving.start).value());
  EXPECT_EQ(within("embedding", true).start, Seconds(0));
}

// 16 and 32 tensor ranks over nodes have r = 2 and 4 copies of each of the 8 key-value heads. Parameters and model
// FLOPs are the model's; beyond them the ranks compute keys and values of r - 1 copies, 3 x 2 x 2 D K H FLOPs a token
// and layer, and hold their weights, 2 D K H a layer, as each holds the norms. In each layer every group of r adds up
// the gradients of Wk and Wv, D H elements each over the FSDP ranks, in bf16.
TEST(Llama3, TensorRanksBeyondTheKeyValueHeadsHaveCopies) {
  const auto nodes = [](const std::string& keys) {
    const std::string mesh = keys.substr(0, keys.find(';')), parallel = keys.substr(keys.find(';') + 1);
    spdlog::logger silent("test");
    const auto scenario = test::shipped("llama3-70b-h100.yaml", {two_layers,
                                                                 {"cluster", "h100:4"},
                                                                 {"mesh", mesh},
                                                                 {"parallel", parallel},
                                                                 {"batch", "{sequences: 8, sequence_length: 4096}"}});
    SimulateOptions options;
    options.engine = engine::EngineKind::reference;  // several in one process
    return simulate(scenario, options, silent);
  };
  struct Case {
    std::string keys;
    double tensor, fsdp;
    std::string part;
  };
  for (const auto& one : {Case{"{tensor: [gpu], fsdp: [node]};{tensor: 8, fsdp: 4}", 8, 4, ""},
                          Case{"{tensor: [gpu, node/2], fsdp: rest};{tensor: 16, fsdp: 2}", 16, 2, "tensor/2"},
                          Case{"{tensor: [gpu, node]};{tensor: 32}", 32, 1, "tensor/4"}}) {
    const auto simulation = nodes(one.keys);
    const auto& step = simulation.preparation.step;
    const double copies = one.tensor / 8 - 1, tokens = 8 * 4096;
    const double parameters = 2 * (2 * d * d + 2 * d * kv + 3 * d * f + 2 * d) + 2 * vocabulary * d + d;
    EXPECT_DOUBLE_EQ(static_cast<double>(step.parameters), parameters);
    const double held = parameters + copies * 2 * 2 * d * kv + (one.tensor - 1) * 5 * d;
    EXPECT_DOUBLE_EQ(32 * static_cast<double>(step.held[0].weights.value()), 2 * held);
    const double weights = 2 * (2 * d * d + 2 * d * kv + 3 * d * f) + vocabulary * d;
    const double model = tokens * (6 * weights + 3 * 2 * 4096 * d * 2);
    EXPECT_NEAR(simulation.metrics.model_flops.value() / model, 1, 1e-12);
    const double executed = model + copies * tokens * 2 * 3 * 2 * 2 * d * kv;
    EXPECT_NEAR(simulation.metrics.executed_flops.value() / executed, 1, 1e-12);
    double reduced = 0;
    for (workloads::OpId id = 0; id < step.size(); ++id) {
      const auto& op = step.op(id);
      if (op->kind == workloads::StepOp::Kind::collective && op->axes == workloads::AxisNames{one.part})
        reduced += static_cast<double>(op->full_size.value());
    }
    EXPECT_DOUBLE_EQ(reduced, one.part.empty() ? 0 : 2 * 2 * 2 * d * 128 / one.fsdp);
    if (!one.part.empty()) {
      const auto& cluster = *simulation.preparation.machine.cluster;
      for (const auto& group : simulation.preparation.machine.mesh->groups({one.part})) {
        for (const auto rank : group.members)
          EXPECT_EQ(cluster.unit_of(simulation.preparation.machine.mesh->device_of(rank)),
                    cluster.unit_of(simulation.preparation.machine.mesh->device_of(group.members.front())))
              << "copies lie in one node";
      }
    }
  }
}

// Without prefetch every gather is waited for, so the step is longer.
TEST(Llama3, PrefetchShortensTheStep) {
  const auto with = test::contended(test::shipped("llama3-70b-v5p.yaml", {two_layers}));
  const auto without =
      test::contended(test::shipped("llama3-70b-v5p.yaml", {two_layers, {"communication.prefetch", "0"}}));
  EXPECT_LT(with.step_s, without.step_s);
  EXPECT_NEAR(with.compute_s, without.compute_s, 1e-12);
}

}  // namespace
}  // namespace lockstep
