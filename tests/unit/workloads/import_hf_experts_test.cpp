// Variants inside families, on small configs whose counts are derived here; contradictions at their keys.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/model/huggingface/import_hf.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ImportVariants : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    file_ = std::filesystem::path(testing::TempDir()) /
            ("lockstep_variant_" + std::to_string(::getpid()) + "_" + test->name() + ".json");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  workloads::Model read(const std::string& text, Problems& problems) const {
    std::ofstream(file_) << text;
    return workloads::import_hf_config(file_, problems);
  }
  workloads::Model accepted(const std::string& text) const {
    Problems problems;
    workloads::Model model = read(text, problems);
    EXPECT_THAT(lines_of(problems), IsEmpty()) << text;
    return model;
  }
  std::int64_t layers_only(const std::string& text) const {
    const workloads::ParameterCount count = count_parameters(accepted(text));
    return count.total() - count.embedding - count.lm_head - count.positions;
  }
  std::vector<std::string> complaints(const std::string& text) const {
    Problems problems;
    (void)read(text, problems);
    return lines_of(problems);
  }

  std::filesystem::path file_;
};

/// D = 64, 4 heads, 4 layers, F = 128, V = 1000.
std::string small(const std::string& type, const std::string& more = "") {
  return R"({"model_type": ")" + type + R"(", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 4,)" +
         R"( "intermediate_size": 128, "vocab_size": 1000)" + (more.empty() ? "" : ",\n" + more) + "}";
}

/// DeepSeek with all layers dense but the last, 2 of 4 experts of width 16 and one shared.
std::string deepseek(const std::string& type, const std::string& more) {
  return small(type, R"("kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 2, "v_head_dim": 5,
      "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "n_shared_experts": 1,
      "first_k_dense_replace": 3, "n_group": 1, "topk_group": 1, "num_key_value_heads": 4)" +
                         (more.empty() ? "" : ", " + more));
}

// A latent layer: q 64 r + r + r 4x8, or 64 x 4x8 without r; kv 64 (8+2) + 8 + 8 x 4 (6+5); o 4x5 x 64.
//   r null: 2048 + 1000 + 1280 = 4328    r 10: 640 + 10 + 320 + 1000 + 1280 = 3250    absent: r 1536
// Three dense MLPs 3 x 64 x 128 = 24,576; experts 64 x 4 + (4 + 1) x 3 x 64 x 16 = 15,616; norms 2 x 64 a layer, 64.
TEST_F(ImportVariants, LatentQueriesByNullKeyAndAbsence) {
  constexpr std::int64_t rest = 3 * 24'576 + 15'616 + 4 * 128 + 64;
  EXPECT_EQ(layers_only(deepseek("deepseek_v2", R"("q_lora_rank": null)")), 4 * 4328 + rest);
  EXPECT_EQ(layers_only(deepseek("deepseek_v2", R"("q_lora_rank": 10)")), 4 * 3250 + rest);
  EXPECT_EQ(layers_only(deepseek("deepseek_v2", "")), 4 * (1536 * (64 + 1 + 32) + 2280) + rest);
}

