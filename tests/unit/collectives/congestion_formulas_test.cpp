// The two keys for congestion as formulas: 1 + incast log2(senders) on what a NIC receives, and 1 + step_growth
// log2(units / 2) on a step between units. Over numbers of units that are no powers of two too, both at once, and on
// links shared with others.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;
constexpr double v = 1.2e9, step = 4 * us;
const Bytes size(1'200'000'000);

// One sender and two units are the case that the fabric's own rates describe; every doubling adds the key once.
TEST(CongestionFormulas, DoublingsAddTheKey) {
  for (const double key : {0.0, 0.05, 0.14, 1.0}) {
    const auto fabric = congested(key, key);
    for (int doublings = 0; doublings < 12; ++doublings) {
      EXPECT_DOUBLE_EQ(fabric.incast_slowdown(1 << doublings), 1 + key * doublings);
      EXPECT_DOUBLE_EQ(fabric.step_slowdown(2 << doublings), 1 + key * doublings);
    }
    EXPECT_EQ(fabric.incast_slowdown(0), 1);
    EXPECT_EQ(fabric.step_slowdown(1), 1);
  }
}

// Neither ever falls with more units, nor with a larger key.
TEST(CongestionFormulas, NeverFall) {
  for (int many = 1; many < 600; ++many) {
    const auto low = congested(0.1, 0.1), high = congested(0.11, 0.11);
    EXPECT_LE(low.incast_slowdown(many), low.incast_slowdown(many + 1));
    EXPECT_LE(low.step_slowdown(many), low.step_slowdown(many + 1));
    EXPECT_LE(low.incast_slowdown(many), high.incast_slowdown(many));
    EXPECT_LE(low.step_slowdown(many), high.step_slowdown(many));
  }
}

// Both at once in an all-to-all of n nodes of one chip: each NIC of 50 GB/s receives (n-1) V/n^2 from n - 1 senders in
// one step: T = (n-1) V/n^2 / 50e9 (1 + a log2(n-1)) + 4 us (1 + b log2(n/2)).
TEST(CongestionFormulas, AllToAllHasBoth) {
  for (const double n : {3.0, 5.0, 6.0, 12.0}) {
    for (const auto& [a, b] : {std::pair{0.14, 0.0}, std::pair{0.0, 0.3}, std::pair{0.14, 0.3}}) {
      const NetworkCase groups(nodes(static_cast<int>(n), node(1), congested(a, b)), "all");
      const auto choice = groups.network().choose(Kind::all_to_all, size, "direct");
      const double expected =
          (n - 1) * v / n / n / nic * (1 + a * std::log2(n - 1)) + step * (1 + b * std::log2(n / 2));
      EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << n;
      EXPECT_NEAR(groups.referenced(choice), expected, 1e-9 * expected) << n;
    }
  }
}

// A ring of n nodes: T = 2 V (n-1)/n / 50e9 + 2 (n-1) 4 us (1 + b log2(n/2)) in an all-reduce, whatever the incast.
TEST(CongestionFormulas, RingsHaveTheirStepsOnly) {
  for (const double n : {3.0, 7.0, 10.0}) {
    const NetworkCase groups(nodes(static_cast<int>(n), node(1), congested(0.5, 0.2)), "all");
    const auto choice = groups.network().choose(Kind::all_reduce, size, "ring");
    const double expected = 2 * v * (n - 1) / n / nic + 2 * (n - 1) * step * (1 + 0.2 * std::log2(n / 2));
    EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << n;
    EXPECT_NEAR(groups.referenced(choice), expected, 1e-9 * expected) << n;
  }
}

// The growth is by the units of a group, not of the cluster: four groups of two nodes have none.
TEST(CongestionFormulas, CountTheGroupsOwnUnits) {
  const std::vector<topologies::MeshAxis> axes{{"pair", {{0, 2, 1}}}, {"far", {{0, 4, 2}}}};
  const auto steps = [&](const char* group) {
    const NetworkCase groups(nodes(8, node(1), congested(0, 0.25)), axes, {group});
    return groups.network().choose(Kind::all_gather, size, "ring").phases.front().latency.value();
  };
  EXPECT_NEAR(steps("pair"), step, 1e-15);
  EXPECT_NEAR(steps("far"), 3 * step * (1 + 0.25 * std::log2(2)), 1e-15);
}

}  // namespace
}  // namespace lockstep::test
