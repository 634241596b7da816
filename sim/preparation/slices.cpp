// Slices of a sequence: what they cannot be had with, and how long they are.
#include <algorithm>
#include <string>

#include "sim/preparation/preparing_private.hpp"
#include "sim/preparation/slices_private.hpp"

namespace lockstep::preparation {
namespace {

/// FLOPs of a sequence's first tokens, which attend to no later ones.
double work_of_first(const scenario::Scenario& scenario, std::int64_t tokens) {
  return static_cast<double>(tokens) * forward_flops_per_token(scenario.model, tokens, true);
}

/// As few multiples as do a share of the work.
std::int64_t multiples_for(const scenario::Scenario& scenario, double work, std::int64_t multiple) {
  std::int64_t least = 0, most = scenario.batch.sequence_length / multiple;
  while (least < most) {
    const auto middle = least + (most - least) / 2;
    if (work_of_first(scenario, middle * multiple) < work)
      least = middle + 1;
    else
      most = middle;
  }
  return least;
}

}  // namespace

void check_slices(const scenario::Scenario& scenario, const workloads::Parallel& parallel,
                  const workloads::BlockSequence& blocks) {
  if (scenario.pipeline.slices == 1) return;
  const auto no = [&](const std::string& key, const std::string& what, const std::string& expected) {
    refuse(scenario, key, what, expected);
  };
  const std::string slices = "pipeline.slices";
  if (!scenario.model.attention) no(slices, "the model has no sequence", "a model with attention");
  if (!scenario.derive.causal)
    no(slices, "without a causal mask early tokens attend to slices that come later", "a causal mask");
  if (parallel.context > 1)
    no(slices, "the context axis splits every slice of the sequence again", "slices without a context axis");
  if (scenario.model.mtp_modules > 0)
    no(slices, "prediction modules read tokens of the slice behind", "a model without prediction modules");
  for (const auto& block : blocks.kinds) {
    for (const auto& op : block.ops) {
      using enum workloads::BlockOp::Kind;
      if (op.kind == scan || op.kind == index || op.kind == sparse_attention || op.kind == compressed_attention)
        no(slices, "'" + op.name + "' of the model would have to pass a state from slice to slice",
           "layers with attention to all keys, a window or a chunk");
    }
  }
  const auto& recompute = scenario.derive.recompute;
  if (recompute.any() && recompute != workloads::Recompute{false, {workloads::OpPart::core_attention}})
    no("training.recompute", "keys and values stay for later slices, so their layer cannot be recomputed as a whole",
       "none or selective");
  if (recompute.any() && scenario.derive.sharing_slices > 0)
    no("training.recompute", "what other stages compute of a slice's attention is kept", "none");
  if (scenario.derive.kept_attention)
    no(slices, "keys and values stay for later slices as they are", "attention kept in 16 bits");
  if (scenario.step.offload.activation_layers > 0)
    no("training.offload.activation_layers", "keys and values stay on the chip for later slices", "0");
  if (scenario.pipeline.layers_by_speed)
    no("pipeline.layers", "by_speed weighs whole microbatches", "the layers of each stage, or even stages");
}

std::vector<std::int64_t> lengths_of_slices(const scenario::Scenario& scenario, std::int64_t multiple) {
  const auto length = scenario.batch.sequence_length;
  const auto slices = scenario.pipeline.slices;
  if (!scenario.pipeline.equal_work || slices == 1) {
    if (length % slices != 0)
      refuse(scenario, "pipeline.slices",
             std::to_string(slices) + " slices do not divide the sequence of " + std::to_string(length) + " tokens",
             "a number that divides it, or slice_lengths: equal_work");
    return std::vector<std::int64_t>(position_of(slices), length / slices);
  }
  std::vector<std::int64_t> lengths;
  std::int64_t before = 0;
  for (std::int32_t slice = 1; slice <= slices; ++slice) {
    const double work = work_of_first(scenario, length) * slice / slices;
    const auto end = slice == slices ? length : multiples_for(scenario, work, multiple) * multiple;
    lengths.push_back(end - before);
    before = end;
  }
  if (std::any_of(lengths.begin(), lengths.end(), [](std::int64_t one) { return one <= 0; }))
    refuse(scenario, "pipeline.slices",
           "the sequence of " + std::to_string(length) + " tokens is too short for " + std::to_string(slices) +
               " slices of equal work",
           "fewer slices");
  return lengths;
}

}  // namespace lockstep::preparation
