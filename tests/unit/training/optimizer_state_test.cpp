// Bytes of optimizer state of one rank.
#include <gtest/gtest.h>

#include "tests/source_dir.hpp"
#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

/// 15 layers of two matrices D x F, unsplit: 7.5e9 parameters.
constexpr std::int64_t layers = 15, D = 8000, F = 31250;
constexpr std::int64_t parameters = layers * 2 * D * F;

std::int64_t state(const std::string& training, const std::string& parallel = "{data: 64}") {
  return OneRank("validation_zero.yaml", {{"training", training}, {"parallel", parallel}, {"mesh", "{}"}})
      .step()
      .held[0]
      .optimizer.value();
}

// Adam: two moments of 4 or 2 bytes. DeepSeek-V3 keeps them in bf16 beside fp32 master weights: 2 + 2 + 4 = 8.
TEST(OptimizerStateTest, AdamKeepsTwoMoments) {
  EXPECT_EQ(state("{optimizer: adam}"), 8 * parameters);
  EXPECT_EQ(state("{optimizer: adam, optimizer_state: bf16}"), 4 * parameters);
  EXPECT_EQ(state("{optimizer: adam, optimizer_state: bf16, master_weights: true}"), 8 * parameters);
}

TEST(OptimizerStateTest, SgdKeepsMomentumIfItHasAny) {
  EXPECT_EQ(state("{optimizer: sgd}"), 0);
  EXPECT_EQ(state("{optimizer: sgd, momentum: true}"), 4 * parameters);
  EXPECT_EQ(state("{optimizer: sgd, momentum: true, optimizer_state: bf16}"), 2 * parameters);
}

// Adafactor: a sum for each row and each column of each matrix, 4 (D + F) bytes.
TEST(OptimizerStateTest, AdafactorKeepsRowsAndColumns) {
  EXPECT_EQ(state("{optimizer: adafactor}"), layers * 2 * 4 * (D + F));
  EXPECT_EQ(state("{optimizer: adafactor, master_weights: true}"), layers * 2 * 4 * (D + F) + 4 * parameters);
}

// Tensor parallelism over 2 splits F: of Win[D, F_Y] and Wout[F_Y, D] a rank keeps D + F / 2 each.
TEST(OptimizerStateTest, AdafactorFollowsTheShards) {
  EXPECT_EQ(state("{optimizer: adafactor}", "{data: 32, tensor: 2}"), layers * 2 * 4 * (D + F / 2));
}

// A transformer: Wq is D x NH, Wk and Wv D x KH, Wo NH x D, the MLP's D x F twice (no gate: once) and F x D, embedding
// and unembedding V x D; norms have no rows and columns and keep their D in full.
TEST(OptimizerStateTest, HeadsAreOneSideOfAMatrix) {
  const OneRank rank("small.yaml", {{"training", "{optimizer: adafactor}"},
                                    {"cluster", "tpu-v5p:1"},
                                    {"mesh", "{}"},
                                    {"parallel", "{}"},
                                    {"batch.sequences", "1"}});
  const auto& model = rank.scenario.model;
  const auto d = model.d_model, f = model.d_ff, heads = model.heads * model.head_size,
             kv = model.kv_heads * model.head_size;
  const auto layer = 2 * (d + heads) + 2 * (d + kv) + (model.gated ? 3 : 2) * (d + f) + 2 * d;
  EXPECT_EQ(rank.step().held[0].optimizer.value(), 4 * (model.layers * layer + 2 * (model.vocabulary + d) + d));
}

// LLaMA-2 13B with checkpoints after the three big products of each MLP: 2 L B (D + 2F) bytes over all ranks, 42 TB at
// 16e6 tokens and 7.86 TB at 3e6.
TEST(ActivationsTest, OfLlama2AfterTheBigProducts) {
  for (const auto& [length, published] : {std::pair<std::int64_t, double>{3906, 42e12}, {732, 7.86e12}}) {
    const auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "scenarios/llama2-13b-fsdp.yaml",
                                                  {{"batch.sequence_length", std::to_string(length)}});
    const auto preparation = preparation::prepare_step(scenario);
    const auto& model = scenario.model;
    std::int64_t of_a_rank = 0;
    for (const auto& step : preparation.model.layers[1].forward) {
      if (step.name == "gate projection" || step.name == "up projection" || step.name == "down projection")
        of_a_rank += step.output.value();
    }
    const auto all = model.layers * of_a_rank * scenario.chips();
    EXPECT_EQ(all, 2 * model.layers * scenario.batch.sequences * length * (model.d_model + 2 * model.d_ff));
    EXPECT_NEAR(static_cast<double>(all) / published, 1, 0.003);
  }
}

// An update reads gradient g and state s and writes s, reads and writes the weight in 16 bits: n (g + 4) + 2 s bytes.
TEST(UpdateTraffic, IsGradientStateTwiceAndWeightTwice) {
  workloads::WeightUpdate update;
  update.optimizer_elements = 1000;
  update.factored_elements = 70;
  workloads::OptimizerSpec adam;
  EXPECT_EQ(update_traffic(adam, Bytes(4), update), Bytes(1000 * (4 + 4) + 2 * 8 * 1000));
  EXPECT_EQ(update_traffic(adam, Bytes(2), update), Bytes(1000 * (2 + 4) + 2 * 8 * 1000));
  adam.master_weights = true;
  EXPECT_EQ(update_traffic(adam, Bytes(4), update), Bytes(1000 * (4 + 4) + 2 * 12 * 1000));
  workloads::OptimizerSpec sgd;
  sgd.kind = workloads::OptimizerKind::sgd;
  EXPECT_EQ(update_traffic(sgd, Bytes(4), update), Bytes(1000 * 8));
  workloads::OptimizerSpec factored;
  factored.kind = workloads::OptimizerKind::adafactor;
  EXPECT_EQ(update_traffic(factored, Bytes(4), update), Bytes(1000 * 8 + 2 * 4 * 70));
}

}  // namespace
}  // namespace lockstep
