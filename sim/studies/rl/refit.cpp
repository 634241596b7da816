#include "sim/studies/rl/refit.hpp"

#include <numeric>

#include "sim/collectives/group_network.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "workloads/model/model.hpp"

namespace lockstep::rl {
namespace {

/// Axes along which ranks store different weights.
workloads::AxisNames axes_of_weights(const preparation::Preparation& prepared) {
  workloads::AxisNames axes;
  for (const auto& axis : prepared.machine.mesh->axes()) {
    if (axis.size() == 1) continue;
    const bool replicates = axis.name == "data" || axis.name == "fsdp" || axis.name == "context";
    const bool has_parts = axis.name == "tensor" || axis.name == "pipeline" || axis.name == "expert";
    if (has_parts || (replicates && prepared.model.parallel.zero_on(axis.name) == 3)) axes.push_back(axis.name);
  }
  return axes;
}

/// From the first chip of training to all chips of the engine's pool, whose nodes follow those of training.
Seconds broadcast(const LoopSpec& loop, Bytes weights) {
  auto spec = loop.policy.cluster;
  const auto of_training = static_cast<topologies::RankId>(spec.devices());
  if (spec.node() == nullptr || !spec.groups.empty() || spec.halls > 1 ||
      std::holds_alternative<topologies::GivenNetwork>(spec.fabric.kind))
    throw ConfigError({{loop.policy.where("cluster"), "cluster",
                        "a pool of its own cannot be put beside this cluster to time the refit",
                        "nodes of one kind on a generated fabric, or a refit of a stated time"}});
  spec.units += *loop.generation.nodes;
  spec.order = {};
  Problems of_cluster, problems;
  scenario::check_cluster(spec, loop.where("generation.nodes"), "", of_cluster);
  for (const auto& one : of_cluster.list())
    problems.add({one.where, "generation.nodes", "both pools together: " + one.what, one.expected});
  problems.throw_if_any();
  const auto cluster = build_cluster(spec);
  std::vector<topologies::RankId> group(position_of(cluster.devices() - of_training) + 1, 0);
  std::iota(group.begin() + 1, group.end(), of_training);
  const collectives::GroupNetwork network(cluster, {group});
  return network.cost(workloads::CollectiveKind::broadcast, weights);
}

}  // namespace

Refit refit_of(const LoopSpec& loop, const preparation::Preparation& prepared) {
  Refit refit;
  refit.weights = loop.refit_element * count_parameters(loop.policy.model).total();
  const auto axes = axes_of_weights(prepared);
  if (!axes.empty())
    refit.gather = prepared.machine.collectives->cost(workloads::CollectiveKind::all_gather, axes, refit.weights);
  if (!loop.one_pool()) refit.broadcast = broadcast(loop, refit.weights);
  return refit;
}

}  // namespace lockstep::rl
