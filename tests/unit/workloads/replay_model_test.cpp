// Measured operations from YAML: who waits for whom, what repeats, and what is refused.
#include "workloads/replay/replay_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/step/step_pipeline.hpp"

namespace lockstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

workloads::ReplayModel read(const std::string& text) {
  Problems problems;
  auto replay = workloads::read_replay(YamlView::from_text(text, "replay.yaml", problems));
  EXPECT_THAT(lines_of(problems), IsEmpty());
  return replay;
}

std::vector<std::string> complaints(const std::string& text) {
  Problems problems;
  (void)workloads::read_replay(YamlView::from_text(text, "replay.yaml", problems));
  return lines_of(problems);
}

const std::string passes =
    "forward:\n"
    "  - {name: attention, time: 4 ms}\n"
    "  - {name: dispatch, time: 6 ms, on: network}\n"
    "  - {name: MLP, time: 5 ms}\n"
    "backward:\n"
    "  - {name: MLP inputs, time: 5 ms}\n"
    "  - {name: MLP weights, time: 3 ms, gradient: weights}\n"
    "  - {name: send back, time: 7 ms, on: network}\n"
    "  - {name: weights beside, time: 1 ms, on: second, computes: true, gradient: weights, after: MLP inputs}\n"
    "  - {name: attention inputs, time: 9 ms}\n";

// An operation waits for the one above it, but over gradients of weights, which nobody waits for unasked.
TEST(ReplayModel, OperationsWaitForWhatStandsAbove) {
  const auto block = read("layers: 2\n" + passes).kinds.at(0);
  EXPECT_THAT(block.forward[0].after, ElementsAre(workloads::BlockStep::outside));
  EXPECT_THAT(block.forward[2].after, ElementsAre(1));
  EXPECT_THAT(block.backward[1].after, ElementsAre(0));
  EXPECT_THAT(block.backward[2].after, ElementsAre(0)) << "not for the gradient of the weights above it";
  EXPECT_THAT(block.backward[4].after, ElementsAre(2));
  EXPECT_THAT(block.output_steps, ElementsAre(2));
  EXPECT_THAT(block.input_gradient_steps, ElementsAre(4));
  EXPECT_THAT(steps_of_input_gradient(block), ElementsAre(true, false, true, false, true));
}

// What runs on a stream of its own communicates, unless it is said to compute.
TEST(ReplayModel, AStreamOfItsOwnCommunicatesUnlessItComputes) {
  const auto block = read("layers: 1\n" + passes).kinds.at(0);
  EXPECT_EQ(block.forward[0].kind, workloads::BlockStep::Kind::compute);
  EXPECT_EQ(block.forward[1].kind, workloads::BlockStep::Kind::collective);
  EXPECT_EQ(block.forward[1].stream, "network");
  EXPECT_EQ(block.backward[3].kind, workloads::BlockStep::Kind::compute);
  EXPECT_EQ(block.backward[3].stream, "second");
  EXPECT_EQ(block.backward[3].given_time, Seconds(1e-3));
}

// Two measured layers, five of the model: 0 1 0 1 0. An operation with one time has it in all of them.
TEST(ReplayModel, MeasuredLayersTakeTurns) {
  const auto replay = read(
      "layers: 5\nforward: [{name: a, time: [1 ms, 2 ms]}, {name: b, time: 7 ms}]\nbackward: [{name: c, time: 3 "
      "ms}]\n");
  EXPECT_THAT(replay.order, ElementsAre(0, 1, 0, 1, 0));
  ASSERT_EQ(replay.kinds.size(), 2U);
  EXPECT_EQ(replay.kinds[0].forward[0].given_time, Seconds(1e-3));
  EXPECT_EQ(replay.kinds[1].forward[0].given_time, Seconds(2e-3));
  EXPECT_EQ(replay.kinds[1].forward[1].given_time, Seconds(7e-3));
}

// `holds` is memory from the operation on until the layer's backward is through: every backward step reads it.
TEST(ReplayModel, WhatTheForwardHoldsIsReadByTheWholeBackward) {
  const auto block =
      read(
          "layers: 1\nboundary: 0 B\nforward: [{name: a, time: 1 ms}, {name: b, time: 1 ms, holds: 100 MB}]\n"
          "backward: [{name: c, time: 1 ms}, {name: d, time: 1 ms, gradient: weights}]\n")
          .kinds.at(0);
  EXPECT_EQ(block.forward[1].output, Bytes(100'000'000));
  for (const auto& step : block.backward) EXPECT_THAT(step.saved, ElementsAre(1));
}

