#include <algorithm>
#include <utility>

#include "workloads/sharded_layers/derived_weights.hpp"
#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/axis_digits.hpp"

namespace lockstep::workloads {
namespace {

constexpr int outside = BlockStep::outside;

bool of_slots(const Block& block, const BlockOp& op) {
  const auto is = [&](const std::string& name) {
    if (name.empty()) return false;
    const auto& dims = block.activation(name).dims;
    return std::find(dims.begin(), dims.end(), "C") != dims.end();
  };
  return is(op.output) || std::any_of(op.inputs.begin(), op.inputs.end(), is);
}

}  // namespace

BlockDerivation::BlockDerivation(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives,
                                 const DerivePolicy& policy)
    : block_(block),
      plan_(plan),
      sizes_(sizes),
      arrives_(arrives),
      policy_(policy),
      forward_(out_.forward, sizes),
      backward_(out_.backward, sizes) {}

ShardedLayer BlockDerivation::run() {
  out_.name = block_.name;
  out_.is_layer = block_.is_layer;
  refuse_bad_plan();
  write_weights();
  receive_input();
  for (const auto& op : block_.ops) forward(op);
  if (!block_.output.empty()) {
    out_.output_steps = versions_.at(block_.output).front().producers;
    gradients_[block_.output].push_back({crossing(block_.output), {outside}, outside});
  } else {
    out_.output_steps = {static_cast<int>(out_.forward.size()) - 1};
  }
  if (block_.is_layer && policy_.recompute.all) compute_all_again();
  for (auto op = block_.ops.rbegin(); op != block_.ops.rend(); ++op) backward(*op);
  hand_back_input_gradient();
  drop_second_copies();
  fill_up_rows();
  for (auto* pass : {&out_.forward, &out_.backward}) {
    for (auto& step : *pass) {
      if (step.routed && step.kind == BlockStep::Kind::collective && step.collective == CollectiveKind::all_to_all)
        step.copies = policy_.token_copies;
    }
  }
  return std::move(out_);
}

/// Gradients of activations arrive as these cross, but whole.
ShardedLayer BlockDerivation::run_for_weights() {
  out_.name = block_.name;
  out_.is_layer = block_.is_layer;
  refuse_bad_plan();
  write_weights();
  for (auto op = block_.ops.rbegin(); op != block_.ops.rend(); ++op) {
    if (op->weight.empty()) continue;
    if (op->kind == BlockOp::Kind::matmul || op->kind == BlockOp::Kind::lookup) {
      auto of_output = gradient_of(crossing(op->output));
      of_output.partial.clear();
      finish_weight(op->weight, outside, weight_gradient(*op, of_output).result);
    } else {
      finish_weight(op->weight, outside, scale_gradient(*op, local_output(*op)));
    }
  }
  return std::move(out_);
}

Bytes BlockDerivation::bytes(const ShardedTensor& tensor) const {
  return policy_.activation_element * sizes_.local_elements(tensor);
}

BlockDerivation::Collectives BlockDerivation::settled(const ShardedTensor& from, const ShardedTensor& to) const {
  return settle(from, to, sizes_, policy_.activation_element);
}

ShardedTensor BlockDerivation::renamed(ShardedTensor tensor, const std::string& name) {
  tensor.name = name;
  return tensor;
}

ShardedTensor BlockDerivation::gradient_of(ShardedTensor tensor) {
  tensor.name = "d" + tensor.name;
  return tensor;
}

/// Only gradients and what is merely added may wait as partial sums: all else is read by operations that are not linear
/// in it.
void BlockDerivation::refuse_bad_plan() const {
  auto whole = [&](const ShardedTensor& tensor) {
    if (tensor.partial.empty()) return;
    throw ShardingError(tensor.partial.front(), tensor.to_string() + " is kept as a partial sum",
                        "values: only gradients may stay partial");
  };
  for (const auto& tensor : block_.activations) {
    sizes_.check_divides(crossing(tensor.name));
    if (!tensor.branch) whole(crossing(tensor.name));
  }
  for (const auto& tensor : block_.weights) {
    for (const auto* tensors : {&plan_.weights, &plan_.optimizer, &plan_.gradients})
      sizes_.check_weight_divides(tensors->at(tensor.name));
    whole(plan_.weights.at(tensor.name));
    whole(plan_.optimizer.at(tensor.name));
  }
}

void BlockDerivation::write_weights() {
  for (const auto& tensor : block_.weights) {
    if (tensor.tied) continue;
    const auto& stored = plan_.weights.at(tensor.name);
    const auto& gradient = plan_.gradients.at(tensor.name);
    const auto& optimizer = plan_.optimizer.at(tensor.name);
    WeightUpdate update{};
    update.weight = tensor.name;
    update.parameters = sizes_.own_elements(tensor.dims);
    update.stored_element = policy_.stored_element;
    update.stored = policy_.stored_element * sizes_.local_elements(stored);
    std::int64_t shards = 1;
    for (const auto& dim : stored.dims) shards *= sizes_.product(dim.axes);
    update.padding = policy_.stored_element * (sizes_.padding_elements(stored) / shards);
    update.gradient_elements = sizes_.local_elements(gradient);
    update.optimizer_elements = sizes_.local_elements(optimizer);
    update.last_microbatch = settle(gradient_of(gradient), gradient_of(optimizer), sizes_, policy_.gradient_element);
    update.publish = settle(optimizer, stored, sizes_, policy_.stored_element);
    out_.weights.push_back(std::move(update));
  }
}

void BlockDerivation::receive_input() {
  for (const auto& op : block_.ops) {
    if (op.kind == BlockOp::Kind::lookup) versions_[op.inputs[0]] = {{crossing(op.inputs[0]), {outside}, outside}};
  }
  if (block_.input.empty()) return;
  out_.input_bytes = bytes(arrives_);
  for (const auto& op : block_.ops) {
    if (op.kind == BlockOp::Kind::sparse_attention && op.inputs.size() == 4)  // without a choice of its own
      out_.choice_bytes = bytes(crossing("Chosen"));
  }
  for (const auto& [axis, size] : sizes_.axes) {
    if (size == 1 || splits(axis, arrives_)) continue;
    out_.input_copied_over.push_back(axis);
    out_.input_copies *= size;
  }
  const auto from = renamed(arrives_, block_.input);
  const auto& to = crossing(block_.input);
  versions_[block_.input] = {forward_.chain({from, {outside}, outside}, settled(from, to), to,
                                            CollectiveRole::activation, policy_.activation_element)};
}

void BlockDerivation::hand_back_input_gradient() {
  if (block_.input.empty()) return;
  const auto to = gradient_of(renamed(arrives_, block_.input));
  const auto& gradient = finished_gradient(block_.input);
  out_.input_gradient_steps =
      backward_
          .chain(gradient, settled(gradient.sharding, to), to, CollectiveRole::activation, policy_.activation_element)
          .producers;
}

// ---- one operation -------------------------------------------------------------------------------

void BlockDerivation::forward(const BlockOp& op) {
  const bool before = pass().routed(of_slots(block_, op));
  switch (op.kind) {
    case BlockOp::Kind::matmul:
    case BlockOp::Kind::lookup: forward_product(op); break;
    case BlockOp::Kind::attention: forward_attention(op); break;
    case BlockOp::Kind::index: forward_index(op); break;
    case BlockOp::Kind::sparse_attention: forward_sparse_attention(op); break;
    case BlockOp::Kind::compressed_attention: forward_compressed_attention(op); break;
    case BlockOp::Kind::scan: forward_scan(op); break;
    case BlockOp::Kind::add:
      if (!op.weight.empty()) {
        forward_bias(op);
        break;
      }
      [[fallthrough]];
    case BlockOp::Kind::elementwise:
    case BlockOp::Kind::dropout: forward_elementwise(op); break;
    case BlockOp::Kind::loss: forward_loss(op); break;
    case BlockOp::Kind::dispatch: forward_dispatch(op); break;
    case BlockOp::Kind::combine: forward_combine(op); break;
  }
  pass().routed(before);
}

void BlockDerivation::backward(const BlockOp& op) {
  backward_.routed(of_slots(block_, op));
  switch (op.kind) {
    case BlockOp::Kind::matmul:
      if (!op.detached) backward_input(op);
      backward_weight(op);
      break;
    case BlockOp::Kind::lookup: backward_weight(op); break;
    case BlockOp::Kind::attention: backward_attention(op); break;
    case BlockOp::Kind::index: backward_index(op); break;
    case BlockOp::Kind::sparse_attention: backward_sparse_attention(op); break;
    case BlockOp::Kind::compressed_attention: backward_compressed_attention(op); break;
    case BlockOp::Kind::scan: backward_scan(op); break;
    case BlockOp::Kind::elementwise:
    case BlockOp::Kind::dropout: backward_elementwise(op); break;
    case BlockOp::Kind::add: op.weight.empty() ? backward_add(op) : backward_bias(op); break;
    case BlockOp::Kind::dispatch: backward_dispatch(op); break;
    case BlockOp::Kind::combine: backward_combine(op); break;
    case BlockOp::Kind::loss: backward_loss(op); break;
  }
  backward_.routed(false);
}

/// `gathered`: the operand that a product's collective matmul starts with.
void BlockDerivation::finish_forward(const BlockOp& op, const Version& local, const Collectives& collectives,
                                     const Version* gathered) {
  const auto element = op.kind == BlockOp::Kind::dispatch ? policy_.dispatch_element : policy_.activation_element;
  auto done = pass().chain(overlapped(pass(), local, !collectives.empty()), in_element(collectives, element),
                           crossing(op.output), CollectiveRole::activation, element);
  if (policy_.collective_matmul) {
    merge(done.producers, local.producers);
    if (gathered != nullptr) merge(done.producers, gathered->producers);
  }
  made()[op.output] = {done};
}

void BlockDerivation::finish_forward(const BlockOp& op, const ShardedTensor& local, int step) {
  finish_forward(op, {local, {step}, step}, settled(local, crossing(op.output)));
}

ShardedLayer derive_layer(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives,
                          const DerivePolicy& policy) {
  return BlockDerivation(block, plan, sizes, arrives, policy).run();
}

ShardedLayer derive_weights(const Block& block, const Plan& plan, const Sizes& sizes, const DerivePolicy& policy) {
  return BlockDerivation(block, plan, sizes, {}, policy).run_for_weights();
}

}  // namespace lockstep::workloads
