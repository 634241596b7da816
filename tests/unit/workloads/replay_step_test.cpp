// An overlapped pair of replayed layers as a step graph: one order of the compute stream over both passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/yaml_view.hpp"
#include "tests/unit/workloads/step_reach.hpp"
#include "workloads/replay/replay_model.hpp"
#include "workloads/step/build_step.hpp"

namespace lockstep::test {
namespace {

workloads::ReplayModel two_layers(const std::string& pair) {
  Problems problems;
  auto replay = workloads::read_replay(
      YamlView::from_text("layers: 2\n"
                          "forward: [{name: attention, time: 1 ms}, {name: MLP, time: 1 ms}]\n"
                          "backward: [{name: inputs, time: 1 ms}, {name: weights, time: 1 ms, gradient: weights}]\n" +
                              pair,
                          "replay.yaml", problems));
  EXPECT_TRUE(problems.empty());
  return replay;
}

/// Two layers on one stage; the forward of microbatch 1 is paired with the backward of microbatch 0.
workloads::StepGraph paired(const std::string& pair) {
  const auto replay = two_layers(pair);
  auto pipeline = workloads::single_stage(2, 2);
  pipeline.order.ranks[0] = {
      {{workloads::PipelineWork::forward, 0, 0}, {}},
      {{workloads::PipelineWork::forward, 0, 1}, workloads::PipelineAction{workloads::PipelineWork::backward, 0, 0}},
      {{workloads::PipelineWork::backward, 0, 1}, {}}};
  return build_step(replay.kinds, replay.order, pipeline, {});
}

std::vector<std::string> of_the_pair(const workloads::StepGraph& graph) {
  std::vector<std::string> names;
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    if (op.pass != workloads::StepPass::update && (op.microbatch == 1) == (op.pass == workloads::StepPass::forward))
      names.push_back(op->name + " " + std::to_string(op.block));
  }
  return names;
}

// The forward goes through layers 0, 1 and the backward through 1, 0: layer by layer side by side, in the pair's order.
TEST(ReplayStep, APairRunsLayerBesideLayerInItsOrder) {
  const auto graph = paired("pair: [attention, inputs, weights, MLP]\n");
  EXPECT_THAT(of_the_pair(graph), testing::ElementsAre("attention 0", "inputs 1", "weights 1", "MLP 0", "attention 1",
                                                       "inputs 0", "weights 0", "MLP 1"));
  for (workloads::OpId id = 0; id < graph.size(); ++id) EXPECT_EQ(graph.op(id).half, 0) << "one order, not two";
}

/// One layer on each of two stages. On the first, the forward of microbatch 1 is paired with the backward of microbatch
/// 0, whose gradient comes from the second.
workloads::StepGraph paired_over_two_stages(const std::string& pair) {
  const auto replay = two_layers(pair);
  auto pipeline = workloads::single_stage(2, 2);
  pipeline.first_block = {0, 1, 2};
  pipeline.order.shape.ranks = 2;
  pipeline.order.ranks = {
      {{{workloads::PipelineWork::forward, 0, 0}, {}},
       {{workloads::PipelineWork::forward, 0, 1}, workloads::PipelineAction{workloads::PipelineWork::backward, 0, 0}},
       {{workloads::PipelineWork::backward, 0, 1}, {}}},
      {}};
  for (std::int32_t m = 0; m < 2; ++m) {
    pipeline.order.ranks[1].push_back({{workloads::PipelineWork::forward, 1, m}, {}});
    pipeline.order.ranks[1].push_back({{workloads::PipelineWork::backward, 1, m}, {}});
  }
  return build_step(replay.kinds, replay.order, pipeline, {});
}

// A pair is issued as one: its forward, whose own input is there from the start, waits for the backward's input too.
TEST(ReplayStep, APairWaitsForTheInputsOfBothHalves) {
  const auto gradient = [](const workloads::StepOp& op) { return op.other_stage == 0 && op.microbatch == 0; };
  const auto first_of_pair = [](const workloads::StepOp& op) {
    return op->name == "attention" && op.block == 0 && op.microbatch == 1;
  };
  const auto ordered = paired_over_two_stages("pair: [attention, inputs, weights, MLP]\n");
  EXPECT_TRUE(waits_for(ordered, all_of(ordered, first_of_pair).at(0), all_of(ordered, gradient).at(0)));
  const auto free = paired_over_two_stages("");
  EXPECT_FALSE(waits_for(free, all_of(free, first_of_pair).at(0), all_of(free, gradient).at(0)));
}

// Without an order the halves have numbers of their own, 1 and 2, and nothing of one waits for the other.
TEST(ReplayStep, WithoutAnOrderTheHalvesAreFree) {
  const auto graph = paired("");
  for (workloads::OpId id = 0; id < graph.size(); ++id) {
    const auto& op = graph.op(id);
    if (op.pass == workloads::StepPass::update) continue;
    const bool in_pair = (op.microbatch == 1) == (op.pass == workloads::StepPass::forward);
    EXPECT_EQ(op.half, !in_pair ? 0 : op.pass == workloads::StepPass::forward ? 1 : 2);
  }
}

}  // namespace
}  // namespace lockstep::test
