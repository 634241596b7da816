// The critical path of random programs, run by the reference engine: a chain from 0 to the makespan without a gap, each
// of its operations on a rank that took part, and its parts add up to the makespan.
#include <gtest/gtest.h>

#include <random>

#include "sim/metrics/metrics.hpp"
#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep {
namespace {

/// A program of compute and collectives of ranks that are not equally fast, with the step that it was lowered from.
struct RandomProgram {
  explicit RandomProgram(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned bound) { return static_cast<std::int32_t>(random() % bound); };
    const std::int32_t ranks = 1 + below(4);
    program = test::ranks(ranks);
    for (auto& slowdown : program.slowdown_of_rank) slowdown = 1 + 0.25 * below(4);
    collectives::ProgramGroup everyone;
    for (std::int32_t rank = 0; rank < ranks; ++rank) everyone.members.push_back(rank);
    test::add_communicator(program, 0, {everyone});
    std::vector<collectives::ProgramGroup> alone;
    for (std::int32_t rank = 0; rank < ranks; ++rank) alone.push_back({{rank}, {}});
    test::add_communicator(program, 0, alone);
    for (std::int32_t op = 0; op < 25; ++op) {
      std::vector<std::int32_t> before;
      for (std::int32_t earlier = std::max(0, op - 6); earlier < op; ++earlier) {
        if (below(5) == 0) before.push_back(earlier);
      }
      const double seconds = below(4) == 0 ? 0 : 1 + below(8);
      workloads::StepWork work;
      if (below(2) == 0) {
        test::add_compute(program, seconds, before, below(3));
      } else {
        work.kind = workloads::StepWork::Kind::collective;
        work.axes = {"x"};
        test::add_timed_collective(program, below(2), seconds, before, below(3), 1 + below(2));
      }
      workloads::StepOp placed;
      placed.what = step.share(std::move(work));
      step.add(placed, before);
    }
  }

  program::Program program;
  workloads::StepGraph step;
};

class RandomCriticalPaths : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Metrics, RandomCriticalPaths, testing::Range(1U, 201U));

TEST_P(RandomCriticalPaths, GoFromTheStartToTheEndWithoutAGap) {
  const RandomProgram random(GetParam());
  const auto timeline = test::run_reference(random.program).timeline;
  const auto path = metrics::critical_path_of(random.step, random.program, timeline);
  ASSERT_FALSE(path.spans.empty());
  EXPECT_EQ(path.spans.front().span.start, Seconds(0));
  EXPECT_EQ(path.spans.front().why, metrics::CriticalSpan::Why::start);
  EXPECT_EQ(path.spans.back().span.end, timeline.makespan());
  EXPECT_EQ(path.spans.back().rank, metrics::critical_rank(timeline));
  for (std::size_t i = 0; i < path.spans.size(); ++i) {
    const auto& now = path.spans[i];
    EXPECT_TRUE(timeline.took_part(now.op, now.rank));
    EXPECT_EQ(now.span, timeline.span(now.op, now.rank));
    if (i == 0) continue;
    const auto& before = path.spans[i - 1];
    EXPECT_EQ(before.span.end, now.span.start) << "a gap before operation " << now.op;
    const auto needed = random.step.predecessors(now.op);
    const bool is_input = std::find(needed.begin(), needed.end(), before.op) != needed.end();
    EXPECT_EQ(now.why, is_input ? metrics::CriticalSpan::Why::input : metrics::CriticalSpan::Why::stream)
        << "operation " << now.op;
  }
  Seconds sum(0);
  for (const auto& part : path.parts) sum += part.time;
  EXPECT_NEAR(sum.value(), timeline.makespan().value(), 1e-9);
}

}  // namespace
}  // namespace lockstep
