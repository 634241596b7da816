#include "workloads/block.hpp"

#include <algorithm>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

using Kind = BlockOp::Kind;
using Dims = std::vector<std::string>;

const BlockTensor& named(const std::vector<BlockTensor>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& tensor) { return tensor.name == name; });
  if (found == list.end()) throw InternalError("block has no tensor " + name);
  return *found;
}

/// In[B,D] Win[D,F] -> Tmp[B,F] Wout[F,D] -> Out[B,D]: the book's layer (equations.md, One layer).
Block two_matmul_layer() {
  return {"layer", "In", "Out",
          {{"In", {"B", "D"}}, {"Tmp", {"B", "F"}}, {"Out", {"B", "D"}}},
          {{"Win", {"D", "F"}}, {"Wout", {"F", "D"}}},
          {{Kind::matmul, "in projection", {"In"}, "Win", "Tmp", "", 0},
           {Kind::matmul, "out projection", {"Tmp"}, "Wout", "Out", "", 0}}};
}

/// Norm op over D; a weightless norm (OLMo) has no weight tensor.
void add_norm(Block& block, const Model& model, const std::string& name, const std::string& input, const std::string& output,
              const std::string& weight) {
  const bool has_weight = model.norm != NormKind::none;
  if (has_weight) block.weights.push_back({weight, {"D"}});
  block.ops.push_back({Kind::elementwise, name, {input}, has_weight ? weight : "", output, "D", 1});
}

/// Pre-norm decoder layer: X + attention(norm X), then + MLP(norm of that).
Block transformer_layer(const Model& model) {
  const Dims stream{"B", "T", "D"};
  const Dims hidden{"B", "T", "F"};
  Block block{"layer", "X", "Xnext", {}, {}, {}};
  block.activations = {{"X", stream}, {"A", stream}, {"Q", {"B", "T", "N", "H"}}, {"K", {"B", "T", "K", "H"}},
                       {"V", {"B", "T", "K", "H"}}, {"O", {"B", "T", "N", "H"}}, {"Y", stream}, {"R", stream},
                       {"M", stream}, {"Up", hidden}, {"Z", hidden}, {"E", stream}, {"Xnext", stream}};
  block.weights = {{"Wq", {"D", "N", "H"}}, {"Wk", {"D", "K", "H"}}, {"Wv", {"D", "K", "H"}}, {"Wo", {"N", "H", "D"}},
                   {"Wup", {"D", "F"}}, {"Wdown", {"F", "D"}}};
  add_norm(block, model, "attention norm", "X", "A", "Wnorm1");
  block.ops.insert(block.ops.end(), {{Kind::matmul, "query projection", {"A"}, "Wq", "Q", "", 0},
                                     {Kind::matmul, "key projection", {"A"}, "Wk", "K", "", 0},
                                     {Kind::matmul, "value projection", {"A"}, "Wv", "V", "", 0},
                                     {Kind::attention, "attention", {"Q", "K", "V"}, "", "O", "", 0},
                                     {Kind::matmul, "attention output", {"O"}, "Wo", "Y", "", 0},
                                     {Kind::add, "residual add", {"X", "Y"}, "", "R", "", 0}});
  add_norm(block, model, "mlp norm", "R", "M", "Wnorm2");
  if (model.gated) {
    block.activations.push_back({"Gate", hidden});
    block.weights.push_back({"Wgate", {"D", "F"}});
    block.ops.push_back({Kind::matmul, "gate projection", {"M"}, "Wgate", "Gate", "", 0});
  }
  block.ops.push_back({Kind::matmul, "up projection", {"M"}, "Wup", "Up", "", 0});
  block.ops.push_back({Kind::elementwise, "activation", model.gated ? Dims{"Gate", "Up"} : Dims{"Up"}, "", "Z", "", 0});
  block.ops.push_back({Kind::matmul, "down projection", {"Z"}, "Wdown", "E", "", 0});
  block.ops.push_back({Kind::add, "residual add", {"R", "E"}, "", "Xnext", "", 0});
  return block;
}

