// Gradients of weights put off behind transfers to and from experts: the same steps with the same predecessors, in an
// order in which no gradient of an input comes after a weight's gradient but for those behind an all-to-all.
#include "workloads/step/delayed_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/unit/step/pipelined.hpp"

namespace lockstep::test {
namespace {

using workloads::BlockStep;

bool is_exchange(const BlockStep& step) {
  return step.kind == BlockStep::Kind::collective && step.collective == workloads::CollectiveKind::all_to_all;
}

/// Names of a step's predecessors; names differ within a pass but for collectives, whose number stands behind.
std::vector<std::string> names(const workloads::BlockSteps& steps) {
  std::map<std::string, int> seen;
  std::vector<std::string> result;
  for (const auto& step : steps) result.push_back(step.name + " " + std::to_string(seen[step.name]++));
  return result;
}
std::map<std::string, std::vector<std::string>> waits(const workloads::BlockSteps& steps) {
  const auto own = names(steps);
  std::map<std::string, std::vector<std::string>> result;
  for (std::size_t i = 0; i < own.size(); ++i) {
    auto& after = result[own[i]];
    for (const int before : steps[i].after) after.push_back(before < 0 ? "outside" : own[position_of(before)]);
    std::sort(after.begin(), after.end());
  }
  return result;
}

struct Case {
  workloads::Model model;
  workloads::Parallel parallel;
};
std::vector<Case> cases() {
  return {{mixture(), {.data = 2, .expert = 4}},
          {mixture(), {.fsdp = 2, .tensor = 2, .expert = 2}},
          {transformer(), {.fsdp = 2, .tensor = 2}},
          {latent(), {.data = 4, .zero = 1}}};
}

TEST(DelayedWeights, AreTheSameStepsInAnotherOrder) {
  for (const auto& [model, parallel] : cases()) {
    const auto made = derived(model, parallel);
    for (const auto& block : made.kinds) {
      auto delayed = block;
      delay_weight_gradients(delayed);
      EXPECT_EQ(waits(delayed.backward), waits(block.backward));
      const auto before = names(block.backward), after = names(delayed.backward);
      for (std::size_t i = 0; i < delayed.backward.size(); ++i) {
        for (const int earlier : delayed.backward[i].after) EXPECT_LT(earlier, static_cast<int>(i));
      }
      const auto same = [&](const std::vector<int>& one, const std::vector<int>& other) {
        ASSERT_EQ(one.size(), other.size());
        for (std::size_t i = 0; i < one.size(); ++i) {
          ASSERT_EQ(one[i] < 0, other[i] < 0);
          if (one[i] >= 0) EXPECT_EQ(before[position_of(one[i])], after[position_of(other[i])]);
        }
      };
      same(block.input_gradient_steps, delayed.input_gradient_steps);
      for (std::size_t w = 0; w < block.weights.size(); ++w)
        same(block.weights[w].gradient_steps, delayed.weights[w].gradient_steps);
    }
  }
}

// Of the experts' layer: the combination's gradient travels, then input gradients of the experts, then the dispatch's
// gradient travels with the experts' weight gradients behind it, then attention's input gradients, then its weights'.
TEST(DelayedWeights, WaitForATransferOrTheEnd) {
  auto layer = derived(mixture(), workloads::Parallel{.data = 2, .expert = 4}).layer();
  delay_weight_gradients(layer);
  const auto of_input = steps_of_input_gradient(layer);
  int exchanges = 0;
  bool caught_up = true;  // whether a weight's gradient may come now: behind a transfer, or at the end
  std::size_t last_of_input = 0;
  for (std::size_t i = 0; i < layer.backward.size(); ++i) {
    if (of_input[i]) last_of_input = i;
  }
  for (std::size_t i = 0; i < layer.backward.size(); ++i) {
    const auto& step = layer.backward[i];
    if (is_exchange(step)) ++exchanges;
    if (of_input[i])
      caught_up = is_exchange(step);
    else
      EXPECT_TRUE(caught_up || i > last_of_input) << step.name;
    if (step.name.starts_with("expert ") && step.name.ends_with("weight gradient")) {
      EXPECT_EQ(exchanges, 2) << step.name;
    }
  }
  EXPECT_EQ(exchanges, 2);
}

}  // namespace
}  // namespace lockstep::test
