#include "workloads/layers/block_writer_private.hpp"

namespace lockstep::workloads {
namespace {

using Kind = BlockOp::Kind;
const BlockWriter::Dims stream{"B", "T", "D"};

}  // namespace

void BlockWriter::product(const std::string& what, const std::string& in, const std::string& weight_name,
                          const Dims& weight_dims, const std::string& out, const Dims& out_dims, OpPart part,
                          bool detached) {
  weight(weight_name, weight_dims);
  activation(out, out_dims);
  op({.kind = Kind::matmul,
      .name = what,
      .inputs = {in},
      .weight = weight_name,
      .output = out,
      .part = part,
      .detached = detached});
}

void BlockWriter::biased(bool has) {
  if (!has) return;
  const auto of = block_.ops.back();
  auto& unbiased = block_.activations.back();
  const Dims dims = unbiased.dims;
  unbiased.name += "x";
  block_.ops.back().output = unbiased.name;
  weight(of.weight + "bias", {dims.begin() + 2, dims.end()});  // behind B and T
  op({.kind = Kind::add,
      .name = of.name,
      .inputs = {of.output + "x"},
      .weight = of.weight + "bias",
      .output = of.output,
      .part = of.part});
  activation(of.output, dims);
}

void BlockWriter::mark_branch() {
  const auto last = block_.activations.rbegin();
  last->branch = true;
  const auto& op = block_.ops.back();
  if (op.kind == Kind::add && !op.weight.empty()) std::next(last)->branch = true;
}

void BlockWriter::norm(const std::string& what, const std::string& in, const std::string& out, const Dims& dims,
                       const std::string& weight_name) {
  const bool has_weight = model_.norm != NormKind::none;
  if (has_weight) weight(weight_name, {dims.back()});
  activation(out, dims);
  op({.kind = Kind::elementwise,
      .name = what,
      .inputs = {in},
      .weight = has_weight ? weight_name : "",
      .output = out,
      .reduced_dim = dims.back(),
      .statistics = 1,
      .part = OpPart::norm});
}

void BlockWriter::linear(const std::string& what, const Dims& in, const std::string& out, const Dims& dims,
                         OpPart part) {
  activation(out, dims);
  op({.kind = Kind::elementwise,
      .name = what,
      .inputs = in,
      .weight = "",
      .output = out,
      .part = part,
      .linear = true});
}

void BlockWriter::nonlinear(const std::string& what, const Dims& in, const std::string& out, const Dims& dims,
                            OpPart part) {
  activation(out, dims);
  op({.kind = Kind::elementwise, .name = what, .inputs = in, .weight = "", .output = out, .part = part});
}

void BlockWriter::add(const std::string& what, const Dims& in, const std::string& out, const Dims& dims) {
  activation(out, dims);
  op({.kind = Kind::add, .name = what, .inputs = in, .weight = "", .output = out});
}

void BlockWriter::mixer(const LayerKind& kind, const std::string& in, const std::string& out) {
  if (kind.mixer == Mixer::recurrence) {
    recurrence(in, out);
  } else {
    attention(kind, in, out);
  }
}

void BlockWriter::mlp(const LayerKind& kind, const std::string& in) {
  if (kind.experts && model_.experts) {
    experts(in, "E");
  } else {
    dense_mlp(in, "E", model_.parallel_residual);
  }
}

/// Pre-norm decoder layer: X + attention(norm X), then + MLP(norm of that); with a parallel residual both read X. A
/// layer may have a recurrence in place of attention, or only one of the two parts.
void BlockWriter::layer(const LayerKind& kind, const std::string& in, const std::string& out) {
  if (model_.streams > 1) return layer_of_streams(kind, in, out);
  if (model_.parallel_residual && kind.mixer != Mixer::none && kind.mlp) {
    norm("attention norm", in, "A", stream, "Wnorm1");
    mixer(kind, "A", "Y");
    const bool own_norm = model_.norms_per_layer > 1;
    if (own_norm) norm("mlp norm", in, "M", stream, "Wnorm2");
    mlp(kind, own_norm ? "M" : "A");
    add("sum of attention and mlp", {"Y", "E"}, "S", stream);
    add("residual add", {in, after_branch("block", "S")}, out, stream);
    return;
  }
  std::string main = in;
  if (kind.mixer != Mixer::none) {
    norm("attention norm", in, "A", stream, "Wnorm1");
    mixer(kind, "A", "Y");
    main = kind.mlp ? "R" : out;
    add("residual add", {in, after_branch("attention", "Y")}, main, stream);
  }
  if (!kind.mlp) return;
  norm("mlp norm", main, "M", stream, "Wnorm2");
  mlp(kind, "M");
  add("residual add", {main, after_branch("mlp", "E")}, out, stream);
}

std::string BlockWriter::after_branch(const std::string& what, const std::string& name) {
  std::string last = name;
  if (model_.norms_per_layer > 2) {
    norm("norm after the " + what, last, last + "n", stream, "Wnorm" + name);
    last += "n";
  }
  if (options_.dropout) {
    activation(last + "d", stream);
    op({.kind = Kind::dropout, .name = what + " dropout", .inputs = {last}, .weight = "", .output = last + "d"});
    last += "d";
  }
  return last;
}

void BlockWriter::dense_mlp(const std::string& in, const std::string& out, bool branch_output) {
  mlp_hidden(in, "", "F", "");
  mlp_down("", "F", out, "");
  if (branch_output) mark_branch();
}

namespace {

/// Weights of an MLP: "Wup" of the dense one, "Wsup" of that with the letter S.
std::string weight_of(const std::string& letter, const std::string& name) {
  return "W" + (letter.empty() ? "" : std::string(1, static_cast<char>(letter.front() - 'A' + 'a'))) + name;
}

}  // namespace

/// Gate, up and activation: tensors "Gate", "Up", "Z" with a letter before them.
void BlockWriter::mlp_hidden(const std::string& in, const std::string& letter, const std::string& width,
                             const std::string& what) {
  const Dims dims{"B", "T", width};
  if (model_.gated)
    product(what + "gate projection", in, weight_of(letter, "gate"), {"D", width}, letter + "Gate", dims, OpPart::mlp);
  const bool biases = model_.mlp_bias && letter.empty();
  if (model_.gated) biased(biases);
  product(what + "up projection", in, weight_of(letter, "up"), {"D", width}, letter + "Up", dims, OpPart::mlp);
  biased(biases);
  nonlinear(what + "activation", model_.gated ? Dims{letter + "Gate", letter + "Up"} : Dims{letter + "Up"},
            letter + "Z", dims, OpPart::mlp_activation);
}

void BlockWriter::mlp_down(const std::string& letter, const std::string& width, const std::string& out,
                           const std::string& what) {
  product(what + "down projection", letter + "Z", weight_of(letter, "down"), {width, "D"}, out, stream, OpPart::mlp);
  biased(model_.mlp_bias && letter.empty());
}

}  // namespace lockstep::workloads
