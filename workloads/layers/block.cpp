#include "workloads/layers/block.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/errors.hpp"
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;
using Dims = std::vector<std::string>;
const Dims stream{"B", "T", "D"};

const BlockTensor& named(const std::vector<BlockTensor>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& tensor) { return tensor.name == name; });
  if (found == list.end()) throw InternalError("block has no tensor " + name);
  return *found;
}

/// In[B,D] Win[D,F] -> Tmp[B,F] Wout[F,D] -> Out[B,D]: the book's layer (equations.md, One layer).
Block two_matmul_layer(const Model& model, const BlockOptions& options) {
  BlockWriter writer(model, options, "layer", "In", "Out");
  writer.activation("In", {"B", "D"});
  writer.product("in projection", "In", "Win", {"D", "F"}, "Tmp", {"B", "F"}, OpPart::mlp);
  writer.product("out projection", "Tmp", "Wout", {"F", "D"}, "Out", {"B", "D"}, OpPart::mlp);
  return writer.take();
}

Block decoder_layer(const Model& model, const BlockOptions& options, const LayerKind& kind, const std::string& name) {
  BlockWriter writer(model, options, name, "X", "Xnext");
  writer.activation("X", writer.residual());
  writer.layer(kind, "X", "Xnext");
  return writer.take();
}

Block embedding(const Model& model, const BlockOptions& options) {
  BlockWriter writer(model, options, "embedding", "", "X");
  writer.activation("Tokens", {"B", "T", "V"});
  const bool streams = model.streams > 1;
  const std::string rows = streams ? "Xe" : "X";
  writer.activation(rows, stream);
  writer.weight("Wembed", {"V", "D"});
  writer.op({.kind = Kind::lookup, .name = "embedding", .inputs = {"Tokens"}, .weight = "Wembed", .output = rows});
  if (streams) writer.linear("embedding to streams", {rows}, "X", writer.residual());
  return writer.take();
}

/// `owned`: an earlier block has the matrix already.
void unembedding(BlockWriter& writer, const Model& model, const std::string& in, const std::string& logits,
                 bool owned) {
  const std::string weight = model.tied_embeddings ? "Wembed" : "Whead";
  writer.weight(weight, model.tied_embeddings ? Dims{"V", "D"} : Dims{"D", "V"}, model.tied_embeddings || owned);
  writer.activation(logits, {"B", "T", "V"});
  writer.op({.kind = Kind::matmul, .name = "unembedding", .inputs = {in}, .weight = weight, .output = logits});
  writer.op({.kind = Kind::loss,
             .name = "cross-entropy",
             .inputs = {logits},
             .weight = "",
             .output = "",
             .reduced_dim = "V",
             .statistics = 3});
}

Block head(const Model& model, const BlockOptions& options, bool owned) {
  BlockWriter writer(model, options, "head", "X", "");
  writer.activation("X", writer.residual());
  const std::string joined = model.streams > 1 ? "Xj" : "X";
  if (model.streams > 1) writer.join_streams("head input", "X", "Jh", "Wmixh", "J0", joined);
  if (model.final_norm) {
    writer.norm("final norm", joined, "Xf", stream, "Wnormf");
  } else {
    writer.add("final hidden state", {joined}, "Xf", stream);
  }
  unembedding(writer, model, "Xf", "Logits", owned);
  return writer.take();
}

/// arXiv 2412.19437, section 2.2: the hidden state and the next token's embedding, each normed, joined and projected,
/// pass one more layer and the model's own head. The main stream passes through unchanged.
Block prediction(const Model& model, const BlockOptions& options, bool owned) {
  BlockWriter writer(model, options, "prediction", "X", "Xnext");
  const bool streams = model.streams > 1;
  writer.activation("X", writer.residual());
  writer.activation("Tokens", {"B", "T", "V"});
  writer.weight("Wembed", {"V", "D"}, true);
  writer.activation("Pe", stream);
  writer.op({.kind = Kind::lookup,
             .name = "embedding of the next token",
             .inputs = {"Tokens"},
             .weight = "Wembed",
             .output = "Pe"});
  if (streams) {
    writer.hidden_and_embedding_of_streams("X", "Pe", "Px");
  } else {
    writer.norm("hidden state norm", "X", "Ph", stream, "Wpnorm1");
    writer.norm("embedding norm", "Pe", "Pn", stream, "Wpnorm2");
    writer.linear("hidden state and embedding", {"Ph", "Pn"}, "Pc", {"B", "T", "Dc"});
    writer.product("prediction projection", "Pc", "Wproj", {"Dc", "D"}, "Px", stream);
  }
  writer.layer(prediction_layers(model).front(), "Px", "Pxnext");
  if (streams) writer.join_streams("head input", "Pxnext", "Pjh", "Wpmixh", "J0", "Pj");
  writer.norm("final norm", streams ? "Pj" : "Pxnext", "Pf", stream, "Wnormf");
  unembedding(writer, model, "Pf", "PLogits", owned);
  writer.add("main stream", {"X"}, "Xnext", writer.residual());
  return writer.take();
}