// Active: two of four experts of 3 x 64 x 16 = 3072 less. One prediction module: a layer with experts,
// 3250 + 15,616 + 128, three norms of 64 and 128 x 64. Its score bias counts with that of the one MoE layer.
TEST_F(ImportVariants, DeepSeekV3AndItsPredictionModule) {
  const workloads::Model model =
      accepted(deepseek("deepseek_v3", R"("q_lora_rank": 10, "num_nextn_predict_layers": 1)"));
  const workloads::ParameterCount count = count_parameters(model);
  EXPECT_EQ(count.total() - count.active(), 2 * 3072);
  EXPECT_EQ(count.mtp, 3250 + 15'616 + 128 + 3 * 64 + 128 * 64);
  EXPECT_EQ(count.score_bias, 2 * 4);
  EXPECT_EQ(kv_width(model, {}), 8 + 2);
  EXPECT_EQ(model.layer(2).experts, false);
  EXPECT_EQ(model.layer(3).experts, true);
}

// Indexer: r n d + D d + 2 d + D n = 10 x 3 x 4 + 64 x 4 + 8 + 64 x 3 = 576 in each of 4 layers. With the
// published sizes 1536 x 64 x 128 + 7168 x 128 + 256 + 7168 x 64 = 13,959,424.
TEST_F(ImportVariants, DeepSeekV32HasAnIndexer) {
  const std::string latent = R"("q_lora_rank": 10)";
  const std::string indexer = R"(, "index_n_heads": 3, "index_head_dim": 4, "index_topk": 7)";
  EXPECT_EQ(layers_only(deepseek("deepseek_v32", latent + indexer)) - layers_only(deepseek("deepseek_v3", latent)),
            4 * 576);
}

// Groups without effect are not kept: "greedy" picks from all experts.
TEST_F(ImportVariants, DeepSeekV2GroupsOnlyWhenTheMethodUsesThem) {
  const auto with = [&](const std::string& method) {
    std::string text = deepseek("deepseek_v2", R"("q_lora_rank": 10, "topk_method": ")" + method + R"(")");
    text.replace(text.find(R"("n_group": 1)"), 12, R"("n_group": 2)");
    return accepted(text).experts->groups;
  };
  EXPECT_EQ(with("greedy"), 1);
  EXPECT_EQ(with("group_limited_greedy"), 2);
}

// Ten keys, everything else from the class: V 262,208, tied, head size given, 6 layers of which the 6th is full.
TEST_F(ImportVariants, Gemma3WithTenKeys) {
  const workloads::Model model =
      accepted(R"({"model_type": "gemma3_text", "head_dim": 8, "hidden_size": 64, "intermediate_size": 128,
      "num_attention_heads": 4, "num_hidden_layers": 7, "num_key_value_heads": 2, "query_pre_attn_scalar": 8,
      "rope_scaling": {"factor": 8.0}, "sliding_window": 16})");
  EXPECT_EQ(model.vocabulary, 262'208);
  EXPECT_TRUE(model.tied_embeddings);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(model.layer(i).reach == workloads::AttentionReach::full, i == 5) << i;
  EXPECT_EQ(model.layer(0).span, 16);
}

// Biases of Q, K and V, 64 + 2 x 32 a layer, though no key says so.
TEST_F(ImportVariants, Qwen2BiasesWithoutAKey) {
  const std::string heads = R"("num_key_value_heads": 2)";
  EXPECT_EQ(layers_only(small("qwen2", heads)) - layers_only(small("llama", heads)), 4 * 128);
}

// A window that the file names holds only with use_sliding_window, and from max_window_layers on.
TEST_F(ImportVariants, QwenWindows) {
  const std::string keys = R"("num_key_value_heads": 2, "sliding_window": 32, "max_window_layers": 3)";
  EXPECT_THAT(accepted(small("qwen2", keys)).layer_kinds, IsEmpty());
  const workloads::Model model = accepted(small("qwen2", keys + R"(, "use_sliding_window": true)"));
  EXPECT_EQ(model.layer(2).span, 0);
  EXPECT_EQ(model.layer(3).span, 32);
}

TEST_F(ImportVariants, NullIsNoWindowAndAbsentTheClassOne) {
  EXPECT_EQ(accepted(small("mistral", R"("num_key_value_heads": 4)")).layer(0).span, 4096);
  EXPECT_THAT(accepted(small("mistral", R"("num_key_value_heads": 4, "sliding_window": null)")).layer_kinds, IsEmpty());
}

TEST_F(ImportVariants, LayerTypesOverrideTheRule) {
  const workloads::Model model = accepted(small("gemma2", R"("head_dim": 16, "sliding_window": 32,
      "layer_types": ["full_attention", "full_attention", "sliding_attention", "full_attention"])"));
  EXPECT_EQ(model.layer(0).span, 0);
  EXPECT_EQ(model.layer(2).span, 32);
}

// A falcon layer of D 64, 4 heads of 16, F = 4 D = 256, K key-value heads: 2 x 64 x 16 (4 + K) + 2 x 64 x 256,
// layer norms of 128. New: K as given (all heads when absent) and two norms, or one if the file says so;
// old: K 1, or 4 without multi_query; one norm beside each other, two one after the other.
TEST_F(ImportVariants, FalconArchitectures) {
  const auto layers = [&](const std::string& more) {
    return layers_only(R"({"model_type": "falcon", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "vocab_size": 100)" +
                       more + "}");
  };
  const auto derived = [](std::int64_t kv_heads, std::int64_t norms) {
    return 2 * (2 * 64 * 16 * (4 + kv_heads) + 2 * 64 * 256 + norms * 128) + 128;
  };
  EXPECT_EQ(layers(R"(, "new_decoder_architecture": true, "num_kv_heads": 2, "multi_query": true)"), derived(2, 2));
  EXPECT_EQ(layers(R"(, "new_decoder_architecture": true)"), derived(4, 2));
  EXPECT_EQ(layers(R"(, "new_decoder_architecture": true, "num_kv_heads": 2, "num_ln_in_parallel_attn": 1)"),
            derived(2, 1));
  EXPECT_EQ(layers(""), derived(1, 1));
  EXPECT_EQ(layers(R"(, "multi_query": false, "parallel_attn": false)"), derived(4, 2));
  // Biases: Q, K, V 16 x (4 + 2), output 64, up 256, down 64 in each of two layers.
  EXPECT_EQ(layers(R"(, "bias": true)"), derived(1, 1) + 2 * (96 + 64 + 256 + 64));
}

// Step 1: experts everywhere; step 2: in layers 1 and 3 of 4; a list overrides. Every fourth layer sees all.
TEST_F(ImportVariants, Llama4Interleaving) {
  const std::string keys =
      R"("head_dim": 16, "num_key_value_heads": 2, "num_local_experts": 8, "intermediate_size_mlp": 256)";
  const auto experts = [&](const std::string& more) {
    const workloads::Model model = accepted(small("llama4_text", keys + more));
    std::string text;
    for (int i = 0; i < 4; ++i) text += model.layer(i).experts ? 'E' : 'd';
    return text;
  };
  EXPECT_EQ(experts(""), "EEEE");
  EXPECT_EQ(experts(R"(, "interleave_moe_layer_step": 2)"), "dEdE");
  EXPECT_EQ(experts(R"(, "moe_layers": [0])"), "Eddd");
  const workloads::Model model = accepted(small("llama4_text", keys + R"(, "interleave_moe_layer_step": 2)"));
  EXPECT_EQ(model.d_ff, 256);
  EXPECT_EQ(model.experts->width, 128);
  EXPECT_EQ(model.layer(2).span, 8192);
  EXPECT_EQ(model.layer(3).reach, workloads::AttentionReach::full);
}

TEST_F(ImportVariants, Gpt2NullInnerIsFourTimesTheWidth) {
  const std::string text = R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 8,
      "vocab_size": 9, "n_inner": )";
  EXPECT_EQ(accepted(text + "null}").d_ff, 256);
  EXPECT_EQ(accepted(text + "100}").d_ff, 100);
}

// Qwen1.5-MoE-A2.7B, published 14,315,784,192: 24 layers of 4 x 2048^2 + 3 x 2048 biases, 60 experts of
// 3 x 2048 x 1408, one shared of 3 x 2048 x 5632 behind a gate of 2048, router 60 x 2048, norms 2 x 2048.
TEST_F(ImportVariants, Qwen2MoeEqualsThePublishedCount) {
  const workloads::Model model = accepted(R"({"model_type": "qwen2_moe", "hidden_size": 2048, "num_attention_heads": 16,
      "num_key_value_heads": 16, "num_hidden_layers": 24, "intermediate_size": 5632, "moe_intermediate_size": 1408,
      "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4, "vocab_size": 151936,
      "decoder_sparse_step": 1, "tie_word_embeddings": false})");
  EXPECT_EQ(count_parameters(model).total(), 14'315'784'192);
}

// Published checkpoint of Kimi-K2: 61 layers as DeepSeek-V3 with 64 heads, 384 experts and one dense layer.
//   attention 7168 x 1536 + 1536 x 64 x 192 + 7168 x 576 + 512 x 64 x 256 + 64 x 128 x 7168 = 101,122,048
TEST_F(ImportVariants, KimiK2) {
  const workloads::Model model = accepted(R"({"model_type": "kimi_k2", "hidden_size": 7168, "num_attention_heads": 64,
      "num_key_value_heads": 64, "num_hidden_layers": 61, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "n_routed_experts": 384, "num_experts_per_tok": 8, "n_shared_experts": 1, "first_k_dense_replace": 1,
      "n_group": 1, "topk_group": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 163840, "num_nextn_predict_layers": 0})");
  const workloads::ParameterCount count = count_parameters(model);
  EXPECT_EQ(count.attention, 61 * 101'122'048LL);
  EXPECT_EQ(count.router, 60 * 384 * 7168LL);
  EXPECT_EQ(count.score_bias, 60 * 384);
  EXPECT_EQ(count.mtp, 0);
}

