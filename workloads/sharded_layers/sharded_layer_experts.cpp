// Tokens to the slots of their experts and back. Each rank fills Slots[E, C, D] on its own, with C split over the axes
// that split its tokens; the experts' ranks want E split instead, and that is an all-to-all by the ordinary rules.
// Scores weigh the experts' results inside their activation, so the combination keeps nothing for its backward.
#include <algorithm>

#include "workloads/sharded_layers/sharded_layer_private.hpp"
#include "workloads/sharding/bounded_elements.hpp"

namespace lockstep::workloads {

/// Slots as the ranks that hold the tokens fill them. The order of slots means nothing: the axes that will share out
/// the experts come last, where they move without disturbing the others.
ShardedTensor BlockDerivation::slots_of_senders(const std::string& tokens, const std::string& slots) const {
  AxisNames held;
  for (const auto& dim : crossing(tokens).dims) {
    if (dim.name == "B" || dim.name == "T") held.insert(held.end(), dim.axes.begin(), dim.axes.end());
  }
  auto result = crossing(slots);
  auto& experts = result.find("E")->axes;
  auto& c = result.find("C")->axes;
  AxisNames order;
  const auto take = [&](const AxisNames& axes) {
    for (const auto& axis : axes) {
      if (contains(held, axis) && !contains(order, axis)) order.push_back(axis);
    }
  };
  take(c);
  take(experts);
  take(held);
  experts.clear();
  c = order;
  return result;
}

/// All-to-alls bring slots by sender, and experts want theirs together: a rank with several copies all that it gets,
/// and back again for the way home. Rows between those of two experts are filled up by another copy.
Bytes BlockDerivation::regrouped(const ShardedTensor& slots) const {
  const auto& experts = *slots.find("E");
  const bool exchanged = sizes_.product(experts.axes) > 1;
  const int copies = (exchanged && sizes_.local(experts) > 1 ? 1 : 0) + (policy_.filled_by_copies ? 1 : 0);
  return bytes(slots) * (2 * copies);
}

/// Each expert of a rank gets its tokens filled up to a multiple of N rows for its products. Their number is any, so
/// (N - 1) / 2 rows are added on average.
void BlockDerivation::fill_up_rows() {
  const bool has_slots = std::any_of(block_.activations.begin(), block_.activations.end(),
                                     [](const auto& tensor) { return tensor.name == "Routed"; });
  if (policy_.rows_multiple <= 1 || !has_slots) return;
  const auto rows = sizes_.local(*crossing("Routed").find("C"));
  const double factor = 1 + static_cast<double>(policy_.rows_multiple - 1) / 2 / static_cast<double>(rows);
  const auto more = [&](Bytes bytes) {
    return Bytes(static_cast<std::int64_t>(static_cast<double>(bytes.value()) * factor));
  };
  for (auto* pass : {&out_.forward, &out_.backward}) {
    for (auto& step : *pass) {
      if (!step.routed || step.kind != BlockStep::Kind::compute || step.indexed > Bytes(0)) continue;
      step.flops = step.flops * factor;
      step.traffic = more(step.traffic);
      step.casts = more(step.casts);
      if (step.output_kind == MemoryKind::activations) step.output = more(step.output);
      auto& counted = step.shape.counted == KernelShape::Counted::depth ? step.shape.k : step.shape.m;
      if (step.shape.counted != KernelShape::Counted::none)
        counted = static_cast<std::int64_t>(static_cast<double>(counted) * factor);
    }
  }
}

bool BlockDerivation::goes_to_experts(const std::string& tensor) const {
  return std::any_of(block_.ops.begin(), block_.ops.end(),
                     [&](const auto& op) { return op.kind == BlockOp::Kind::combine && op.inputs[0] == tensor; });
}

/// Between tokens and the slots that this rank fills. By index: rows of the slots are read or written where the routing
/// says. Else each sequence has a mask of its T tokens by its slots, for `products` products: with the tokens or the
/// slots, and in the combination's backward also of both, which is the mask's gradient.
void BlockDerivation::move_tokens(BlockStep& step, const ShardedTensor& tokens, const ShardedTensor& slots,
                                  int products) const {
  if (!policy_.one_hot_slots) {
    step.indexed = bytes(slots);
    return;
  }
  const auto sequences = sizes_.local(*tokens.find("B")), length = sizes_.local(*tokens.find("T")),
             width = sizes_.local(tokens.dims.back());
  const auto filled = sizes_.local_elements(slots) / (sequences * width);
  const auto mask =
      bounded_elements(bounded_elements(sequences, filled, "of the mask of slots"), length, "of the mask of slots");
  step.work = ComputeWork::product;
  step.shape = {sequences, filled, width, length};
  step.flops = Flops(2.0 * products * static_cast<double>(sequences * filled) * static_cast<double>(width * length));
  step.traffic += policy_.activation_element * (2 * products * mask);  // masks are written and read
}

void BlockDerivation::forward_dispatch(const BlockOp& op) {
  const auto local = slots_of_senders(op.inputs[0], op.output);
  Reads reads;
  for (const auto& input : op.inputs) read(input, crossing(input), reads);
  if (policy_.counts_wait > Seconds(0))
    reads.after = {pass().wait_of_host("host waits for counts", policy_.counts_wait, std::move(reads.after))};
  const int step = pass().compute(
      op.name, crossing(op.inputs[0]).to_string() + " -> " + local.to_string(), std::move(reads), Flops(0),
      bytes(crossing(op.inputs[0])) + bytes(local) + regrouped(crossing(op.output)), bytes(local));
  move_tokens(pass()[step], crossing(op.inputs[0]), local, 1);
  finish_forward(op, local, step);
}

void BlockDerivation::backward_dispatch(const BlockOp& op) {
  const auto local = gradient_of(slots_of_senders(op.inputs[0], op.output));
  Reads reads;
  read_gradient(op.output, local, reads);
  const auto tokens = bytes(crossing(op.inputs[0]));
  const int step = backward_.compute(op.name + " backward", local.to_string(), std::move(reads), Flops(0),
                                     tokens + bytes(local) + regrouped(crossing(op.output)), tokens);
  move_tokens(backward_[step], crossing(op.inputs[0]), local, 1);
  for (const auto& input : op.inputs) gradients_[input].push_back({gradient_of(crossing(input)), {step}, step});
}

void BlockDerivation::forward_combine(const BlockOp& op) {
  const auto slots = slots_of_senders(op.output, op.inputs[0]);
  const auto& local = crossing(op.output);
  Reads reads;
  read(op.inputs[0], slots, reads);
  const int step = pass().compute(op.name, slots.to_string() + " -> " + local.to_string(), std::move(reads), Flops(0),
                                  bytes(slots) + bytes(local) + regrouped(crossing(op.inputs[0])), bytes(local));
  move_tokens(pass()[step], local, slots, 1);
  finish_forward(op, local, step);
}

void BlockDerivation::backward_combine(const BlockOp& op) {
  const auto slots = gradient_of(slots_of_senders(op.output, op.inputs[0]));
  const auto local = gradient_of(crossing(op.output));
  Reads reads;
  read_gradient(op.output, local, reads);
  const int step =
      backward_.compute(op.name + " backward", local.to_string() + " -> " + slots.to_string(), std::move(reads),
                        Flops(0), bytes(slots) + bytes(local) + regrouped(crossing(op.inputs[0])), bytes(slots));
  move_tokens(backward_[step], crossing(op.output), slots, 2);
  gradients_[op.inputs[0]].push_back({slots, {step}, step});
}

}  // namespace lockstep::workloads
