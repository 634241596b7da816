// Memory over a step: weights and optimizer state flat, activations rising through the forward and falling
// through the backward while gradients grow; the peak lies inside the backward.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

/// Activations held at the end of every layer of a pass, in time order. Layers hold nothing of their own
/// temporaries then.
std::vector<std::int64_t> at_ends_of_layers(const OneRank& rank, workloads::StepPass pass, workloads::MemoryKind kind) {
  std::vector<Seconds> last(rank.step().block_names.size());
  for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
    const auto& op = rank.step().op(id);
    auto& end = last[static_cast<std::size_t>(op.block)];
    if (op.pass == pass && op->kind == workloads::StepOp::Kind::compute)
      end = std::max(end, rank.timeline.span(id, 0).end);
  }
  std::sort(last.begin(), last.end());
  std::vector<std::int64_t> held;
  for (const auto end : last) held.push_back(rank.held(kind, end).value());
  return held;
}

struct MemoryCurve : testing::Test {
  OneRank rank{"validation_memory_curve.yaml"};
};

TEST_F(MemoryCurve, ActivationsRiseThroughTheForward) {
  const auto held = at_ends_of_layers(rank, workloads::StepPass::forward, workloads::MemoryKind::activations);
  ASSERT_EQ(held.size(), 8u);  // embedding, six layers, head
  for (std::size_t i = 1; i < 7; ++i) EXPECT_GT(held[i], held[i - 1]) << i;
}

TEST_F(MemoryCurve, EveryLayerKeepsTheSame) {
  const auto held = at_ends_of_layers(rank, workloads::StepPass::forward, workloads::MemoryKind::activations);
  for (std::size_t i = 3; i < 7; ++i) EXPECT_EQ(held[i] - held[i - 1], held[2] - held[1]) << i;
}

TEST_F(MemoryCurve, ActivationsFallThroughTheBackward) {
  const auto held = at_ends_of_layers(rank, workloads::StepPass::backward, workloads::MemoryKind::activations);
  ASSERT_EQ(held.size(), 8u);
  for (std::size_t i = 1; i < held.size(); ++i) EXPECT_LT(held[i], held[i - 1]) << i;
  EXPECT_EQ(held.back(), 0);
}

// One chip reduces nothing, so every layer's gradients stay from its backward to the update: equal steps, until the
// embedding's come too, at the instant at which layer 0 ends.
TEST(MemoryCurveOfOneChip, GradientsGrowThroughTheBackward) {
  const OneRank alone("validation_memory_curve.yaml",
                      {{"mesh", "{}"}, {"parallel", "{}"}, {"cluster", "tpu-v5p:1"}, {"batch.sequences", "4"}});
  const auto forward = at_ends_of_layers(alone, workloads::StepPass::forward, workloads::MemoryKind::gradients);
  EXPECT_EQ(*std::max_element(forward.begin(), forward.end()), 0);
  const auto backward = at_ends_of_layers(alone, workloads::StepPass::backward, workloads::MemoryKind::gradients);
  ASSERT_EQ(backward.size(), 8u);
  const std::int64_t layer =
      2 * (4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024);  // bf16; four projections, gated MLP, two norms
  for (std::size_t i = 2; i < 6; ++i) EXPECT_EQ(backward[i] - backward[i - 1], layer) << i;
  EXPECT_EQ(backward.back(), 2 * alone.step().parameters);
}

TEST_F(MemoryCurve, ThePeakIsInsideTheBackward) {
  const auto forward = rank.ends_of(workloads::StepPass::forward);
  const auto backward = rank.ends_of(workloads::StepPass::backward);
  ASSERT_FALSE(forward.empty());
  EXPECT_GE(rank.memory.peak_at, *std::prev(forward.end(), 2));
  EXPECT_LE(rank.memory.peak_at, backward.back());
}

// The peak's parts add up to it, and weights and optimizer are at least what is held throughout.
TEST_F(MemoryCurve, ThePartsOfThePeakAddUp) {
  const auto& memory = rank.memory;
  EXPECT_EQ(memory.weights + memory.gradients + memory.optimizer + memory.activations + memory.other(), memory.peak);
  EXPECT_GE(memory.weights, rank.step().held[0].weights);
  EXPECT_EQ(memory.optimizer, rank.step().held[0].optimizer);
  EXPECT_GT(memory.activations, memory.weights);
}

// The curve never exceeds the peak, and reaches it at peak_at.
TEST_F(MemoryCurve, ThePeakIsTheCurvesMaximum) {
  auto total = [&](Seconds time) {
    Bytes sum = rank.step().held[0].weights + rank.step().held[0].optimizer;
    for (const auto kind : workloads::all_memory_kinds) {
      sum += rank.held(kind, time);
    }
    return sum;
  };
  EXPECT_EQ(total(rank.memory.peak_at), rank.memory.peak);
  for (workloads::OpId id = 0; id < rank.step().size(); ++id) {
    EXPECT_LE(total(rank.timeline.span(id, 0).start), rank.memory.peak) << rank.step().op(id)->name;
  }
}

// An operation that takes no time needs its workspace all the same: with 65,536 words the loss of a rank's 64 x 2048 /
// 16 = 8192 tokens works on 12 bytes of each of 8192 x 65,536 logits, and the peak is there, whatever the model of
// time.
TEST(MemoryCurveOfNoTime, TheLossHasItsWorkspace) {
  const auto with = [](const char* model_of_time) {
    return OneRank(
               "validation_memory_curve.yaml",
               {{"model.vocabulary", "65536"}, {"training.cross_entropy", "unfused"}, {"model_of_time", model_of_time}})
        .memory;
  };
  const auto ideal = with("ideal"), roofline = with("roofline");
  EXPECT_EQ(ideal.workspace.value(), std::int64_t{12} * 8192 * 65536);
  EXPECT_EQ(ideal.workspace, roofline.workspace);
  EXPECT_EQ(ideal.activations, roofline.activations);  // the logits among them
  EXPECT_NEAR(static_cast<double>(ideal.peak.value()) / static_cast<double>(roofline.peak.value()), 1, 0.01);
  ASSERT_GE(ideal.peak_op, 0);
}

// Twice the microbatches at the same batch: half the activations at the peak of a model of layers alone.
TEST_F(MemoryCurve, MicrobatchesDivideActivations) {
  const OneRank halves("validation_memory_curve.yaml", {{"batch.microbatches", "2"}});
  EXPECT_NEAR(
      static_cast<double>(rank.memory.activations.value()) / static_cast<double>(halves.memory.activations.value()), 2,
      0.1);
}

}  // namespace
}  // namespace lockstep
