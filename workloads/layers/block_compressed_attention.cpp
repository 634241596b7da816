// DeepSeek-V4's attention (arXiv 2606.19348, section 2.3): one key for all heads, which is the value too. A token sees
// a window, and beyond it entries that each stand for several tokens: a weighted sum of their values, with weights for
// each number. Entries of few tokens overlap, and an indexer chooses among them; of many tokens all are seen. An entry
// of r tokens is kept as H / r numbers of each, so that arrays of entries are split as tokens are.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;
using Dims = BlockWriter::Dims;
const Dims queries{"B", "T", "N", "H"}, keys{"B", "T", "H"};

}  // namespace

void BlockWriter::norm_over(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                            const std::string& weight_name, const std::string& weight_dim, const std::string& over) {
  if (!weight_name.empty()) weight(weight_name, {weight_dim});
  activation(out, dims);
  op({.kind = Kind::elementwise,
      .name = what,
      .inputs = {in},
      .weight = weight_name,
      .output = out,
      .reduced_dim = over,
      .statistics = 1,
      .part = OpPart::norm});
}

void BlockWriter::compressed_attention(const LayerKind& kind, const std::string& in, const std::string& out) {
  const CompressedAttention& compressed = *model_.compressed;
  product("query latent", in, "Wqa", {"D", "Rq"}, "Qa", {"B", "T", "Rq"});
  norm("query latent norm", "Qa", "Qn", {"B", "T", "Rq"}, "Wqnorm");
  product("query projection", "Qn", "Wqb", {"Rq", "N", "H"}, "Qp", queries, OpPart::latent_projection);
  norm_over("query norm and rotary position", "Qp", "Q", queries, "", "", "H");
  product("key projection", in, "Wkv", {"D", "H"}, "Kp", keys);
  norm("key norm", "Kp", "Kn", keys, "Wkvnorm");
  linear("rotary position of keys", {"Kn"}, "Kw", keys);
  Dims inputs{"Q", "Kw"};
  if (kind.compression == Compression::chosen) {
    entries("entry", in, "Ks", {"H2", "Hs", "Rs", "H"}, true, false);
    compressed_index(in);
    inputs.insert(inputs.end(), {"Ks", "Chosen"});
  } else if (kind.compression == Compression::all) {
    entries("entry", in, "Kl", {"H", "Hl", "Rl", "H"}, false, false);
    inputs.emplace_back("Kl");
  }
  activation("O", queries);
  if (model_.attention_sinks) weight("Wsinks", {"N"});
  op({.kind = Kind::compressed_attention,
      .name = "attention",
      .inputs = inputs,
      .weight = model_.attention_sinks ? "Wsinks" : "",
      .output = "O",
      .part = OpPart::core_attention,
      .reach = kind,
      .top_k = kind.compression == Compression::chosen ? model_.indexer->top_k : 0,
      .rate = compressed.rate(kind.compression),
      .before = kind.span - 1});
  linear("rotary position taken back", {"O"}, "Og", {"B", "T", "Go", "Hg"});
  product("output of head groups", "Og", "Woa", {"Go", "Hg", "Ro"}, "Or", {"B", "T", "Go", "Ro"});
  product("attention output", "Or", "Wob", {"Go", "Ro", "D"}, out, {"B", "T", "D"});
}

/// Weighted over the tokens of an entry, and over those of the entry before if they overlap.
void BlockWriter::entries(const std::string& what, const std::string& in, const std::string& out,
                          const EntrySizes& sizes, bool overlapping, bool detached) {
  const Dims wide{"B", "T", sizes.wide}, share{"B", "T", sizes.share};
  product(what + " values", in, "W" + out + "v", {"D", sizes.wide}, out + "v", wide, OpPart::other, detached);
  product(what + " weights", in, "W" + out + "w", {"D", sizes.wide}, out + "w", wide, OpPart::other, detached);
  weight("W" + out + "p", {sizes.rate, sizes.wide});
  activation(out + "u", share);
  op({.kind = Kind::elementwise,
      .name = what + " of tokens",
      .inputs = {out + "v", out + "w"},
      .weight = "W" + out + "p",
      .output = out + "u",
      .before = overlapping ? model_.compressed->chosen_rate : 0});
  norm_over(what + " norm", out + "u", out + "n", share, "W" + out + "norm", sizes.whole, sizes.share);
  linear("rotary position of " + what, {out + "n"}, out, share);
}

/// As DeepSeek-V3.2's, with keys that are entries themselves.
void BlockWriter::compressed_index(const std::string& in) {
  const Dims heads{"B", "T", "Ni", "Hi"}, scales{"B", "T", "Ni"};
  product("indexer query projection", "Qn", "Wiq", {"Rq", "Ni", "Hi"}, "Iqp", heads, OpPart::other, true);
  entries("indexer key", in, "Ik", {"Hi2", "His", "Rs", "Hi"}, true, true);
  product("indexer weights of heads", in, "Wiw", {"D", "Ni"}, "Iw", scales, OpPart::other, true);
  linear("rotary position of indexer queries", {"Iqp"}, "Iq", heads);
  activation("Chosen", {"B", "T", "X"});
  op({.kind = Kind::index,
      .name = "index",
      .inputs = {"Iq", "Ik", "Iw", "Q", "Ks"},
      .weight = "",
      .output = "Chosen",
      .part = OpPart::other,
      .top_k = model_.indexer->top_k,
      .rate = model_.compressed->chosen_rate});
}

}  // namespace lockstep::workloads
