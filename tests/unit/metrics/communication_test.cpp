// One row per set of axes and kind. At any instant exposed time goes to the collective that started first.
#include <gtest/gtest.h>

#include "tests/unit/metrics/drawn_step.hpp"

namespace lockstep {
namespace {

using test::DrawnStep;

const metrics::CommunicationUse& row(const std::vector<metrics::CommunicationUse>& uses, const std::string& axis,
                                     workloads::CollectiveKind kind) {
  for (const auto& use : uses) {
    if (use.axis == axis && use.kind == kind) return use;
  }
  throw std::out_of_range(axis);
}

TEST(CommunicationTest, AddsUpByAxisAndKind) {
  DrawnStep drawn(1);
  drawn.collective({"x"}, {{0, 2}}, Bytes(100));
  drawn.collective({"x"}, {{2, 3}}, Bytes(50));
  drawn.collective({"x"}, {{3, 7}}, Bytes(10), workloads::CollectiveKind::reduce_scatter);
  drawn.collective({"x", "y"}, {{7, 8}}, Bytes(5));
  const auto uses = metrics::communication_of(drawn.step, drawn.program, drawn.timeline(), 0);
  ASSERT_EQ(uses.size(), 3u);
  const auto& gathers = row(uses, "x", workloads::CollectiveKind::all_gather);
  EXPECT_EQ(gathers.count, 2);
  EXPECT_EQ(gathers.full_size.value(), 150);
  EXPECT_DOUBLE_EQ(gathers.busy.value(), 3);
  EXPECT_DOUBLE_EQ(row(uses, "x", workloads::CollectiveKind::reduce_scatter).busy.value(), 4);
  EXPECT_DOUBLE_EQ(row(uses, "x+y", workloads::CollectiveKind::all_gather).busy.value(), 1);
}

// x 0..4 and y 1..6 with compute 2..3: x is exposed 0..2 and 3..4, y only when x is over, 4..6.
TEST(CommunicationTest, ExposedTimeGoesToTheEarlierOne) {
  DrawnStep drawn(1);
  drawn.collective({"x"}, {{0, 4}});
  drawn.collective({"y"}, {{1, 6}});
  drawn.compute({{2, 3}});
  const auto timeline = drawn.timeline();
  const auto uses = metrics::communication_of(drawn.step, drawn.program, timeline, 0);
  EXPECT_DOUBLE_EQ(row(uses, "x", workloads::CollectiveKind::all_gather).exposed.value(), 3);
  EXPECT_DOUBLE_EQ(row(uses, "y", workloads::CollectiveKind::all_gather).exposed.value(), 2);
  EXPECT_DOUBLE_EQ(row(uses, "y", workloads::CollectiveKind::all_gather).busy.value(), 5);
  EXPECT_DOUBLE_EQ(metrics::breakdown_of(drawn.program, timeline, 0).exposed_comm.value(), 5);
}

// Both start at 0: the one that comes first in the program takes the time.
TEST(CommunicationTest, TiesGoByProgramOrder) {
  DrawnStep drawn(1);
  drawn.collective({"y"}, {{0, 3}});
  drawn.collective({"x"}, {{0, 3}});
  const auto uses = metrics::communication_of(drawn.step, drawn.program, drawn.timeline(), 0);
  EXPECT_DOUBLE_EQ(row(uses, "y", workloads::CollectiveKind::all_gather).exposed.value(), 3);
  EXPECT_DOUBLE_EQ(row(uses, "x", workloads::CollectiveKind::all_gather).exposed.value(), 0);
}

TEST(CommunicationTest, IsOfOneRank) {
  DrawnStep drawn(2);
  drawn.collective({"x"}, {{0, 2}, {-1, -1}}, Bytes(8));
  drawn.compute({{0, 1}, {0, 3}});
  EXPECT_EQ(metrics::communication_of(drawn.step, drawn.program, drawn.timeline(), 0).size(), 1u);
  EXPECT_TRUE(metrics::communication_of(drawn.step, drawn.program, drawn.timeline(), 1).empty());
}

}  // namespace
}  // namespace lockstep
