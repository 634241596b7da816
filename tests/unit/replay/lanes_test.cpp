// Where the time of streams goes, as recorded and as replayed, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

double in_micros(Seconds time) { return time.value() * 1e6; }

const replay::ReplayedStream& stream(const replay::Replay& replay, std::size_t rank, const std::string& name) {
  for (const auto& one : replay.ranks[rank].streams) {
    if (one.name == name) return one;
  }
  throw InternalError("no stream " + name);
}

// Launches at 0 and 100 reach the device 10 later; kernels of 5 run at 10 and 112. The stream stands still for 10 and
// 110 - 15 = 95 for launches, and for 2 without a reason: 10 + 95 + 2 + 5 + 5 = 117.
TEST(Lanes, LaunchesAndPauses) {
  Job made(1);
  made.kernel_at(0, 10, 5).launched = micros(0);
  made.kernel_at(0, 112, 5).launched = micros(100);
  const auto replay = made.run();
  for (const auto* shares : {&stream(replay, 0, "compute").recorded, &stream(replay, 0, "compute").simulated}) {
    EXPECT_NEAR(in_micros(shares->kernels), 10, 1e-6);
    EXPECT_NEAR(in_micros(shares->launches), 105, 1e-6);
    EXPECT_NEAR(in_micros(shares->unexplained), 2, 1e-6);
    EXPECT_NEAR(in_micros(shares->streams), 0, 1e-6);
  }
  EXPECT_NEAR(in_micros(replay.ranks[0].first), 10, 1e-6);
}

// A second stream's kernel waits for the first stream's from its own begin to 30, which an event says.
TEST(Lanes, OtherStreams) {
  Job made(1);
  made.kernel_at(0, 0, 30);
  auto& second = made.kernel_at(0, 30, 10);
  second.stream = 1;
  second.after = {0};
  const auto replay = made.run();
  for (const auto* shares :
       {&stream(replay, 0, "communication").recorded, &stream(replay, 0, "communication").simulated}) {
    EXPECT_NEAR(in_micros(shares->streams), 30, 1e-6);
    EXPECT_NEAR(in_micros(shares->kernels), 10, 1e-6);
  }
}

// Rank 1 comes to the collective 40 later. Recorded, rank 0 is inside for 60, of which rank 1's 20 are the transfer;
// replayed, it waits 40 before it.
TEST(Lanes, OtherRanks) {
  Job made(2);
  made.kernel_at(0, 0, 10);
  made.collective_at(0, 10, 60).after = {0};
  made.kernel_at(1, 0, 50);
  made.collective_at(1, 50, 20).after = {0};
  const auto replay = made.run();
  for (const auto* shares :
       {&stream(replay, 0, "communication").recorded, &stream(replay, 0, "communication").simulated}) {
    EXPECT_NEAR(in_micros(shares->collectives), 20, 1e-6);
    EXPECT_NEAR(in_micros(shares->ranks), 40, 1e-6);
  }
  EXPECT_NEAR(in_micros(stream(replay, 1, "communication").simulated.ranks), 0, 1e-6);
}

// Pauses of 100 and 30 without a reason are told, the longest first; longer ones than 50 are left out on demand.
TEST(Lanes, LongPauses) {
  Job made(1);
  made.kernel_at(0, 0, 10);
  made.kernel_at(0, 40, 10);
  made.kernel_at(0, 150, 10);
  const auto whole = made.run();
  ASSERT_EQ(whole.pauses.size(), 2u);
  EXPECT_NEAR(in_micros(whole.pauses[0].length), 100, 1e-6);
  EXPECT_NEAR(in_micros(whole.pauses[0].at), 150, 1e-6);
  EXPECT_NEAR(in_micros(whole.pauses[1].length), 30, 1e-6);
  EXPECT_NEAR(in_micros(whole.step), 160, 1e-6);
  replay::ReplayOptions options;
  options.longest_pause = micros(50);
  const auto shorter = made.run(options);
  EXPECT_NEAR(in_micros(shorter.step), 60, 1e-6);
  EXPECT_NEAR(in_micros(stream(shorter, 0, "compute").recorded.unexplained), 130, 1e-6) << "as it was";
  EXPECT_NEAR(in_micros(stream(shorter, 0, "compute").simulated.unexplained), 30, 1e-6);
}

// Spans of both lanes, if they are asked for, and what each waited for last.
TEST(Lanes, Spans) {
  Job made(1);
  made.kernel_at(0, 0, 10);
  made.kernel_at(0, 10, 20);
  EXPECT_TRUE(made.run().ranks[0].spans.empty());
  replay::ReplayOptions options;
  options.keep_spans = true;
  options.clock = 2;
  const auto replay = made.run(options);
  const auto& spans = replay.ranks[0].spans;
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_NEAR(in_micros(spans[1].recorded.start), 10, 1e-6);
  EXPECT_NEAR(in_micros(spans[1].recorded.end), 30, 1e-6);
  EXPECT_NEAR(in_micros(spans[1].simulated.start), 5, 1e-6);
  EXPECT_NEAR(in_micros(spans[1].simulated.end), 15, 1e-6);
  EXPECT_EQ(spans[0].because, -1);
  EXPECT_EQ(spans[1].because, spans[0].operation);
}

// Three ranks in a ring: each sends to the next before it receives from the one before. Sends that waited for their
// receives would wait for ever; here each message leaves at 0, takes 5, and what follows the receive ends at 5 + 2.
TEST(Lanes, SendsAroundARing) {
  Job made(3);
  for (const std::size_t rank : {0U, 1U, 2U}) {
    made.sends(rank, static_cast<std::int32_t>((rank + 1) % 3), 5e-6);
    made.receives(rank, static_cast<std::int32_t>((rank + 2) % 3), 5e-6).after = {0};
    made.kernel(rank, 2e-6).after = {1};
    made.job.ranks[rank].streams_in_order = false;
  }
  const auto replay = made.run();
  EXPECT_NEAR(in_micros(replay.step), 7, 1e-6);
  EXPECT_THAT(replay.notes, testing::Contains(testing::HasSubstr("Sends do not wait for their receives")));
}

}  // namespace
}  // namespace lockstep::test
