// Operations that pass shardings through: norms, activation functions, sums, dropout and the loss.
#include <algorithm>
#include <cmath>
#include <utility>

#include "workloads/sharded_layers/loss_elements.hpp"
#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/axis_digits.hpp"

namespace lockstep::workloads {
namespace {

constexpr std::int64_t fp32_bytes = 4;  // norms and losses reduce in fp32

bool same_dims(const ShardedTensor& a, const ShardedTensor& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const auto& x, const auto& y) { return x.name == y.name; });
}

/// Whether it can read its inputs in fewer bytes.
bool takes_compact(const BlockOp& op, const DerivePolicy& policy) {
  const bool function_of_mlp = op.part == OpPart::mlp_activation || op.part == OpPart::expert_activation;
  return function_of_mlp && policy.kept_for_functions;
}

/// A loss over a split vocabulary that is not one kernel takes so many in Megatron-LM
/// (core/tensor_parallel/cross_entropy.py): 19 in the forward (largest logit, difference, mask, the target's logit,
/// exponentials, sums) and 8 for the gradient.
constexpr std::int32_t unfused_loss_kernels = 19, unfused_gradient_kernels = 8;

bool is_one_kernel(Bytes held_for_a_logit) { return held_for_a_logit <= fused_loss; }

Bytes held_beside_activations(Bytes held_for_a_logit) {
  return held_for_a_logit == loss_with_metrics ? loss_in_place : held_for_a_logit;
}

/// What a loss moves that is not one kernel, in addition: each array that it holds is written once and read twice, or
/// read once and written twice, since logits in fp32, their exponentials and their gradient replace each other. Metrics
/// come once, even where the loss is computed again.
Bytes moved_besides(Bytes held_for_a_logit, std::int64_t logits, bool again) {
  constexpr std::int64_t passes = 3;
  const bool is_done = is_one_kernel(held_for_a_logit) || (again && held_for_a_logit == loss_with_metrics);
  return is_done ? Bytes(0) : held_for_a_logit * (passes * logits);
}

}  // namespace

/// The output's sharding: that of the first input as it crosses or, if inputs of several shapes are joined, that of the
/// result as it crosses.
ShardedTensor BlockDerivation::local_output(const BlockOp& op) const {
  const auto& first = crossing(op.inputs[0]);
  if (op.output.empty()) return first;
  const auto& result = crossing(op.output);
  return renamed(same_dims(first, result) ? first : result, op.output);
}

/// All inputs are split as the result is.
ShardedTensor BlockDerivation::local_input(const BlockOp& op, const std::string& input) const {
  const auto output = local_output(op);
  auto result = crossing(input);
  for (auto& dim : result.dims) {
    if (const auto* same = output.find(dim.name)) dim.axes = same->axes;
  }
  result.partial = output.partial;
  return result;
}

Bytes BlockDerivation::unfused(Bytes moved) const {
  return Bytes(std::llround(static_cast<double>(moved.value()) * policy_.elementwise_traffic));
}

void BlockDerivation::forward_elementwise(const BlockOp& op) {
  const auto local = local_output(op);
  Reads reads;
  std::string detail;
  Bytes moved = bytes(local);
  for (const auto& input : op.inputs) {
    const auto wanted = local_input(op, input);
    read(input, wanted, reads, takes_compact(op, policy_));
    detail += (detail.empty() ? "" : ", ") + wanted.to_string();
    moved += bytes(wanted);
  }
  reduce_statistics(pass(), op, local_input(op, op.inputs[0]), reads.after);
  for (const auto& input : op.inputs) fetch_tokens_before(pass(), op, local_input(op, input), reads.after);
  read_vector(op, local, reads);
  if (op.rows_by_index) moved += bytes(local);
  const int step = pass().compute(op.name, detail + " -> " + local.to_string(), std::move(reads), Flops(0),
                                  unfused(moved), bytes(local));
  if (op.rows_by_index) pass()[step].indexed = bytes(local);
  if (op.kind == BlockOp::Kind::dropout) keep_inside(op, step, Bytes(sizes_.local_elements(local)));
  finish_forward(op, local, step);
}

bool BlockDerivation::feeds_loss(const BlockOp& op) const {
  return std::any_of(block_.ops.begin(), block_.ops.end(), [&](const auto& other) {
    return other.kind == BlockOp::Kind::loss && other.inputs[0] == op.output;
  });
}

Bytes BlockDerivation::of_a_tile(Bytes whole) const {
  return Bytes((whole.value() + policy_.loss_tiles - 1) / policy_.loss_tiles);
}

