// Models that recipes call by a name. Blocks are those that the catalog does not have.
#include <algorithm>
#include <utility>

#include "sim/core/yaml_view.hpp"
#include "sim/scenario/scenario.hpp"
#include "sim/studies/model_blocks.hpp"
#include "sim/studies/recipes/dialects_private.hpp"
#include "workloads/model/huggingface/import_hf.hpp"

namespace lockstep::recipes {
namespace {

// Shapes: config.json of Qwen/Qwen3-*, deepseek-ai/DeepSeek-V2, openai/gpt-oss-20b, google/gemma-*.
constexpr std::pair<std::string_view, std::string_view> models[] = {
    {"llama27b", "llama-2-7b"},
    {"llama213b", "llama-2-13b"},
    {"llama270b", "llama-2-70b"},
    {"llama38b", "llama-3-8b"},
    {"llama370b", "llama-3-70b"},
    {"llama3405b", "llama-3-405b"},
    {"llama417bx16e", "llama-4-scout"},
    {"llama417bx128e", "llama-4-maverick"},
    {"llama417b16e", "llama-4-scout"},
    {"llama417b128e", "llama-4-maverick"},
    {"deepseekv316b", "deepseek-v2-lite"},
    {"deepseekv3671b", studies::deepseek_v3_alone},
    {"deepseek3671b", studies::deepseek_v3_alone},
    {"deepseek216b", "deepseek-v2-lite"},
    {"deepseekv3236b",
     "{layers: 60, d_model: 5120, d_ff: 12288, heads: 128, vocabulary: 102400, latent_attention: {q_rank: 1536, "
     "kv_rank: "
     "512, nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 160, experts_per_token: 6, "
     "d_ff: 1536, shared_experts: 2, dense_first: 1, groups: 8, groups_per_token: 3}}"},
    {"deepseek2236b",
     "{layers: 60, d_model: 5120, d_ff: 12288, heads: 128, vocabulary: 102400, latent_attention: {q_rank: 1536, "
     "kv_rank: "
     "512, nope_head_size: 128, rope_head_size: 64, value_head_size: 128}, moe: {experts: 160, experts_per_token: 6, "
     "d_ff: 1536, shared_experts: 2, dense_first: 1, groups: 8, groups_per_token: 3}}"},
    {"qwen30.6b",
     "{layers: 28, d_model: 1024, d_ff: 3072, heads: 16, kv_heads: 8, head_size: 128, vocabulary: 151936, qk_norm: "
     "true, "
     "tied_embeddings: true}"},
    {"qwen31.7b",
     "{layers: 28, d_model: 2048, d_ff: 6144, heads: 16, kv_heads: 8, head_size: 128, vocabulary: 151936, qk_norm: "
     "true, "
     "tied_embeddings: true}"},
    {"qwen34b",
     "{layers: 36, d_model: 2560, d_ff: 9728, heads: 32, kv_heads: 8, head_size: 128, vocabulary: 151936, qk_norm: "
     "true, "
     "tied_embeddings: true}"},
    {"qwen38b",
     "{layers: 36, d_model: 4096, d_ff: 12288, heads: 32, kv_heads: 8, head_size: 128, vocabulary: 151936, qk_norm: "
     "true}"},
    {"qwen314b",
     "{layers: 40, d_model: 5120, d_ff: 17408, heads: 40, kv_heads: 8, head_size: 128, vocabulary: 151936, qk_norm: "
     "true}"},
    {"qwen332b", "qwen3-32b"},
    {"qwen330ba3b", "qwen3-30b-a3b"},
    {"qwen3235ba22b", "qwen3-235b-a22b"},
    {"qwen3next80ba3b", "qwen3-next-80b-a3b"},
    {"gptoss20b",
     "{layers: 24, d_model: 2880, heads: 64, kv_heads: 8, head_size: 64, vocabulary: 201088, qkv_bias: true, "
     "attention_output_bias: true, attention_sinks: true, window: {tokens: 128, full_every: 2}, moe: {experts: 32, "
     "experts_per_token: 4, d_ff: 2880, biases: true}}"},
    {"gptoss120b", "gpt-oss-120b"},
    {"mistral7b", "mistral-7b"},
    {"mixtral8x7b", "mixtral-8x7b"},
    {"mixtral8x22b", studies::mixtral_8x22b},
    {"kimik21t", studies::kimi_k2},
    {"gemma22b", "gemma-2-2b"},
    {"gemma227b", "gemma-2-27b"},
    {"gemma327b", "gemma-3-27b"},
    {"gemma431b", "gemma-4-31b"},
    {"gpt3175b", "gpt3-175b"},
};

}  // namespace

std::string model_called(std::string_view name) {
  std::string plain;
  for (const char c : in_lower_case(name)) {
    if (c != '-' && c != '_' && c != '/' && c != ' ') plain += c;
  }
  for (const std::string_view version : {"llama3.1", "llama3.3"}) {  // the shapes of 3
    if (plain.starts_with(version)) plain.erase(6, 2);
  }
  const auto* found =
      std::find_if(std::begin(models), std::end(models), [&](const auto& each) { return each.first == plain; });
  return found == std::end(models) ? "" : std::string(found->second);
}

std::int64_t layers_of(const std::string& model) {
  Problems problems;
  if (model.starts_with("{"))
    return workloads::read_model(YamlView::from_text(model, "model", problems), "model").layers;
  if (model.ends_with(".json")) return workloads::import_hf_config(model, problems).layers;
  const auto loaded = workloads::load_model(scenario::data_root() / "workloads" / "catalog", model, problems);
  return problems.empty() ? loaded.layers : 0;
}

}  // namespace lockstep::recipes
