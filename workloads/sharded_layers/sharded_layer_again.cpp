// Recomputation: activations that the forward does not keep are made again by the operations that made them, in the
// backward, when it first needs them. Whole-block recomputation runs the forward again from its start, as frameworks
// do.
#include <algorithm>
#include <utility>

#include "workloads/sharded_layers/sharded_layer_private.hpp"

namespace lockstep::workloads {

bool BlockDerivation::drops_inside(const BlockOp& op) const {
  const auto& [all, parts, kept] = policy_.recompute;
  if (policy_.loss_again && feeds_loss(op)) return true;
  return block_.is_layer && (all || (kept.empty() ? parts.contains(op.part) : !kept.contains(op.name)));
}

/// Named as a part, the core of attention keeps its output, the input of the next product, and drops what it holds
/// inside.
bool BlockDerivation::dropped(const BlockOp& op) const {
  return drops_inside(op) && !(policy_.recompute.parts.contains(op.part) && op.part == OpPart::core_attention);
}

bool BlockDerivation::dropped(const std::string& tensor) const {
  return std::any_of(block_.ops.begin(), block_.ops.end(),
                     [&](const auto& op) { return op.output == tensor && dropped(op); });
}

void BlockDerivation::compute_again(const std::string& tensor) {
  if (const auto made = recomputed_.find(tensor); made != recomputed_.end() && !made->second.empty()) return;
  const auto op =
      std::find_if(block_.ops.begin(), block_.ops.end(), [&](const auto& other) { return other.output == tensor; });
  const bool before = std::exchange(again_, true);
  forward(*op);
  again_ = before;
}

void BlockDerivation::keep_inside(const BlockOp& op, int step, Bytes size) {
  if (size.value() == 0) return;
  const int kept = pass().compute(op.name + " kept for the backward", "", {{step}}, Flops(0), Bytes(0), size);
  inside_[op.output] = {kept, again_};
}

void BlockDerivation::read_inside(const BlockOp& op, Reads& reads) {
  if (!inside_.contains(op.output)) return;
  if (drops_inside(op)) compute_again(op.output);
  const auto& inside = inside_.at(op.output);
  merge(inside.in_backward ? reads.after : reads.saved, inside.step);
}

void BlockDerivation::compute_all_again() {
  for (const auto& op : block_.ops) compute_again(op.output);
}

}  // namespace lockstep::workloads