/// Leaves the logits' gradient, unless the backward is to compute the logits again. Of logits in tiles one tile exists
/// at a time.
void BlockDerivation::forward_loss(const BlockOp& op) {
  const auto local = local_output(op);
  const auto logits = sizes_.local_elements(local);
  Reads reads;
  read(op.inputs[0], local_input(op, op.inputs[0]), reads);
  reduce_statistics(pass(), op, local_input(op, op.inputs[0]), reads.after);
  const bool leaves_gradient = again_ || !policy_.loss_again;
  const Bytes gradient = leaves_gradient ? bytes(local) : Bytes(0);
  const Bytes moved = bytes(local) + gradient + moved_besides(policy_.loss_element, logits, again_);
  const int step = pass().compute(op.name, local.to_string() + " -> " + gradient_of(local).to_string(),
                                  std::move(reads), Flops(0), moved, of_a_tile(gradient));
  pass()[step].workspace = of_a_tile(held_beside_activations(policy_.loss_element) * logits);
  if (!is_one_kernel(policy_.loss_element)) {
    const auto kernels = (again_ ? 0 : unfused_loss_kernels) + (leaves_gradient ? unfused_gradient_kernels : 0);
    pass()[step].shape.kernels = kernels * static_cast<std::int32_t>(policy_.loss_tiles);
  }
  inside_[op.inputs[0]] = {step, again_};
}

/// At the end of the model, the gradient that the loss left in the forward is what the backward receives.
void BlockDerivation::backward_loss(const BlockOp& op) {
  const auto gradient = gradient_of(crossing(op.inputs[0]));
  if (policy_.loss_again) {
    const bool before = std::exchange(again_, true);
    forward_loss(op);
    again_ = before;
    const int step = inside_.at(op.inputs[0]).step;
    gradients_[op.inputs[0]].push_back({gradient, {step}, step});
    return;
  }
  Version left{gradient, {BlockStep::outside}, BlockStep::outside};
  if (!block_.output.empty()) left.saved = {inside_.at(op.inputs[0]).step};
  gradients_[op.inputs[0]].push_back(left);
}

/// A norm's scale or a convolution's taps, split as the activation's dimensions are.
ShardedTensor BlockDerivation::scale(const BlockOp& op, const ShardedTensor& local) const {
  auto wanted = plan_.weights.at(op.weight);
  for (auto& dim : wanted.dims) {
    const auto* same = local.find(dim.name);
    dim.axes = same != nullptr ? same->axes : AxisNames{};
  }
  return wanted;
}

/// A convolution over tokens, or attention to a window, needs the last ones of the piece before: all ranks get those of
/// all, as few as they are. In the backward it is the gradients of the piece behind.
void BlockDerivation::fetch_tokens_before(Pass& pass, const BlockOp& op, const ShardedTensor& local,
                                          StepIds& after) const {
  const auto* sequence = op.before > 0 ? local.find("T") : nullptr;
  if (sequence == nullptr || sequence->axes.empty()) return;
  const auto tokens = std::min(op.before, sizes_.local(*sequence)) * pieces_of_sequence();
  const Bytes own = policy_.activation_element * (sizes_.local_elements(local) / sizes_.local(*sequence) * tokens);
  const DerivedCollective gather{CollectiveKind::all_gather,
                                 whole_axes(sequence->axes),
                                 local,
                                 local,
                                 own * sizes_.product(sequence->axes),
                                 op.name + " reads " + std::to_string(op.before) + " tokens before each piece"};
  const int id = pass.collective(gather, CollectiveRole::activation, after, policy_.activation_element);
  pass[id].output = gather.full_size;
  merge(after, id);
}

/// Norms and losses over a split dimension, and those behind it, need a few numbers per row from every rank of the
/// split.
void BlockDerivation::reduce_statistics(Pass& pass, const BlockOp& op, const ShardedTensor& local,
                                        StepIds& after) const {
  if (op.statistics == 0 || op.reduced_dim.empty()) return;
  const auto& axes = local.find(op.reduced_dim)->axes;
  if (axes.empty()) return;
  ShardedTensor rows{local.name + "stat", {}, axes};
  for (const auto& dim : local.dims) {
    if (dim.name == op.reduced_dim) break;
    rows.dims.push_back(dim);
  }
  auto summed = rows;
  summed.partial.clear();
  const Bytes element(fp32_bytes * op.statistics);
  const DerivedCollective reduce{
      CollectiveKind::all_reduce,
      whole_axes(axes),
      rows,
      summed,
      element * sizes_.local_elements(rows),
      op.name + " over " + op.reduced_dim + ", which is sharded over " + subscript(whole_axes(axes))};
  // The operation still reads what came before.
  merge(after, pass.collective(reduce, CollectiveRole::activation, after, element));
}

