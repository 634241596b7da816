#include "sim/preparation/placement_cost.hpp"

#include <algorithm>
#include <map>

#include "sim/collectives/collective_model.hpp"

namespace lockstep {
namespace {

constexpr double share_of_hidden = 0.1;

/// Collectives of one block, those of one kind over the same axes as one on all their arrays if they share a bucket.
class Buckets {
 public:
  explicit Buckets(Bucketing::Unit unit) : unit_(unit) {}

  void add(CollectiveKind kind, const AxisNames& axes, Bytes full_size) {
    const auto same = std::find_if(all_.begin(), all_.end(),
                                   [&](const Bucket& other) { return other.kind == kind && other.axes == axes; });
    if (unit_ == Bucketing::Unit::matrix || same == all_.end()) {
      all_.push_back({kind, axes, full_size});
    } else {
      same->full_size += full_size;
    }
  }
  void add(const std::vector<DerivedCollective>& chain) {
    for (const auto& one : chain) add(one.kind, one.axes, one.full_size);
  }
  [[nodiscard]] Seconds cost(CollectiveModel& model) const {
    Seconds sum(0);
    for (const auto& bucket : all_) sum += model.cost(bucket.kind, bucket.axes, bucket.full_size);
    return sum;
  }

 private:
  struct Bucket {
    CollectiveKind kind;
    AxisNames axes;
    Bytes full_size;
  };
  Bucketing::Unit unit_;
  std::vector<Bucket> all_;
};

class PlacementCost {
 public:
  PlacementCost(const Scenario& scenario, const ShardedModel& model, const Cluster& cluster, const Mesh& mesh)
      : scenario_(scenario),
        model_(model),
        mesh_(mesh),
        rates_(rates_of(scenario)),
        collectives_(cluster, mesh, scenario.collectives) {}

  Seconds run() {
    std::vector<Seconds> each(model_.layers.size()), once(model_.layers.size());
    for (std::size_t kind = 0; kind < each.size(); ++kind) {
      const auto& block = model_.layers[kind];
      Buckets gradients(scenario_.step.gradient_buckets.unit), at_the_end = gradients;
      for (const auto& update : block.weights) {
        gradients.add(update.each_microbatch);
        at_the_end.add(update.last_microbatch);
        at_the_end.add(update.publish);
      }
      once[kind] = at_the_end.cost(collectives_);
      each[kind] =
          pass(block.forward, Seconds(0)) + pass(block.backward, gradients.cost(collectives_)) + between_stages(block);
    }
    const auto microbatches = static_cast<double>(scenario_.batch.microbatches);
    Seconds total(0);
    for (const int kind : model_.order) {
      total += each[static_cast<std::size_t>(kind)] * microbatches + once[static_cast<std::size_t>(kind)];
    }
    return total;
  }

 private:
  /// A hand-over to the next stage, on the average block: every stage sends forth and back.
  Seconds between_stages(const ShardedLayer& block) {
    if (!mesh_.has_axis("pipeline") || block.input_bytes.value() == 0) return Seconds(0);
    const auto sends = 2.0 * mesh_.axis("pipeline").size() / static_cast<double>(model_.order.size());
    return collectives_.cost(CollectiveKind::point_to_point, {"pipeline"}, block.input_bytes) * sends;
  }

  Seconds pass(const std::vector<BlockStep>& steps, Seconds hidden) {
    std::vector<Seconds> end(steps.size(), Seconds(0));
    std::map<std::string, Seconds> free;  // by stream
    Seconds path(0), communication(hidden);
    Buckets weights(scenario_.step.weight_buckets.unit);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const auto& step = steps[i];
      const bool computes = step.kind == BlockStep::Kind::compute;
      if (!computes && !step.given_time && step.role != CollectiveRole::activation) {
        weights.add(step.collective, step.axes, step.full_size);
        continue;
      }
      const Seconds time = step.given_time ? *step.given_time
                           : computes      ? compute_time(rates_, kernel_of(step))
                                           : collectives_.cost(step.collective, step.axes, step.full_size, step.copies);
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
    const Seconds gathers = weights.cost(collectives_);
    hidden += gathers;
    communication += gathers;
    return std::max(path, hidden) + communication * share_of_hidden;
  }

  const Scenario& scenario_;
  const ShardedModel& model_;
  const Mesh& mesh_;
  ComputeRates rates_;
  CollectiveModel collectives_;
};

}  // namespace

Seconds placement_cost(const Scenario& scenario, const ShardedModel& model, const Cluster& cluster, const Mesh& mesh) {
  return PlacementCost(scenario, model, cluster, mesh).run();
}

}  // namespace lockstep
