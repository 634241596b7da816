// Parameter counts and forward FLOPs against numbers derived by hand.
#include "workloads/model/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/units.hpp"

namespace lockstep {
namespace {

constexpr double seconds_per_day = 86'400;

workloads::Model gated_decoder(std::int64_t layers, std::int64_t d_model, std::int64_t d_ff, std::int64_t heads,
                               std::int64_t kv_heads, std::int64_t vocabulary) {
  workloads::Model model;
  model.layers = layers;
  model.d_model = d_model;
  model.d_ff = d_ff;
  model.heads = heads;
  model.kv_heads = kv_heads;
  model.head_size = d_model / heads;
  model.vocabulary = vocabulary;
  return model;
}

workloads::Model llama_3_70b() { return gated_decoder(80, 8192, 28672, 64, 8, 128256); }

workloads::Model two_matmul(std::int64_t layers, std::int64_t d_model, std::int64_t d_ff) {
  workloads::Model model;
  model.layers = layers;
  model.d_model = d_model;
  model.d_ff = d_ff;
  model.attention = false;
  model.gated = false;
  model.norm = workloads::NormKind::none;
  return model;
}

/// L = 3, D = 8, F = 5, N = 4, K = 2, H = 7 (N H = 28 differs from D), V = 11: all products distinct.
workloads::Model odd_shape() {
  workloads::Model model = gated_decoder(3, 8, 5, 4, 2, 11);
  model.head_size = 7;
  return model;
}

// Two matrices D x F a layer: forward 2 x 2 D F FLOPs a token and layer; backward twice that; S sequences of T tokens:
//   3 x 4 L D F S T
TEST(ModelFlops, AreThreeForwardsOfAllTokens) {
  const auto flops = model_flops(two_matmul(7, 16, 24), 5, 11, true);
  EXPECT_DOUBLE_EQ(flops.value(), 3.0 * 4 * 7 * 16 * 24 * 5 * 11);
  const auto model = odd_shape();
  for (const bool causal : {true, false}) {
    EXPECT_DOUBLE_EQ(model_flops(model, 4, 100, causal).value(), 3 * forward_flops_per_token(model, 100, causal) * 400);
    EXPECT_EQ(model_flops(model, 8, 100, causal), 2.0 * model_flops(model, 4, 100, causal)) << "linear in sequences";
  }
}

// P = L (D N H + 2 D K H + N H D + 3 D F) + norms + 2 V D, by part:
//   MLP        40 x 3 x 5120 x 13824            = 8,493,465,600   (8.5e9)
//   attention  40 x 4 x 5120 x 5120             = 4,194,304,000   (4.2e9)
//   vocabulary 2 x 32000 x 5120                 =   327,680,000   (0.33e9)
//   norms      (2 x 40 + 1) x 5120              =       414,720
TEST(ModelParameters, Llama2With13Billion) {
  const workloads::ParameterCount count = count_parameters(gated_decoder(40, 5120, 13824, 40, 40, 32000));
  EXPECT_EQ(count.mlp, 8'493'465'600);
  EXPECT_EQ(count.attention, 4'194'304'000);
  EXPECT_EQ(count.embedding + count.lm_head, 327'680'000);
  EXPECT_EQ(count.norms, 414'720);
  EXPECT_NEAR(static_cast<double>(count.total()), 13.0e9, 0.05e9);
}

// As above with K = 8 of N = 64 heads:
//   MLP        80 x 3 x 8192 x 28672            = 56,371,445,760  (56.3e9)
//   attention  80 x 2 x 8192 x 128 x (64 + 8)   = 12,079,595,520  (12e9)
//   vocabulary 2 x 128256 x 8192                =  2,101,346,304  (2.1e9)
//   norms      161 x 8192                       =      1,318,912  -> 70,553,706,496
TEST(ModelParameters, Llama3With70Billion) {
  const workloads::ParameterCount count = count_parameters(llama_3_70b());
  EXPECT_EQ(count.mlp, 56'371'445'760);
  EXPECT_EQ(count.attention, 12'079'595'520);
  EXPECT_EQ(count.embedding, 1'050'673'152);
  EXPECT_EQ(count.lm_head, 1'050'673'152);
  EXPECT_EQ(count.norms, 1'318'912);
  EXPECT_EQ(count.total(), 70'553'706'496);
}

// P = 2 L D F and nothing else: 3 x 2 x 4096 x 16384 = 402,653,184.
TEST(ModelParameters, TwoMatmulStackHasOnlyItsTwoMatrices) {
  const workloads::ParameterCount count = count_parameters(two_matmul(3, 4096, 16384));
  EXPECT_EQ(count.mlp, 402'653'184);
  EXPECT_EQ(count.total(), count.mlp);
}

// Plain shape: Q 8x28, K and V 8x14 each, O 28x8 = 672 a layer; gate, up, down 3x8x5 = 120 a layer;
// norms (2x3 + 1) x 8 = 56; embedding and head 11x8 = 88 each.
TEST(ModelParameters, EachPartOfAnOddShape) {
  const workloads::ParameterCount count = count_parameters(odd_shape());
  EXPECT_EQ(count.attention, 3 * 672);
  EXPECT_EQ(count.mlp, 3 * 120);
  EXPECT_EQ(count.norms, 56);
  EXPECT_EQ(count.embedding, 88);
  EXPECT_EQ(count.lm_head, 88);
  EXPECT_EQ(count.total(), 2016 + 360 + 56 + 176);
}

// Each option alone adds or removes, over 3 layers of the odd shape (total 2608):
//   qkv bias      3 x (28 + 2x14) = 168     output bias 3 x 8 = 24      gated MLP bias 3 x (2x5 + 8) = 54
//   plain MLP    -3 x 8x5 = -120            tied -88                    positions 13 x 8 = 104
//   layer norm    twice 56: +56             no norm -56                 4 norms a layer 3 x 2 x 8 = +48
//   qk norm       3 x 2 x 7 = 42            no final norm -8
TEST(ModelParameters, EachOptionChangesTheCountByItsOwnSize) {
  const auto total_with = [](auto change) {
    workloads::Model model = odd_shape();
    change(model);
    return count_parameters(model).total() - count_parameters(odd_shape()).total();
  };
  EXPECT_EQ(count_parameters(odd_shape()).total(), 2608);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.qkv_bias = true; }), 168);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.attention_output_bias = true; }), 24);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.mlp_bias = true; }), 54);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.gated = false; }), -120);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.tied_embeddings = true; }), -88);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.learned_positions = 13; }), 104);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.norm = workloads::NormKind::layer_norm; }), 56);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.norm = workloads::NormKind::none; }), -56);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.norms_per_layer = 4; }), 48);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.qk_norm = workloads::QkNorm::per_head; }), 42);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.final_norm = false; }), -8);
  EXPECT_EQ(total_with([](workloads::Model& m) { m.gated = false, m.mlp_bias = true; }), -120 + 3 * (5 + 8));
}

