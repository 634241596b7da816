// Matrix products and look-ups: forward Out = In W, backward dIn = dOut W and dW = In dOut. All three are
// einsums under the rules of sharding/derive.hpp.
#include <algorithm>
#include <utility>

#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {
namespace {

Flops flops(const BlockOp& op, const Derivation& derived) {
  return op.kind == BlockOp::Kind::lookup ? Flops(0) : derived.flops;
}

}  // namespace

void BlockDerivation::tag(BlockStep& step, const BlockOp& op, const Derivation& derived) const {
  if (op.kind == BlockOp::Kind::lookup) return;
  step.work = ComputeWork::product;
  step.shape = product_shape(derived.local, sizes_);
  step.shape.grouped = step.routed && policy_.grouped_products;
  if (!policy_.counted_slots || !step.routed) return;
  step.shape.counted =
      derived.local.result.find("C") != nullptr ? KernelShape::Counted::rows : KernelShape::Counted::depth;
}

/// Products with logits in tiles run once for each part of the tokens, and read or add up what is not of tokens each
/// time.
void BlockDerivation::in_tiles(const BlockOp& op, BlockStep& step, std::int64_t KernelShape::*tokens,
                               Bytes each_time) const {
  if (policy_.loss_tiles == 1 || !feeds_loss(op)) return;
  auto& of_a_tile = step.shape.*tokens;
  if (of_a_tile < policy_.loss_tiles) throw TooManyTiles(policy_.loss_tiles, of_a_tile);
  of_a_tile /= policy_.loss_tiles;
  step.shape.batch *= policy_.loss_tiles;
  step.traffic += each_time * (policy_.loss_tiles - 1);
}

void BlockDerivation::forward_product(const BlockOp& op) {
  const auto& in = op.inputs[0];
  DeriveOptions options{operand_element(op), policy_.weight_element, policy_.activation_element};
  if (op.kind == BlockOp::Kind::lookup)
    options.one_sided = OneSided::slice;  // looking up one's own rows moves no weights
  const auto derived = derive({crossing(in), plan_.weights.at(op.weight), crossing(op.output)}, sizes_, options);
  Reads reads;
  const auto left = activation(in, derived.local.left, derived.left, reads, true);
  wait_for_start_of(left, source(in), reads);
  weight(op.weight, derived.local.right, derived.right, reads);
  const int step = pass().compute(op.name, derived.local.to_string(), std::move(reads), flops(op, derived),
                                  traffic(op, derived.local), bytes(derived.local.result));
  tag(pass()[step], op, derived);
  in_tiles(op, pass()[step], &KernelShape::m, bytes(derived.local.right));
  if (feeds_loss(op)) pass()[step].output = of_a_tile(bytes(derived.local.result));
  finish_forward(op, {derived.local.result, {step}, step}, derived.result, &left);
}

void BlockDerivation::backward_input(const BlockOp& op) {
  const auto& in = op.inputs[0];
  const auto out = finished_gradient(op.output);
  const auto derived = derive({out.sharding, plan_.weights.at(op.weight), gradient_of(crossing(in))}, sizes_,
                              {operand_element(op), policy_.weight_element, policy_.activation_element});
  Reads reads;
  const auto left = gradient(op.output, derived.local.left, derived.left, reads);
  wait_for_start_of(left, out, reads);
  weight_in_backward(op.weight, derived.local.right, derived.right, reads);
  const int step = backward_.compute(op.name + " input gradient", derived.local.to_string(), std::move(reads),
                                     derived.flops, traffic(op, derived.local), bytes(derived.local.result));
  tag(backward_[step], op, derived);
  in_tiles(op, backward_[step], &KernelShape::m, bytes(derived.local.right));
  Version contribution{derived.local.result, {step}, step};
  if (policy_.collective_matmul) merge(contribution.producers, left.producers);
  gradients_[in].push_back(contribution);
}

/// dW is wanted as gradients are accumulated. Copies of a head serve other queries each.
Derivation BlockDerivation::weight_gradient(const BlockOp& op, const ShardedTensor& of_output) const {
  return derive({crossing(op.inputs[0]), of_output, gradient_of(plan_.gradients.at(op.weight))}, sizes_,
                {policy_.activation_element, operand_element(op), policy_.gradient_element, OneSided::fewer_bytes,
                 sizes_.copied_over(plan_.gradients.at(op.weight))});
}

void BlockDerivation::backward_weight(const BlockOp& op) {
  const auto& in = op.inputs[0];
  const auto out = finished_gradient(op.output);
  const auto derived = weight_gradient(op, out.sharding);
  Reads reads;
  if (op.kind != BlockOp::Kind::lookup) {
    const auto input = activation_in_backward(in, derived.local.left, derived.left, reads, true);
    merge(reads.after, dropped(in) ? compact_in_backward(input) : input.producers);
  }
  const auto of_output = gradient(op.output, derived.local.right, derived.right, reads);
  merge(reads.after, op.kind == BlockOp::Kind::lookup ? of_output.producers : compact_in_backward(of_output));
  // A result that is not reduced goes straight into the accumulated gradient.
  const Bytes unreduced =
      derived.result.empty() ? Bytes(0) : policy_.gradient_element * sizes_.local_elements(derived.local.result);
  const int step =
      backward_.compute(op.name + " weight gradient", derived.local.to_string(), std::move(reads), flops(op, derived),
                        gradient_traffic(op, derived), unreduced, MemoryKind::gradients);
  tag(backward_[step], op, derived);
  in_tiles(op, backward_[step], &KernelShape::k,
           2 * policy_.gradient_element * sizes_.local_elements(derived.local.result));
  if (added_up(op, derived)) backward_[step].added = written_gradient(derived) * 2;
  finish_weight(op.weight, step, derived.result);
}

void BlockDerivation::finish_weight(const std::string& name, int step, Collectives collectives) {
  for (auto& update : out_.weights) {
    if (update.weight != name) continue;
    update.gradient_steps.push_back(step);
    update.each_microbatch = std::move(collectives);
    return;
  }
  out_.tied_gradients.push_back({name, step});
}

Bytes BlockDerivation::traffic(const BlockOp& op, const Einsum& local) const {
  const auto result = bytes(local.result);
  return op.kind == BlockOp::Kind::lookup ? result * 2 : bytes(local.left) + bytes(local.right) + result;
}

/// A gradient that nothing reduces is added to those of the microbatches before: read and written.
Bytes BlockDerivation::gradient_traffic(const BlockOp& op, const Derivation& derived) const {
  if (op.kind == BlockOp::Kind::lookup) return traffic(op, derived.local);
  return bytes(derived.local.left) + bytes(derived.local.right) +
         written_gradient(derived) * (added_up(op, derived) ? 2 : 1);
}

Bytes BlockDerivation::written_gradient(const Derivation& derived) const {
  return policy_.gradient_element * sizes_.local_elements(derived.local.result);
}

bool BlockDerivation::added_up(const BlockOp& op, const Derivation& derived) const {
  return op.kind != BlockOp::Kind::lookup && policy_.accumulates && derived.result.empty();
}

Bytes BlockDerivation::operand_element(const BlockOp& op) const {
  return block_.is_layer && op.kind == BlockOp::Kind::matmul ? policy_.operand_element : policy_.activation_element;
}

}  // namespace lockstep::workloads
