#pragma once
/// Small models under many plans and policies.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {

struct NamedModel {
  std::string name;
  workloads::Model model;
};

inline std::vector<NamedModel> small_models() {
  auto two_products = two_matmuls();
  two_products.gated = false;  // as its reader has it: forward_flops_per_token counts a gate otherwise
  auto tied = transformer();
  tied.tied_embeddings = true;
  auto plain = transformer();
  plain.gated = false;
  plain.parallel_residual = true;
  plain.norm = workloads::NormKind::layer_norm;
  plain.attention_output_bias = plain.mlp_bias = true;
  auto normed = transformer();
  normed.qk_norm = workloads::QkNorm::per_head;
  normed.norms_per_layer = 4;
  auto biased = transformer();
  biased.qkv_bias = biased.attention_output_bias = biased.mlp_bias = biased.attention_sinks = true;
  auto biased_experts = mixture();
  biased_experts.experts->biases = true;
  return {{"two matmuls", two_products},
          {"transformer", transformer()},
          {"tied", tied},
          {"parallel residual", plain},
          {"many norms", normed},
          {"latent", latent()},
          {"mixture", mixture()},
          {"biases", biased},
          {"biases of experts", biased_experts}};
}

/// Sizes that divide the small models' batch, heads and experts.
inline std::vector<workloads::Parallel> small_plans(const workloads::Model& model) {
  std::vector<workloads::Parallel> plans{{},
                                         {.data = 4},
                                         {.fsdp = 4},
                                         {.data = 2, .fsdp = 2, .zero = 1},
                                         {.data = 4, .zero = 2},
                                         {.data = 4, .zero = 3},
                                         {.tensor = 4},
                                         {.tensor = 4, .sequence_parallel = false},
                                         {.data = 2, .fsdp = 2, .tensor = 2, .zero = 2}};
  if (!model.attention) return plans;
  plans.push_back({.context = 2});
  plans.push_back({.data = 2, .tensor = 2, .context = 2, .zero = 1});
  if (!model.experts) return plans;
  plans.push_back({.expert = 4});
  plans.push_back({.data = 2, .tensor = 2, .expert = 2, .zero = 1});
  plans.push_back({.fsdp = 2, .expert = 2, .experts_over = {"expert"}});
  plans.push_back({.tensor = 4, .expert = 2, .experts_over = {"expert", "tensor"}, .expert_tensor = 2});
  plans.push_back({.data = 2, .tensor = 4, .zero = 1, .expert_tensor = 2});
  return plans;
}

inline std::string text(const workloads::Parallel& parallel) {
  return "data " + std::to_string(parallel.data) + " fsdp " + std::to_string(parallel.fsdp) + " tensor " +
         std::to_string(parallel.tensor) + " context " + std::to_string(parallel.context) + " expert " +
         std::to_string(parallel.expert) + " zero " + std::to_string(parallel.zero) + " expert tensor " +
         std::to_string(parallel.expert_tensor) + (parallel.sequence_parallel ? "" : " without sequence parallelism");
}

/// Visits every model under every plan that suits it.
template <class Visit>
void for_each_plan(const workloads::DerivePolicy& policy, Visit visit) {
  for (const auto& [name, model] : small_models()) {
    for (const auto& parallel : small_plans(model)) {
      SCOPED_TRACE(name + ", " + text(parallel));
      visit(model, parallel, derived(model, parallel, policy));
    }
  }
}

}  // namespace lockstep::test
