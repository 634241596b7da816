#include "workloads/replay/replay_model.hpp"

#include <algorithm>
#include <utility>

#include "workloads/model/model_limits.hpp"
#include "workloads/replay/replay_private.hpp"

namespace lockstep::workloads {
namespace {

BlockStep as_step(const ReplayOp& op, std::size_t layer) {
  BlockStep step;
  step.kind = op.communicates ? BlockStep::Kind::collective : BlockStep::Kind::compute;
  step.name = op.name;
  step.after = op.after;
  step.output = op.holds;
  if (op.simulated) {
    step.kind = BlockStep::Kind::collective;
    step.detail = "simulated";
    step.collective = op.simulated->kind;
    step.axes = {op.simulated->axis};
    step.full_size = op.simulated->bytes;  // of one rank; sim/preparation knows how many there are
    return step;
  }
  step.detail = "measured";
  step.given_time = op.times[op.times.size() == 1 ? 0 : layer];
  step.stream = op.stream;
  return step;
}

std::vector<int> outputs(const ReplayOps& ops) {
  std::vector<int> result;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (ops[i].output) result.push_back(static_cast<int>(i));
  }
  return result;
}

/// The forward's operations that hold memory; they hold it until the last operation of the backward.
std::vector<int> held(const ReplayOps& forward) {
  std::vector<int> result;
  for (std::size_t i = 0; i < forward.size(); ++i) {
    if (forward[i].holds.value() > 0) result.push_back(static_cast<int>(i));
  }
  return result;
}

/// One array of a layer's weights: its gradient is reduced along an axis after the last microbatch.
struct ReplayGradient {
  std::string axis;
  Bytes bytes{0};
  bool scattered = false;
};

std::vector<ReplayGradient> read_gradients(const YamlView& list) {
  std::vector<ReplayGradient> gradients;
  for (const auto& item : list.items()) {
    if (!item.expect_map("gradients of a layer such as {axis: data, bytes: 1.2 GB}")) continue;
    auto& made = gradients.emplace_back();
    const auto axis = item.require("axis", "the mesh axis along which they are reduced");
    if (axis.exists()) made.axis = axis.text();
    if (axis.exists() && (made.axis.empty() || made.axis == "pipeline"))
      axis.problem("is no axis along which gradients are reduced", "an axis with a size in parallel, such as data");
    const auto bytes = item.require("bytes", "the gradients of one layer on one rank, such as 1.2 GB");
    if (bytes.exists()) made.bytes = bytes.bytes();
    if (const auto kind = item["kind"]; kind.exists())
      made.scattered = kind.choice({"all_reduce", "reduce_scatter"}) == 1;
    item.refuse_unknown_keys();
  }
  return gradients;
}

/// Gradients are complete with the operations that make those of weights, or with the whole backward where it has none.
std::vector<WeightUpdate> updates(const std::vector<ReplayGradient>& gradients, const ReplayOps& backward) {
  std::vector<int> steps;
  for (std::size_t i = 0; i < backward.size(); ++i) {
    if (backward[i].of_weights) steps.push_back(static_cast<int>(i));
  }
  if (steps.empty()) steps = outputs(backward);
  std::vector<WeightUpdate> made;
  for (const auto& gradient : gradients) {
    constexpr std::int64_t element = 2;
    const auto elements = gradient.bytes.value() / element;
    auto& update = made.emplace_back();
    update.weight = "W" + std::to_string(made.size());
    update.parameters = elements;
    update.stored = gradient.bytes;
    update.gradient_elements = elements;
    update.optimizer_elements = elements;
    update.gradient_steps = steps;
    DerivedCollective reduce;
    reduce.kind = gradient.scattered ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce;
    reduce.axes = {gradient.axis};
    reduce.full_size = gradient.bytes;
    reduce.reason = "ranks along " + gradient.axis + " have computed gradients of other tokens";
    update.last_microbatch = {reduce};
    if (gradient.scattered) {
      reduce.kind = CollectiveKind::all_gather;
      reduce.reason = "each rank has updated its part of the weights";
      update.publish = {reduce};
    }
  }
  return made;
}

/// How many layers were measured one by one; all operations must agree.
std::size_t measured_layers(const YamlView& view, const ReplayOps& forward, const ReplayOps& backward) {
  std::size_t layers = 1;
  for (const auto* ops : {&forward, &backward}) {
    for (const auto& op : *ops) {
      if (op.times.size() <= 1 || op.times.size() == layers) continue;
      if (layers > 1)
        view.problem("'" + op.name + "' has " + std::to_string(op.times.size()) + " times, others have " +
                         std::to_string(layers),
                     "one time, or one for each measured layer");
      layers = op.times.size();
    }
  }
  return layers;
}

}  // namespace

ReplayModel read_replay(const YamlView& view) {
  ReplayModel replay;
  if (!view.expect_map("measured operations: {layers: ..., forward: [...], backward: [...]}")) return replay;
  const auto layers = view.require("layers", "how many layers the model has");
  const auto count = layers.integer(1, most_layers);
  const auto boundary = view["boundary"];
  const auto bytes = boundary.exists() ? boundary.bytes(true) : Bytes(0);
  const auto forward_list = view.require("forward", "a list of operations, such as {name: attention, time: 4.4 ms}");
  const auto backward_list = view.require("backward", "a list of operations, such as {name: attention, time: 4.4 ms}");
  ReplayOps forward, backward;
  if (forward_list.exists()) forward = read_replay_pass(forward_list, ReplayPass::forward);
  if (backward_list.exists()) backward = read_replay_pass(backward_list, ReplayPass::backward);
  const auto gradient_list = view["gradients"];
  const auto gradients = gradient_list.exists() ? read_gradients(gradient_list) : std::vector<ReplayGradient>();
  const auto pair = view["pair"];
  std::vector<PairTurn> turns;
  if (pair.exists() && !forward.empty() && !backward.empty()) turns = read_replay_pair(pair, forward, backward);
  view.refuse_unknown_keys();

  const auto kinds = measured_layers(view, forward, backward);
  if (layers.exists() && std::cmp_less(count, kinds))
    layers.problem("the operations have times for " + std::to_string(kinds) + " layers",
                   "at least " + std::to_string(kinds));
  for (const auto* ops : {&forward, &backward}) {
    // An operation whose times could not be read, or are not as many as those of the others: there are problems
    // already.
    if (std::any_of(ops->begin(), ops->end(), [&](const ReplayOp& op) {
          return !op.simulated && op.times.size() != 1 && op.times.size() != kinds;
        }))
      return replay;
  }
  for (std::size_t layer = 0; layer < kinds; ++layer) {
    ShardedLayer block;
    block.is_layer = true;
    block.name = kinds == 1 ? "layer" : "layer like measured " + std::to_string(layer);
    for (const auto& op : forward) block.forward.push_back(as_step(op, layer));
    for (const auto& op : backward) {
      block.backward.push_back(as_step(op, layer));
      block.backward.back().saved = held(forward);
    }
    block.output_steps = outputs(forward);
    block.input_gradient_steps = outputs(backward);
    block.input_bytes = bytes;
    block.pair_turns = turns;
    block.weights = updates(gradients, backward);
    replay.kinds.push_back(std::move(block));
  }
  for (std::int64_t layer = 0; layer < count; ++layer)
    replay.order.push_back(static_cast<int>(layer % static_cast<std::int64_t>(kinds)));
  return replay;
}

}  // namespace lockstep::workloads
