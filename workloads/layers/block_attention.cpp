// Queries, keys and values by direct projection or out of latents, and attention itself.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::attention(const LayerKind& kind, const std::string& in, const std::string& out) {
  if (model_.latent) {
    latent_queries_keys_values(in);
  } else {
    queries_keys_values(in);
  }
  const std::string value_size = model_.latent ? "Hv" : "H";
  activation("O", {"B", "T", "N", value_size});
  // Unfused: softmax and, with dropout, its mask of one byte and the scores after it.
  const int scores = options_.fused_attention
                         ? 0
                         : options_.activation_bytes * (options_.dropout ? 2 : 1) + (options_.dropout ? 1 : 0);
  op({.kind = Kind::attention,
      .name = "attention",
      .inputs = {"Q", "K", "V"},
      .weight = "",
      .output = "O",
      .part = OpPart::core_attention,
      .reach = kind,
      .score_bytes = scores});
  product("attention output", "O", "Wo", {"N", value_size, "D"}, out, {"B", "T", "D"});
  if (model_.parallel_residual) block_.activations.back().branch = true;
}

void BlockWriter::queries_keys_values(const std::string& in) {
  const Dims queries{"B", "T", "N", "H"};
  const Dims keys{"B", "T", "K", "H"};
  std::string q = rotary() ? "Qp" : "Q";
  std::string k = rotary() ? "Kp" : "K";
  const bool normed = model_.qk_norm != QkNorm::none;
  product("query projection", in, "Wq", {"D", "N", "H"}, normed ? "Qu" : q, queries);
  product("key projection", in, "Wk", {"D", "K", "H"}, normed ? "Ku" : k, keys);
  product("value projection", in, "Wv", {"D", "K", "H"}, "V", keys);
  if (normed) {
    norm("query norm", "Qu", q, queries, "Wqnorm");
    norm("key norm", "Ku", k, keys, "Wknorm");
  }
  if (!rotary()) return;
  linear("rotary position of queries", {q}, "Q", queries);
  linear("rotary position of keys", {k}, "K", keys);
}

/// arXiv 2405.04434, section 2.1: the rotary part of a key is one for all heads.
void BlockWriter::latent_queries_keys_values(const std::string& in) {
  const Dims queries{"B", "T", "N", "H"};
  std::string from = in;
  if (model_.latent->q_rank > 0) {
    product("query latent", in, "Wqa", {"D", "Rq"}, "Qa", {"B", "T", "Rq"});
    norm("query latent norm", "Qa", "Qn", {"B", "T", "Rq"}, "Wqnorm");
    product("query projection", "Qn", "Wqb", {"Rq", "N", "H"}, "Qp", queries, OpPart::latent_projection);
  } else {
    product("query projection", in, "Wq", {"D", "N", "H"}, "Qp", queries);
  }
  product("key-value latent", in, "Wkva", {"D", "Rk"}, "KVa", {"B", "T", "Rk"});
  product("rotary key", in, "Wkr", {"D", "Hr"}, "Kr", {"B", "T", "Hr"});
  norm("key-value latent norm", "KVa", "KVn", {"B", "T", "Rk"}, "Wkvnorm");
  product("key projection", "KVn", "Wkb", {"Rk", "N", "Hn"}, "Kn", {"B", "T", "N", "Hn"}, OpPart::latent_projection);
  product("value projection", "KVn", "Wvb", {"Rk", "N", "Hv"}, "V", {"B", "T", "N", "Hv"}, OpPart::latent_projection);
  linear("rotary position of queries", {"Qp"}, "Q", queries, OpPart::latent_projection);
  linear("keys of both parts", {"Kn", "Kr"}, "K", queries, OpPart::latent_projection);
}

}  // namespace lockstep::workloads
