// Which operations share their chip, how much that slows them down, and when the host has launched a kernel.
#include "sim/program/shared_chip.hpp"

#include <gtest/gtest.h>

#include "sim/cost/layer_time.hpp"
#include "tests/unit/memory/memory_over_time.hpp"
#include "tests/unit/topologies/small_torus.hpp"

namespace lockstep {
namespace {

class SharedChipTest : public ::testing::Test {
 protected:
  void add(program::ProgramOp::Kind kind, Seconds time, std::int32_t stage = 0, bool given = false) {
    workloads::StepWork work;
    work.kind = kind == program::ProgramOp::Kind::compute ? workloads::StepWork::Kind::compute
                                                          : workloads::StepWork::Kind::collective;
    if (given) work.given_time = time;
    workloads::StepOp op;
    op.what = step_.share(std::move(work));
    op.stage = stage;
    program::ProgramOp lowered;
    lowered.kind = kind;
    lowered.stage = stage;
    lowered.streams = {0};
    lowered.vertex = step_.add(op);
    (kind == program::ProgramOp::Kind::compute ? lowered.duration : lowered.closed_form) = time;
    program_.ops.push_back(lowered);
  }
  void share(int units, int taken, double host = 0) {
    topologies::ChipKernels chip;
    chip.units = units;
    chip.communication_units = taken;
    chip.host = Seconds(host);
    share_chip(program_, step_, chip);
  }
  double launched(std::size_t op) const { return program_.ops[op].launched.value(); }

