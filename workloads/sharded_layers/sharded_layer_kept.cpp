// Arrays that lie in fewer bytes between the pass that makes them and the one that reads them again.
#include <algorithm>
#include <utility>

#include "workloads/sharded_layers/sharded_layer_private.hpp"

namespace lockstep::workloads {
namespace {

constexpr int outside = BlockStep::outside;

bool reads(const BlockSteps& backward, int forward_step) {
  return std::any_of(backward.begin(), backward.end(), [&](const BlockStep& step) {
    return std::find(step.saved.begin(), step.saved.end(), forward_step) != step.saved.end();
  });
}

/// `now[id]` in place of every id.
void renumber(StepIds& ids, const Indexed<BlockStepId, BlockStepId>& now) {
  StepIds renumbered;
  for (const int id : ids) merge(renumbered, id == outside ? outside : now[id]);
  ids = std::move(renumbered);
}

}  // namespace

/// The result of attention has a format of its own, which all its readers can take.
std::optional<KeptFormat> BlockDerivation::kept_format(const std::string& tensor, bool compact) const {
  if (!block_.is_layer) return {};
  const bool of_attention = std::any_of(block_.ops.begin(), block_.ops.end(), [&](const auto& op) {
    return op.kind == BlockOp::Kind::attention && op.output == tensor;
  });
  if (of_attention && policy_.kept_attention) return policy_.kept_attention;
  return compact ? policy_.kept : std::nullopt;
}

/// The cast is part of the product that reads the array in 8 bits: it takes no time of its own.
int BlockDerivation::compact_copy(const std::string& tensor, const Version& version, const KeptFormat& format) {
  const auto [known, is_new] = compact_.try_emplace({tensor, version.buffer}, outside);
  if (is_new) {
    known->second =
        forward_.compute(tensor + " kept in " + std::to_string(format.bits) + " bits", version.sharding.to_string(),
                         {{version.buffer}}, Flops(0), Bytes(0), format.size(sizes_.local_elements(version.sharding)));
    forward_[known->second].routed = version.sharding.find("C") != nullptr;
  }
  return known->second;
}

/// A gradient of the weights that is put off reads the gradient of its product's output in 8 bits too, and the
/// product's input where the backward has computed that again.
StepIds BlockDerivation::compact_in_backward(const Version& version) {
  if (!policy_.kept || !block_.is_layer) return version.producers;
  const auto [known, is_new] =
      compact_in_backward_.try_emplace({version.sharding.to_string(), version.buffer}, outside);
  if (is_new) {
    known->second =
        backward_.compute(version.sharding.name + " kept in " + std::to_string(policy_.kept->bits) + " bits",
                          version.sharding.to_string(), {version.producers, {}}, Flops(0), Bytes(0),
                          policy_.kept->size(sizes_.local_elements(version.sharding)));
    backward_[known->second].routed = version.sharding.find("C") != nullptr;
  }
  return {known->second};
}

/// An array lies in one format: where a reader needs it as it is, all read that, and no copy in fewer bytes is made.
void BlockDerivation::drop_second_copies() {
  auto& steps = out_.forward;
  Indexed<BlockStepId, BlockStepId> instead(steps.size(), outside), now(steps.size());
  Indexed<BlockStepId, bool> needless(steps.size(), false);
  for (const auto& [array, copy] : compact_) {
    needless[copy] = reads(out_.backward, array.second);
    instead[copy] = array.second;
  }
  BlockSteps left;
  for (const BlockStepId i : steps.ids()) {
    const int read = instead[i];  // an earlier step
    now[i] = !needless[i] ? left.next_id() : read == outside ? outside : now[read];
    if (!needless[i]) left.push_back(std::move(steps[i]));
  }
  steps = std::move(left);
  for (auto& step : steps) renumber(step.after, now);
  for (auto& step : out_.backward) renumber(step.saved, now);
  renumber(out_.output_steps, now);
}

}  // namespace lockstep::workloads
