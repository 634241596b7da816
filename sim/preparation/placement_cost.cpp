#include "sim/preparation/placement_cost.hpp"

#include <algorithm>

#include "sim/collectives/collective_model.hpp"
#include "sim/collectives/tried_groups.hpp"
#include "sim/cost/layer_time.hpp"
#include "workloads/pipeline/schedules/closed_form.hpp"

namespace lockstep::preparation {
namespace {

/// The pipeline of a step before its layers have a place: all stages alike.
struct EvenPipeline {
  double microbatches, stages, chunks;
  [[nodiscard]] double virtual_stages() const { return stages * chunks; }
};

std::int32_t chunks_of(const scenario::PipelineSpec& spec, std::int32_t stages) {
  if (!spec.layout.empty()) return std::max(1, spec.layout.count() / stages);
  const auto* schedule = workloads::find_schedule(spec.schedule);
  return spec.chunks.value_or(schedule != nullptr && spec.file.empty() ? schedule->usual_chunks : 1);
}

/// How long a stage waits in a step of its schedule; that of 1F1B, interleaved where it has chunks, if the schedule has
/// no form of the whole step's.
Seconds bubble_of(const scenario::PipelineSpec& spec, const EvenPipeline& pipeline, Seconds forward, Seconds backward) {
  const double gradient = backward.value() / pipeline.virtual_stages() / 2;
  workloads::ScheduleRequest request;
  request.name = spec.file.empty() ? spec.schedule : "";
  request.ranks = static_cast<std::int32_t>(pipeline.stages);
  request.microbatches = static_cast<std::int32_t>(pipeline.microbatches);
  request.chunks = static_cast<std::int32_t>(pipeline.chunks);
  request.group = spec.group;
  request.slices = spec.slices;
  request.memory_limit = spec.memory_limit;
  request.times.stages = {{forward.value() / pipeline.virtual_stages(), gradient, gradient}};
  const auto form = closed_form(request);
  if (form && form->of == workloads::ClosedForm::Of::step) return Seconds(std::max(0.0, form->value));
  return (forward + backward) * ((pipeline.stages - 1) / (pipeline.virtual_stages() * spec.slices));
}

double blocks_of_a_chunk(const ShardedModel& model, const EvenPipeline& pipeline) {
  return std::max(1.0, static_cast<double>(model.order.size()) / pipeline.virtual_stages());
}

/// The share of a chunk's last gradients that fills no bucket before the backward of the chunk has ended.
double bare_share(const workloads::Bucketing& buckets, const ShardedModel& model, const EvenPipeline& pipeline) {
  if (!buckets.reaches_over_layers()) return 1 / blocks_of_a_chunk(model, pipeline);
  Bytes gradients(0);
  for (const auto kind : model.order) {
    for (const auto& update : model.layers[kind].weights) {
      if (!update.last_microbatch.empty()) gradients += update.last_microbatch.front().full_size;
    }
  }
  return gradients > Bytes(0) ? std::min(1.0, buckets.size / gradients * pipeline.virtual_stages()) : 0;
}

cost::Cover cover_of(const EvenPipeline& pipeline, double bare) {
  return {pipeline.chunks, std::max(1.0, std::min(pipeline.stages, pipeline.microbatches)), bare};
}

}  // namespace

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
  for (const auto& layer : model.layers) times.push_back(time_overlapped(layer, collectives, rates, scenario.step));

  const auto stages = mesh.has_axis("pipeline") ? mesh.axis("pipeline").size() : 1;
  const EvenPipeline pipeline{static_cast<double>(scenario.batch.microbatches), static_cast<double>(stages),
                              static_cast<double>(chunks_of(scenario.pipeline, stages))};
  const auto of_reductions = cover_of(pipeline, bare_share(scenario.step.gradient_buckets, model, pipeline));
  const auto of_updates = cover_of(pipeline, 1 / blocks_of_a_chunk(model, pipeline));

  Seconds forward(0), backward(0), once(0);
  for (const auto block : model.order.ids()) {
    const auto kind = model.order[block];
    const auto& time = times[kind];
    const auto sent = between_stages(model.layers[kind]) / 2.0;
    forward += time.forward.beside(Seconds(0)) + sent;
    backward += time.backward.beside(Seconds(0)) + sent;
    // Nothing of the first stage comes before an embedding, nor after its gradient.
    const bool is_first = block == 0 && !model.layers[kind].is_layer;
    once += is_first ? time.reduced * pipeline.stages : time.backward.added_by(time.reduced, of_reductions);
    once += !scenario.step.publish_ahead ? time.published
            : is_first                   ? time.published * pipeline.stages
                                         : time.forward.added_by(time.published, of_updates);
  }
  const auto waited = bubble_of(scenario.pipeline, pipeline, forward, backward) * pipeline.stages;
  return (forward + backward) * pipeline.microbatches + waited + once;
}

}  // namespace lockstep::preparation
