// FLOPs of sparse attention and of recurrences against published formulas and their tests (Megatron-Bridge,
// flop_utils.py and test_flop_utils.py; Kimi K3's formula as AMD's Primus has it).
#include <gtest/gtest.h>

#include <algorithm>

#include "workloads/model/model.hpp"

namespace lockstep {
namespace {

using Rule = workloads::Recurrence::Rule;

/// One layer without an MLP.
workloads::Model one_layer(std::int64_t d_model, workloads::Mixer mixer) {
  workloads::Model model;
  model.layers = 1;
  model.d_model = d_model;
  model.layer_kinds = {workloads::LayerKind{.mixer = mixer, .mlp = false}};
  return model;
}

workloads::Model sparse_toy() {
  workloads::Model model = one_layer(8, workloads::Mixer::attention);
  model.heads = model.kv_heads = 2;
  model.head_size = 3;
  model.vocabulary = 128;
  model.latent = workloads::LatentAttention{
      .q_rank = 4, .kv_rank = 3, .nope_head_size = 2, .rope_head_size = 1, .value_head_size = 2};
  model.indexer = workloads::SparseIndexer{.heads = 2, .head_size = 2, .top_k = 2};
  return model;
}

// The published test: sequences of 4 tokens, of which a token sees 2 at most, so (1 + 2 + 2 + 2) / 4 = 1.75 on average,
// and (1 + 2 + 3 + 4) / 4 = 2.5 before it. A token costs 906 (projections) + 147 (scores and values) + 192 (indexer
// projections) + 72 (index scores) + 28 (target) + 6144 (unembedding). Its projections count a product for each number
// of the two latent norms, 6 x (4 + 3), which ours leave out.
TEST(PublishedFormula, SparseAttentionWithAnIndexer) {
  const auto model = sparse_toy();
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 4, true), 906 - 6 * (4 + 3) + 147 + 192 + 72 + 28 + 6144);
  EXPECT_DOUBLE_EQ(model_flops(model, 3, 4, true).value(), 12 * training_flops_per_token(model, 4, true));
}

// Beyond top_k the scores of chosen tokens stop growing, k - k (k - 1) / (2 S), while the index goes on with the
// sequence: from S to 2 S tokens 2 x (S / 2) x heads x (size + 1) a token more, forward only.
TEST(PublishedFormula, OnlyTheIndexGrowsBeyondTopK) {
  const auto model = sparse_toy();
  const double S = 1 << 20;
  const double grown = training_flops_per_token(model, 1 << 21, true) - training_flops_per_token(model, 1 << 20, true);
  EXPECT_NEAR(grown / (2 * (S / 2) * 2 * 3), 1, 1e-5);
  EXPECT_DOUBLE_EQ(workloads::chosen_tokens(2048, 131'072, true), 2048 - 2048.0 * 2047 / (2 * 131'072.0));
  EXPECT_DOUBLE_EQ(workloads::chosen_tokens(2048, 1024, true), (1024 + 1) / 2.0);
  EXPECT_DOUBLE_EQ(workloads::chosen_tokens(2048, 4096, false), 2048);
}

workloads::Model recurrent(std::int64_t d_model, const workloads::Recurrence& recurrence) {
  workloads::Model model = one_layer(d_model, workloads::Mixer::recurrence);
  model.recurrence = recurrence;
  return model;
}

// 2 h (2 d + 2 g s + n) + 7 d s + 2 d h with d = 2 h, as the published function has it: h = 4096, 128 heads of 64, 8
// groups, state 128.
TEST(PublishedFormula, Mamba2) {
  const double h = 4096, d = 2 * h, g = 8, s = 128, n = 128;
  const auto model =
      recurrent(4096, {.rule = Rule::mamba2, .heads = 128, .key_heads = 8, .key_size = 128, .value_size = 64});
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 8192, true), 2 * h * (2 * d + 2 * g * s + n) + 7 * d * s + 2 * d * h);
  EXPECT_DOUBLE_EQ(training_flops_per_token(model, 8192, true), 3 * forward_flops_per_token(model, 1, true));
}

