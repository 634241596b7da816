#include <utility>

#include "workloads/derived_block_private.hpp"

namespace lockstep {
namespace {

constexpr int outside = BlockStep::outside;

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

DerivedBlock BlockDerivation::run() {
  out_.name = block_.name;
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
  for (auto op = block_.ops.rbegin(); op != block_.ops.rend(); ++op) backward(*op);
  hand_back_input_gradient();
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

/// Only gradients may wait as partial sums: every other array is read by operations that are not linear in it.
void BlockDerivation::refuse_bad_plan() const {
  auto whole = [&](const ShardedTensor& tensor) {
    sizes_.check_divides(tensor);
    if (tensor.partial.empty()) return;
    throw ShardingError(tensor.partial.front(), tensor.to_string() + " is kept as a partial sum",
                        "values: only gradients may stay partial");
  };
  for (const auto& tensor : block_.activations) whole(crossing(tensor.name));
  for (const auto& tensor : block_.weights) {
    whole(plan_.weights.at(tensor.name));
    whole(plan_.optimizer.at(tensor.name));
    sizes_.check_divides(plan_.gradients.at(tensor.name));
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
    update.parameters = 1;
    for (const auto& dim : tensor.dims) update.parameters *= sizes_.dim(dim);
    update.stored = policy_.weight_element * sizes_.local_elements(stored);
    std::int64_t shards = 1;
    for (const auto& dim : stored.dims) shards *= sizes_.product(dim.axes);
    update.padding = policy_.weight_element * (sizes_.padding_elements(stored) / shards);
    update.gradient_elements = sizes_.local_elements(gradient);
    update.optimizer_elements = sizes_.local_elements(optimizer);
    update.last_microbatch = settle(gradient_of(gradient), gradient_of(optimizer), sizes_, policy_.gradient_element);
    update.publish = settle(optimizer, stored, sizes_, policy_.weight_element);
    out_.weights.push_back(std::move(update));
  }
}

void BlockDerivation::receive_input() {
  if (block_.input.empty()) {
    for (const auto& op : block_.ops) {
      if (op.kind == BlockOp::Kind::lookup) versions_[op.inputs[0]] = {{crossing(op.inputs[0]), {outside}, outside}};
    }
    return;
  }
  out_.input_bytes = bytes(arrives_);
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

// ---- arrays in the sharding that an operation needs ----------------------------------------------

/// The version of `list` with that sharding; made from the first by the collectives if there is none.
Version BlockDerivation::obtain(Pass& pass, std::vector<Version>& list, const ShardedTensor& wanted,
                                const Collectives& collectives, CollectiveRole role, Bytes element) {
  for (const auto& known : list) {
    if (known.sharding.same_sharding(wanted)) return known;
  }
  list.push_back(pass.chain(list.front(), collectives, wanted, role, element));
  return list.back();
}

Version BlockDerivation::activation(const std::string& tensor, const ShardedTensor& wanted,
                                    const Collectives& collectives) {
  return obtain(forward_, versions_.at(tensor), wanted, collectives, CollectiveRole::activation,
                policy_.activation_element);
}

Version BlockDerivation::weight(Pass& pass, Versions& gathered_here, const std::string& name,
                                const ShardedTensor& wanted, const Collectives& collectives) {
  auto& list = gathered_here[name];
  if (list.empty()) list.push_back({plan_.weights.at(name), {}, outside});
  return obtain(pass, list, wanted, collectives, CollectiveRole::weight, policy_.weight_element);
}

/// A weight in the backward: gathered again, or the forward's copy (then nothing is to wait for).
Version BlockDerivation::weight_in_backward(const std::string& name, const ShardedTensor& wanted,
                                            const Collectives& collectives, StepIds& saved) {
  if (!policy_.regather_weights) {
    for (const auto& known : weights_forward_[name]) {
      if (!known.sharding.same_sharding(wanted)) continue;
      if (known.buffer != outside) merge(saved, {known.buffer});
      return {known.sharding, {}, known.buffer};
    }
  }
  return weight(backward_, weights_backward_, name, wanted, collectives);
}

/// A forward activation in the backward: the kept version if the forward had it and may keep it, else
/// gathered again from the crossing version. Adds what is read from the forward to `saved`.
StepIds BlockDerivation::activation_in_backward(const std::string& tensor, const ShardedTensor& wanted,
                                                const Collectives& collectives, StepIds& saved) {
  const auto& known = versions_.at(tensor);
  const int crossing_buffer = known.front().buffer;
  for (const auto& version : known) {
    const bool kept = policy_.share_activation_gathers || version.buffer == crossing_buffer;
    if (kept && version.sharding.same_sharding(wanted)) {
      merge(saved, {version.buffer});
      return {};
    }
  }
  if (collectives.empty()) {
    merge(saved, {crossing_buffer});
    return {};
  }
  auto& list = regathered_[tensor];
  if (list.empty()) list.push_back({known.front().sharding, {outside}, crossing_buffer, {crossing_buffer}});
  return obtain(backward_, list, wanted, collectives, CollectiveRole::activation, policy_.activation_element).producers;
}

/// Collects the contributions to an activation's gradient, sums those that are sharded alike, and
/// settles the sums to the sharding in which the activation crosses.
Version& BlockDerivation::finished_gradient(const std::string& tensor) {
  auto& finished = finished_[tensor];
  if (!finished.empty()) return finished.front();
  Version result{gradient_of(crossing(tensor)), {}, outside};
  auto rest = gradients_[tensor];
  while (!rest.empty()) {
    Version sum = rest.front();
    for (const auto& other : rest) {
      if (other.sharding.same_sharding(sum.sharding)) merge(sum.producers, other.producers);
    }
    sum.sharding.name = "d" + tensor;
    std::erase_if(rest, [&](const auto& other) { return other.sharding.same_sharding(sum.sharding); });
    const auto collectives = settled(sum.sharding, result.sharding);
    const auto done = backward_.chain(overlapped(backward_, sum, !collectives.empty()), collectives, result.sharding,
                                      CollectiveRole::activation, policy_.activation_element);
    merge(result.producers, done.producers);
    if (policy_.collective_matmul && !collectives.empty()) merge(result.producers, sum.producers);
    result.buffer = done.buffer;
  }
  result.producers = backward_.accumulated(result.producers);
  finished.push_back(result);
  return finished.front();
}

Version BlockDerivation::obtain_gradient(const std::string& tensor, const ShardedTensor& wanted,
                                         const Collectives& collectives) {
  finished_gradient(tensor);
  return obtain(backward_, finished_[tensor], wanted, collectives, CollectiveRole::activation,
                policy_.activation_element);
}

/// Collective matmul: a collective on a product's result starts with the product, chunk by chunk, so it
/// waits for what the product waits for and for the product before it on the compute stream (its consumers
/// wait for both). Of several products that are summed, the last one counts.
Version BlockDerivation::overlapped(Pass& pass, Version result, bool has_collectives) const {
  if (!policy_.collective_matmul || !has_collectives) return result;
  const int last = *std::max_element(result.producers.begin(), result.producers.end());
  if (last == outside || pass[last].kind != BlockStep::Kind::compute) return result;
  StepIds earlier = pass[last].after;
  for (const int id : result.producers) {
    if (id != last) merge(earlier, {id});
  }
  for (int before = last - 1; before >= 0; --before) {
    if (pass[before].kind != BlockStep::Kind::compute) continue;
    merge(earlier, {before});
    break;
  }
  result.producers = earlier;
  return result;
}

/// Collective matmul on an operand: the product starts with the gather and its consumers wait for both.
StepIds BlockDerivation::start_of(const Version& gathered, const Version& source) const {
  return policy_.collective_matmul ? source.producers : gathered.producers;
}

// ---- one operation -------------------------------------------------------------------------------

void BlockDerivation::forward(const BlockOp& op) {
  switch (op.kind) {
    case BlockOp::Kind::matmul:
    case BlockOp::Kind::lookup: return forward_product(op);
    case BlockOp::Kind::attention: return forward_attention(op);
    case BlockOp::Kind::elementwise:
    case BlockOp::Kind::add:
    case BlockOp::Kind::loss: return forward_elementwise(op);
  }
}

void BlockDerivation::backward(const BlockOp& op) {
  switch (op.kind) {
    case BlockOp::Kind::matmul: backward_input(op); return backward_weight(op);
    case BlockOp::Kind::lookup: return backward_weight(op);
    case BlockOp::Kind::attention: return backward_attention(op);
    case BlockOp::Kind::elementwise: return backward_elementwise(op);
    case BlockOp::Kind::add: return backward_add(op);
    case BlockOp::Kind::loss: return;  // the forward step left the gradient
  }
}

void BlockDerivation::finish_forward(const std::string& output, const Version& local, const Collectives& collectives,
                                     const StepIds& gathers) {
  auto done = forward_.chain(overlapped(forward_, local, !collectives.empty()), collectives, crossing(output),
                             CollectiveRole::activation, policy_.activation_element);
  if (policy_.collective_matmul) {
    merge(done.producers, local.producers);
    merge(done.producers, gathers);
  }
  versions_[output] = {done};
}

DerivedBlock derive_block(const Block& block, const Plan& plan, const Sizes& sizes, const ShardedTensor& arrives,
                          const DerivePolicy& policy) {
  return BlockDerivation(block, plan, sizes, arrives, policy).run();
}

}  // namespace lockstep
