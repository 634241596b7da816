// Where nothing contends the two engines must agree, whatever the DAG: the flows of a phase cross
// disjoint links, a communicator's collectives share one stream, so
//   T = sum over phases of (latency + max over flows of bytes / capacity)
// is both the closed form and what max-min sharing gives.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

TEST(EnginesAgree, OnRandomContentionFreePrograms) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const program::Program program = RandomProgram(seed).build();
    const Spans simgrid = run_in_child(program, engine::EngineKind::simgrid);
    const Spans reference = run_in_child(program, engine::EngineKind::reference);
    ASSERT_EQ(simgrid.values().size(), reference.values().size());
    const double makespan = *std::max_element(reference.values().begin(), reference.values().end());
    for (std::size_t i = 0; i < simgrid.values().size(); ++i) {
      ASSERT_NEAR(simgrid.values()[i], reference.values()[i], 1e-9 * makespan)
          << "seed " << seed << " op " << i / 2 / rank_count << "\n"
          << program.to_string();
    }
  }
}

// The random programs do what the test is about: work overlaps, waits and takes time.
TEST(EnginesAgree, TheRandomProgramsAreNotTrivial) {
  double longest = 0;
  bool not_uniform = false;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const timeline::Timeline timeline = run_reference(RandomProgram(seed).build()).timeline;
    longest = std::max(longest, timeline.makespan().value());
    for (std::int32_t op = 0; op < timeline.ops(); ++op) not_uniform = not_uniform || !timeline.uniform(op);
  }
  EXPECT_GT(longest, 20e-6);
  EXPECT_TRUE(not_uniform);
}

TEST(EnginesAgree, ContentionOnlySlowsCollectivesDown) {
  int slower = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const program::Program program = contended(seed);
    const Spans spans = run_in_child(program, engine::EngineKind::simgrid);
    for (std::int32_t op = 0; op < static_cast<std::int32_t>(program.ops.size()); ++op) {
      const program::ProgramOp& program_op = program.ops[static_cast<std::size_t>(op)];
      if (program_op.kind != program::ProgramOp::Kind::collective) continue;
      const double taken = spans.end(op) - spans.start(op);
      ASSERT_GE(taken, program_op.closed_form.value() - 1e-11) << "seed " << seed << " op " << op;
      slower += taken > 1.5 * program_op.closed_form.value() ? 1 : 0;
    }
  }
  EXPECT_GT(slower, 20);
}

// Max-min fair shares of the links are unique, whoever computes them.
TEST(EnginesAgree, MaxMinSharingIsThatOfSimGrid) {
  int slower = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    const program::Program program = seed % 2 == 0 ? contended(seed) : entangled(seed);
    const Spans simgrid = run_in_child(program, engine::EngineKind::simgrid);
    const Spans max_min = run_in_child(program, engine::EngineKind::max_min);
    const double makespan = *std::max_element(simgrid.values().begin(), simgrid.values().end());
    for (std::size_t i = 0; i < simgrid.values().size(); ++i) {
      ASSERT_NEAR(max_min.values()[i], simgrid.values()[i], 1e-9 * makespan)
          << "seed " << seed << " op " << i / 2 / rank_count << "\n"
          << program.to_string();
    }
    const Spans alone = run_in_child(RandomProgram(seed).build(), engine::EngineKind::max_min);
    slower += *std::max_element(alone.values().begin(), alone.values().end()) < makespan * 0.99 ? 1 : 0;
  }
  EXPECT_GT(slower, 50) << "sharing decides";
}

TEST(EnginesAgree, RunsAreBitIdentical) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const program::Program program = contended(seed);
    EXPECT_EQ(run_in_child(program, engine::EngineKind::simgrid).values(),
              run_in_child(program, engine::EngineKind::simgrid).values());
  }
}

}  // namespace
}  // namespace lockstep::test
