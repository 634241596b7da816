// SimGrid is a process-wide singleton: what that means for us.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <csignal>

#include "sim/core/errors.hpp"
#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

program::Program one_transfer() {
  program::Program program = ranks(1);
  add_link(program, 1e9);
  add_collective(program, add_lone_flow(program, 0, {0}), {{Seconds(0), {1e9}}});
  return program;
}

double makespan(const program::Program& program) {
  spdlog::logger silent("test");
  return engine::run(program, {}, silent).timeline.makespan().value();
}

TEST(SimGridProcess, SecondRunIsRefused) {
  const std::vector<double> answer = in_child([] {
    std::vector<double> values{makespan(one_transfer())};
    try {
      values.push_back(makespan(one_transfer()));
    } catch (const InternalError&) {
      values.push_back(-1);
    }
    return values;
  });
  EXPECT_EQ(answer, (std::vector<double>{1, -1}));
}

TEST(SimGridProcess, CountsFlowsAsActivities) {
  const std::vector<double> answer = in_child([] {
    program::Program program = one_transfer();
    add_compute(program, 1);
    spdlog::logger silent("test");
    const engine::EngineStatistics statistics = engine::run(program, {}, silent).statistics;
    return std::vector{static_cast<double>(statistics.activities), static_cast<double>(statistics.flows)};
  });
  EXPECT_EQ(answer, (std::vector<double>{2, 1}));
}

TEST(SimGridProcess, RunsProgramsWithoutFlows) {
  program::Program program = ranks(2);
  EXPECT_TRUE(run_in_child(program, engine::EngineKind::simgrid).values().empty());
  add_compute(program, 1, {add_compute(program, 2)});
  EXPECT_EQ(run_in_child(program, engine::EngineKind::simgrid).end(1, 1), 3);
}

// SimGrid's solver recurses from link to link through the flows they share. Flow i crosses links i and
// i + 1: one chain of 300 000 links, in which every link but the first and last carries 2 flows, so all
// flows get C/2: T = 2 bytes / C.
TEST(SimGridProcess, LongChainOfSharedLinksDoesNotOverflowTheStack) {
  constexpr std::int32_t flows = 300000;
  program::Program program = ranks(1);
  collectives::ProgramGroup group{{0}, {}};
  std::int32_t last = add_link(program, 1e9);
  for (std::int32_t i = 0; i < flows; ++i) {
    const std::int32_t next = add_link(program, 1e9);
    group.flows.push_back({0, {last, next}});
    last = next;
  }
  const std::int32_t op = add_collective(program, add_communicator(program, 1, {group}), {{Seconds(0), {1e9}}});
  EXPECT_NEAR(run_in_child(program, engine::EngineKind::simgrid).end(op), 2.0, 1e-12);
}

// A program that is wrong never reaches SimGrid, which would abort.
TEST(SimGridProcess, WrongProgramThrows) {
  program::Program program = one_transfer();
  program.links[0] = BytesPerSecond(0);
  EXPECT_THROW(makespan(program), InternalError);
}

TEST(SimGridProcess, InterruptHandlerIsLeftAlone) {
  const std::vector<double> answer = in_child([] {
    makespan(one_transfer());
    return std::vector{std::signal(SIGINT, SIG_DFL) == SIG_DFL ? 1.0 : 0.0};
  });
  EXPECT_EQ(answer, (std::vector<double>{1}));
}

}  // namespace
}  // namespace lockstep::test