void BlockDerivation::backward_elementwise(const BlockOp& op) {
  const auto local = local_output(op);
  const auto wanted = gradient_of(local);
  Reads reads;
  read_gradient(op.output, wanted, reads);
  const bool reads_inputs = !op.linear && op.kind != BlockOp::Kind::dropout;
  Bytes inputs(0);
  for (const auto& input : op.inputs) {
    inputs += bytes(local_input(op, input));
    if (reads_inputs) read_in_backward(input, local_input(op, input), reads, takes_compact(op, policy_));
  }
  read_inside(op, reads);
  reduce_statistics(backward_, op, gradient_of(local_input(op, op.inputs[0])), reads.after);
  for (const auto& input : op.inputs)
    fetch_tokens_before(backward_, op, gradient_of(local_input(op, input)), reads.after);
  if (!op.weight.empty() && !op.linear) {
    const auto used = scale(op, local);
    weight_in_backward(op.weight, used, settle(plan_.weights.at(op.weight), used, sizes_, policy_.weight_element),
                       reads);
  }
  const int step = backward_.compute(op.name + " backward", wanted.to_string(), std::move(reads), Flops(0),
                                     unfused(bytes(local) + inputs * (reads_inputs ? 2 : 1)), inputs);
  if (op.rows_by_index) backward_[step].indexed = bytes(local);  // rows of the biases' gradient are added to
  for (const auto& input : op.inputs) {
    auto contribution = gradient_of(local_input(op, input));
    for (const auto& dim : local.dims) {  // an input that was spread over a split dimension collects from all its ranks
      if (contribution.find(dim.name) != nullptr) continue;
      for (const auto& axis : dim.axes) {
        if (contribution.sharded_by(axis) == nullptr) contribution.partial.push_back(axis);
      }
    }
    gradients_[input].push_back({contribution, {step}, step});
  }
  finish_vector(op, local, step);
}

void BlockDerivation::read_vector(const BlockOp& op, const ShardedTensor& local, Reads& reads) {
  if (op.weight.empty()) return;
  const auto wanted = scale(op, local);
  weight(op.weight, wanted, settle(plan_.weights.at(op.weight), wanted, sizes_, policy_.weight_element), reads);
}

void BlockDerivation::finish_vector(const BlockOp& op, const ShardedTensor& local, int step) {
  if (!op.weight.empty()) finish_weight(op.weight, step, scale_gradient(op, local));
}

/// The gradient of a norm's scale: a sum over rows, partial over every axis that splits the rows. Ranks with a copy of
/// a head add their own.
BlockDerivation::Collectives BlockDerivation::scale_gradient(const BlockOp& op, const ShardedTensor& local) const {
  auto sum = gradient_of(scale(op, local));
  for (const auto& dim : local.dims) {
    if (sum.find(dim.name) == nullptr) sum.partial.insert(sum.partial.end(), dim.axes.begin(), dim.axes.end());
  }
  for (const auto& axis : sizes_.copied_over(plan_.gradients.at(op.weight))) sum.partial.push_back(axis);
  return settle(sum, gradient_of(plan_.gradients.at(op.weight)), sizes_, policy_.gradient_element);
}

/// A bias is added where the product before stores its result: no step and no array of its own.
void BlockDerivation::forward_bias(const BlockOp& op) {
  const auto& in = op.inputs[0];
  const auto& unbiased = crossing(in);
  Reads reads;
  auto made = activation(in, unbiased, {}, reads);
  read_vector(op, unbiased, reads);
  merge(made.producers, reads.after);
  finish_forward(op, made, settled(renamed(unbiased, op.output), crossing(op.output)));
}

/// The gradient of a bias is a sum over tokens. A kernel of its own reads the gradient of the product's result for it.
void BlockDerivation::backward_bias(const BlockOp& op) {
  backward_add(op);
  const auto& in = op.inputs[0];
  const auto& finished = finished_gradient(in);
  Reads reads;
  const auto read = gradient(in, finished.sharding, {}, reads);
  merge(reads.after, compact_in_backward(read));
  const int step = backward_.compute(op.name + " bias gradient", read.sharding.to_string(), std::move(reads), Flops(0),
                                     bytes(read.sharding), Bytes(0), MemoryKind::gradients);
  finish_vector(op, crossing(in), step);
}

/// Hands the gradient on to every input: no step of its own. An input that waited as a partial sum gets it whole.
void BlockDerivation::backward_add(const BlockOp& op) {
  const auto finished = finished_gradient(op.output);
  for (const auto& input : op.inputs) {
    auto handed = finished;
    auto wanted = local_input(op, input);
    if (!wanted.partial.empty()) {
      wanted.partial.clear();
      Reads reads;
      handed = gradient(op.output, gradient_of(wanted), settled(finished.sharding, gradient_of(wanted)), reads);
    }
    gradients_[input].push_back({renamed(handed.sharding, "d" + input), handed.producers, handed.buffer, handed.saved});
  }
}

}  // namespace lockstep::workloads