std::string layer_name(const LayerSequence& layers, LayerKindId kind) {
  if (layers.kinds.size() == 1) return "layer";
  const auto& own = layers.kinds[kind];
  std::string name;
  for (const auto& other : layers.kinds) {
    if ((other.experts != own.experts || other.mlp != own.mlp) && own.mlp) name = own.experts ? "expert " : "dense ";
  }
  for (const auto& other : layers.kinds) {
    if (other.reach == own.reach) continue;
    name += own.reach == AttentionReach::full      ? "global "
            : own.reach == AttentionReach::sliding ? "sliding "
                                                   : "chunked ";
    break;
  }
  for (const auto& other : layers.kinds) {
    if (other.mixer == own.mixer && other.mlp == own.mlp && other.shared_index == own.shared_index) continue;
    if (own.mixer == Mixer::recurrence) name += "recurrent ";
    if (own.mixer == Mixer::attention) name += "attention ";
    if (own.shared_index) name += "sharing ";
    break;
  }
  for (const auto& other : layers.kinds) {
    if (other.compression == own.compression) continue;
    name += own.compression == Compression::none     ? "window "
            : own.compression == Compression::chosen ? "chosen entries "
                                                     : "all entries ";
    break;
  }
  return name + "layer";
}

}  // namespace

const BlockTensor& Block::activation(const std::string& wanted) const { return named(activations, wanted); }
const BlockTensor& Block::weight(const std::string& wanted) const { return named(weights, wanted); }

NotExpanded why_not_expanded(const Model& model) {
  if (prediction_layers(model).size() > 1)
    return {"a prediction module of several layers is not simulated", "mtp_modules: 0, or a module of one layer"};
  if (model.indexer && model.latent && model.latent->q_rank == 0)
    return {"an indexer whose queries do not come out of a latent is not simulated", "latent_attention.q_rank"};
  return {};
}

BlockSequence blocks_of(const Model& model, const BlockOptions& options) {
  BlockSequence sequence;
  if (!model.attention) {
    sequence.kinds = {two_matmul_layer(model, options)};
    sequence.kinds.front().is_layer = true;
    sequence.order.assign(model.layers, 0);
    return sequence;
  }
  const auto add = [&](Block block) {
    sequence.kinds.push_back(std::move(block));
    return sequence.kinds.count() - 1;
  };
  const bool vocabulary = model.vocabulary > 0;
  if (vocabulary) sequence.order.push_back(add(embedding(model, options)));
  const auto layers = layer_sequence(model);
  Indexed<LayerKindId, KindId> kind_of_layer;
  for (const LayerKindId kind : layers.kinds.ids()) {
    kind_of_layer.push_back(add(decoder_layer(model, options, layers.kinds[kind], layer_name(layers, kind))));
    sequence.kinds.back().is_layer = true;
  }
  for (const LayerKindId kind : layers.order) sequence.order.push_back(kind_of_layer[kind]);
  if (!vocabulary) return sequence;
  for (std::int64_t module = 0; module < model.mtp_modules; ++module) {
    sequence.order.push_back(add(prediction(model, options, module > 0)));
  }
  sequence.order.push_back(add(head(model, options, model.mtp_modules > 0)));
  return sequence;
}

namespace {

/// What a recurrence has for each head besides matrices and taps: Mamba-2's decay, step size and skip. The offsets of
/// Kimi Delta Attention's decay stand for each key and are a bias.
std::int64_t numbers_of_a_head(const Recurrence& recurrence) {
  const std::int64_t taps = recurrence.convolution + (recurrence.convolution_bias ? 1 : 0);
  const std::int64_t of_keys = recurrence.rule == Recurrence::Rule::kimi_delta ? recurrence.keys() : 0;
  return (recurrence_vectors(recurrence) - taps * recurrence.channels() - of_keys) / recurrence.heads;
}

}  // namespace

