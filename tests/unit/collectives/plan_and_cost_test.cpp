// The phases that the engine runs and the closed form must tell the same time: every phase takes
// latency + max over its slots of bytes x sharing / link.
#include <gtest/gtest.h>

#include "sim/collectives/nccl_size.hpp"
#include "tests/unit/collectives/small_groups.hpp"

namespace lockstep::test {
namespace {

const Bytes v(48'000'000);

double time_of(const collectives::Phase& phase, const collectives::Dimensions& dimensions) {
  double longest = 0;
  for (int d = 0; d < static_cast<int>(dimensions.size()); ++d) {
    const auto& shape = dimensions[static_cast<std::size_t>(d)];
    for (const int direction : {+1, -1}) {
      for (int at = 0; at < shape.members; ++at) {
        longest = std::max(longest, leaving(phase, dimensions, d, direction, at) * shape.sharing / shape.link.value());
      }
    }
  }
  return phase.latency.value() + longest;
}

TEST(PlanAndCost, AgreeForEveryKindAndGroup) {
  for (const auto& dimensions : many_groups()) {
    for (const auto kind : workloads::all_collective_kinds) {
      double total = 0;
      for (const auto& phase : collectives::plan(kind, dimensions, v)) total += time_of(phase, dimensions);
      const double closed = collectives::cost(kind, dimensions, v).value();
      ASSERT_NEAR(total, closed, 1e-12 * closed) << name(kind) << " on " << describe(dimensions);
    }
  }
}

TEST(PlanAndCost, EveryPhaseHasABytesEntryForEverySlot) {
  for (const auto& dimensions : many_groups()) {
    std::int32_t slots = 0;
    for (const auto& d : dimensions) slots += d.shape == Shape::ring ? 2 : 2 * (d.members - 1);
    EXPECT_EQ(collectives::SlotLayout(dimensions).total, slots);
    for (const auto kind : workloads::all_collective_kinds) {
      for (const auto& phase : collectives::plan(kind, dimensions, v))
        ASSERT_EQ(static_cast<std::int32_t>(phase.slot_bytes.size()), slots) << name(kind);
    }
  }
}

TEST(PlanAndCost, SlotsAreNumberedOnceEach) {
  const collectives::Dimensions dimensions{line(4), ring(5), line(2)};
  const collectives::SlotLayout slots(dimensions);
  std::vector<std::int32_t> all;
  for (const int direction : {+1, -1}) {
    for (int i = 0; i < 3; ++i) all.push_back(slots.hop(0, direction, i));
    all.push_back(slots.ring(1, direction));
    all.push_back(slots.hop(2, direction, 0));
  }
  std::sort(all.begin(), all.end());
  for (std::int32_t i = 0; i < slots.total; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(all.size(), static_cast<std::size_t>(slots.total));
}

TEST(PlanAndCost, AllReduceIsReduceScatterThenAllGather) {
  for (const auto& dimensions : many_groups()) {
    const double parts = collectives::cost(workloads::CollectiveKind::reduce_scatter, dimensions, v).value() +
                         collectives::cost(workloads::CollectiveKind::all_gather, dimensions, v).value();
    ASSERT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_reduce, dimensions, v).value(), parts)
        << describe(dimensions);
    const auto phases = collectives::plan(workloads::CollectiveKind::all_reduce, dimensions, v);
    ASSERT_EQ(phases.size(), 2U);
    EXPECT_EQ(phases[0].slot_bytes,
              collectives::plan(workloads::CollectiveKind::reduce_scatter, dimensions, v)[0].slot_bytes);
    EXPECT_EQ(phases[1].slot_bytes,
              collectives::plan(workloads::CollectiveKind::all_gather, dimensions, v)[0].slot_bytes);
  }
}

// T = V (X-1)/(X 2W) + ceil(X/2) alpha on a ring, V (X-1)/(X W) + (X-1) alpha on a line.
TEST(PlanAndCost, ClosedFormsOfOneDimension) {
  const double bytes = static_cast<double>(v.value());
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {ring(8)}, v).value(),
                   bytes * 7 / 8 / 200e9 + 4e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {ring(5)}, v).value(),
                   bytes * 4 / 5 / 200e9 + 3e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {line(8)}, v).value(),
                   bytes * 7 / 8 / 100e9 + 7e-6);
  // Two interleaved rings share every link, and each hop is two links long.
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {ring(8, 2)}, v).value(),
                   bytes * 7 / 8 / 100e9 + 8e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::broadcast, {ring(8)}, v).value(), bytes / 200e9 + 7e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::reduce, {line(4)}, v).value(), bytes / 100e9 + 3e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::point_to_point, {ring(8)}, v).value(),
                   bytes / 100e9 + 1e-6);
}

