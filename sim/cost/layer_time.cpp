#include "sim/cost/layer_time.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "topologies/placement/mesh.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep::cost {
namespace {

constexpr double share_of_hidden = 0.1;

bool computes(const workloads::BlockStep& step) { return step.kind == workloads::BlockStep::Kind::compute; }

OverlappedPass pass_overlapped(const workloads::BlockSteps& steps, collectives::CollectiveModel& collectives,
                               const ComputeRates& rates, const workloads::StepOptions& options) {
  Indexed<workloads::BlockStepId, Seconds> end(steps.size(), Seconds(0));
  std::map<std::string, Seconds> free;  // by stream
  OverlappedPass pass;
  if (rates.kernels) pass.slowdown = overlap_slowdown(rates.kernels->chip);
  LayerBuckets weights(options.weight_buckets);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    const bool beside = !computes(step) && step.role != workloads::CollectiveRole::activation;
    if (beside && !step.given_time) {
      weights.add(step.collective, step.axes, step.full_size);
      continue;
    }
    const Seconds time = operation_time(rates, step, collectives);
    (computes(step) ? pass.computation : pass.communication) += time;
    if (beside) {
      pass.hidden += time;
      continue;
    }
    Seconds start(0);
    for (const int before : step.after) {
      if (before != workloads::BlockStep::outside) start = std::max(start, end[before]);
    }
    auto streams = computes(step) ? workloads::AxisNames{""} : step.axes;
    for (auto& stream : streams) stream = topologies::axis_part(stream).axis;  // a part takes turns with the whole
    for (const auto& stream : streams) start = std::max(start, free[stream]);
    end[i] = start + time;
    for (const auto& stream : streams) free[stream] = end[i];
    pass.path = std::max(pass.path, end[i]);
  }
  const Seconds gathers = weights.cost(collectives);
  pass.hidden += gathers;
  pass.communication += gathers;
  return pass;
}

}  // namespace

Seconds OverlappedPass::beside(Seconds more) const {
  const Seconds waited = path - std::min(path, computation);
  const Seconds overlapped = std::max(Seconds(0), communication + more - waited);
  const Seconds lost = std::min(overlapped * (1 - 1 / slowdown), (path - waited) * (slowdown - 1));
  return std::max(path + lost, hidden + more) + (communication + more) * share_of_hidden;
}

Seconds OverlappedPass::added_by(Seconds more, const Cover& cover) const {
  const auto beside_each_of = [&](double passes) { return (beside(more / passes) - beside(Seconds(0))) * passes; };
  const auto of_the_last_chunk = more * cover.bare + beside_each_of(1) * (1 - cover.bare);
  return of_the_last_chunk / cover.chunks + beside_each_of(cover.passes) * (1 - 1 / cover.chunks);
}

double slowdown_without(const topologies::ChipKernels& chip, int held) {
  return chip.units > 0 ? static_cast<double>(chip.units) / (chip.units - held) : 1;
}

double overlap_slowdown(const topologies::ChipKernels& chip) {
  return std::max(slowdown_without(chip, chip.communication_units), 1 / (1 - chip.communication_memory));
}

void LayerBuckets::add(workloads::CollectiveKind kind, const workloads::AxisNames& axes, Bytes full_size) {
  const workloads::BucketKey key{kind, axes};
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Bucket& other) {
    return share_a_bucket(workloads::BucketKey{other.kind, other.axes}, key);
  });
  if (!merges_ || same == all_.end()) {
    all_.push_back({kind, axes, full_size});
  } else {
    same->full_size += full_size;
  }
}

void LayerBuckets::add(const std::vector<workloads::DerivedCollective>& chain) {
  for (const auto& one : chain) add(one.kind, one.axes, one.full_size);
}

Seconds LayerBuckets::cost(collectives::CollectiveModel& model) const {
  Seconds sum(0);
  for (const auto& bucket : all_) sum += model.cost(bucket.kind, bucket.axes, bucket.full_size);
  return sum;
}

Seconds operation_time(const ComputeRates& rates, const workloads::StepWork& work) {
  return work.given_time ? *work.given_time : compute_time(rates, kernel_of(work));
}

Seconds operation_time(const ComputeRates& rates, const workloads::BlockStep& step,
                       collectives::CollectiveModel& collectives) {
  if (computes(step) || step.given_time) return operation_time(rates, step);
  return collectives.cost(step.collective, step.axes, step.full_size, step.copies);
}

workloads::StageTimes time_one_after_another(const workloads::ShardedLayer& layer,
                                             collectives::CollectiveModel& collectives, const ComputeRates& rates) {
  const auto time = [&](const workloads::BlockStep& step) {
    if (step.given_time && computes(step) && !step.stream.empty()) return Seconds(0);
    if (!step.given_time && !computes(step) && step.role != workloads::CollectiveRole::activation) return Seconds(0);
    return operation_time(rates, step, collectives);
  };
  Seconds forward(0), input(0), weight(0);
  for (const auto& step : layer.forward) forward += time(step);
  const auto of_input = steps_of_input_gradient(layer);
  for (std::size_t i = 0; i < layer.backward.size(); ++i) (of_input[i] ? input : weight) += time(layer.backward[i]);
  return {forward.value(), input.value(), weight.value()};
}

OverlappedTime time_overlapped(const workloads::ShardedLayer& layer, collectives::CollectiveModel& collectives,
                               const ComputeRates& rates, const workloads::StepOptions& options) {
  LayerBuckets gradients(options.gradient_buckets), of_the_last = gradients, published = gradients;
  for (const auto& update : layer.weights) {
    gradients.add(update.each_microbatch);
    of_the_last.add(update.last_microbatch);
    published.add(update.publish);
  }
  OverlappedTime time{pass_overlapped(layer.forward, collectives, rates, options),
                      pass_overlapped(layer.backward, collectives, rates, options), of_the_last.cost(collectives),
                      published.cost(collectives)};
  const auto reduced = gradients.cost(collectives);
  time.backward.hidden += reduced;
  time.backward.communication += reduced;
  return time;
}

}  // namespace lockstep::cost
