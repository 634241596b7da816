// Steps that are too large or too long to simulate.
#include <algorithm>
#include <cmath>

#include "sim/preparation/preparing_private.hpp"
#include "sim/scenario/limits.hpp"

namespace lockstep::preparation {
namespace {

/// "5e6".
std::string power_text(double number) {
  const double exponent = std::floor(std::log10(number) + 1e-9);
  return std::to_string(std::llround(number / std::pow(10, exponent))) + "e" + std::to_string(std::llround(exponent));
}

/// All that a rank writes in one microbatch, and what it keeps, if it ran the whole model.
double bytes_of(const workloads::ShardedLayer& block) {
  double bytes = 0;
  for (const auto* pass : {&block.forward, &block.backward}) {
    for (const auto& step : *pass)
      bytes += static_cast<double>(step.output.value()) + static_cast<double>(step.workspace.value());
  }
  constexpr double state = 4 + 4 + 4 + 4;  // gradient, both moments and a master copy in fp32
  for (const auto& update : block.weights)
    bytes += static_cast<double>(update.stored.value()) +
             state * static_cast<double>(std::max(update.gradient_elements, update.optimizer_elements));
  return bytes;
}

int stages_of(const Machine& machine) {
  return machine.mesh->has_axis("pipeline") ? machine.mesh->axis("pipeline").size() : 1;
}

}  // namespace

void check_size(const scenario::Scenario& scenario, const ShardedModel& model) {
  double weights = 0;
  double bytes = 0;
  for (const int kind : model.order) {
    const auto& block = model.layers[kind];
    weights += static_cast<double>(block.weights.size());
    bytes += bytes_of(block);
  }
  const auto microbatches = static_cast<double>(scenario.batch.microbatches) * scenario.pipeline.slices;
  if (weights > scenario::most_weight_tensors)
    refuse(scenario, "model",
           "the model has more than " + power_text(scenario::most_weight_tensors) + " weight tensors", "fewer layers");
  if (bytes * microbatches > scenario::most_step_bytes) {
    refuse(scenario, "batch",
           "the arrays of a step have more than " + power_text(scenario::most_step_bytes) + " bytes on one chip",
           "fewer tokens, or a smaller model");
  }
}

void refuse_local_updates(const scenario::Scenario& scenario, const std::string& why) {
  if (scenario.step.local_updates)
    refuse(scenario, "training.local_updates", why, "local_updates: none, or lockstep run, compare and sweep");
}

void check_passes(const scenario::Scenario& scenario, std::int64_t stages) {
  const auto passes = static_cast<double>(scenario.batch.microbatches) * scenario.pipeline.slices;
  if (passes * static_cast<double>(stages) <= scenario::most_passes) return;
  refuse(scenario, "batch.microbatches",
         "the stages of the pipeline would run more than " + power_text(scenario::most_passes) + " forward passes",
         "fewer microbatches or stages");
}

void check_step_size(const scenario::Scenario& scenario, const Preparation& prepared, std::int64_t microbatches) {
  double operations = 0;
  for (const int kind : prepared.model.order) {
    const auto& block = prepared.model.layers[kind];
    operations += static_cast<double>(block.forward.size() + block.backward.size() + block.weights.size());
  }
  operations *= static_cast<double>(microbatches);
  // A step that repeats has been cut short already.
  if (operations > scenario::most_step_operations) {
    refuse(scenario, "batch.microbatches",
           "the step would have more than " + power_text(scenario::most_step_operations) + " operations",
           "fewer microbatches or layers");
  }
  if (operations * (prepared.machine.cluster->devices() / stages_of(prepared.machine)) >
      scenario::most_rank_operations) {
    refuse(scenario, "batch.microbatches",
           "the step would have more than " + power_text(scenario::most_rank_operations) + " operations over all ranks",
           "fewer microbatches, layers or chips");
  }
}

void refuse_endless_step(const scenario::Scenario& scenario, const program::Program& program) {
  const auto last_stage = *std::max_element(program.stage_of_rank.begin(), program.stage_of_rank.end());
  Indexed<workloads::StageId, Seconds> computing(last_stage + 1);
  for (const auto& op : program.ops) {
    if (op.kind == program::ProgramOp::Kind::compute) computing[op.stage] += op.duration + op.held;
  }
  for (const auto time : computing) refuse_endless_step(scenario, time);
}

void refuse_endless_step(const scenario::Scenario& scenario, Seconds time) {
  if (time.value() <= scenario::longest_step_s) return;
  const auto days = [](double seconds) { return std::to_string(static_cast<std::int64_t>(seconds / 86400)) + " days"; };
  refuse(scenario, "batch", "a step of so many tokens computes for at least " + days(time.value()) + " on these chips",
         "at most " + days(scenario::longest_step_s) + ": fewer tokens, or more or faster chips");
}

}  // namespace lockstep::preparation
