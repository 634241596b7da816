#include "sim/preparation/documents.hpp"
#include "sim/studies/planning/fixed_parts_private.hpp"

namespace lockstep::planning {

void refuse_fixed_parts(const scenario::Scenario& scenario) {
  Problems problems;
  const auto refuse = [&](const std::string& key, const std::string& what, const std::string& expected) {
    problems.add({scenario.where(key), key, what, expected});
  };
  if (scenario.replay) refuse("model", "replayed operations have one plan", "a model");
  if (scenario.places.contains("plan"))
    refuse("plan", "shardings tensor by tensor belong to one plan", "no plan with a search");
  if (scenario.parallel.expert_tensor > 0)
    refuse("parallel.expert_tensor", "a size for each expert belongs to one plan, with one size of the tensor axis",
           "experts_over with or without tensor, or lockstep run for one plan");
  if (!scenario.perturbations.empty())
    refuse("perturbations", "a search looks at the machine without faults", "no perturbations");
  if (!scenario.pipeline.file.empty())
    refuse("pipeline.schedule", "an order from a file belongs to one plan", "schedules by name, under search");
  if (!scenario.cluster.groups.empty())
    refuse("cluster.groups", "a search looks at one kind of node", "node and nodes, or lockstep run for one split");
  if (!scenario.pipeline.layers.empty() || scenario.pipeline.layers_by_speed)
    refuse("pipeline.layers", "layers of stages belong to one plan", "even stages");
  if (scenario.lengths.tokens_of_rank > 0)
    refuse("parallel.context_tokens", "documents on few ranks belong to one plan, with one size of the context axis",
           "all documents on all context ranks, or lockstep run");
  if (scenario.pipeline.slices > 1)
    refuse("pipeline.slices", "slices of sequences belong to one plan", "whole microbatches, or lockstep run");
  if (!scenario.pipeline.layout.empty())
    refuse("pipeline.layout", "a layout of stages belongs to one plan", "even stages");
  if (scenario.step.local_updates)
    refuse("training.local_updates", "a search looks at steps in which all replicas meet",
           "local_updates: none, or lockstep run");
  if (scenario.training.recompute_layers)
    refuse("training.recompute.layers", "a number of layers belongs to one plan", "recomputation of all layers");
  problems.throw_if_any();
  workloads::Parallel with_context;
  with_context.context = 2;
  preparation::check_lengths(scenario, with_context);
}

}  // namespace lockstep::planning
