#include "sim/placement_cost.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/collective_model.hpp"

namespace lockstep {
namespace {

constexpr double share_of_hidden = 0.1;

class PlacementCost {
 public:
  PlacementCost(const Scenario& scenario, const Preparation& preparation, const Mesh& mesh)
      : scenario_(scenario), preparation_(preparation), mesh_(mesh), rates_(rates_of(scenario)), model_(*preparation.cluster, mesh, scenario.algorithms) {}

  Seconds run() {
    std::vector<Seconds> each(preparation_.blocks.size()), once(preparation_.blocks.size());
    for (std::size_t kind = 0; kind < each.size(); ++kind) {
      const auto& block = preparation_.blocks[kind];
      Seconds gradients(0);
      for (const auto& update : block.weights) {
        gradients += chain(update.each_microbatch);
        once[kind] += chain(update.last_microbatch) + chain(update.publish);
      }
      each[kind] = pass(block.forward, Seconds(0)) + pass(block.backward, gradients) + between_stages(block);
    }
    const auto microbatches = static_cast<double>(scenario_.batch.microbatches);
    Seconds total(0);
    for (const int kind : preparation_.order) {
      total += each[static_cast<std::size_t>(kind)] * microbatches + once[static_cast<std::size_t>(kind)];
    }
    return total;
  }

 private:
  Seconds chain(const std::vector<DerivedCollective>& collectives) {
    Seconds sum(0);
    for (const auto& derived : collectives) sum += model_.cost(derived.kind, derived.axes, derived.full_size);
    return sum;
  }

  /// A hand-over to the next stage, on the average block: every stage sends forth and back.
  Seconds between_stages(const DerivedBlock& block) {
    if (!mesh_.has_axis("pipeline") || block.input_bytes.value() == 0) return Seconds(0);
    const auto sends = 2.0 * mesh_.axis("pipeline").size() / static_cast<double>(preparation_.order.size());
    return model_.cost(CollectiveKind::point_to_point, {"pipeline"}, block.input_bytes) * sends;
  }

  Seconds pass(const std::vector<BlockStep>& steps, Seconds hidden) {
    std::vector<Seconds> end(steps.size(), Seconds(0));
    std::map<std::string, Seconds> free;  // by stream
    Seconds path(0), communication(hidden);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      const bool computes = step.kind == BlockStep::Kind::compute;
      Seconds time = step.given_time         ? *step.given_time
                     : computes              ? compute_time(rates_, kernel_of(step))
                                             : model_.cost(step.collective, step.axes, step.full_size, step.copies);
      if (!computes) communication += time;
      if (!computes && step.role != CollectiveRole::activation) {
        hidden += time;
        continue;
      }
      Seconds start(0);
      for (const int before : step.after) {
        if (before != BlockStep::outside) start = std::max(start, end[static_cast<std::size_t>(before)]);
      }
      const auto streams = computes ? AxisNames{""} : step.axes;
      for (const auto& stream : streams) start = std::max(start, free[stream]);
      end[i] = start + time;
      for (const auto& stream : streams) free[stream] = end[i];
      path = std::max(path, end[i]);
    }
    return std::max(path, hidden) + communication * share_of_hidden;
  }

  const Scenario& scenario_;
  const Preparation& preparation_;
  const Mesh& mesh_;
  ComputeRates rates_;
  CollectiveModel model_;
};

}  // namespace

Seconds placement_cost(const Scenario& scenario, const Preparation& preparation, const Mesh& mesh) {
  return PlacementCost(scenario, preparation, mesh).run();
}

}  // namespace lockstep
