// Queries, keys and values by direct projection or out of latents, and attention itself.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::attention(const LayerKind& kind, const std::string& in, const std::string& out) {
  if (model_.compressed) return compressed_attention(kind, in, out);
  const std::string value_size = model_.latent ? "Hv" : model_.has_full_heads(kind) ? "Hf" : "H";
  const std::string suffix = model_.has_full_heads(kind) ? "f" : "";
  const Dims values{"B", "T", "N", value_size};
  if (model_.indexer && model_.latent) {
    sparse_attention(kind, in);
  } else {
    if (model_.latent) {
      latent_queries_keys_values(in);
    } else {
      queries_keys_values(in, kind);
    }
    activation("O" + suffix, values);
    // Unfused: softmax and, with dropout, its mask of one byte and the scores after it.
    const int scores = options_.fused_attention
                           ? 0
                           : options_.activation_bytes * (options_.dropout ? 2 : 1) + (options_.dropout ? 1 : 0);
    if (model_.attention_sinks) weight("Wsinks", {"N"});
    op({.kind = Kind::attention,
        .name = "attention",
        .inputs = {"Q" + suffix, "K" + suffix, "V" + suffix},
        .weight = model_.attention_sinks ? "Wsinks" : "",
        .output = "O" + suffix,
        .part = OpPart::core_attention,
        .reach = kind,
        .score_bytes = scores,
        .drops_scores = options_.dropout});
  }
  const std::string result = gated_output(in, "O" + suffix, values);
  product("attention output", result, "Wo" + suffix, {"N", value_size, "D"}, out, {"B", "T", "D"});
  biased(model_.attention_output_bias);
  if (model_.parallel_residual) mark_branch();
}

std::string BlockWriter::gated_output(const std::string& in, const std::string& name, const Dims& dims) {
  if (!model_.attention_gate) return name;
  product("output gate projection", in, "Wog", {"D", dims[2], dims[3]}, "Og", dims);
  nonlinear("output gate", {name, "Og"}, "Oz", dims, OpPart::other);
  return "Oz";
}

/// Layers that see all tokens may have heads of their own, whose arrays have an f behind their name, and values that
/// are the projected keys after a norm without weights.
void BlockWriter::queries_keys_values(const std::string& in, const LayerKind& kind) {
  const bool own = model_.has_full_heads(kind);
  const std::string f = own ? "f" : "";
  const std::string heads = "K" + f, size = "H" + f;
  const Dims queries{"B", "T", "N", size};
  const Dims keys{"B", "T", heads, size};
  const bool normed = model_.qk_norm != QkNorm::none;
  const bool shared = own && model_.full_heads->values_are_keys;
  const std::string q = rotary() ? "Qp" + f : "Q" + f, k = rotary() ? "Kp" + f : "K" + f;
  const std::string projected = normed ? "Ku" + f : k;
  product("query projection", in, "Wq" + f, {"D", "N", size}, normed ? "Qu" + f : q, queries);
  biased(model_.qkv_bias);
  product("key projection", in, "Wk" + f, {"D", heads, size}, projected, keys);
  biased(model_.qkv_bias);
  if (shared) {
    nonlinear("value norm", {projected}, "V" + f, keys, OpPart::norm);
  } else {
    product("value projection", in, "Wv" + f, {"D", heads, size}, "V" + f, keys);
    biased(model_.qkv_bias);
  }
  if (normed) {
    norm_of_heads("query norm", "Qu" + f, q, queries, "Wqnorm" + f);
    norm_of_heads("key norm", "Ku" + f, k, keys, "Wknorm" + f);
  }
  if (!rotary()) return;
  linear("rotary position of queries", {q}, "Q" + f, queries);
  linear("rotary position of keys", {k}, "K" + f, keys);
}

/// Over each head by itself, or over all heads together, whose ranks then add up their squares.
void BlockWriter::norm_of_heads(const std::string& what, const std::string& in, const std::string& out,
                                const Dims& dims, const std::string& weight_name) {
  norm(what, in, out, dims, weight_name);
  if (model_.qk_norm != QkNorm::full_width) return;
  block_.ops.back().reduced_dim = dims[2];
  if (!block_.ops.back().weight.empty()) block_.weights.back().dims = {dims[2], dims[3]};
}

/// arXiv 2405.04434, section 2.1: the rotary part of a key is one for all heads.
void BlockWriter::latent_queries_keys_values(const std::string& in) {
  const Dims queries{"B", "T", "N", "H"};
  std::string from = in;
  if (model_.latent->q_rank > 0) {
    product("query latent", in, "Wqa", {"D", "Rq"}, "Qa", {"B", "T", "Rq"});
    biased(model_.qkv_bias);
    norm("query latent norm", "Qa", "Qn", {"B", "T", "Rq"}, "Wqnorm");
    product("query projection", "Qn", "Wqb", {"Rq", "N", "H"}, "Qp", queries, OpPart::latent_projection);
  } else {
    product("query projection", in, "Wq", {"D", "N", "H"}, "Qp", queries);
  }
  product("key-value latent", in, "Wkva", {"D", "Rk"}, "KVa", {"B", "T", "Rk"});
  biased(model_.qkv_bias);
  product("rotary key", in, "Wkr", {"D", "Hr"}, "Kr", {"B", "T", "Hr"});
  biased(model_.qkv_bias);
  norm("key-value latent norm", "KVa", "KVn", {"B", "T", "Rk"}, "Wkvnorm");
  product("key projection", "KVn", "Wkb", {"Rk", "N", "Hn"}, "Kn", {"B", "T", "N", "Hn"}, OpPart::latent_projection);
  product("value projection", "KVn", "Wvb", {"Rk", "N", "Hv"}, "V", {"B", "T", "N", "Hv"}, OpPart::latent_projection);
  linear("rotary position of queries", {"Qp"}, "Q", queries, OpPart::latent_projection);
  linear("keys of both parts", {"Kn", "Kr"}, "K", queries, OpPart::latent_projection);
}

}  // namespace lockstep::workloads
