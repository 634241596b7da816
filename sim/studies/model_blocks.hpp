#pragma once
/// Models that the catalog does not have and both recipes and published tables name, as a scenario's `model`.
#include <string_view>

namespace lockstep::studies {

/// DeepSeek V3 without its prediction module, as torchtitan and MaxText train it (deepseek3-671b.yml: mtp_num_layers
/// stays 0).
inline constexpr std::string_view deepseek_v3_alone =
    "{layers: 61, d_model: 7168, d_ff: 18432, heads: 128, vocabulary: 129280, latent_attention: {q_rank: 1536, "
    "kv_rank: 512, nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 256, "
    "experts_per_token: 8, d_ff: 2048, shared_experts: 1, dense_first: 3, groups: 8, groups_per_token: 4, score_bias: "
    "true}}";
/// mistralai/Mixtral-8x22B-v0.1; vocabulary as in MaxText's mixtral-8x22b.yml.
inline constexpr std::string_view mixtral_8x22b =
    "{layers: 56, d_model: 6144, heads: 48, kv_heads: 8, vocabulary: 32768, moe: {experts: 8, experts_per_token: 2, "
    "d_ff: 16384}}";
/// moonshotai/Kimi-K2-Base, config.json.
inline constexpr std::string_view kimi_k2 =
    "{layers: 61, d_model: 7168, d_ff: 18432, heads: 64, vocabulary: 163840, latent_attention: {q_rank: 1536, "
    "kv_rank: 512, nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 384, "
    "experts_per_token: 8, d_ff: 2048, shared_experts: 1, dense_first: 1, score_bias: true}}";

}  // namespace lockstep::studies