// 2 (h (2 qk + 2 v + 2 H) + 4 (2 qk + v) + 4 H V^2 + h v), with Qwen3-Next's sizes.
TEST(PublishedFormula, GatedDeltaNet) {
  const double h = 2048, qk = 16 * 128, v = 32 * 128, H = 32, V = 128;
  const auto model =
      recurrent(2048, {.rule = Rule::gated_delta, .heads = 32, .key_heads = 16, .key_size = 128, .value_size = 128});
  EXPECT_DOUBLE_EQ(forward_flops_per_token(model, 4096, true),
                   2 * (h * (2 * qk + 2 * v + 2 * H) + 4 * (2 * qk + v) + 4 * H * V * V + h * v));
}

// Multiply-adds: 2 h qk + 2 h v + h K + K qk + h H + v h, convolutions 4 (2 qk + v), and for a head 3 C K + 2 C V + 3 K
// V + C^2 / 3 with C = 64; the gate in one step, as that formula has it.
TEST(PublishedFormula, KimiDeltaAttention) {
  const double h = 7168, H = 96, K = 128, V = 128, qk = H * K, v = H * V, C = 64;
  const auto model = recurrent(
      7168,
      {.rule = Rule::kimi_delta, .heads = 96, .key_heads = 96, .key_size = 128, .value_size = 128, .decay_rank = 128});
  const double projections = 2 * h * qk + 2 * h * v + h * K + K * qk + h * H + v * h;
  const double core = 4 * (2 * qk + v) + H * (3 * C * K + 2 * C * V + 3 * K * V + C * C / 3);
  EXPECT_NEAR(forward_flops_per_token(model, 1 << 20, true) / (2 * (projections + core)), 1, 1e-12);
  EXPECT_EQ(forward_flops_per_token(model, 1 << 20, true), forward_flops_per_token(model, 128, true)) << "no term in S";
}

/// DeepSeek-V4-Flash without its experts' count and hyper-connections, which the formula does not have.
workloads::Model flash_attention(workloads::Compression compression) {
  workloads::Model model = one_layer(4096, workloads::Mixer::attention);
  model.heads = 64;
  model.kv_heads = 1;
  model.head_size = 512;
  model.compressed = workloads::CompressedAttention{.q_rank = 1024, .output_groups = 8, .output_rank = 1024};
  model.indexer = workloads::SparseIndexer{.heads = 64, .head_size = 128, .top_k = 512};
  model.layer_kinds[0].reach = workloads::AttentionReach::sliding;
  model.layer_kinds[0].span = 128;
  model.layer_kinds[0].compression = compression;
  return model;
}

// Multiply-adds of one token, "dsv4_hybrid" of the published function: q (h + N d) + h d + N d r + g r h for
// projections (and q + d, a product for each number of two norms), N d x 2 for each token of the window and entry that
// it sees, 2 h d (4 h d where entries overlap) for entries; the indexer's 4 h d_I + q N_I d_I + h N_I and N_I d_I for
// each entry. What differs: there every token sees a full window and the indexer every entry of the sequence, here what
// is there when it comes; entries seen are S / r / 2 and k (1 - k r / 2 S) there, the sum over all tokens here; each
// score of the indexer is summed over heads with a weight, one product more.
TEST(PublishedFormula, CompressedAttention) {
  const double h = 4096, N = 64, d = 512, q = 1024, g = 8, r = 1024, S = 65'536, k = 512, NI = 64, dI = 128;
  const double projections = q * (h + N * d) + h * d + N * d * r + g * r * h;
  const auto tokens = static_cast<std::int64_t>(S);
  const double window = N * d * 2 * 128;
  EXPECT_NEAR(forward_flops_per_token(flash_attention(workloads::Compression::none), tokens, true) / 2,
              projections + window * (1 - 128 / (2 * S)), 1e-3);
  const double all = projections + 2 * h * d + N * d * 2 * (128 + S / 128 / 2);
  EXPECT_NEAR(forward_flops_per_token(flash_attention(workloads::Compression::all), tokens, true) / 2 / all, 1, 4e-4);
  const double indexer = h * 2 * dI * 2 + q * NI * dI + h * NI;
  const double chosen = projections + 4 * h * d + N * d * 2 * (128 + k * (1 - k * 4 / (2 * S))) + indexer;
  const double scores = NI * dI * S / 4;
  const double ours = forward_flops_per_token(flash_attention(workloads::Compression::chosen), tokens, true) / 2;
  EXPECT_NEAR((ours - scores / 2 * 129 / 128) / chosen, 1, 1e-3);
}

