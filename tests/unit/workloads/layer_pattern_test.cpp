// Layers that differ: their sequence, and FLOPs with windows, chunks, experts and latents derived by hand.
#include "workloads/model/layer_pattern.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep {
namespace {

using testing::ElementsAre;

/// D = 8, F = 5, N = 4 heads, K = 2, H = 7, no vocabulary: 672 + 120 = 792 weights a layer.
workloads::Model small(std::int64_t layers) {
  workloads::Model model;
  model.layers = layers;
  model.d_model = 8;
  model.d_ff = 5;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_size = 7;
  return model;
}

TEST(LayerSequence, KindsAreListedOnceInOrderOfAppearance) {
  workloads::Model model = small(6);
  spread_window({workloads::AttentionReach::sliding, 4, 3}, model);
  const workloads::LayerSequence sequence = layer_sequence(model);
  EXPECT_THAT(sequence.kinds,
              ElementsAre(workloads::LayerKind{workloads::AttentionReach::sliding, 4, false}, workloads::LayerKind{}));
  EXPECT_THAT(sequence.counts, ElementsAre(4, 2));
  constexpr workloads::LayerKindId first{0}, second{1};
  EXPECT_THAT(sequence.order, ElementsAre(first, first, second, first, first, second));
}

TEST(LayerSequence, WithoutPatternThereIsOneKind) {
  constexpr workloads::LayerKindId only{0};
  EXPECT_THAT(layer_sequence(small(3)).order, ElementsAre(only, only, only));
  EXPECT_THAT(layer_sequence(small(3)).kinds, ElementsAre(workloads::LayerKind{}));
}

// Seen tokens, as areas: 2 x seen x N x (H + H) = 112 seen FLOPs a token over T = 10.
//   all 10, causal 5; window 4: 4, causal (4 x 2 + 6 x 4) / 10 = 3.2; a window of 10 or more is all.
//   chunks of 4 (4 + 4 + 2): (16 + 16 + 4) / 10 = 3.6, causal 1.8.
TEST(ForwardFlops, WindowsAndChunksLimitWhatATokenSees) {
  const auto seen = [](workloads::AttentionReach reach, std::int64_t span, bool causal) {
    workloads::Model model = small(1);
    spread_window({reach, span}, model);
    return (forward_flops_per_token(model, 10, causal) - 2 * 792) / 112;
  };
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::full, 0, true), 5);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::sliding, 4, false), 4);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::sliding, 4, true), 3.2);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::sliding, 10, true), 5);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::sliding, 11, false), 10);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::chunked, 4, false), 3.6);
  EXPECT_DOUBLE_EQ(seen(workloads::AttentionReach::chunked, 4, true), 1.8);
}

// 672 attention + router 8 x 6 + 2 of 6 experts of 3 x 8 x 3 = 72 + one shared of 3 x 8 x 9 = 216: 1080 weights.
TEST(ForwardFlops, ATokenPassesTheRouterAndItsExperts) {
  workloads::Model model = small(2);
  model.experts = workloads::Experts{.count = 6, .per_token = 2, .width = 3, .shared = 1, .shared_width = 9};
  spread_experts([](std::int64_t layer) { return layer == 1; }, model);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 0, true), 2 * (792 + 1080));
  const workloads::ParameterCount count = count_parameters(model);
  EXPECT_EQ(count.routed_experts, 6 * 72);
  EXPECT_EQ(count.active_experts, 2 * 72);
  EXPECT_EQ(count.shared_experts, 216);
  EXPECT_EQ(count.router, 48);
  EXPECT_EQ(count.mlp, 120);
}

// Biases, sinks and gates by their own sizes: router 6, experts 6 x (2 x 3 + 8), sinks 4, shared gate 8.
TEST(ModelParameters, SmallPartsOfExperts) {
  workloads::Model plain = small(1);
  plain.experts = workloads::Experts{.count = 6, .per_token = 2, .width = 3, .shared = 1, .shared_width = 9};
  spread_experts([](std::int64_t) { return true; }, plain);
  workloads::Model dressed = plain;
  dressed.attention_sinks = true;
  dressed.experts->biases = dressed.experts->shared_gate = true;
  EXPECT_EQ(count_parameters(dressed).total() - count_parameters(plain).total(), 4 + 6 + 6 * 14 + 8);
  // Queries and keys normed over their whole width, 28 + 14.
  dressed.qk_norm = workloads::QkNorm::full_width;
  EXPECT_EQ(count_parameters(dressed).total() - count_parameters(plain).total(), 102 + 42);
}

// Latent attention of ranks 10 and 6, heads 5 + 2 and 3: scores and values 2 x seen x 4 x (7 + 3) = 80 seen. With an
// indexer queries meet the latents, 2 x seen x 4 x (2 x 6 + 2) = 112 seen, of which there are min(3, t): (1 + 2 + 8 x
// 3) / 10 = 2.7. Its two heads of 4, and a weight for each, score all tokens so far, 5.5 on average: 2 x 5.5 x 2 x 5 =
// 110.
TEST(ForwardFlops, LatentAttentionAndIndexer) {
  workloads::Model model = small(1);
  model.latent = workloads::LatentAttention{10, 6, 5, 2, 3};
  model.kv_heads = 4;
  const double weights = forward_flops_per_token(model, 0, true);
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 10, true) - weights, 80 * 5);
  model.indexer = workloads::SparseIndexer{2, 4, 3};
  // 10 x 2 x 4 + 8 x (4 + 2) = 128 more weights.
  EXPECT_NEAR(forward_flops_per_token(model, 10, true) - weights, 2 * 128 + 112 * 2.7 + 110, 1e-9);
  EXPECT_NEAR(forward_flops_per_token(model, 10, false) - weights, 2 * 128 + 112 * 3 + 200, 1e-9);
  EXPECT_EQ(kv_width(model, {}), 6 + 2 + 4);
  // A layer that takes over the choice of the one before has no indexer.
  model.layer_kinds = {workloads::LayerKind{.shared_index = true}};
  EXPECT_NEAR(forward_flops_per_token(model, 10, true) - weights, 112 * 2.7, 1e-9);
  EXPECT_EQ(kv_width(model, model.layer(0)), 6 + 2);
}

}  // namespace
}  // namespace lockstep