// Two multiply-adds a token and layer: 4 D F = 268,435,456; without attention T has no effect.
TEST(ForwardFlops, TwoMatmulLayersCostFourDF) {
  const workloads::Model model = two_matmul(3, 4096, 16384);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 8192, false), 3 * 268'435'456.0);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 8192, true), 3 * 268'435'456.0);
}

// Scores and values: 4 T N H L = 4 x 8192 x 8192 x 80 = 21,474,836,480; half of it when causal.
TEST(ForwardFlops, CausalMaskHalvesTheAttentionPart) {
  const workloads::Model model = llama_3_70b();
  const double matrices = forward_flops_per_token(model, 0, false);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 8192, false) - matrices, 21'474'836'480.0);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 8192, true) - matrices, 10'737'418'240.0);
}

// 2 FLOPs for each weight that a token meets in a matmul: all but the embedding look-up and the norms,
// 2 x (70,553,706,496 - 1,050,673,152 - 1,318,912).
TEST(ForwardFlops, MatrixPartIsTwiceTheMatmulWeights) {
  EXPECT_DOUBLE_EQ(forward_flops_per_token(llama_3_70b(), 0, true), 2.0 * 69'501'714'432.0);
}

// The unembedding is a matmul whether or not it shares its matrix; biases, positions and norms are not.
TEST(ForwardFlops, OnlyMatmulsCount) {
  const workloads::Model plain = odd_shape();
  workloads::Model dressed = plain;
  dressed.tied_embeddings = true;
  dressed.qkv_bias = dressed.attention_output_bias = dressed.mlp_bias = true;
  dressed.norm = workloads::NormKind::layer_norm;
  dressed.learned_positions = 13;
  dressed.qk_norm = workloads::QkNorm::per_head;
  EXPECT_DOUBLE_EQ(forward_flops_per_token(plain, 6, false), forward_flops_per_token(dressed, 6, false));
  // 2 x 3 x (672 + 120) + 2 x 11 x 8 + 4 x 6 x 28 x 3 = 4752 + 176 + 2016.
  EXPECT_DOUBLE_EQ(forward_flops_per_token(plain, 6, false), 6944.0);
}

// Training costs three forwards (backward is two): 3 x 2 N per token, the 6 N D rule.
//   6 x 70e9 x 15e12 = 6.3e24 FLOPs; / (8960 x 4.59e14 FLOP/s x 40 %) = 44 days,
//   / (18,823 x 4.59e14 x 50 %) = about 17 days.
TEST(TrainingFlops, Llama3With70BillionOnTpuV5p) {
  const Flops training(3 * forward_flops_per_token(llama_3_70b(), 0, true) * 15e12);
  EXPECT_NEAR(training.value(), 6.3e24, 0.05e24);
  const FlopsPerSecond chip(4.59e14);
  EXPECT_NEAR((training / (chip * (8960 * 0.40))).value() / seconds_per_day, 44, 0.5);
  EXPECT_NEAR((training / (chip * (18'823 * 0.50))).value() / seconds_per_day, 17, 0.5);
}

TEST(ModelText, NamesSizesAndParts) {
  workloads::Model model = llama_3_70b();
  model.name = "llama-3-70b";
  model.model_type = "llama";
  const std::string text = to_string(model);
  EXPECT_THAT(text, testing::StartsWith("model llama-3-70b (llama): 70553706496 parameters\n"));
  EXPECT_THAT(text, testing::HasSubstr("layers 80, d_model 8192, d_ff 28672, gated mlp"));
  EXPECT_THAT(text, testing::HasSubstr("heads 64, kv_heads 8, head_size 128"));
  EXPECT_THAT(text, testing::HasSubstr("options: final_norm\n"));
  EXPECT_THAT(text, testing::HasSubstr("mlp 56371445760"));
}

TEST(ModelText, TwoMatmulStackNamesNoHeads) {
  EXPECT_THAT(to_string(two_matmul(1, 4, 16)), testing::Not(testing::HasSubstr("kv_heads")));
}

}  // namespace
}  // namespace lockstep
