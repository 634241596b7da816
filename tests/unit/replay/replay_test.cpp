// Recorded jobs made by hand, replayed.
#include <gtest/gtest.h>

#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using workloads::CollectiveKind;

// Rank 0 is ready after 1 s, rank 1 after 3 s. Their all-reduce took 2.5 s on rank 0, which waited, and 0.5 s on
// rank 1. It ends at 3.5 s on both; with kernels twice as fast at 2 s.
TEST(Replay, WaitingIsThrownAway) {
  Job made(2);
  for (const std::size_t rank : {0U, 1U}) {
    made.kernel(rank, rank == 0 ? 1 : 3);
    made.collective(rank, rank == 0 ? 2.5 : 0.5).after = {0};
  }
  const auto replay = made.run();
  EXPECT_NEAR(replay.step.value(), 3.5, 1e-12);
  EXPECT_NEAR(replay.ranks[0].simulated.value(), 3.5, 1e-12);
  EXPECT_NEAR(replay.ranks[0].waited.value(), 2, 1e-12);
  EXPECT_NEAR(replay.ranks[1].waited.value(), 0, 1e-12);
  ASSERT_EQ(replay.collectives.size(), 1u);
  EXPECT_EQ(replay.collectives[0].count, 1);
  replay::ReplayOptions fast;
  fast.clock = 2;
  EXPECT_NEAR(made.run(fast).step.value(), 2, 1e-12);
}

// Four ranks that do the same are one role: the replay is that of one, and says the same of all.
TEST(Replay, EqualRanksAreOneRole) {
  Job made(4);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    made.kernel(rank, 1);
    made.collective(rank, 0.5).after = {0};
    made.kernel(rank, 2).after = {1};
  }
  const auto replay = made.run();
  ASSERT_EQ(replay.ranks.size(), 4u);
  for (const auto& rank : replay.ranks) EXPECT_NEAR(rank.simulated.value(), 3.5, 1e-12);
  EXPECT_EQ(replay.collectives[0].count, 1) << "one collective of four ranks";
}

// Rank 0 sends to rank 1 what takes 1 s; the receiver, ready 2 s earlier, recorded 3 s.
TEST(Replay, SendsMeetTheirReceives) {
  Job made(2);
  made.kernel(0, 2);
  made.collective(0, 1, CollectiveKind::point_to_point).after = {0};
  made.collective(1, 3, CollectiveKind::point_to_point);
  auto& sent = made.job.ranks[0].collectives[0];
  sent.role = workloads::RecordedCollective::Role::sends;
  sent.peer = 1;
  auto& received = made.job.ranks[1].collectives[0];
  received.role = workloads::RecordedCollective::Role::receives;
  received.peer = 0;
  const auto replay = made.run();
  EXPECT_NEAR(replay.ranks[1].simulated.value(), 3, 1e-12);
  EXPECT_NEAR(replay.ranks[1].waited.value(), 2, 1e-12);
}

// A host that launches a kernel of 5 us every 100 us, 10 us before it starts: kernels of no time at all make the step
// shorter by the last of them alone.
TEST(Replay, AStepBoundByTheHostStaysSo) {
  Job made(1);
  made.job.dated = true;
  for (int i = 0; i < 4; ++i) {
    auto& event = made.kernel(0, 5e-6);
    event.launched = Seconds(i * 100e-6);
    event.start = Seconds(i * 100e-6 + 10e-6);
  }
  const auto replay = made.run();
  EXPECT_NEAR(replay.recorded_step->value(), 315e-6, 1e-12);
  EXPECT_NEAR(replay.step.value(), 315e-6, 1e-12);
  EXPECT_NEAR(replay.ranks[0].gaps.launch.value(), 3 * 95e-6 + 10e-6, 1e-12);
  replay::ReplayOptions fast;
  fast.clock = 1e6;
  EXPECT_NEAR(made.run(fast).step.value(), 310e-6, 1e-9);
}

// Rank 1 sends on a stream of the name of rank 0's for receives, and the other way round. Two transfers cross: both
// take 5 us at once.
TEST(Replay, StreamsOfTwoRanksAreNotOne) {
  Job made(2);
  for (auto& rank : made.job.ranks) rank.streams = {"compute", "up", "down"};
  made.sends(0, 1, 5e-6).stream = 1;
  made.receives(0, 1, 5e-6).stream = 2;
  made.sends(1, 0, 5e-6).stream = 1;
  made.receives(1, 0, 5e-6).stream = 2;
  EXPECT_NEAR(made.run().step.value(), 5e-6, 1e-12);
}

}  // namespace
}  // namespace lockstep::test
