#pragma once
/// Small models under plans, derived and expanded in one call each.
#include <cstdint>
#include <string>
#include <vector>

#include "workloads/step/build_step.hpp"

namespace lockstep::test {

inline constexpr std::int64_t D = 32, F = 128;

inline workloads::Model two_matmuls(std::int64_t layers = 2) {
  workloads::Model model;
  model.layers = layers;
  model.d_model = D;
  model.d_ff = F;
  model.attention = false;
  return model;
}

/// N = 8 query heads on K = 4 of H = 4, gated, RMS norms, V = 96.
inline workloads::Model transformer(std::int64_t layers = 2) {
  workloads::Model model = two_matmuls(layers);
  model.attention = true;
  model.heads = 8;
  model.kv_heads = 4;
  model.head_size = 4;
  model.vocabulary = 96;
  return model;
}

struct Derived {
  workloads::ShardedLayers kinds;
  Indexed<workloads::BlockId, workloads::KindId> order;
  std::int64_t ranks;
  std::int64_t tokens;  ///< of one microbatch

  [[nodiscard]] const workloads::ShardedLayer& layer() const { return kinds.size() == 1 ? kinds[0] : kinds[1]; }
  [[nodiscard]] workloads::StepGraph step(const workloads::StepOptions& options = {}) const {
    return build_step(kinds, order, options);
  }
};

inline workloads::Sizes sizes_on(const workloads::Model& model, const workloads::Parallel& parallel,
                                 std::int64_t sequences, std::int64_t length) {
  auto sizes = sizes_of(model, sequences, length);
  sizes.axes = {{"data", parallel.data},
                {"fsdp", parallel.fsdp},
                {"tensor", parallel.tensor},
                {"context", parallel.context},
                {"expert", parallel.expert}};
  return sizes;
}

inline Derived derived(const workloads::Model& model, workloads::Plan plan, const workloads::Parallel& parallel,
                       const workloads::DerivePolicy& policy = {}, std::int64_t sequences = 16, std::int64_t length = 8,
                       const workloads::BlockOptions& options = {}) {
  const auto blocks = blocks_of(model, options);
  auto sizes = sizes_on(model, parallel, sequences, length);
  copy_key_value_heads(plan, sizes);
  Derived result{{},
                 blocks.order,
                 parallel.data * parallel.fsdp * parallel.tensor * parallel.context * parallel.expert,
                 sequences * length};
  const workloads::Block* before = nullptr;
  for (const auto& block : blocks.kinds) {
    const auto& arriving = before != nullptr ? before->output : block.input;
    result.kinds.push_back(derive_layer(
        block, plan, sizes, arriving.empty() ? workloads::ShardedTensor{} : plan.activations.at(arriving), policy));
    before = &block;
  }
  return result;
}

inline Derived derived(const workloads::Model& model, const workloads::Parallel& parallel,
                       const workloads::DerivePolicy& policy = {}) {
  return derived(model, plan_for(blocks_of(model), parallel), parallel, policy);
}

/// 16 sequences of 8 tokens; experts E = 8 of width 24, 2 of them per token, one shared.
inline workloads::Model mixture(std::int64_t layers = 2) {
  workloads::Model model = transformer(layers);
  model.experts = workloads::Experts{.count = 8, .per_token = 2, .width = 24, .shared = 1, .shared_width = 40};
  model.layer_kinds.assign(static_cast<std::size_t>(layers), workloads::LayerKind{.experts = true});
  return model;
}

inline workloads::Model latent(std::int64_t layers = 2) {
  workloads::Model model = transformer(layers);
  model.kv_heads = model.heads;
  model.head_size = 6;
  model.latent = workloads::LatentAttention{
      .q_rank = 12, .kv_rank = 10, .nope_head_size = 4, .rope_head_size = 2, .value_head_size = 4};
  return model;
}

/// An indexer of 2 heads of 4 that chooses 4 tokens.
inline workloads::Model sparse(std::int64_t layers = 2) {
  workloads::Model model = latent(layers);
  model.indexer = workloads::SparseIndexer{.heads = 2, .head_size = 4, .top_k = 4};
  return model;
}

/// A window of 3 tokens; one layer sees it alone, one chooses 2 entries of 2 tokens, one sees all entries of 4. 8 heads
/// of 8 in 4 output groups, an indexer of 2 heads of 4.
inline workloads::Model compressed(std::int64_t streams = 1) {
  workloads::Model model = transformer(3);
  model.kv_heads = 1;
  model.head_size = 8;
  model.compressed = workloads::CompressedAttention{
      .q_rank = 12, .output_groups = 4, .output_rank = 6, .chosen_rate = 2, .all_rate = 4};
  model.indexer = workloads::SparseIndexer{.heads = 2, .head_size = 4, .top_k = 2};
  model.streams = streams;
  for (const auto what : {workloads::Compression::none, workloads::Compression::chosen, workloads::Compression::all})
    model.layer_kinds.push_back({.reach = workloads::AttentionReach::sliding, .span = 3, .compression = what});
  return model;
}

/// Recurrences in all layers: 8 heads with states of 4 x 6, queries and keys of 4 heads, chunks of 2 tokens.
inline workloads::Model recurrent(workloads::Recurrence::Rule rule, std::int64_t layers = 2) {
  workloads::Model model = transformer(layers);
  model.recurrence = workloads::Recurrence{
      .rule = rule, .heads = 8, .key_heads = 4, .key_size = 4, .value_size = 6, .convolution = 4, .chunk = 2};
  model.layer_kinds.assign(static_cast<std::size_t>(layers),
                           workloads::LayerKind{.mixer = workloads::Mixer::recurrence});
  return model;
}

/// "AllGather_fsdp Win 8192" for every collective of a pass, in order.
inline std::vector<std::string> collectives(const workloads::BlockSteps& steps) {
  std::vector<std::string> result;
  for (const auto& step : steps) {
    if (step.kind == workloads::BlockStep::Kind::collective)
      result.push_back(step.name + " " + std::to_string(step.full_size.value()));
  }
  return result;
}

/// What the book counts: an all-reduce moves its array twice.
inline std::int64_t book_bytes(workloads::CollectiveKind kind, Bytes full_size) {
  return full_size.value() * (kind == workloads::CollectiveKind::all_reduce ? 2 : 1);
}
inline std::int64_t book_bytes(const workloads::BlockSteps& steps) {
  std::int64_t sum = 0;
  for (const auto& step : steps) {
    if (step.kind == workloads::BlockStep::Kind::collective) sum += book_bytes(step.collective, step.full_size);
  }
  return sum;
}

}  // namespace lockstep::test