// Of Grok-1 the file has no model_type, only a class.
TEST_F(ImportVariants, Grok1IsKnownByItsClass) {
  const workloads::Model model =
      accepted(R"({"architectures": ["Grok1ModelForCausalLM"], "hidden_size": 64, "num_attention_heads": 4,
      "num_key_value_heads": 2, "num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 10, "num_experts": 8})");
  EXPECT_EQ(model.model_type, "grok-1");
  EXPECT_TRUE(model.tied_embeddings && model.gated);
  EXPECT_EQ(model.experts->count, 8);
}

TEST_F(ImportVariants, ContradictionsStandAtTheirKeys) {
  EXPECT_THAT(complaints(small("mixtral", R"("num_experts_per_tok": 9, "num_key_value_heads": 4)")),
              ElementsAre(HasSubstr(":2:24: num_experts_per_tok: 9 experts per token of 8")));
  EXPECT_THAT(complaints(small("gpt_oss", R"("num_experts_per_tok": 4, "experts_per_token": 2)")),
              ElementsAre(HasSubstr("experts_per_token: is 2, but num_experts_per_tok is 4")));
  EXPECT_THAT(complaints(small("gemma2", R"("layer_types": ["full_attention"])")),
              ElementsAre(HasSubstr(":2:16: layer_types: 1 layer types for 4 layers")));
  EXPECT_THAT(
      complaints(small("gemma2", R"("layer_types": ["full_attention", "sliding_atention", "x", "full_attention"])")),
      testing::SizeIs(2));
  EXPECT_THAT(complaints(small("qwen3_moe", R"("mlp_only_layers": [4])")),
              ElementsAre(HasSubstr("mlp_only_layers: layer 4 of 4")));
  EXPECT_THAT(complaints(small("deepseek_v3", R"("first_k_dense_replace": 5)")),
              ElementsAre(HasSubstr(":2:26: first_k_dense_replace: 5 dense layers of 4")));
  EXPECT_THAT(complaints(small("deepseek_v3", R"("n_group": 7)")),
              ElementsAre(HasSubstr("n_group: 256 experts do not divide")));
  EXPECT_THAT(complaints(R"({"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2, "vocab_size": 9,
      "attn_config": {"kv_n_heads": 2}, "num_key_value_heads": 4})"),
              ElementsAre(HasSubstr("num_key_value_heads: attn_config.kv_n_heads is 2")));
  EXPECT_THAT(
      complaints(small("minimax_m2", R"("num_local_experts": 4, "num_experts_per_tok": 2, "attn_type_list": [1, 0])")),
      ElementsAre(HasSubstr("linear attention is not modelled")));
  EXPECT_THAT(complaints(small("deepseek_v2", R"("num_experts_per_tok": 2)")),
              testing::UnorderedElementsAre(HasSubstr("moe_intermediate_size: missing"),
                                            HasSubstr("first_k_dense_replace: missing")));
}

}  // namespace
}  // namespace lockstep
