// Hyper-connections (arXiv 2409.19606, with the constraint of DeepSeek-V4's mHC): the residual stream is several, which
// each part of a layer reads as one, weighted, and writes back to all of them, mixed with each other. The weights are
// those of the token: a product out of all streams, then a few numbers of arithmetic (a sigmoid, and the rounds that
// make the mixing matrix doubly stochastic), which the operations that read and write the streams do on their way.
#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;
const BlockWriter::Dims stream{"B", "T", "D"};

}  // namespace

BlockWriter::Dims BlockWriter::residual() const { return model_.streams > 1 ? Dims{"B", "T", "J", "D"} : stream; }

void BlockWriter::join_streams(const std::string& what, const std::string& in, const std::string& mix,
                               const std::string& weight, const std::string& mix_dim, const std::string& out) {
  product(what + " mix", in, weight, {"J", "D", mix_dim}, mix, {"B", "T", mix_dim}, OpPart::streams);
  nonlinear(what + " of streams", {in, mix}, out, stream, OpPart::streams);
}

void BlockWriter::spread_streams(const std::string& what, const std::string& in, const std::string& mix,
                                 const std::string& branch, const std::string& out) {
  nonlinear(what + " to streams", {in, mix, branch}, out, residual(), OpPart::streams);
}

void BlockWriter::layer_of_streams(const LayerKind& kind, const std::string& in, const std::string& out) {
  std::string main = in;
  if (kind.mixer != Mixer::none) {
    join_streams("attention input", main, "Jm1", "Wmix1", "Jm", "J1");
    norm("attention norm", "J1", "A", stream, "Wnorm1");
    mixer(kind, "A", "Y");
    const std::string left = kind.mlp ? "R" : out;
    spread_streams("attention result", main, "Jm1", after_branch("attention", "Y"), left);
    main = left;
  }
  if (!kind.mlp) return;
  join_streams("mlp input", main, "Jm2", "Wmix2", "Jm", "J2");
  norm("mlp norm", "J2", "M", stream, "Wnorm2");
  mlp(kind, "M");
  spread_streams("mlp result", main, "Jm2", after_branch("mlp", "E"), out);
}

/// Each stream is projected by itself, and the embedding is added to all of them.
void BlockWriter::hidden_and_embedding_of_streams(const std::string& in, const std::string& embedded,
                                                  const std::string& out) {
  norm_over("hidden state norm", in, "Ph", {"B", "T", "J", "Dp"}, "Wpnorm1", "D", "D");
  norm_over("embedding norm", embedded, "Pn", {"B", "T", "Dp"}, "Wpnorm2", "D", "D");
  product("hidden state projection", "Ph", "Wprojh", {"Dp", "D"}, "Phx", residual());
  product("embedding projection", "Pn", "Wproje", {"Dp", "D"}, "Pnx", stream);
  linear("embedding to streams", {"Phx", "Pnx"}, out, residual());
}

}  // namespace lockstep::workloads