// Entries of 4 tokens, 2 at most, over 11 tokens: none for 3 tokens, one for 4, two for 4.
TEST(CompressedAttention, EntriesThatTokensSee) {
  EXPECT_DOUBLE_EQ(workloads::seen_entries(2, 11, 4, true), (0 * 3 + 1 * 4 + 2 * 4) / 11.0);
  EXPECT_DOUBLE_EQ(workloads::seen_entries(2, 3, 4, true), 0);
  EXPECT_DOUBLE_EQ(workloads::seen_entries(5, 11, 4, false), 2);
  for (const std::int64_t tokens : {1, 7, 128, 1000}) {
    for (const std::int64_t rate : {1, 2, 4, 128}) {
      for (const std::int64_t most : {1, 3, 1 << 20}) {
        double sum = 0;
        for (std::int64_t t = 1; t <= tokens; ++t) sum += static_cast<double>(std::min(most, t / rate));
        const double real_most = static_cast<double>(most), real_tokens = static_cast<double>(tokens);
        EXPECT_NEAR(workloads::seen_entries(real_most, real_tokens, rate, true), sum / real_tokens, 1e-12 * (1 + sum));
        if (rate == 1)
          EXPECT_NEAR(workloads::chosen_tokens(real_most, real_tokens, true), sum / real_tokens, 1e-12 * (1 + sum));
      }
    }
  }
}

// The technical report's figure 1: KV caches 9.5 (Pro) and 13.7 (Flash) times smaller than DeepSeek-V3.2's at a million
// tokens, where windows count nothing. A token's share of an entry of 512 numbers, 64 of them rotary in bf16 and the
// rest in FP8, and of an indexer's key of 128 in FP4; there a latent of 512 in FP8, a rotary key of 64 in bf16 and a
// key of 128 in FP8.
TEST(CompressedAttention, CacheAsPublished) {
  const auto bytes = [](std::int64_t chosen, std::int64_t all) {
    auto model = flash_attention(workloads::Compression::chosen);
    const double entry = 448 + 64 * 2, key = 128 / 2.0;
    const double share = static_cast<double>(kv_width(model, model.layer(0)) - 512 - 128 / 4) / 512;
    model.layer_kinds[0].compression = workloads::Compression::all;
    const double of_many = static_cast<double>(kv_width(model, model.layer(0)) - 512) / 512;
    return static_cast<double>(chosen) * (entry * share + key / 4) + static_cast<double>(all) * entry * of_many;
  };
  const double sparse = 61 * (512 + 64 * 2 + 128);
  EXPECT_NEAR(sparse / bytes(30, 31), 9.5, 0.05);
  EXPECT_NEAR(sparse / bytes(21, 20), 13.7, 0.15);
}

// Nemotron 3 Super: 128 heads x 64 x 128 numbers of state for a sequence, whatever its length.
TEST(Recurrence, StateOfNemotron3Super) {
  const workloads::Recurrence recurrence{.heads = 128, .key_heads = 8, .key_size = 128, .value_size = 64};
  EXPECT_EQ(recurrence.state(), 1'048'576);
}

// Chunks of 1: a delta rule does 3 K + 2 V + 3 K V + 1/3 a head; chunks of C add C (3 K + 2 V) + C^2 / 3 in place of
// that with C = 1. What gives the states alone is part of the forward.
TEST(Recurrence, ChunkFlopsGrowWithTheChunk) {
  for (const Rule rule : {Rule::mamba2, Rule::gated_delta, Rule::kimi_delta}) {
    workloads::Recurrence recurrence{
        .rule = rule, .heads = 4, .key_heads = 2, .key_size = 8, .value_size = 16, .chunk = 1};
    double before = 0;
    for (const std::int64_t chunk : {1, 16, 64, 256}) {
      recurrence.chunk = chunk;
      const auto head = chunk_flops_of_head(recurrence), key_head = chunk_flops_of_key_head(recurrence);
      EXPECT_GT(head.forward + key_head.forward, before);
      EXPECT_LT(head.states + key_head.states, head.forward + key_head.forward);
      before = head.forward + key_head.forward;
    }
  }
  const workloads::Recurrence one{
      .rule = Rule::gated_delta, .heads = 1, .key_heads = 1, .key_size = 8, .value_size = 16, .chunk = 1};
  EXPECT_DOUBLE_EQ(chunk_flops_of_head(one).forward, 2 * (3 * 8 + 2 * 16 + 3 * 8 * 16 + 1.0 / 3));
}

}  // namespace
}  // namespace lockstep