// The pair's list orders the compute stream; `dispatch` is put in once `attention` is there, `send back` once `MLP
// inputs`.
TEST(ReplayModel, APairListsTheComputeStreamAndTheRestFollowsByItself) {
  const auto block =
      read("layers: 1\n" + passes + "pair: [attention, MLP inputs, MLP weights, MLP, attention inputs]\n").kinds.at(0);
  std::string order;
  for (const auto& turn : block.pair_turns) {
    const auto& steps = turn.forward ? block.forward : block.backward;
    order += (order.empty() ? "" : ", ") + steps[static_cast<std::size_t>(turn.step)].name;
  }
  EXPECT_EQ(order, "attention, dispatch, MLP inputs, send back, weights beside, MLP weights, MLP, attention inputs");
}

TEST(ReplayModel, APairNamesEachOperationOnceAndInOrder) {
  const auto wrong = [](const std::string& list) {
    return complaints("layers: 1\n" + passes + "pair: [" + list + "]\n");
  };
  EXPECT_THAT(wrong("attention, MLP inputs, MLP weights, MLP"),
              ElementsAre(HasSubstr("'attention inputs' is missing")));
  EXPECT_THAT(wrong("MLP, attention, MLP inputs, MLP weights, attention inputs"),
              ElementsAre(HasSubstr("'MLP' waits for an operation that comes later")));
  EXPECT_THAT(wrong("attention, attention, MLP inputs, MLP weights, MLP, attention inputs"),
              ElementsAre(HasSubstr("'attention' is there twice")));
  EXPECT_THAT(wrong("attention, dispatch, MLP inputs, MLP weights, MLP, attention inputs"),
              ElementsAre(HasSubstr("no operation of the compute stream is called 'dispatch'")));
}

TEST(ReplayModel, NamesThatBothPassesUseCannotBePaired) {
  EXPECT_THAT(complaints("layers: 1\nforward: [{name: a, time: 1 ms}]\nbackward: [{name: a, time: 1 ms}]\npair: [a]\n"),
              testing::Contains(HasSubstr("'a' is in the forward and in the backward")));
}

TEST(ReplayModel, EveryMistakeHasItsPlace) {
  EXPECT_THAT(complaints("layers: 0\nforward: []\nbackward: [{name: b}]\ncolour: red\n"),
              testing::UnorderedElementsAre(HasSubstr("replay.yaml:1:9: layers: `0` is too small"),
                                            HasSubstr("replay.yaml:2:10: forward: has no operation"),
                                            HasSubstr("backward[0].time: missing"), HasSubstr("colour: unknown key")));
  const auto forward = [](const std::string& ops) {
    return complaints("layers: 4\nforward: [" + ops + "]\nbackward: [{name: z, time: 1 ms}]\n");
  };
  EXPECT_THAT(forward("{name: a, time: -1 ms}"), ElementsAre(HasSubstr("forward[0].time")));
  EXPECT_THAT(forward("{name: a, time: 4}"), ElementsAre(HasSubstr("forward[0].time")));
  EXPECT_THAT(forward("{name: a, time: 1 ms}, {name: a, time: 1 ms}"),
              ElementsAre(HasSubstr("forward[1].name: 'a' is there twice")));
  EXPECT_THAT(forward("{name: a, time: 1 ms, after: b}, {name: b, time: 1 ms}"),
              ElementsAre(HasSubstr("forward[0].after: no operation above is called 'b'")));
  EXPECT_THAT(forward("{name: a, time: 1 ms, on: compute}"),
              ElementsAre(HasSubstr("forward[0].on: 'compute' is taken")));
  EXPECT_THAT(forward("{name: a, time: 1 ms, gradient: weights}"),
              ElementsAre(HasSubstr("forward[0].gradient: unknown key")));
  EXPECT_THAT(forward("{name: a, time: [1 ms, 2 ms]}, {name: b, time: [1 ms, 2 ms, 3 ms]}"),
              ElementsAre(HasSubstr("'b' has 3 times, others have 2")));
  EXPECT_THAT(forward("{name: a, time: [1 ms, 2 ms, 3 ms, 4 ms, 5 ms]}"),
              ElementsAre(HasSubstr("layers: the operations have times for 5 layers")));
}

TEST(ReplayModel, NothingWaitsForGradientsOfWeightsButTheirLike) {
  const auto backward = [](const std::string& ops) {
    return complaints("layers: 1\nforward: [{name: f, time: 1 ms}]\nbackward: [" + ops + "]\n");
  };
  EXPECT_THAT(backward("{name: w, time: 1 ms, gradient: weights}"),
              ElementsAre(HasSubstr("has no operation that the layer before waits for")));
  EXPECT_THAT(
      backward("{name: i, time: 1 ms}, {name: w, time: 1 ms, gradient: weights}, {name: j, time: 1 ms, after: w}"),
      ElementsAre(HasSubstr("backward[2].after: 'w' makes gradients of weights")));
  EXPECT_THAT(backward("{name: i, time: 1 ms}, {name: w, time: 1 ms, gradient: weights, output: true}"),
              ElementsAre(HasSubstr("backward[1].output")));
}

}  // namespace
}  // namespace lockstep
