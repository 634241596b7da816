#include <algorithm>
#include <numeric>

#include "sim/collectives/stage_pairs.hpp"
#include "sim/cost/layer_time.hpp"
#include "sim/preparation/stage_times_private.hpp"

namespace lockstep::preparation {
namespace {

/// The kinds of chips on each place of the pipeline axis.
Indexed<workloads::StageId, std::set<topologies::ChipKindId>> chips_of_stages(const Machine& machine, int stages) {
  Indexed<workloads::StageId, std::set<topologies::ChipKindId>> chips(stages);
  const auto& cluster = *machine.cluster;
  const auto& mesh = *machine.mesh;
  if (cluster.chips().count() == 1) {
    for (auto& kinds : chips) kinds = {0};
  } else if (!mesh.has_axis("pipeline")) {
    for (topologies::DeviceId device = 0; device < cluster.devices(); ++device)
      chips.front().insert(cluster.chip_kind(device));
  } else {
    for (const auto& line : collectives::pipeline_lines(mesh)) {
      for (const workloads::StageId stage : line.ids())
        chips[stage].insert(cluster.chip_kind(mesh.device_of(line[stage])));
    }
  }
  return chips;
}

}  // namespace

StageClock::StageClock(const scenario::Scenario& scenario, const Machine& machine,
                       const workloads::ShardedLayers& layers, const workloads::PipelineShape& shape)
    : shape_(shape) {
  for (const auto& rates : rates_of_chips(scenario)) {
    auto& times = of_chips_.emplace_back();
    for (const auto& layer : layers) times.push_back(time_one_after_another(layer, *machine.collectives, rates));
  }
  const auto chips = chips_of_stages(machine, shape.ranks);
  for (workloads::VirtualStageId stage = 0; stage < shape.virtual_stages(); ++stage) {
    auto& kinds = chips_of_.emplace_back();
    for (const auto microbatch : {0, shape.microbatches - 1}) {  // of a bidirectional pipeline, both of its places
      const auto& there = chips[shape.rank_of(stage, microbatch)];
      kinds.insert(there.begin(), there.end());
    }
  }
}

workloads::PipelineTimes StageClock::times(KindsInOrder kinds, workloads::KindId kinds_of_slice,
                                           const FirstBlocks& first_block) const {
  workloads::PipelineTimes times;
  times.stages = of_one_pass(kinds, first_block);
  if (shape_.slices == 1) return times;
  const auto sum_of = [](const Indexed<workloads::VirtualStageId, workloads::StageTimes>& stages) {
    double sum = 0;
    for (const auto& stage : stages) sum += stage.forward + stage.input_gradient + stage.weight_gradient;
    return sum;
  };
  times.slices = {sum_of(times.stages)};
  for (workloads::SliceId slice = 1; slice < shape_.slices; ++slice) {
    for (auto& kind : kinds) kind += kinds_of_slice;
    const auto more = of_one_pass(kinds, first_block);
    times.slices.push_back(sum_of(more));
    for (const auto stage : more.ids()) {
      times.stages[stage].forward += more[stage].forward;
      times.stages[stage].input_gradient += more[stage].input_gradient;
      times.stages[stage].weight_gradient += more[stage].weight_gradient;
    }
  }
  const double all = sum_of(times.stages);
  for (auto& share : times.slices) share = all > 0 ? share / all : 1.0 / shape_.slices;
  return times;
}

Indexed<workloads::VirtualStageId, workloads::StageTimes> StageClock::of_one_pass(
    const KindsInOrder& kinds, const FirstBlocks& first_block) const {
  Indexed<workloads::VirtualStageId, workloads::StageTimes> stages;
  for (workloads::VirtualStageId stage = 0; stage + 1 < first_block.count(); ++stage) {
    workloads::StageTimes slowest{0, 0, 0};
    for (const auto chip : chips_of_[stage]) {
      workloads::StageTimes sum{0, 0, 0};
      for (int block = first_block[stage]; block < first_block[stage + 1]; ++block) {
        const auto& kind = of_chips_[chip][kinds[block]];
        sum.forward += kind.forward;
        sum.input_gradient += kind.input_gradient;
        sum.weight_gradient += kind.weight_gradient;
      }
      slowest.forward = std::max(slowest.forward, sum.forward);
      slowest.input_gradient = std::max(slowest.input_gradient, sum.input_gradient);
      slowest.weight_gradient = std::max(slowest.weight_gradient, sum.weight_gradient);
    }
    stages.push_back(slowest);
  }
  return stages;
}

double StageClock::time_of(workloads::KindId kind, workloads::VirtualStageId stage) const {
  double slowest = 0;
  for (const auto chip : chips_of_[stage]) {
    const auto& times = of_chips_[chip][kind];
    slowest = std::max(slowest, times.forward + times.input_gradient + times.weight_gradient);
  }
  return slowest;
}

std::vector<std::int64_t> StageClock::layers_by_speed(const KindsInOrder& kinds,
                                                      const std::vector<bool>& is_layer) const {
  const int stages = shape_.virtual_stages();
  const int first = static_cast<int>(std::find(is_layer.begin(), is_layer.end(), true) - is_layer.begin());
  const int end = static_cast<int>(std::find(is_layer.begin() + first, is_layer.end(), false) - is_layer.begin());
  if (end - first < stages) return {};
  double before = 0, after = 0, all = 0;
  for (int block = 0; block < first; ++block) before += time_of(kinds[block], 0);
  for (int block = end; block < kinds.count(); ++block) after += time_of(kinds[block], stages - 1);
  /// As many layers on each stage as it computes within `limit`; the last takes what is left. Nothing if that is too
  /// many.
  const auto within = [&](double limit) {
    std::vector<std::int64_t> layers;
    int block = first;
    for (int stage = 0; stage < stages; ++stage) {
      double time = (stage == 0 ? before : 0) + (stage + 1 == stages ? after : 0);
      const int most = end - (stages - 1 - stage);  // one for each stage behind
      const int start = block;
      while (block < most && (block == start || time + time_of(kinds[block], stage) <= limit))
        time += time_of(kinds[block++], stage);
      if (time > limit) return std::vector<std::int64_t>{};
      layers.push_back(block - start);
    }
    return block == end ? layers : std::vector<std::int64_t>{};
  };
  for (int stage = 0; stage < stages; ++stage) {
    for (int block = first; block < end; ++block) all += time_of(kinds[block], stage);
  }
  double least = 0, most = before + after + all;
  for (int halving = 0; halving < 200 && least < most; ++halving) {
    const double middle = std::midpoint(least, most);
    if (middle <= least || middle >= most) break;
    (within(middle).empty() ? least : most) = middle;
  }
  return within(most);
}

}  // namespace lockstep::preparation
