// What a replay takes, from jobs whose times can be told in advance; without a network, thus with collectives that take
// the least time of their members.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/replay_program.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using replay::ReplayOptions;

replay::ReplayProgram program_of(const Job& made, const ReplayOptions& options = {}) {
  std::vector<replay::RankWork> works;
  for (const auto& rank : made.job.ranks) works.push_back(replay::work_of(rank, made.job.dated));
  return replay_program(made.job, works, replay::matched_collectives(made.job, works), options);
}

double step(const Job& made, double clock = 1) {
  ReplayOptions options;
  options.clock = clock;
  return made.run(options).step.value();
}

// Two streams at once: max(3, 1 + 1) = 3. What waits for both: 3 + 2 = 5.
TEST(ReplayProgram, StreamsRunSideBySide) {
  Job made(1);
  made.kernel(0, 3);
  made.kernel(0, 1).stream = 1;
  made.kernel(0, 1).stream = 1;
  EXPECT_DOUBLE_EQ(step(made), 3);
  auto& last = made.kernel(0, 2);
  last.stream = 1;
  last.after = {0};
  EXPECT_DOUBLE_EQ(step(made), 5);
}

// One that occupies both streams begins when both are free, max(3, 1) = 3, and keeps both until 3 + 2 = 5.
TEST(ReplayProgram, AnEventOnTwoStreams) {
  Job made(1);
  made.kernel(0, 3);
  made.kernel(0, 1).stream = 1;
  made.kernel(0, 2).more_streams = {1};
  made.kernel(0, 1).stream = 1;
  EXPECT_DOUBLE_EQ(step(made), 6);
}

// --clock c: kernels take d / c; copies, the host and collectives what they took: 4 / c + 2 + 1 + 0.5.
TEST(ReplayProgram, TheClockSpeedsKernelsOnly) {
  Job made(1);
  made.job.groups[0].size = 1;
  made.kernel(0, 4);
  made.kernel(0, 2).kind = workloads::RecordedEvent::Kind::copy;
  made.kernel(0, 1).kind = workloads::RecordedEvent::Kind::host;
  made.collective(0, 0.5).after = {2};
  EXPECT_DOUBLE_EQ(step(made), 7.5);
  EXPECT_DOUBLE_EQ(step(made, 2), 5.5);
  EXPECT_DOUBLE_EQ(step(made, 4), 4.5);
  EXPECT_DOUBLE_EQ(step(made, 0.5), 11.5);
}

// A slower clock for a job that waits for the host: pauses stay. [0, 10], [40, 50] us: 10 c' + 30 + 10 c' with c' = 2.
TEST(ReplayProgram, PausesAreKept) {
  Job made(1);
  made.kernel_at(0, 0, 10);
  made.kernel_at(0, 40, 10);
  EXPECT_NEAR(step(made, 0.5), 70e-6, 1e-12);
}

// Three ranks come to an all-reduce at 1, 4 and 2 and need 0.5: it ends at 4.5 on all, then each has 1, 2 and 3 to do.
TEST(ReplayProgram, CollectivesWaitForTheLast) {
  Job made(3);
  const double ready[] = {1, 4, 2};
  for (const std::size_t rank : {0U, 1U, 2U}) {
    made.kernel(rank, ready[rank]);
    made.collective(rank, 4.5 - ready[rank]).after = {0};
    made.kernel(rank, static_cast<double>(rank) + 1).after = {1};
  }
  const auto replay = made.run();
  for (const std::size_t rank : {0U, 1U, 2U}) {
    EXPECT_DOUBLE_EQ(replay.ranks[rank].simulated.value(), 4.5 + static_cast<double>(rank) + 1);
    EXPECT_DOUBLE_EQ(replay.ranks[rank].waited.value(), 4 - ready[rank]);
    ASSERT_EQ(replay.ranks[rank].streams.size(), 2u);
    EXPECT_DOUBLE_EQ(replay.ranks[rank].streams[1].simulated_end.value(), 4.5);
    EXPECT_DOUBLE_EQ(replay.ranks[rank].streams[0].busy.value(), ready[rank] + static_cast<double>(rank) + 1);
  }
  EXPECT_FALSE(replay.recorded_step) << "a graph has no dates";
}

// Two pairs of the same roles are groups of one operation, (0, 1) and (2, 3), which ends at
// max(1, 3) + 1 = 4 in both.
TEST(ReplayProgram, RolesShareOperations) {
  Job made(4);
  made.job.groups = {{"a", "", {0, 1}, 2}, {"b", "", {2, 3}, 2}};
  for (const std::size_t rank : {0U, 1U, 2U, 3U}) {
    made.kernel(rank, rank % 2 == 0 ? 1 : 3);
    made.collective(rank, 1).after = {0};
    made.last(rank).group = rank < 2 ? 0 : 1;
  }
  const auto written = program_of(made);
  EXPECT_EQ(written.program.ops.count(), 3) << "two kernels and one collective";
  EXPECT_EQ(written.operations[0][1], written.operations[3][1]);
  const auto& op = written.program.ops[written.operations[0][1]];
  ASSERT_EQ(written.program.communicators[op.communicator].groups.count(), 2);
  EXPECT_THAT(written.program.communicators[op.communicator].groups[1].members, testing::ElementsAre(2, 3));
  EXPECT_DOUBLE_EQ(step(made), 4);
}

