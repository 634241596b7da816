#include "sim/preparation/placement_cost.hpp"

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/tried_groups.hpp"
#include "sim/cost/layer_time.hpp"

namespace lockstep::preparation {

Seconds placement_cost(const scenario::Scenario& scenario, const ShardedModel& model, const topologies::Mesh& mesh,
                       collectives::TriedGroups& tried) {
  const auto rates = rates_of(scenario);
  collectives::CollectiveModel collectives(mesh, tried, scenario.collectives);
  // A hand-over to the next stage, on the average layer: every stage sends forth and back.
  const auto between_stages = [&](const workloads::ShardedLayer& layer) {
    if (!mesh.has_axis("pipeline") || layer.input_bytes.value() == 0) return Seconds(0);
    const auto sends = 2.0 * mesh.axis("pipeline").size() / static_cast<double>(model.order.size());
    return collectives.cost(workloads::CollectiveKind::point_to_point, {"pipeline"}, layer.input_bytes) * sends;
  };
  Indexed<workloads::KindId, cost::OverlappedTime> times;
  for (const auto& layer : model.layers) {
    times.push_back(time_overlapped(layer, collectives, rates, scenario.step));
    times.back().each += between_stages(layer);
  }
  const auto microbatches = static_cast<double>(scenario.batch.microbatches);
  Seconds total(0);
  for (const int kind : model.order) {
    const auto& time = times[kind];
    total += time.each * microbatches + time.once;
  }
  return total;
}

}  // namespace lockstep::preparation
