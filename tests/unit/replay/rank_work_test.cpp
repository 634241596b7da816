// Why operations began when they did, told from their dates. All dates are microseconds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/studies/replay/rank_work.hpp"
#include "tests/unit/replay/hand_job.hpp"

namespace lockstep::test {
namespace {

using replay::RankWork;
using replay::WorkOperation;
using testing::ElementsAre;
using testing::IsEmpty;

RankWork work_of(const Job& made) { return replay::work_of(made.job.ranks[0], made.job.dated); }

double in_micros(Seconds time) { return time.value() * 1e6; }

void expect_operation(const RankWork& work, replay::WorkId id, double pause, double duration,
                      const std::vector<replay::WorkId>& after) {
  ASSERT_LT(id, work.operations.count());
  const auto& operation = work.operations[id];
  EXPECT_NEAR(in_micros(operation.pause), pause, 1e-6) << id;
  EXPECT_NEAR(in_micros(operation.duration), duration, 1e-6) << id;
  EXPECT_EQ(std::vector<replay::WorkId>(operation.after.begin(), operation.after.end()), after) << id;
}

// pause = start - end of the one before: 10 - 10 = 0, then 40 - 25 = 15, which nothing explains.
TEST(RankWork, AKernelFollowsTheOneBeforeItOnItsStream) {
  Job made(1);
  made.kernel_at(0, 0, 10);
  made.kernel_at(0, 10, 15);
  made.kernel_at(0, 40, 10);
  const auto work = work_of(made);
  ASSERT_EQ(work.operations.count(), 3);
  expect_operation(work, 0, 0, 10, {});
  expect_operation(work, 1, 0, 15, {0});
  expect_operation(work, 2, 15, 10, {1});
  EXPECT_NEAR(in_micros(work.gaps.unexplained), 15, 1e-6);
  EXPECT_EQ(work.gaps.guessed, 0);
  EXPECT_NEAR(in_micros(work.begin), 0, 1e-6);
  EXPECT_NEAR(in_micros(work.end), 50, 1e-6);
}

// The shortest way from a launch to its kernel is min(10 - 0, 112 - 100) = 10, so the second could begin at 110: the
// host takes 110 - 10 = 100 from one launch to the next, and 112 - 110 = 2 of the gap 112 - 15 are unexplained.
TEST(RankWork, AKernelFollowsItsLaunch) {
  Job made(1);
  made.kernel_at(0, 10, 5).launched = micros(0);
  made.kernel_at(0, 112, 5).launched = micros(100);
  const auto work = work_of(made);
  ASSERT_EQ(work.operations.count(), 4);
  EXPECT_EQ(work.operations[0].kind, WorkOperation::Kind::host);
  EXPECT_EQ(work.streams[work.operations[0].streams.front()], "host");
  expect_operation(work, 0, 0, 10, {});
  expect_operation(work, 1, 0, 5, {0});
  expect_operation(work, 2, 0, 100, {0});
  expect_operation(work, 3, 2, 5, {1, 2});
  EXPECT_NEAR(in_micros(work.gaps.launch), 10 + 110 - 15, 1e-6);
  EXPECT_NEAR(in_micros(work.gaps.unexplained), 2, 1e-6);
}

// A kernel of another stream ended at 30. One that begins at 50 is at most 25 later, so that is guessed to be its
// reason, and 50 - 30 = 20 stay as a pause; one that begins at 56 is not, and all of its 56 stay.
TEST(RankWork, WhatEndedJustBeforeOnAnotherStreamIsGuessed) {
  for (const double start : {50, 56}) {
    Job made(1);
    made.kernel_at(0, 0, 30);
    made.kernel_at(0, start, 10).stream = 1;
    const auto work = work_of(made);
    const bool guessed = start == 50;
    expect_operation(work, 1, guessed ? 20 : 56, 10, guessed ? std::vector{0} : std::vector<replay::WorkId>{});
    EXPECT_EQ(work.gaps.guessed, guessed ? 1 : 0);
    EXPECT_NEAR(in_micros(work.gaps.streams), guessed ? 30 : 0, 1e-6);
    EXPECT_NEAR(in_micros(work.gaps.unexplained), guessed ? 20 : 56, 1e-6);
  }
}

// Pauses up to 1 are left alone: a kernel 0.8 after its predecessor, during which another stream ended something,
// waits for its predecessor alone.
TEST(RankWork, ShortPausesAreNotLookedInto) {
  Job made(1);
  made.kernel_at(0, 0, 30);
  made.kernel_at(0, 0, 30.4).stream = 1;
  made.kernel_at(0, 30.8, 5);
  const auto work = work_of(made);
  expect_operation(work, 2, 0.8, 5, {0});
  EXPECT_EQ(work.gaps.guessed, 0);
}

// What the trace says is no guess: start 40 - end 30 = 10 of pause. It cannot be true of what ended after the start.
TEST(RankWork, WhatTheTraceSaysIsTakenWhereDatesAllowIt) {
  for (const double start : {40, 20}) {
    Job made(1);
    made.kernel_at(0, 0, 30);
    auto& second = made.kernel_at(0, start, 10);
    second.stream = 1;
    second.after = {0};
    const auto work = work_of(made);
    if (start == 40)
      expect_operation(work, 1, 10, 10, {0});
    else
      expect_operation(work, 1, 20, 10, {});
    EXPECT_EQ(work.gaps.guessed, 0);
  }
}

// Kernels of one stream that overlap, [0, 10] and [8, 20]: the second counts from 10, lasts 10, and ends at 20.
TEST(RankWork, OverlapsOnAStreamCountOnce) {
  Job made(1);
  made.kernel_at(0, 0, 10);
  made.kernel_at(0, 8, 12);
  const auto work = work_of(made);
  expect_operation(work, 1, 0, 10, {0});
  EXPECT_NEAR(in_micros(work.end), 20, 1e-6);
}

// A collective that was launched after a kernel of [10, 40] waits for it: 42 - 40 = 2 of pause, no guess. One that was
// launched before the kernel does not by this rule; that it began just after it is then a guess.
TEST(RankWork, ACollectiveWaitsForTheStreamThatCallsIt) {
  for (const bool before : {false, true}) {
    Job made(1);
    made.kernel_at(0, 10, 30).launched = micros(before ? 1 : 0);
    made.collective_at(0, 42, 8).launched = micros(before ? 0 : 1);
    const auto work = work_of(made);
    ASSERT_EQ(work.operations.count(), 4);
    EXPECT_EQ(work.operations[3].kind, WorkOperation::Kind::collective);
    EXPECT_FALSE(work.operations[3].computes);
    EXPECT_NEAR(in_micros(work.operations[3].pause), 2, 1e-6);
    EXPECT_EQ(work.gaps.guessed, before ? 1 : 0);
  }
}

// A call let a stream wait at 5, before the launch at 6: that kernel waits for the collective that ended at 60 just
// before its start at 60.5. Without the call, nothing before 20 explains that start, so the same is guessed.
TEST(RankWork, AKernelAfterAStreamWaitJoinsTheLastCollective) {
  for (const bool waits : {true, false}) {
    Job made(1);
    made.kernel_at(0, 10, 10).launched = micros(0);
    made.collective_at(0, 22, 38).launched = micros(1);
    made.kernel_at(0, 60.5, 5).launched = micros(6);
    if (waits) made.job.ranks[0].stream_waits = {micros(5)};
    const auto work = work_of(made);
    ASSERT_EQ(work.operations.count(), 6);
    // Host operations at 10, 11 and 16 come between: kernel 1, collective 4, kernel 5.
    EXPECT_THAT(work.operations[5].after, testing::Contains(4));
    EXPECT_NEAR(in_micros(work.operations[5].pause), 0.5, 1e-6);
    EXPECT_EQ(work.gaps.guessed, waits ? 0 : 1);
  }
}

// The host waits from 20 to 45 for a kernel of [10, 40] and launches the next at 50, which starts 10 later. With
// kernels twice as fast: 10 + 30/2 = 25, then 55 - 40 = 15 until the call has returned, 5 until the launch, 10/2: 50.
TEST(RankWork, TheHostWaitsForItsDevice) {
  Job made(1);
  made.kernel_at(0, 10, 30).launched = micros(0);
  made.kernel_at(0, 60, 10).launched = micros(50);
  made.job.ranks[0].waits = {{micros(20), micros(45)}};
  const auto work = work_of(made);
  ASSERT_EQ(work.operations.count(), 5);
  expect_operation(work, 0, 0, 10, {});
  expect_operation(work, 1, 0, 30, {0});
  expect_operation(work, 2, 0, 15, {0, 1});
  expect_operation(work, 3, 0, 5, {2});
  expect_operation(work, 4, 0, 10, {1, 3});
  replay::ReplayOptions fast;
  fast.clock = 2;
  EXPECT_NEAR(in_micros(made.run().step), 70, 1e-6);
  EXPECT_NEAR(in_micros(made.run(fast).step), 50, 1e-6);
}

// Of three kernels one was launched in the marked step of [90, 150]. The host takes 100 - 90 until it can begin, and
// 150 - 100 until the mark, with which the step ends.
TEST(RankWork, OnlyMarkedStepsCount) {
  Job made(1);
  for (const double launched : {0, 95, 195}) made.kernel_at(0, launched + 5, 10).launched = micros(launched);
  made.job.ranks[0].steps = {{micros(90), micros(150), "step"}};
  const auto work = work_of(made);
  ASSERT_EQ(work.operations.count(), 3);
  expect_operation(work, 0, 0, 10, {});
  expect_operation(work, 1, 0, 10, {0});
  expect_operation(work, 2, 0, 50, {0});
  EXPECT_EQ(work.operations[1].event, 1);
  EXPECT_NEAR(in_micros(work.begin), 90, 1e-6);
  EXPECT_NEAR(in_micros(work.end), 150, 1e-6);
}

// Marks that no event lies in are ignored: both kernels count, from the first one's start.
TEST(RankWork, MarksBesideTheEventsAreIgnored) {
  Job made(1);
  made.kernel_at(0, 3, 10);
  made.kernel_at(0, 13, 10);
  made.job.ranks[0].steps = {{micros(1000), micros(2000), "step"}};
  const auto work = work_of(made);
  ASSERT_EQ(work.operations.count(), 2);
  EXPECT_NEAR(in_micros(work.begin), 3, 1e-6);
  EXPECT_NEAR(in_micros(work.end), 23, 1e-6);
}

// A graph keeps its numbers, kinds and edges; streams in order add the edge from the last event of each stream that an
// event occupies, here 0 -> 2 on the first and 1 -> 2 on the second.
TEST(RankWork, AGraphSaysItself) {
  Job made(1);
  made.kernel(0, 1).number = 7;
  made.kernel(0, 2).kind = workloads::RecordedEvent::Kind::copy;
  made.job.ranks[0].events[1].stream = 1;
  auto& both = made.kernel(0, 3);
  both.more_streams = {1};
  both.priority = -4;
  made.kernel(0, 4).kind = workloads::RecordedEvent::Kind::host;
  made.job.ranks[0].events[3].after = {0};
  made.job.ranks[0].events[3].stream = 1;
  const auto ordered = work_of(made);
  EXPECT_EQ(ordered.operations[0].order, 7);
  EXPECT_EQ(ordered.operations[1].order, 1) << "its position, where the trace has no numbers";
  EXPECT_TRUE(ordered.operations[0].computes);
  EXPECT_FALSE(ordered.operations[1].computes) << "a copy";
  EXPECT_EQ(ordered.operations[2].priority, -4);
  EXPECT_THAT(ordered.operations[2].streams, ElementsAre(0, 1));
  EXPECT_THAT(ordered.operations[2].after, ElementsAre(0, 1));
  EXPECT_EQ(ordered.operations[3].kind, WorkOperation::Kind::host);
  EXPECT_THAT(ordered.operations[3].after, ElementsAre(0, 2));
  made.job.ranks[0].streams_in_order = false;
  const auto free = work_of(made);
  EXPECT_THAT(free.operations[2].after, IsEmpty());
  EXPECT_THAT(free.operations[3].after, ElementsAre(0));
}

}  // namespace
}  // namespace lockstep::test
