// Operations that pass shardings through: norms, activation functions, sums and the loss.
#include "workloads/derived_block_private.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t statistic_bytes = 4;  // norms and losses reduce in fp32

}  // namespace

/// All inputs are taken in the sharding of the first. A loss leaves its input's gradient.
void BlockDerivation::forward_elementwise(const BlockOp& op) {
  const auto& local = crossing(op.inputs[0]);
  StepIds after;
  std::string detail;
  for (const auto& input : op.inputs) {
    const auto wanted = renamed(local, input);
    merge(after, activation(input, wanted, settled(crossing(input), wanted)).producers);
    detail += (detail.empty() ? "" : ", ") + wanted.to_string();
  }
  reduce_statistics(forward_, op, local, after);
  if (!op.weight.empty()) {
    const auto wanted = scale(op, local);
    const auto gather = settle(plan_.weights.at(op.weight), wanted, sizes_, policy_.weight_element);
    merge(after, weight(forward_, weights_forward_, op.weight, wanted, gather).producers);
  }
  const auto result = op.output.empty() ? gradient_of(local) : renamed(local, op.output);
  const auto moved = bytes(local) * static_cast<std::int64_t>(op.inputs.size() + 1);
  const int step =
      forward_.compute(op.name, detail + " -> " + result.to_string(), after, Flops(0), moved, bytes(local));
  if (op.kind == BlockOp::Kind::loss) {
    gradients_[op.inputs[0]].push_back({result, {BlockStep::outside}, BlockStep::outside});
    return;
  }
  finish_forward(op.output, {result, {step}, step}, settled(result, crossing(op.output)), {});
}

/// A norm's scale, split as the activation's D is.
ShardedTensor BlockDerivation::scale(const BlockOp& op, const ShardedTensor& local) const {
  auto wanted = plan_.weights.at(op.weight);
  for (auto& dim : wanted.dims) dim.axes = local.find(dim.name)->axes;
  return wanted;
}

/// Norms and losses over a split dimension need a few numbers per row from every rank of the split.
void BlockDerivation::reduce_statistics(Pass& pass, const BlockOp& op, const ShardedTensor& local,
                                        StepIds& after) const {
  if (op.statistics == 0 || op.reduced_dim.empty()) return;
  const auto& axes = local.find(op.reduced_dim)->axes;
  if (axes.empty()) return;
  ShardedTensor rows{local.name + "stat", {}, axes};
  for (const auto& dim : local.dims) {
    if (dim.name != op.reduced_dim) rows.dims.push_back(dim);
  }
  auto summed = rows;
  summed.partial.clear();
  const Bytes element(statistic_bytes * op.statistics);
  const DerivedCollective reduce{CollectiveKind::all_reduce,
                                 axes,
                                 rows,
                                 summed,
                                 element * sizes_.local_elements(rows),
                                 op.name + " over " + op.reduced_dim + ", which is sharded over " + subscript(axes)};
  // The operation still reads what came before.
  merge(after, {pass.collective(reduce, CollectiveRole::activation, after, element)});
}

void BlockDerivation::backward_elementwise(const BlockOp& op) {
  const auto& local = crossing(op.inputs[0]);
  const auto wanted = gradient_of(renamed(local, op.output));
  StepIds after = obtain_gradient(op.output, wanted, settled(gradient_of(crossing(op.output)), wanted)).producers;
  StepIds saved;
  for (const auto& input : op.inputs) {
    merge(after,
          activation_in_backward(input, renamed(local, input), settled(crossing(input), renamed(local, input)), saved));
  }
  reduce_statistics(backward_, op, gradient_of(local), after);
  if (!op.weight.empty()) {
    const auto used = scale(op, local);
    const auto gather = settle(plan_.weights.at(op.weight), used, sizes_, policy_.weight_element);
    merge(after, weight_in_backward(op.weight, used, gather, saved).producers);
  }
  const auto inputs = static_cast<std::int64_t>(op.inputs.size());
  const int step = backward_.compute(op.name + " backward", wanted.to_string(), after, Flops(0),
                                     bytes(local) * (2 * inputs + 1), bytes(local) * inputs);
  backward_[step].saved = saved;
  for (const auto& input : op.inputs) gradients_[input].push_back({gradient_of(renamed(local, input)), {step}, step});
  if (op.weight.empty()) return;
  auto sum = gradient_of(scale(op, local));  // over rows: partial over whatever splits the rows
  for (const auto& dim : local.dims) {
    if (sum.find(dim.name) == nullptr) sum.partial.insert(sum.partial.end(), dim.axes.begin(), dim.axes.end());
  }
  finish_weight(op.weight, step,
                settle(sum, gradient_of(plan_.gradients.at(op.weight)), sizes_, policy_.gradient_element));
}

/// Hands the gradient on to every input: no step of its own.
void BlockDerivation::backward_add(const BlockOp& op) {
  const auto& gradient = finished_gradient(op.output);
  for (const auto& input : op.inputs) {
    gradients_[input].push_back({renamed(gradient.sharding, "d" + input), gradient.producers, gradient.buffer});
  }
}

}  // namespace lockstep
