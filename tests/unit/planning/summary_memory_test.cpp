// A pass holds, while each of its steps computes, everything made before for readers that come after. A block of
// three steps made by hand, A -> B -> C, with outputs of 100, 20 and 3 bytes.
#include <gtest/gtest.h>

#include "sim/studies/planning/summary_memory_private.hpp"

namespace lockstep {
namespace {

workloads::BlockStep computes(std::int64_t output, std::vector<int> after, double seconds = 1) {
  workloads::BlockStep step;
  step.given_time = Seconds(seconds);
  step.output = Bytes(output);
  step.after = std::move(after);
  return step;
}

workloads::BlockStep gathers(std::int64_t bytes) {
  workloads::BlockStep step;
  step.kind = workloads::BlockStep::Kind::collective;
  step.collective = workloads::CollectiveKind::all_gather;
  step.role = workloads::CollectiveRole::weight;
  step.axes = {"fsdp"};
  step.output = Bytes(bytes);
  step.output_kind = workloads::MemoryKind::gathered;
  return step;
}

class SummaryMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    block_.forward = {computes(100, {workloads::BlockStep::outside}), computes(20, {0}), computes(3, {1})};
    block_.output_steps = {2};
  }

  /// All steps count.
  [[nodiscard]] planning::BlockPasses summarized() const {
    planning::SummarizedSteps steps;
    steps.forward.assign(block_.forward.size(), true);
    steps.backward.assign(block_.backward.size(), true);
    const auto input_gradient = steps_of_input_gradient(block_);
    steps.input_gradient = input_gradient;
    steps.whole_gradients = whole_gradients_;
    planning::BlockPasses passes;
    summary_memory(block_, steps, options_, {}, passes);
    return passes;
  }

  workloads::ShardedLayer block_;
  workloads::StepOptions options_;
  bool whole_gradients_ = true;
};

// During B: A's output and its own, 120. During C: 23.
TEST_F(SummaryMemoryTest, AnOutputIsHeldUntilItsReaderEnds) {
  EXPECT_EQ(summarized().forward_most, 120);
  EXPECT_EQ(summarized().kept, 0);
  EXPECT_FALSE(summarized().keeps_output);
}

// C has a workspace of 200: 23 + 200.
TEST_F(SummaryMemoryTest, AWorkspaceIsHeldWhileItsStepRuns) {
  block_.forward[2].workspace = Bytes(200);
  EXPECT_EQ(summarized().forward_most, 223);
}

// A buffer that is made in no time takes no memory: of A (1 s, alone), B (no time) and C (1 s) the most is A's 100.
TEST_F(SummaryMemoryTest, AStepWithoutTimeDoesNotCount) {
  block_.forward[1].given_time = Seconds(0);
  EXPECT_EQ(summarized().forward_most, 100);
}

// The backward reads A: 100 bytes kept, and held during C too, 100 + 20 + 3.
TEST_F(SummaryMemoryTest, WhatTheBackwardReadsIsHeldToTheEnd) {
  block_.backward = {computes(8, {workloads::BlockStep::outside})};
  block_.backward[0].saved = {0};
  block_.input_gradient_steps = {0};
  const auto passes = summarized();
  EXPECT_EQ(passes.kept, 100);
  EXPECT_EQ(passes.kept_for_weights, 0);
  EXPECT_EQ(passes.forward_most, 123);
  EXPECT_EQ(passes.backward_most, 108);  // its result and what it reads
}

// Backward: I (8 bytes) reads B and hands on; W (gradient, 50 bytes) reads A and what I leaves, for the weights only.
//   whole: I holds 8 + A + B = 128, W holds 50 + 8 + A = 158.
//   input gradient alone: I holds 8 + A + B, as A is still to be read.
TEST_F(SummaryMemoryTest, ABackwardFreesWhatItHasRead) {
  block_.backward = {computes(8, {workloads::BlockStep::outside}), computes(50, {0})};
  block_.backward[0].saved = {1};
  block_.backward[1].saved = {0};
  block_.backward[1].output_kind = workloads::MemoryKind::gradients;
  block_.input_gradient_steps = {0};
  const auto passes = summarized();
  EXPECT_EQ(passes.kept, 120);
  EXPECT_EQ(passes.kept_for_weights, 100);
  EXPECT_EQ(passes.between, 8);
  EXPECT_EQ(passes.backward_most, 158);
  EXPECT_EQ(passes.input_gradient_most, 128);
  // Gradients that are reduced at once in parts are not held whole: W holds 8 + A, and I holds the most.
  whole_gradients_ = false;
  EXPECT_EQ(summarized().backward_most, 128);
}

TEST_F(SummaryMemoryTest, InputAndOutputAreKeptIfTheBackwardReadsThem) {
  block_.backward = {computes(8, {workloads::BlockStep::outside})};
  block_.backward[0].saved = {workloads::BlockStep::outside, 2};
  block_.input_gradient_steps = {0};
  const auto passes = summarized();
  EXPECT_TRUE(passes.keeps_input);
  EXPECT_TRUE(passes.keeps_output);
  EXPECT_EQ(passes.kept, 3);  // the input is counted by the block before, or by the rank that has it
}

// Copies of weights (not activations) that a backward reads are part of no microbatch.
TEST_F(SummaryMemoryTest, OnlyActivationsAreKept) {
  block_.forward[0].output_kind = workloads::MemoryKind::gathered;
  block_.backward = {computes(8, {workloads::BlockStep::outside})};
  block_.backward[0].saved = {0, 1};
  block_.input_gradient_steps = {0};
  EXPECT_EQ(summarized().kept, 20);
}

// Gathers of 1000 and 2000 bytes; A reads the first and C the second. Together they are there from A on:
// A 100 + 3000, B 100 + 20 + 2000, C 20 + 3 + 2000. One by one, the second is surely there only when C reads it:
// A 1100, B 120, C 2023.
TEST_F(SummaryMemoryTest, ABucketBringsAllItsWeights) {
  block_.forward = {gathers(1000), gathers(2000), computes(100, {workloads::BlockStep::outside, 0}), computes(20, {2}),
                    computes(3, {3, 1})};
  block_.output_steps = {4};
  EXPECT_EQ(summarized().forward_most, 3100);
  options_.weight_buckets.unit = workloads::Bucketing::Unit::matrix;
  EXPECT_EQ(summarized().forward_most, 2023);
}

// A step beside, which nobody waits for, may run at another time: not counted while others compute.
TEST_F(SummaryMemoryTest, AStepBesideIsHeldOnlyIfSomeoneWaitsForIt) {
  block_.forward.insert(block_.forward.begin(), computes(5000, {workloads::BlockStep::outside}));
  block_.forward[0].stream = "host";
  block_.forward[1].after = {workloads::BlockStep::outside};
  block_.forward[2].after = {1};
  block_.forward[3].after = {2};
  block_.output_steps = {3};
  EXPECT_EQ(summarized().forward_most, 120);
  block_.forward[3].after = {2, 0};
  EXPECT_EQ(summarized().forward_most, 5023);  // C reads it
}

TEST(IsGatherTest, TakesCollectivesOfWeightsOnly) {
  EXPECT_TRUE(gathers(1).gathers_weights());
  auto activation = gathers(1);
  activation.role = workloads::CollectiveRole::activation;
  EXPECT_FALSE(activation.gathers_weights());
  auto product = gathers(1);
  product.kind = workloads::BlockStep::Kind::compute;
  EXPECT_FALSE(product.gathers_weights());
}

}  // namespace
}  // namespace lockstep
