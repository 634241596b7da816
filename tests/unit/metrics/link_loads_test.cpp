// What links carried, from hand-made phases.
#include "sim/metrics/link_loads.hpp"

#include <gtest/gtest.h>

namespace lockstep::test {
namespace {

/// Collectives of one rank with one flow each; links of 100 B/s.
class LinkLoads : public testing::Test {
 protected:
  void flow(std::vector<std::int32_t> links, std::vector<double> bytes_by_phase) {
    program::ProgramOp op;
    op.kind = program::ProgramOp::Kind::collective;
    op.communicator = static_cast<std::int32_t>(program_.communicators.size());
    std::vector<collectives::Phase> phases;
    for (const double bytes : bytes_by_phase) phases.push_back({Seconds(0), {bytes}});
    op.phases = std::move(phases);
    program_.communicators.push_back({"", 1, {{{0}, {{0, std::move(links)}}}}});
    program_.ops.push_back(std::move(op));
  }
  void ran(std::int32_t op, std::int32_t phase, double from, double to) {
    phases_.push_back({op, 0, phase, {Seconds(from), Seconds(to)}});
  }

  /// Over the first 4 s of three links.
  [[nodiscard]] std::vector<metrics::LinkLoad> loads() {
    program_.links.assign(3, BytesPerSecond(100));
    return metrics::link_loads(program_, phases_, members_, window_);
  }
  [[nodiscard]] std::map<std::int32_t, std::vector<double>> over_time(int bins) {
    program_.links.assign(3, BytesPerSecond(100));
    return metrics::link_use_over_time(program_, phases_, members_, window_, bins);
  }

 private:
  program::Program program_;
  std::vector<timeline::PhaseSpan> phases_;
  program::LinkClasses members_{{0, 1, 2}, {1, 7, 1}};
  timeline::Interval window_{Seconds(0), Seconds(4)};
};

// 100 B in [0, 2] and 100 B in [1, 3], 50 B/s each: 200 of 400 B, under way for 3 of 4 s, both at once for 1 s.
TEST_F(LinkLoads, PhasesThatOverlapAddUp) {
  flow({0}, {100});
  flow({0}, {100});
  ran(0, 0, 0, 2);
  ran(1, 0, 1, 3);
  const auto all = loads();
  ASSERT_EQ(all.size(), 1u) << "links without bytes are not listed";
  EXPECT_DOUBLE_EQ(all[0].bytes, 200);
  EXPECT_DOUBLE_EQ(all[0].busy, 0.75);
  EXPECT_DOUBLE_EQ(all[0].used, 0.5);
  EXPECT_DOUBLE_EQ(all[0].peak, 1);
}

// Two phases of 60 B in [0, 1] and [1, 2]: at the instant where they touch one has ended, so the peak is 0.6, not 1.2.
TEST_F(LinkLoads, PhasesThatTouchDoNotAddUp) {
  flow({0}, {60, 60});
  ran(0, 0, 0, 1);
  ran(0, 1, 1, 2);
  EXPECT_DOUBLE_EQ(loads()[0].peak, 0.6);
  EXPECT_DOUBLE_EQ(loads()[0].busy, 0.5);
}

// A route that crosses link 1 twice carries its 100 B over it twice: 200 of 400 B, and is the most used.
TEST_F(LinkLoads, EveryCrossingCounts) {
  flow({0, 1, 1}, {100});
  ran(0, 0, 0, 2);
  const auto all = loads();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].link, 1);
  EXPECT_EQ(all[0].alike, 7) << "as many as the class has";
  EXPECT_DOUBLE_EQ(all[0].used, 0.5);
  EXPECT_DOUBLE_EQ(all[1].used, 0.25);
  EXPECT_DOUBLE_EQ(all[1].peak, 0.5);
}

// 150 B in [0.5, 2] are 100 B/s, all of link 2: half of the first second, all of the second, nothing later. The mean of
// the bins is what link_loads calls used.
TEST_F(LinkLoads, UseOverTimeIsTheUseOfEachBin) {
  flow({2}, {150});
  ran(0, 0, 0.5, 2);
  const auto use = over_time(4);
  ASSERT_EQ(use.size(), 1u) << "links without bytes are not listed";
  EXPECT_EQ(use.at(2), (std::vector<double>{0.5, 1, 0, 0}));
  EXPECT_DOUBLE_EQ(loads()[0].used, (0.5 + 1) / 4);
}

}  // namespace
}  // namespace lockstep::test
