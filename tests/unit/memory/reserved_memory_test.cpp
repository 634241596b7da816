// What PyTorch's allocator reserves. By hand, in MiB, with pages of 20:
//
//     take 30, 30                       the range grows to 60
//     release the first, take 40        30 do not hold 40: 60 to 100, of which 70 are in use
//     take 10                           from the hole of 30, the smallest that holds it; nothing grows
//     release the 40, take 50           the 40 at the end are the beginning of the 50: 10 more, one page
#include "sim/metrics/reserved_memory.hpp"

#include <gtest/gtest.h>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

constexpr std::int64_t mib = 1 << 20;

TEST(CachingAllocator, AHoleThatIsTooSmallStays) {
  metrics::CachingAllocator pool(20 * mib);
  const auto first = pool.allocate(30 * mib);
  (void)pool.allocate(30 * mib);
  EXPECT_EQ(pool.reserved(), 60 * mib);
  pool.release(first);
  const auto third = pool.allocate(40 * mib);
  EXPECT_EQ(pool.reserved(), 100 * mib);
  EXPECT_EQ(pool.allocate(10 * mib), first);
  EXPECT_EQ(pool.reserved(), 100 * mib);
  pool.release(third);
  EXPECT_EQ(pool.allocate(50 * mib), third);
  EXPECT_EQ(pool.reserved(), 120 * mib);
}

TEST(CachingAllocator, NeighboursThatAreFreeBecomeOneBlock) {
  metrics::CachingAllocator pool(20 * mib);
  const auto a = pool.allocate(20 * mib), b = pool.allocate(20 * mib), c = pool.allocate(20 * mib);
  (void)pool.allocate(20 * mib);
  pool.release(a);
  pool.release(c);
  pool.release(b);
  EXPECT_EQ(pool.allocate(60 * mib), a);
  EXPECT_EQ(pool.reserved(), 80 * mib);
}

TEST(CachingAllocator, TakesTheSmallestBlockThatHoldsTheRequest) {
  metrics::CachingAllocator pool(20 * mib);
  const auto large = pool.allocate(60 * mib);
  (void)pool.allocate(20 * mib);
  const auto small = pool.allocate(40 * mib);
  (void)pool.allocate(20 * mib);
  pool.release(large);
  pool.release(small);
  EXPECT_EQ(pool.allocate(40 * mib), small);
  EXPECT_EQ(pool.allocate(1), large);  // a block of 512 bytes
  EXPECT_EQ(pool.allocate(512), large + 512);
}

// Never less than the arrays at their peak, and where memory is short no more than there is.
TEST(ReservedMemory, LiesBetweenThePeakAndTheCapacity) {
  const test::OneRank rank("validation_memory_curve.yaml");
  auto use = rank.memory;
  const auto reserved = metrics::reserved_memory(rank.step(), rank.program, rank.timeline, use);
  EXPECT_GE(reserved, use.peak);
  EXPECT_LE(reserved, use.capacity);
  use.capacity = use.peak + Bytes(1);
  EXPECT_LE(metrics::reserved_memory(rank.step(), rank.program, rank.timeline, use), use.capacity);
  use.capacity = Bytes(1);
  EXPECT_EQ(metrics::reserved_memory(rank.step(), rank.program, rank.timeline, use), use.peak);
}

}  // namespace
}  // namespace lockstep
