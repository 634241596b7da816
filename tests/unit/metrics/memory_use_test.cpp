// A buffer lives from the start of its producer to the end of its last reader; the peak is the largest sum.
#include <gtest/gtest.h>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using test::DrawnStep;

constexpr Bytes plenty{1000};

// a (10 B) is held 0..5, b (20 B) 2..5, c (5 B) 5..6; weights and optimizer, 7 B, throughout: peak 37 at 2.
TEST(MemoryUseTest, PeaksWhereMostBuffersMeet) {
  DrawnStep drawn(1);
  const auto a = drawn.compute({{0, 2}});
  const auto b = drawn.compute({{2, 3}});
  const auto c = drawn.compute({{3, 5}});
  const auto d = drawn.compute({{5, 6}});
  drawn.step.held[0].weights = Bytes(3);
  drawn.step.held[0].optimizer = Bytes(4);
  drawn.step.buffers = {{workloads::MemoryKind::activations, Bytes(10), a, {b, c}},
                        {workloads::MemoryKind::gradients, Bytes(20), b, {c}},
                        {workloads::MemoryKind::workspace, Bytes(5), d, {}}};
  const auto use = metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty);
  EXPECT_EQ(use.peak.value(), 37);
  EXPECT_DOUBLE_EQ(use.peak_at.value(), 2);
  EXPECT_EQ(use.weights.value(), 3);
  EXPECT_EQ(use.optimizer.value(), 4);
  EXPECT_EQ(use.activations.value(), 10);
  EXPECT_EQ(use.gradients.value(), 20);
  EXPECT_EQ(use.other().value(), 0);
}

// What ends at an instant is freed before what begins there is taken: 10 then 12, never 22.
TEST(MemoryUseTest, HandsOverWithoutHoldingBoth) {
  DrawnStep drawn(1);
  const auto a = drawn.compute({{0, 1}});
  const auto b = drawn.compute({{1, 2}});
  drawn.step.buffers = {{workloads::MemoryKind::activations, Bytes(10), a, {}},
                        {workloads::MemoryKind::activations, Bytes(12), b, {}}};
  EXPECT_EQ(metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty).peak.value(), 12);
}

// A gathered weight counts as weights while it is there.
TEST(MemoryUseTest, GatheredWeightsComeOnTopOfTheStored) {
  DrawnStep drawn(1);
  const auto gather = drawn.collective({"x"}, {{0, 1}});
  drawn.step.held[0].weights = Bytes(100);
  drawn.step.buffers = {{workloads::MemoryKind::weights, Bytes(800), gather, {}}};
  const auto use = metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty);
  EXPECT_EQ(use.weights.value(), 900);
  EXPECT_EQ(use.peak.value(), 900);
}

// At 2, block 1 has 10 B of microbatch 0 and 30 B of microbatch 1 on top of block 0's 5 B: the forward of that
// microbatch makes the peak, 45 B.
TEST(MemoryUseTest, SaysWhoMakesThePeakAndWhoHoldsIt) {
  DrawnStep drawn(1);
  const auto in = [&](std::int32_t block, std::int32_t microbatch, double start, double end) {
    workloads::StepOp op;
    op.block = block;
    op.microbatch = microbatch;
    return drawn.add({}, {{start, end}}, {}, op);
  };
  const auto a = in(0, 0, 0, 1), b = in(1, 0, 1, 2), c = in(1, 1, 2, 3), end = in(1, 1, 3, 4);
  drawn.step.buffers = {{workloads::MemoryKind::activations, Bytes(5), a, {end}},
                        {workloads::MemoryKind::activations, Bytes(10), b, {end}},
                        {workloads::MemoryKind::activations, Bytes(30), c, {}}};
  const auto use = metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty);
  EXPECT_EQ(use.peak.value(), 45);
  EXPECT_EQ(use.peak_op, c);
  ASSERT_EQ(use.activations_by_block.size(), 2U);
  EXPECT_EQ(use.activations_by_block[0].size.value(), 5);
  EXPECT_EQ(use.activations_by_block[0].microbatches, 1);
  EXPECT_EQ(use.activations_by_block[1].block, 1);
  EXPECT_EQ(use.activations_by_block[1].size.value(), 40);
  EXPECT_EQ(use.activations_by_block[1].microbatches, 2);
}

// What is on the host takes no room on the chip; what the framework takes does, and is there from the beginning: 3 + 7.
TEST(MemoryUseTest, TheHostIsNotTheChip) {
  DrawnStep drawn(1);
  const auto a = drawn.compute({{1, 2}});
  drawn.step.held[0].weights = Bytes(3);
  drawn.step.held[0].overhead = Bytes(7);
  drawn.step.held[0].host = Bytes(100);
  drawn.step.buffers = {{workloads::MemoryKind::host, Bytes(50), a, {}}};
  const auto use = metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty);
  EXPECT_EQ(use.peak.value(), 10);
  EXPECT_EQ(use.other().value(), 7);
  EXPECT_EQ(use.peak_op, -1);
  EXPECT_EQ(metrics::memory_curve(drawn.step, drawn.program, drawn.timeline(), 0)[1].host.value(), 150);
}

// Rank 1 does not run the producer, so it holds nothing; rank 0's reader of another rank does not prolong.
TEST(MemoryUseTest, IsOfOneRank) {
  DrawnStep drawn(2);
  const auto a = drawn.compute({{0, 1}, {-1, -1}});
  const auto b = drawn.compute({{-1, -1}, {0, 9}});
  const auto c = drawn.compute({{1, 2}, {-1, -1}});
  drawn.step.buffers = {{workloads::MemoryKind::activations, Bytes(10), a, {b}},
                        {workloads::MemoryKind::activations, Bytes(6), c, {}}};
  EXPECT_EQ(metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 0, plenty).peak.value(), 10);
  EXPECT_EQ(metrics::memory_of(drawn.step, drawn.program, drawn.timeline(), 1, plenty).peak.value(), 0);
}

}  // namespace
}  // namespace lockstep