Block embedding() {
  return {"embedding", "", "X",
          {{"Tokens", {"B", "T", "V"}}, {"X", {"B", "T", "D"}}},
          {{"Wembed", {"V", "D"}}},
          {{Kind::lookup, "embedding", {"Tokens"}, "Wembed", "X", "", 0}}};
}

Block head(const Model& model) {
  Block block{"head", "X", "", {{"X", {"B", "T", "D"}}, {"Xf", {"B", "T", "D"}}, {"Logits", {"B", "T", "V"}}}, {}, {}};
  const std::string weight = model.tied_embeddings ? "Wembed" : "Whead";
  block.weights = {{weight, model.tied_embeddings ? Dims{"V", "D"} : Dims{"D", "V"}, model.tied_embeddings}};
  if (model.final_norm) {
    add_norm(block, model, "final norm", "X", "Xf", "Wnormf");
  } else {
    block.ops.push_back({Kind::add, "final hidden state", {"X"}, "", "Xf", "", 0});
  }
  block.ops.push_back({Kind::matmul, "unembedding", {"Xf"}, weight, "Logits", "", 0});
  block.ops.push_back({Kind::loss, "cross-entropy", {"Logits"}, "", "", "V", 3});
  return block;
}

}  // namespace

const BlockTensor& Block::activation(const std::string& wanted) const { return named(activations, wanted); }
const BlockTensor& Block::weight(const std::string& wanted) const { return named(weights, wanted); }

NotExpanded why_not_expanded(const Model& model, std::int64_t sequence_length, bool tensor_parallel) {
  const std::string dense = "a model of equal dense layers, such as llama-3-70b";
  if (model.latent) return {"latent attention is not simulated yet", dense};
  if (model.experts) return {"experts are not simulated yet", dense};
  if (model.mtp_modules > 0) return {"multi-token prediction is not simulated yet", dense};
  std::int64_t shortest = sequence_length;
  for (const LayerKind& kind : model.layer_kinds) {
    if (kind.reach != AttentionReach::full) shortest = std::min(shortest, kind.span);
  }
  if (shortest < sequence_length) {
    return {"attention over windows of " + std::to_string(shortest) + " tokens is not simulated yet",
            "a sequence_length within the window, or the model without it"};
  }
  if (model.parallel_residual && tensor_parallel) {
    return {"attention and MLP beside each other are simulated one after the other, with twice their tensor-parallel communication",
            "parallel.tensor 1, or another model"};
  }
  return {};
}

BlockSequence blocks_of(const Model& model) {
  if (model.latent || model.experts) throw InternalError("blocks of a model that they cannot express");
  BlockSequence sequence;
  const auto layers = static_cast<std::size_t>(model.layers);
  if (!model.attention || model.vocabulary == 0) {
    sequence.kinds = {model.attention ? transformer_layer(model) : two_matmul_layer()};
    sequence.order.assign(layers, 0);
    return sequence;
  }
  sequence.kinds = {embedding(), transformer_layer(model), head(model)};
  sequence.order.push_back(0);
  sequence.order.insert(sequence.order.end(), layers, 1);
  sequence.order.push_back(2);
  return sequence;
}

Sizes sizes_of(const Model& model, std::int64_t sequences, std::int64_t sequence_length) {
  Sizes sizes;
  sizes.dims = {{"D", {model.d_model, false}}, {"F", {model.d_ff, false}}};
  if (!model.attention) {
    sizes.dims["B"] = {sequences * sequence_length, true};
    return sizes;
  }
  sizes.dims["B"] = {sequences, true};
  sizes.dims["T"] = {sequence_length, true};
  sizes.dims["N"] = {model.heads, true};
  sizes.dims["K"] = {model.kv_heads, true};
  sizes.dims["H"] = {model.head_size, true};
  sizes.dims["V"] = {model.vocabulary, false};
  return sizes;
}

}  // namespace lockstep
