// The numbers the book works out, V = bytes of the whole array, W_bidi = 2 x the one-way link.
#include <gtest/gtest.h>

#include "sim/collectives/collective.hpp"
#include "tests/unit/topologies/small_torus.hpp"
#include "topologies/torus/torus.hpp"

namespace lockstep::test {
namespace {

constexpr double us = 1e-6;

/// Every physical axis x, y, z as a mesh axis X, Y, Z of its own.
collectives::Dimensions along(const topologies::Cluster& cluster, const std::vector<std::string>& axes) {
  std::vector<topologies::AxisRequest> requests{on("X", {"x"}), on("Y", {"y"})};
  if (cluster.axes().size() == 3) requests.push_back(on("Z", {"z"}));
  return placed(cluster, requests).dimensions(axes);
}

const topologies::Cluster& v5e() {
  static const topologies::Cluster slice = topologies::build_torus({catalog_chip("tpu-v5e"), {8, 4}, {}});
  return slice;
}
const topologies::Cluster& v4() {
  static const topologies::Cluster slice = topologies::build_torus({catalog_chip("tpu-v4"), {4, 4, 4}, {}});
  return slice;
}

double seconds(Seconds time) { return time.value(); }

// v5e 8x4 has no wrap on 4: bf16[2048_Y, 8192] goes 3 hops of V/4 at 4.5e10, 3 x 8.39e6 / 4.5e10 = 559 us, and 3 x 1
// us.
TEST(BookNumbers, AllGatherAlongALineOfFour) {
  const auto dimensions = along(v5e(), {"Y"});
  const Bytes v(2LL * 2048 * 8192);
  ASSERT_EQ(dimensions.size(), 1U);
  EXPECT_EQ(dimensions[0].shape, topologies::GroupDimension::Shape::line);
  EXPECT_NEAR(seconds(collectives::book_cost(workloads::CollectiveKind::all_gather, dimensions, v)), 559.24 * us,
              0.01 * us);
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_gather, dimensions, v)), (559.24 + 3) * us,
              0.01 * us);
}

// The book's ring form of the same, V / 9e10 = 373 us, would need a wrap.
TEST(BookNumbers, TheSameIfTheAxisWrapped) {
  auto dimensions = along(v5e(), {"Y"});
  dimensions[0].shape = topologies::GroupDimension::Shape::ring;
  const Bytes v(2LL * 2048 * 8192);
  EXPECT_NEAR(seconds(collectives::book_cost(workloads::CollectiveKind::all_gather, dimensions, v)), 372.83 * us,
              0.01 * us);
}

// bf16[256_Y, 256]: shards of 32 KiB, below 4.5e10 x 1 us = 45 kB, so the 3 hops of 1 us are more than the 3 x 0.73 us
// of moving.
TEST(BookNumbers, SmallAllGatherIsBoundByLatency) {
  const double total =
      seconds(collectives::cost(workloads::CollectiveKind::all_gather, along(v5e(), {"Y"}), Bytes(2 * 256 * 256)));
  EXPECT_NEAR(total, 3 * us + 3 * 32768 / 4.5e10, 1e-12);
  EXPECT_GT(3 * us, total / 2);
}

// v4 4x4x4, bf16 A[B_X, D_Y], B = 1024, D = 4096. Over X the group's array is 2BD/4: 2.1e6 / 9e10 = 23.3 us;
// a ring of 4 moves 3/4 of it in 2 hops.
TEST(BookNumbers, AllGatherOverOneAxis) {
  const Bytes v(2LL * 1024 * 4096 / 4);
  EXPECT_NEAR(seconds(collectives::book_cost(workloads::CollectiveKind::all_gather, along(v4(), {"X"}), v)), 23.30 * us,
              0.01 * us);
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_gather, along(v4(), {"X"}), v)),
              (23.302 * 3 / 4 + 2) * us, 0.01 * us);
}

// Over X and Y the array is 2BD, and both axes carry it: 8.4e6 / 1.8e11 = 46.6 us; 15/16 of it in 2 + 2 hops.
TEST(BookNumbers, AllGatherOverTwoAxes) {
  const Bytes v(2LL * 1024 * 4096);
  EXPECT_NEAR(seconds(collectives::book_cost(workloads::CollectiveKind::all_gather, along(v4(), {"X", "Y"}), v)),
              46.60 * us, 0.01 * us);
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_gather, along(v4(), {"X", "Y"}), v)),
              (46.603 * 15 / 16 + 4) * us, 0.01 * us);
}

// A partial sum over Z, sharded over X and Y: 2BD/16 on each rank, 2 x 524288 / 9e10 = 11.65 us; 3/4 of it in 2 x 2
// hops.
TEST(BookNumbers, AllReduceOfAShardedSum) {
  const Bytes v(2LL * 1024 * 4096 / 16);
  EXPECT_NEAR(seconds(collectives::book_cost(workloads::CollectiveKind::all_reduce, along(v4(), {"Z"}), v)), 11.65 * us,
              0.01 * us);
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_reduce, along(v4(), {"Z"}), v)),
              (11.651 * 3 / 4 + 4) * us, 0.01 * us);
}

// bf16[128]: the opposite member is 2 hops of 1 us away, the 256 B take 2 ns.
TEST(BookNumbers, TinyAllGatherTakesItsHops) {
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_gather, along(v4(), {"X"}), Bytes(256))), 2 * us,
              0.01 * us);
}

// All-to-all on an even ring: N^2/8 chunks of V/N^2 over each link and direction, V/8 / W = V/W_bidi / 4.
TEST(BookNumbers, AllToAllIsAQuarterOfAnAllGather) {
  const auto dimensions = along(v4(), {"X"});
  const Bytes v(1 << 30);
  const double gather = seconds(collectives::book_cost(workloads::CollectiveKind::all_gather, dimensions, v));
  EXPECT_DOUBLE_EQ(seconds(collectives::book_cost(workloads::CollectiveKind::all_to_all, dimensions, v)), gather / 4);
  EXPECT_NEAR(seconds(collectives::cost(workloads::CollectiveKind::all_to_all, dimensions, v)), gather / 4 + 2 * us,
              1e-12);
  // One way round, the chunk between members d apart crosses d links: N (N-1)/2 of them a link, 4 times as many for
  // large N.
  const auto phases = collectives::plan(workloads::CollectiveKind::all_to_all, dimensions, v);
  EXPECT_DOUBLE_EQ(phases[0].slot_bytes[0], static_cast<double>(v.value()) / 8);
}

}  // namespace
}  // namespace lockstep::test