// Rank 0 has pauses of 3 us, rank 1 of 1 us before the same collective: the least of them is its latency's, since the
// rank with more was the one that waited.
TEST(ReplayProgram, TheLeastPauseOfItsMembers) {
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) {
    made.kernel_at(rank, 0, 10);
    made.collective_at(rank, rank == 0 ? 13 : 11, rank == 0 ? 7 : 9).after = {0};
  }
  const auto written = program_of(made);
  const auto& op = written.program.ops[written.operations[0][1]];
  EXPECT_NEAR(op.closed_form.value() * 1e6, 1 + 7, 1e-6);
  EXPECT_NEAR(written.collectives[0].alone.value() * 1e6, 7, 1e-6) << "without the pause";
  EXPECT_EQ(written.collectives[0].algorithm, "as recorded");
}

// Of operations that could be next on a stream, that with the least priority goes first: 1 s, then 2 s after which a
// kernel of 4 s on the other stream waits: 1 + 2 + 4 = 7; the other way round 2 + 4 = 6.
TEST(ReplayProgram, PrioritiesDecide) {
  for (const bool turned : {false, true}) {
    Job made(1);
    made.job.ranks[0].streams_in_order = false;
    made.kernel(0, 1).priority = 5;
    made.kernel(0, 2).priority = turned ? 0 : 9;
    auto& last = made.kernel(0, 4);
    last.stream = 1;
    last.after = {1};
    EXPECT_DOUBLE_EQ(step(made), turned ? 6 : 7);
  }
}

// Two steps were marked: the step is half of what the trace takes.
TEST(ReplayProgram, StepsAreCounted) {
  Job made(1);
  made.kernel_at(0, 0, 40);
  made.kernel_at(0, 50, 50);
  made.job.ranks[0].steps = {{micros(0), micros(50), "1"}, {micros(50), micros(100), "2"}};
  const auto replay = made.run();
  EXPECT_EQ(replay.steps, 2);
  EXPECT_NEAR(replay.recorded_step->value(), 50e-6, 1e-12);
  EXPECT_NEAR(replay.step.value(), 50e-6, 1e-12);
}

// Rows are collectives of one kind, size and group; bytes of a shard count for all members: 3 x 1000.
TEST(ReplayProgram, TheTableOfCollectives) {
  Job made(3);
  for (const std::size_t rank : {0U, 1U, 2U}) {
    made.collective(rank, 1 + static_cast<double>(rank));
    made.collective(rank, 2);
    made.collective(rank, 4, workloads::CollectiveKind::all_gather);
    made.last(rank).buffer_is_shard = true;
  }
  const auto replay = made.run();
  ASSERT_EQ(replay.collectives.size(), 2u);
  EXPECT_EQ(replay.collectives[0].kind, "all_gather");
  EXPECT_EQ(replay.collectives[0].bytes, Bytes(3000));
  EXPECT_EQ(replay.collectives[0].members, 3);
  EXPECT_EQ(replay.collectives[1].kind, "all_reduce");
  EXPECT_EQ(replay.collectives[1].bytes, Bytes(1000));
  EXPECT_EQ(replay.collectives[1].count, 2);
  EXPECT_EQ(replay.collectives[1].group, "dp");
  EXPECT_DOUBLE_EQ(replay.collectives[1].recorded.value(), 1 + 2);
  EXPECT_DOUBLE_EQ(replay.collectives[1].simulated.value(), 3);
}

// Rank 0 begins that of group "a" before that of "b", rank 1 the other way round: neither can ever begin.
TEST(ReplayProgram, CollectivesInACircle) {
  Job made(2);
  made.job.groups = {{"a", "", {0, 1}, 2}, {"b", "", {0, 1}, 2}};
  for (const std::size_t rank : {0U, 1U}) {
    for (const std::int32_t group : {0, 1}) {
      made.collective(rank, 1);
      made.last(rank).group = rank == 0 ? group : 1 - group;
    }
  }
  EXPECT_EQ(made.refusal(),
            "rank0: collectives of this job wait for each other in a circle; expected ranks that begin those of two "
            "groups in the same order");
}

// A program's operation waits for at most 2^16 - 1 others.
TEST(ReplayProgram, TooManyPredecessors) {
  const auto waiting = [](std::int32_t others) {
    Job made(1);
    made.job.ranks[0].streams_in_order = false;
    SmallList<workloads::RecordedEventId> all;
    for (std::int32_t i = 0; i < others; ++i) {
      made.kernel(0, 0);
      all.push_back(i);
    }
    made.kernel(0, 1).after = all;
    try {
      (void)program_of(made);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(waiting(65'535), "");
  EXPECT_EQ(waiting(65'536), "rank0: an operation waits for 65536 others; expected at most 65535");
}

}  // namespace
}  // namespace lockstep::test
