#include "workloads/step/step_pipeline.hpp"

#include <algorithm>
#include <numeric>

namespace lockstep::workloads {

std::int32_t StepPipeline::stage_of_block(int block) const {
  const auto above = std::upper_bound(first_block.begin(), first_block.end(), block);
  return static_cast<std::int32_t>(above - first_block.begin()) - 1;
}

StepPipeline single_stage(int blocks, std::int64_t microbatches) {
  StepPipeline pipeline;
  pipeline.first_block = {0, blocks};
  pipeline.order.shape = {StagePlacement::linear, 1, 1, static_cast<std::int32_t>(microbatches)};
  pipeline.order.ranks.resize(1);
  for (std::int32_t m = 0; m < microbatches; ++m) {
    pipeline.order.ranks[0].push_back({{PipelineWork::forward, 0, m}, {}});
    pipeline.order.ranks[0].push_back({{PipelineWork::backward, 0, m}, {}});
  }
  return pipeline;
}

ChosenSteps steps_of_input_gradient(const ShardedLayer& block) {
  ChosenSteps waited_for(block.backward.size(), false);
  const auto mark = [&](int step) {
    if (step != BlockStep::outside) waited_for[step] = true;
  };
  for (const int step : block.input_gradient_steps) mark(step);
  for (std::size_t i = block.backward.size(); i-- > 0;) {  // steps are in topological order
    if (!waited_for[i]) continue;
    for (const int before : block.backward[i].after) mark(before);
  }
  // A copy in fewer bytes is made with what it copies.
  for (std::size_t i = 0; i < block.backward.size(); ++i) {
    const auto& step = block.backward[i];
    const bool is_copy =
        step.kind == BlockStep::Kind::compute && !step.given_time && step.flops == Flops(0) && step.traffic == Bytes(0);
    const auto is_there = [&](int before) { return before == BlockStep::outside || waited_for[before]; };
    if (is_copy && step.saved.empty() && std::all_of(step.after.begin(), step.after.end(), is_there))
      waited_for[i] = true;
  }
  return waited_for;
}

namespace {

std::vector<std::int64_t> even_layers(std::int64_t layers, std::int32_t stages) {
  const auto most = (layers + stages - 1) / stages;
  std::vector<std::int64_t> result(position_of(stages), most);
  auto missing = most * stages - layers;
  for (std::size_t i = 0; missing > 0; ++i, --missing) {
    const auto from_end = i / 2;
    --result[i % 2 == 0 ? result.size() - 1 - from_end : from_end];
  }
  return result;
}

}  // namespace

LayerSplit split_layers(const std::vector<bool>& is_layer, std::int32_t stages,
                        const std::vector<std::int64_t>& layers) {
  const auto first = std::find(is_layer.begin(), is_layer.end(), true) - is_layer.begin();
  const auto last = std::find(is_layer.begin() + first, is_layer.end(), false) - is_layer.begin();
  const auto count = static_cast<std::int64_t>(last - first);
  LayerSplit split;
  if (!layers.empty()) {
    const auto sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    if (std::ssize(layers) != stages) {
      split.what = std::to_string(layers.size()) + " numbers for " + std::to_string(stages) + " stages";
      split.expected = "one number of layers per stage, in forward order";
      return split;
    }
    if (sum != count) {
      split.what = "the stages' layers add up to " + std::to_string(sum) + ", the model has " + std::to_string(count);
      split.expected = "numbers that add up to " + std::to_string(count);
      return split;
    }
  }
  if (stages > std::ssize(is_layer)) {
    split.what = std::to_string(stages) + " stages for the model's " + std::to_string(count) + " layers";
    split.expected = "fewer stages (pipeline x chunks)";
    return split;
  }
  const auto sizes = layers.empty() ? even_layers(count, stages) : layers;
  auto at = static_cast<int>(first);
  split.first_block.push_back(0);
  for (const auto size : sizes) {
    at += static_cast<int>(size);
    split.first_block.push_back(at);
  }
  split.first_block.back() = static_cast<int>(is_layer.size());
  for (std::size_t stage = 0; stage + 1 < split.first_block.size(); ++stage) {
    if (split.first_block[stage + 1] > split.first_block[stage]) continue;
    split.what = "stage " + std::to_string(stage) + " of " + std::to_string(stages) +
                 " would hold nothing: the model has " + std::to_string(count) + " layers";
    split.expected = "fewer stages (pipeline x chunks), or layers on every stage";
    break;
  }
  return split;
}

}  // namespace lockstep::workloads
