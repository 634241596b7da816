// Collectives beside compute for h of c seconds: while they run compute goes at 1/s, so c becomes h + (c - h / s), but at
// most s c; and n kernels take at least n times what the host takes for one.
#include "sim/program/pass_time.hpp"

#include <gtest/gtest.h>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

class PassTimeTest : public ::testing::Test {
 protected:
  void add(StepPass pass, Seconds compute) {
    StepOp op;
    op.pass = pass;
    add_op({}, op, ProgramOp::Kind::compute, compute);
  }
  void add(StepPass pass, CollectiveRole role, Seconds time) {
    StepWork work;
    work.kind = StepWork::Kind::collective;
    work.role = role;
    StepOp op;
    op.pass = pass;
    add_op(std::move(work), op, ProgramOp::Kind::collective, time);
  }
  void stretch(int units, int taken, double host = 0) {
    ChipKernels chip;
    chip.units = units;
    chip.communication_units = taken;
    chip.host = Seconds(host);
    stretch_passes(program_, step_, chip);
  }
  double duration(std::size_t op) const { return program_.ops[op].duration.value(); }

  StepGraph step_;
  Program program_;

 private:
  void add_op(StepWork work, StepOp op, ProgramOp::Kind kind, Seconds time) {
    op.what = step_.share(std::move(work));
    ProgramOp lowered;
    lowered.kind = kind;
    lowered.vertex = step_.add(op);
    (kind == ProgramOp::Kind::compute ? lowered.duration : lowered.closed_form) = time;
    program_.ops.push_back(lowered);
  }
};

// c = 6 + 2, h = 4, s = 2: 8 becomes 8 + 4 (1 - 1/2) = 10, shared out as 7.5 and 2.5. The forward has no collectives.
TEST_F(PassTimeTest, AllComputeOfThePassIsStretched) {
  add(StepPass::backward, Seconds(6));
  add(StepPass::backward, CollectiveRole::gradient, Seconds(4));
  add(StepPass::backward, Seconds(2));
  add(StepPass::forward, Seconds(3));
  stretch(100, 50);
  EXPECT_DOUBLE_EQ(duration(0), 7.5);
  EXPECT_DOUBLE_EQ(duration(2), 2.5);
  EXPECT_DOUBLE_EQ(duration(3), 3);
}

TEST_F(PassTimeTest, NoFurtherThanTheSlowdown) {
  add(StepPass::forward, Seconds(1));
  add(StepPass::forward, CollectiveRole::weight, Seconds(100));
  stretch(100, 20);
  EXPECT_DOUBLE_EQ(duration(0), 1.25);
}

TEST_F(PassTimeTest, WhatComputeWaitsForDoesNotInterfere) {
  add(StepPass::forward, Seconds(1));
  add(StepPass::forward, CollectiveRole::activation, Seconds(100));
  stretch(100, 20);
  EXPECT_EQ(duration(0), 1);
}

// A gather that starts with its product, after the same norm: 1 + 4 with 2 beside them and s = 2 take 5 + 2 (1 - 1/2) = 6.
TEST_F(PassTimeTest, ACollectiveBesideItsProductInterferes) {
  add(StepPass::forward, Seconds(1));
  add(StepPass::forward, CollectiveRole::activation, Seconds(2));
  add(StepPass::forward, Seconds(4));
  program_.ops[1].predecessors = {0};
  program_.ops[2].predecessors = {0};
  stretch(100, 50);
  EXPECT_DOUBLE_EQ(duration(2), 4.8);
  program_.ops[0].duration = Seconds(1), program_.ops[2].duration = Seconds(4);
  program_.ops[2].predecessors = {0, 1};  // and now the product waits for it
  stretch(100, 50);
  EXPECT_DOUBLE_EQ(duration(2), 4);
}

// Three kernels of together 6 s, 3 s of the host for each: 9 s in the same shares. One kernel of 4 s hides its 3 s.
TEST_F(PassTimeTest, TheHostLaunchesOneAfterTheOther) {
  add(StepPass::forward, Seconds(3));
  add(StepPass::forward, Seconds(2));
  add(StepPass::forward, Seconds(1));
  add(StepPass::backward, Seconds(4));
  stretch(0, 0, 3);
  EXPECT_DOUBLE_EQ(duration(0), 4.5);
  EXPECT_DOUBLE_EQ(duration(2), 1.5);
  EXPECT_DOUBLE_EQ(duration(3), 4);
}

// Whichever is scarcer: 132 / (132 - 20) of the units, or 1 / (1 - 0.2) of the memory. TPUs: none.
TEST(OverlapSlowdownTest, CollectivesTakeUnitsAndMemory) {
  ChipKernels chip;
  EXPECT_EQ(overlap_slowdown(chip), 1);
  chip.units = 132;
  chip.communication_units = 20;
  EXPECT_DOUBLE_EQ(overlap_slowdown(chip), 132.0 / 112);
  chip.communication_memory = 0.2;
  EXPECT_DOUBLE_EQ(overlap_slowdown(chip), 1.25);
}

// Every rank ends its step 40 ms later.
TEST(StepOverheadTest, ComesAfterTheUpdate) {
  const test::OneRank without("small.yaml");
  const test::OneRank with("small.yaml", {{"training.step_overhead", "40 ms"}});
  EXPECT_NEAR(with.timeline.makespan().value() - without.timeline.makespan().value(), 0.04, 1e-12);
}

}  // namespace
}  // namespace lockstep