// k equal rings gather k times as fast (up to the (N-1)/N of what is gathered).
TEST(PlanAndCost, BandwidthOfSeveralAxesAddsUp) {
  const double bytes = static_cast<double>(v.value());
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {ring(4), ring(4), ring(4)}, v).value(),
                   bytes * 63 / 64 / 600e9 + 6e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, {ring(4), line(4)}, v).value(),
                   bytes * 15 / 16 / 300e9 + 5e-6);
  EXPECT_DOUBLE_EQ(
      collectives::book_cost(workloads::CollectiveKind::all_gather, {ring(4), ring(4), ring(4)}, v).value(),
      bytes / 600e9);
}

// A line of 2 (100 GB/s) beside a ring of 2 whose links 8 rings share (2 x 100 / 8 = 25 GB/s). Half of the members lack
// half of V and get it over the rings alone: V/2 over 2 x 25 GB/s, not V 3/4 / 125 GB/s. A broadcast brings them V over
// these.
TEST(PlanAndCost, ASlowDimensionHoldsTheOthersUp) {
  const double bytes = static_cast<double>(v.value());
  const collectives::Dimensions dimensions{line(2), ring(2, 8)};
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::all_gather, dimensions, v).value(),
                   bytes / 2 / 50e9 + 1e-6 + 8e-6);
  EXPECT_DOUBLE_EQ(collectives::cost(workloads::CollectiveKind::broadcast, dimensions, v).value(),
                   bytes / 50e9 + 1e-6 + 8e-6);
  // The rings bring one shard of V/4, the line the other two; of a broadcast half each.
  EXPECT_DOUBLE_EQ(
      leaving(collectives::plan(workloads::CollectiveKind::all_gather, dimensions, v)[0], dimensions, 0, +1, 0),
      bytes / 4 * 2);
  EXPECT_DOUBLE_EQ(
      leaving(collectives::plan(workloads::CollectiveKind::all_gather, dimensions, v)[0], dimensions, 1, +1, 0),
      bytes / 4 / 2);
  EXPECT_DOUBLE_EQ(
      leaving(collectives::plan(workloads::CollectiveKind::broadcast, dimensions, v)[0], dimensions, 0, +1, 0),
      bytes / 2);
}

TEST(PlanAndCost, AGroupOfOneCostsNothing) {
  for (const auto kind : workloads::all_collective_kinds) {
    EXPECT_TRUE(collectives::plan(kind, {}, v).empty());
    EXPECT_EQ(collectives::cost(kind, {}, v), Seconds(0));
    EXPECT_EQ(collectives::book_cost(kind, {}, v), Seconds(0));
  }
  EXPECT_EQ(collectives::members({}), 1);
  EXPECT_EQ(collectives::algorithm_name(workloads::CollectiveKind::all_gather, {}), "none");
}

// The book's form neglects latency and (X-1)/X, so it is a bound from above on the bandwidth part of a long ring.
TEST(PlanAndCost, BookFormIsTheLimitOfLongRings) {
  auto long_ring = ring(1024);
  long_ring.hop_latency = Seconds(0);
  for (const auto kind : {workloads::CollectiveKind::all_gather, workloads::CollectiveKind::reduce_scatter,
                          workloads::CollectiveKind::all_reduce, workloads::CollectiveKind::all_to_all}) {
    const double ratio = collectives::cost(kind, {long_ring}, v) / collectives::book_cost(kind, {long_ring}, v);
    EXPECT_LE(ratio, 1.0) << name(kind);
    EXPECT_NEAR(ratio, 1, 1.0 / 1024 + 1e-12) << name(kind);
  }
}

// Bus bandwidth as nccl-tests define it: 2(n-1)/n, (n-1)/n, 1.
TEST(PlanAndCost, BusFactors) {
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(collectives::bus_factor(workloads::CollectiveKind::reduce, 8), 1);
}

// nccl-tests print the larger of what a rank sends and receives: all of V, but V / N of an all-to-all.
TEST(BusBandwidth, SizesAreThoseOfNcclTests) {
  for (const auto kind : workloads::all_collective_kinds)
    EXPECT_EQ(collectives::full_size_of(kind, Bytes(100), 8),
              Bytes(kind == workloads::CollectiveKind::all_to_all ? 800 : 100))
        << name(kind);
}

}  // namespace
}  // namespace lockstep::test