  static constexpr auto compute = program::ProgramOp::Kind::compute, collective = program::ProgramOp::Kind::collective;
  workloads::StepGraph step_;
  program::Program program_;
};

// Kernels keep the time that they take alone: what runs beside them is the engine's to see. 100 units less 50: twice as
// long.
TEST_F(SharedChipTest, KernelsAndCollectivesShareWhatTheyRunOn) {
  add(compute, Seconds(6));
  add(collective, Seconds(4));
  share(100, 50);
  EXPECT_EQ(program_.shared_slowdown.front(), 2);
  EXPECT_TRUE(program_.ops[0].shares_chip);
  EXPECT_TRUE(program_.ops[1].shares_chip);
  EXPECT_EQ(program_.ops[0].duration, Seconds(6));
}

// A host's transfers, measured times; and whatever is on a chip that moves data by hardware of its own.
TEST_F(SharedChipTest, GivenTimesDoNot) {
  add(compute, Seconds(6), 0, true);
  add(collective, Seconds(4), 0, true);
  share(100, 50, 1);
  EXPECT_FALSE(program_.ops[0].shares_chip);
  EXPECT_FALSE(program_.ops[1].shares_chip);
  EXPECT_EQ(launched(0), 0);
}

TEST_F(SharedChipTest, NothingSharesAChipThatMovesDataByItself) {
  add(compute, Seconds(6));
  add(collective, Seconds(4));
  share(0, 0);
  EXPECT_EQ(program_.shared_slowdown.front(), 1);
  EXPECT_FALSE(program_.ops[0].shares_chip);
}

// The n-th kernel of a stage is launched after n launches of 3 s; bookkeeping, which takes no time, is none.
TEST_F(SharedChipTest, TheHostLaunchesOneAfterTheOther) {
  add(compute, Seconds(3));
  add(compute, Seconds(0));
  add(compute, Seconds(4), 1);
  add(collective, Seconds(4));
  add(compute, Seconds(1));
  share(0, 0, 3);
  EXPECT_DOUBLE_EQ(launched(0), 3);
  EXPECT_DOUBLE_EQ(launched(1), 0);
  EXPECT_DOUBLE_EQ(launched(2), 3);
  EXPECT_DOUBLE_EQ(launched(3), 0);
  EXPECT_DOUBLE_EQ(launched(4), 6);
}

// A pipeline whose hosts wait: each cell's first kernel on its stage starts the count anew; the update's do not.
TEST_F(SharedChipTest, TheHostStartsAnewWithEachCell) {
  step_.host_waits_for_transfers = true;
  for (int cell = 0; cell < 2; ++cell) {
    step_.cells.push_back({{0, cell}, step_.size()});
    add(compute, Seconds(0));
    add(compute, Seconds(1));
    add(compute, Seconds(1));
  }
  step_.first_update = step_.size();
  add(compute, Seconds(1));
  share(0, 0, 3);
  const std::vector<std::pair<double, bool>> expected{{0, false}, {3, true},  {6, false}, {0, false},
                                                      {3, true},  {6, false}, {9, false}};
  for (std::size_t op = 0; op < expected.size(); ++op) {
    EXPECT_DOUBLE_EQ(launched(op), expected[op].first) << op;
    EXPECT_EQ(program_.ops[static_cast<program::ProgramOpId>(op)].host_waits, expected[op].second) << op;
  }
}

// Whichever is scarcer: 132 / (132 - 20) of the units, or 1 / (1 - 0.2) of the memory.
TEST(OverlapSlowdownTest, CollectivesTakeUnitsAndMemory) {
  topologies::ChipKernels chip;
  EXPECT_EQ(cost::overlap_slowdown(chip), 1);
  chip.units = 132;
  chip.communication_units = 20;
  EXPECT_DOUBLE_EQ(cost::overlap_slowdown(chip), 132.0 / 112);
  chip.communication_memory = 0.2;
  EXPECT_DOUBLE_EQ(cost::overlap_slowdown(chip), 1.25);
}

// On a torus of two axes FSDP moves data over all links. A TPU's collectives hold no units, but what moves over all
// links at once, both ways, is written to memory and read again: 2 x links x rate of a link / bandwidth, in two digits.
TEST(OverlapSlowdownTest, TpusShareTheirMemoryWithTheirLinks) {
  for (const auto* name : {"tpu-v5e", "tpu-v6e"}) {
    const auto chip = test::catalog_chip(name);
    const auto links = 2.0 * static_cast<double>(chip.torus->pod.size());
    const double share = 2 * links * chip.torus->link.value() / chip.memory_bandwidth.value();
    EXPECT_NEAR(chip.kernels->communication_memory, share, 0.005) << name;
    EXPECT_DOUBLE_EQ(cost::overlap_slowdown(*chip.kernels), 1 / (1 - chip.kernels->communication_memory)) << name;
  }
}

// A dispatcher's transfers hold multiprocessors of their own number, and no memory: 132 / (132 - 24).
TEST_F(SharedChipTest, ADispatcherHoldsItsOwnMultiprocessors) {
  add(compute, Seconds(6));
  add(collective, Seconds(4));
  workloads::StepWork tokens;
  tokens.kind = workloads::StepWork::Kind::collective;
  tokens.copies = {8, 1, 1, workloads::TokenPath::forwarded, 24};
  workloads::StepOp op;
  op.what = step_.share(std::move(tokens));
  program::ProgramOp lowered;
  lowered.kind = collective;
  lowered.vertex = step_.add(op);
  program_.ops.push_back(lowered);
  share(132, 20);
  EXPECT_DOUBLE_EQ(program_.shared_slowdown.front(), 132.0 / 112);
  ASSERT_EQ(program_.dispatch_slowdown.size(), 1U);
  EXPECT_DOUBLE_EQ(program_.dispatch_slowdown.front(), 132.0 / 108);
  EXPECT_FALSE(program_.ops[0].dispatches);
  EXPECT_FALSE(program_.ops[1].dispatches);
  EXPECT_TRUE(program_.ops[2].dispatches);
  EXPECT_TRUE(program_.ops[2].shares_chip);
}

// Every rank ends its step 40 ms later.
TEST(StepOverheadTest, ComesAfterTheUpdate) {
  const test::OneRank without("small.yaml");
  const test::OneRank with("small.yaml", {{"training.step_overhead", "40 ms"}});
  EXPECT_NEAR(with.timeline.makespan().value() - without.timeline.makespan().value(), 0.04, 1e-12);
}

}  // namespace
}  // namespace lockstep
