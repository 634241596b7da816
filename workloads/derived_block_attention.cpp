// Attention: queries stay where they are, keys and values are gathered along a split sequence, heads must be
// split alike. Scores and values are 2 products of 2 b t T n h FLOPs each; a causal mask halves them.
#include "workloads/derived_block_private.hpp"

namespace lockstep {

/// Keys or values as the queries of a rank need them.
ShardedTensor BlockDerivation::attention_keys(const BlockOp& op, const std::string& tensor) const {
  const auto& q = crossing(op.inputs[0]);
  auto k = crossing(tensor);
  auto refuse = [](const AxisNames& axes, const std::string& what) {
    throw ShardingError(axes.empty() ? "" : axes.front(), what, "the same axes on both, and none on H");
  };
  const auto& batch = k.find("B")->axes;
  if (q.find("B")->axes != batch)
    refuse(batch, q.to_string() + " and " + k.to_string() + " split the batch differently");
  const auto& heads = q.find("N")->axes;
  const auto& kv_heads = k.find("K")->axes;
  if (heads != kv_heads)
    refuse(heads.empty() ? kv_heads : heads, q.to_string() + " and " + k.to_string() + " split the heads differently");
  for (const auto& array : {q, k}) {
    if (!array.find("H")->axes.empty()) refuse(array.find("H")->axes, array.to_string() + " splits the head size");
  }
  k.find("T")->axes.clear();
  return k;
}

Flops BlockDerivation::attention_flops(const ShardedTensor& q) const {
  const double full = 4.0 * static_cast<double>(sizes_.local_elements(q)) * static_cast<double>(sizes_.dim("T"));
  return Flops(policy_.causal ? full / 2 : full);
}

void BlockDerivation::forward_attention(const BlockOp& op) {
  const auto& q = crossing(op.inputs[0]);
  StepIds after = versions_.at(op.inputs[0]).front().producers;
  Bytes moved = bytes(q) * 2;
  for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
    const auto whole = attention_keys(op, tensor);
    merge(after, activation(tensor, whole, settled(crossing(tensor), whole)).producers);
    moved += bytes(whole);
  }
  const auto local = renamed(q, op.output);
  const auto detail = q.to_string() + ", " + attention_keys(op, op.inputs[1]).to_string() + " -> " + local.to_string();
  const int step = forward_.compute(op.name, detail, after, attention_flops(q), moved, bytes(local));
  finish_forward(op.output, {local, {step}, step}, settled(local, crossing(op.output)), {});
}

void BlockDerivation::backward_attention(const BlockOp& op) {
  const auto& q = crossing(op.inputs[0]);
  const auto wanted = gradient_of(renamed(q, op.output));
  const auto gradient = obtain_gradient(op.output, wanted, settled(gradient_of(crossing(op.output)), wanted));
  StepIds after = gradient.producers;
  StepIds saved{versions_.at(op.inputs[0]).front().buffer};
  merge(saved, {versions_.at(op.output).front().buffer});
  Bytes moved = bytes(q) * 4;
  for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
    const auto whole = attention_keys(op, tensor);
    merge(after, activation_in_backward(tensor, whole, settled(crossing(tensor), whole), saved));
    moved += bytes(whole) * 2;
  }
  const auto gradients = bytes(q) + bytes(attention_keys(op, op.inputs[1])) * 2;
  const int step =
      backward_.compute(op.name + " backward", q.to_string(), after, attention_flops(q) * 2.0, moved, gradients);
  backward_[step].saved = saved;
  gradients_[op.inputs[0]].push_back({gradient_of(q), {step}, step});
  for (const auto& tensor : {op.inputs[1], op.inputs[2]}) {
    auto local = gradient_of(attention_keys(op, tensor));
    local.partial = q.find("T")->axes;  // every slice of the queries adds its part
    gradients_[tensor].push_back({local, {step}, step});
  }
}

}  // namespace lockstep
