// Attention to the tokens that an indexer chooses (arXiv 2512.02556). Each token sees others of its own, so its queries
// attend to the latents themselves, which all heads share: they are turned into the latents' space before and the
// results out of it after, by the matrices that would have made keys and values.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;

}  // namespace

void BlockWriter::sparse_attention(const LayerKind& kind, const std::string& in) {
  const Dims plain{"B", "T", "N", "Hn"}, positioned{"B", "T", "N", "Hr"}, for_latents{"B", "T", "N", "Rk"};
  product("query latent", in, "Wqa", {"D", "Rq"}, "Qa", {"B", "T", "Rq"});
  biased(model_.qkv_bias);
  norm("query latent norm", "Qa", "Qn", {"B", "T", "Rq"}, "Wqnorm");
  product("query projection", "Qn", "Wqbn", {"Rq", "N", "Hn"}, "Qc", plain, OpPart::latent_projection);
  product("rotary query projection", "Qn", "Wqbr", {"Rq", "N", "Hr"}, "Qrp", positioned, OpPart::latent_projection);
  product("key-value latent", in, "Wkva", {"D", "Rk"}, "KVa", {"B", "T", "Rk"});
  biased(model_.qkv_bias);
  product("rotary key", in, "Wkr", {"D", "Hr"}, "Krp", {"B", "T", "Hr"});
  biased(model_.qkv_bias);
  norm("key-value latent norm", "KVa", "KVn", {"B", "T", "Rk"}, "Wkvnorm");
  product("query for latents", "Qc", "Wkb", {"Rk", "N", "Hn"}, "Ql", for_latents, OpPart::latent_projection);
  linear("rotary position of queries", {"Qrp"}, "Qr", positioned, OpPart::latent_projection);
  linear("rotary position of keys", {"Krp"}, "Kr", {"B", "T", "Hr"});
  Dims inputs{"Ql", "Qr", "KVn", "Kr"};
  if (!kind.shared_index) {
    index(in);
    inputs.push_back("Chosen");
  }
  activation("Ol", for_latents);
  op({.kind = Kind::sparse_attention,
      .name = "attention",
      .inputs = inputs,
      .weight = "",
      .output = "Ol",
      .part = OpPart::core_attention,
      .top_k = model_.indexer->top_k});
  product("value projection", "Ol", "Wvb", {"Rk", "N", "Hv"}, "O", {"B", "T", "N", "Hv"}, OpPart::latent_projection);
}

/// Trained by itself: what it reads of the layer gets no gradient.
void BlockWriter::index(const std::string& in) {
  const Dims queries{"B", "T", "Ni", "Hi"}, keys{"B", "T", "Hi"}, scales{"B", "T", "Ni"};
  product("indexer query projection", "Qn", "Wiq", {"Rq", "Ni", "Hi"}, "Iqp", queries, OpPart::other, true);
  product("indexer key projection", in, "Wik", {"D", "Hi"}, "Iku", keys, OpPart::other, true);
  product("indexer weights of heads", in, "Wiw", {"D", "Ni"}, "Iw", scales, OpPart::other, true);
  norm("indexer key norm", "Iku", "Ikp", keys, "Wiknorm");
  linear("rotary position of indexer queries", {"Iqp"}, "Iq", queries);
  linear("rotary position of indexer keys", {"Ikp"}, "Ik", keys);
  activation("Chosen", {"B", "T", "X"});
  op({.kind = Kind::index,
      .name = "index",
      .inputs = {"Iq", "Ik", "Iw", "Ql", "Qr", "KVn", "Kr"},
      .weight = "",
      .output = "Chosen",
      .part = OpPart::other,
      .top_k = model_.indexer->top_k});
}

}  // namespace lockstep::workloads
