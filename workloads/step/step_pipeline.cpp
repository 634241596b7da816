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
  // A copy in fewer bytes is made with what it copies. In a layer only products are put off, not sums of biases.
  for (std::size_t i = 0; i < block.backward.size(); ++i) {
    const auto& step = block.backward[i];
    const bool at_once = step.kind == BlockStep::Kind::compute && !step.given_time && step.flops == Flops(0) &&
                         (step.traffic == Bytes(0) || block.is_layer);
    const auto is_there = [&](int before) { return before == BlockStep::outside || waited_for[before]; };
    if (at_once && step.saved.empty() && std::all_of(step.after.begin(), step.after.end(), is_there))
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

/// What layouts call the blocks of a model: before the layers E, after them m but for the last, which is L.
std::string letters_of(const std::vector<bool>& is_layer) {
  std::string letters;
  for (const bool layer : is_layer) {
    const bool are_layers_behind = letters.find('t') != std::string::npos;
    letters += layer ? 't' : are_layers_behind ? 'm' : 'E';
  }
  if (letters.ends_with('m')) letters.back() = 'L';
  return letters;
}

/// "61 t, 1 m" of the letters in which the two differ, as `letters` has them.
std::string counts_that_differ(const std::string& letters, const std::string& other) {
  std::string text;
  for (const char letter : {'E', 't', 'm', 'L'}) {
    const auto count = std::count(letters.begin(), letters.end(), letter);
    if (count == std::count(other.begin(), other.end(), letter)) continue;
    text += (text.empty() ? "" : ", ") + (count == 0 ? "no" : std::to_string(count)) + " " + letter;
  }
  return text;
}

}  // namespace

LayerSplit split_by_layout(const std::vector<bool>& is_layer, const PipelineLayout& layout) {
  const auto wanted = letters_of(is_layer);
  LayerSplit split;
  std::string placed;
  split.first_block.push_back(0);
  for (const VirtualStageId stage : layout.ids()) {
    placed += layout[stage];
    split.first_block.push_back(static_cast<BlockId>(placed.size()));
    if (layout[stage].empty() && split.what.empty()) {
      split.what = "stage " + std::to_string(stage) + " of " + std::to_string(layout.size()) + " holds nothing";
      split.expected = "a letter between two bars";
    }
  }
  if (const auto found = counts_that_differ(placed, wanted); !found.empty()) {
    split.what = "the layout has " + found + "; the model has " + counts_that_differ(wanted, placed);
    split.expected = "one letter for each part of the model: E embedding, t layer, m prediction module, L loss";
  } else if (placed != wanted) {
    const auto at = std::mismatch(placed.begin(), placed.end(), wanted.begin()).first - placed.begin();
    const auto above = std::upper_bound(split.first_block.begin(), split.first_block.end(), static_cast<BlockId>(at));
    split.what = "'" + std::string(1, placed[position_of(at)]) + "' is out of order on stage " +
                 std::to_string(above - split.first_block.begin() - 1);
    split.expected = "E first, then t, m and L";
  }
  return split;
}

PipelineLayout layout_of(const std::vector<bool>& is_layer, const Indexed<VirtualStageId, BlockId>& first_block) {
  const auto letters = letters_of(is_layer);
  PipelineLayout layout;
  for (VirtualStageId stage = 0; stage + 1 < first_block.count(); ++stage) {
    layout.push_back(letters.substr(position_of(first_block[stage]),
                                    position_of(first_block[stage + 1]) - position_of(first_block[stage])));
  }
  return layout;
}

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
