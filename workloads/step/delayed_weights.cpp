#include "workloads/step/delayed_weights.hpp"

#include <algorithm>

#include "workloads/step/step_pipeline.hpp"

namespace lockstep::workloads {
namespace {

/// The numbers of the steps in their new order.
std::vector<BlockStepId> delayed_order(const ShardedLayer& block) {
  const auto of_input = steps_of_input_gradient(block);
  std::vector<BlockStepId> order, delayed;
  const auto catch_up = [&] {
    order.insert(order.end(), delayed.begin(), delayed.end());
    delayed.clear();
  };
  for (const BlockStepId step : block.backward.ids()) {
    const auto& what = block.backward[step];
    if (!of_input[step] && !what.gathers_weights()) {
      delayed.push_back(step);
      continue;
    }
    order.push_back(step);
    if (what.kind == BlockStep::Kind::collective && what.collective == CollectiveKind::all_to_all && what.routed)
      catch_up();
  }
  catch_up();
  return order;
}

}  // namespace

void delay_weight_gradients(ShardedLayer& block) {
  const auto order = delayed_order(block);
  Indexed<BlockStepId, BlockStepId> place(block.backward.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<BlockStepId>(i);
  const auto rename = [&](std::vector<int>& steps) {
    for (int& step : steps) {
      if (step != BlockStep::outside) step = place[step];
    }
  };
  BlockSteps reordered;
  for (const auto step : order) {
    reordered.push_back(std::move(block.backward[step]));
    rename(reordered.back().after);
  }
  block.backward = std::move(reordered);
  rename(block.input_gradient_steps);
  for (auto& update : block.weights) rename(update.gradient_steps);
  for (auto& tied : block.tied_gradients) {
    if (tied.step != BlockStep::outside) tied.step = place[tied.step];
  }
}

}  // namespace lockstep::workloads
