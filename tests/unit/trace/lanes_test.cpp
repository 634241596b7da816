#include "tools/trace/lanes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "sim/core/errors.hpp"

namespace lockstep {
namespace {

using testing::SizeIs;

/// A program of compute operations on the given streams, and a timeline of one rank.
struct Hand {
  explicit Hand(std::vector<std::vector<std::int32_t>> streams_of_op)
      : timeline(static_cast<std::int32_t>(streams_of_op.size()), 1) {
    program.streams = {"compute", "x", "y"};
    for (auto& streams : streams_of_op) program.ops.emplace_back().streams = std::move(streams);
  }
  void ran(std::int32_t op, double start, double end) { timeline.record(op, 0, {Seconds(start), Seconds(end)}); }

  program::Program program;
  timeline::Timeline timeline;
};

TEST(Lanes, TimesAreRoundedToTheNearestNanosecond) {
  EXPECT_EQ(trace::nanoseconds(Seconds(0)), 0);
  EXPECT_EQ(trace::nanoseconds(Seconds(1.4e-9)), 1);
  EXPECT_EQ(trace::nanoseconds(Seconds(1.6e-9)), 2);
  EXPECT_EQ(trace::nanoseconds(Seconds(12.345678901)), 12'345'678'901);
}

TEST(Lanes, SpansAreInOrderOfTimeOnEveryStreamOfTheirOperation) {
  Hand hand({{0}, {1, 2}, {0}});
  hand.ran(0, 5e-6, 6e-6);
  hand.ran(1, 2e-6, 3e-6);
  hand.ran(2, 1e-6, 5e-6);
  const auto lanes = trace::lanes_of(hand.program, hand.timeline, 0);
  ASSERT_THAT(lanes, SizeIs(3));
  ASSERT_THAT(lanes[0], SizeIs(2));
  EXPECT_EQ(lanes[0][0].op, 2);
  EXPECT_EQ(lanes[0][1].op, 0);
  EXPECT_EQ(lanes[0][0].end_ns, lanes[0][1].start_ns);
  for (const auto stream : {1u, 2u}) {
    ASSERT_THAT(lanes[stream], SizeIs(1));
    EXPECT_EQ(lanes[stream][0].op, 1);
    EXPECT_EQ(lanes[stream][0].start_ns, 2000);
    EXPECT_EQ(lanes[stream][0].end_ns, 3000);
  }
}

TEST(Lanes, WhatTakesNoTimeStandsBeforeWhatStartsThen) {
  Hand hand({{0}, {0}});
  hand.ran(0, 1e-6, 2e-6);
  hand.ran(1, 1e-6, 1e-6);
  const auto lanes = trace::lanes_of(hand.program, hand.timeline, 0);
  EXPECT_EQ(lanes[0][0].op, 1);
  EXPECT_EQ(lanes[0][1].op, 0);
}

TEST(Lanes, ARankShowsOnlyWhatItTookPartIn) {
  Hand hand({{0}, {0}});
  hand.timeline = timeline::Timeline(std::make_shared<const timeline::RankSets>(
      2, std::vector<timeline::RankSets::Ranks>{{1}, {0}}, std::vector<std::int32_t>{0, 1}));
  hand.timeline.record(0, 1, {Seconds(0), Seconds(1e-6)});
  hand.ran(1, 0, 1e-6);
  const auto lanes = trace::lanes_of(hand.program, hand.timeline, 0);
  ASSERT_THAT(lanes[0], SizeIs(1));
  EXPECT_EQ(lanes[0][0].op, 1);
}

TEST(Lanes, AnOverlapIsOurError) {
  Hand hand({{0}, {0}});
  hand.ran(0, 0, 2e-6);
  hand.ran(1, 1e-6, 3e-6);
  EXPECT_THROW((void)trace::lanes_of(hand.program, hand.timeline, 0), InternalError);
}

}  // namespace
}  // namespace lockstep