Sizes sizes_of(const Model& model, std::int64_t sequences, std::int64_t sequence_length, double capacity_factor) {
  Sizes sizes;
  sizes.dims = {{"D", {model.d_model, false}}, {"F", {model.d_ff, false}}};
  if (!model.attention) {
    sizes.dims["B"] = {sequences * sequence_length, true};
    return sizes;
  }
  sizes.dims["B"] = {sequences, true};
  sizes.dims["T"] = {sequence_length, true};
  sizes.dims["N"] = {model.heads, true};
  sizes.dims["K"] = {model.kv_heads, true, true};
  sizes.dims["H"] = {model.head_size, true};
  sizes.dims["V"] = {model.vocabulary, false};
  if (model.latent) {
    const auto& latent = *model.latent;
    sizes.dims["Rq"] = {latent.q_rank, false};
    sizes.dims["Rk"] = {latent.kv_rank, false};
    sizes.dims["Hn"] = {latent.nope_head_size, true};
    sizes.dims["Hr"] = {latent.rope_head_size, true};
    sizes.dims["Hv"] = {latent.value_head_size, true};
  }
  if (model.compressed) {
    const auto& compressed = *model.compressed;
    const auto share = [](std::int64_t size, std::int64_t rate) { return DimSize{(size + rate - 1) / rate, false}; };
    sizes.dims["Rq"] = {compressed.q_rank, false};
    sizes.dims["Go"] = {compressed.output_groups, true};
    sizes.dims["Hg"] = {model.heads * model.head_size / compressed.output_groups, false};
    sizes.dims["Ro"] = {compressed.output_rank, false};
    sizes.dims["H2"] = {compressed_series * model.head_size, false};
    sizes.dims["Rs"] = {compressed.chosen_rate, false};
    sizes.dims["Rl"] = {compressed.all_rate, false};
    sizes.dims["Hs"] = share(model.head_size, compressed.chosen_rate);
    sizes.dims["Hl"] = share(model.head_size, compressed.all_rate);
    if (model.indexer) {
      sizes.dims["Hi2"] = {compressed_series * model.indexer->head_size, false};
      sizes.dims["His"] = share(model.indexer->head_size, compressed.chosen_rate);
    }
  }
  if (model.streams > 1) {
    sizes.dims["J"] = {model.streams, false};
    sizes.dims["J0"] = {model.streams, false};
    sizes.dims["Jm"] = {model.streams * (model.streams + 2), false};
    sizes.dims["Dp"] = {model.d_model, false};
  }
  if (model.full_heads) {
    sizes.dims["Kf"] = {model.full_heads->kv_heads, true, true};
    sizes.dims["Hf"] = {model.full_heads->head_size, true};
  }
  if (model.indexer) {
    const std::int64_t half_words = 2;
    sizes.dims["Ni"] = {model.indexer->heads, true};
    sizes.dims["Hi"] = {model.indexer->head_size, false};
    const auto seen = model.compressed ? sequence_length / model.compressed->chosen_rate : sequence_length;
    sizes.dims["X"] = {half_words * std::max<std::int64_t>(std::min(model.indexer->top_k, seen), 1), false};
  }
  if (model.recurrence) {
    const auto& recurrence = *model.recurrence;
    sizes.dims["M"] = {recurrence.heads, true};
    sizes.dims["G"] = {recurrence.key_heads, true};
    sizes.dims["S"] = {recurrence.key_size, false};
    sizes.dims["P"] = {recurrence.value_size, false};
    sizes.dims["W"] = {recurrence.convolution + (recurrence.convolution_bias ? 1 : 0), false};
    sizes.dims["Mv"] = {numbers_of_a_head(recurrence), false};
    sizes.dims["Rg"] = {recurrence.gate_rank, false};
    sizes.dims["Rd"] = {recurrence.decay_rank, false};
  }
  if (model.experts) {
    const auto& experts = *model.experts;
    sizes.dims["De"] = {experts.latent, false};
    const auto routed =
        static_cast<double>(experts.per_token) * static_cast<double>(sequences) * static_cast<double>(sequence_length);
    sizes.dims["E"] = {experts.count, true};
    sizes.dims["C"] = {
        static_cast<std::int64_t>(std::ceil(capacity_factor * routed / static_cast<double>(experts.count))), false};
    sizes.dims["Fe"] = {experts.width, false};
    sizes.dims["Fs"] = {experts.shared * experts.shared_width, false};
  }
  if (model.mtp_modules > 0) sizes.dims["Dc"] = {2 * model.d_model, false};
  return sizes;
}

}  // namespace lockstep::workloads
