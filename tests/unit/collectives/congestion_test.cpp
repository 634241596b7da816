// What a fabric's keys for congestion change, by hand. Nodes of one chip and one NIC of 50 GB/s, 4 us from chip to
// chip.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

using Kind = workloads::CollectiveKind;
const Bytes size(1'600'000'000);

// In an all-to-all of n each NIC receives V/n^2 from n - 1 others at once. Every doubling of these costs 20 %:
// T = (n-1) V/n^2 / 50e9 (1 + 0.2 log2(n-1)) + 4 us. Two nodes have one sender each, and no incast.
TEST(Incast, SlowsReceiversByTheNumberOfSenders) {
  for (const int n : {2, 4, 8}) {
    const NetworkCase groups(nodes(n, node(1), congested(0.2, 0)), "all");
    const auto choice = groups.network().choose(Kind::all_to_all, size, "direct");
    const double bytes = (n - 1.0) / (n * n) * 1.6e9;
    const double expected = bytes / nic * (1 + 0.2 * std::log2(n - 1)) + 4 * us;
    EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << n;
    EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected) << n;
  }
}

// A ring has one sender to each NIC, however long it is.
TEST(Incast, LeavesRingsAlone) {
  const NetworkCase fair(nodes(8, node(1), crossbar()), "all"), slow(nodes(8, node(1), congested(0.2, 0)), "all");
  EXPECT_EQ(fair.network().choose(Kind::all_gather, size, "ring").cost,
            slow.network().choose(Kind::all_gather, size, "ring").cost);
}

// A hierarchical all-to-all meets it between units only: each of the 32 chips of 4 nodes sends V/32 x 3/4 over its NIC,
// to which 3 nodes send at once; what is dealt out inside the nodes takes as long as without incast.
TEST(Incast, IsBetweenUnitsOnly) {
  const auto cost = [](double incast) {
    const NetworkCase groups(nodes(4, node(8), congested(incast, 0)), "all");
    return groups.network().choose(Kind::all_to_all, size, "hierarchical all-to-all").cost.value();
  };
  const double across = 1.6e9 / 32 * (3.0 / 4) / nic;
  EXPECT_NEAR(cost(0.2) - cost(0), 0.2 * std::log2(3) * across, 1e-12);
}

// A ring of 8 nodes takes 7 steps of 4 us; each doubling beyond two nodes costs 10 %, so each takes 4.8 us. A tree of 8
// has 3 levels. Two nodes are as they were.
TEST(StepGrowth, SlowsStepsByTheNumberOfUnits) {
  const auto latency = [](int n, double growth, Kind kind, const char* algorithm) {
    const NetworkCase groups(nodes(n, node(1), congested(0, growth)), "all");
    return groups.network().choose(kind, size, algorithm).phases.front().latency.value();
  };
  EXPECT_NEAR(latency(8, 0, Kind::all_gather, "ring"), 7 * 4 * us, 1e-12);
  EXPECT_NEAR(latency(8, 0.1, Kind::all_gather, "ring"), 7 * 4.8 * us, 1e-12);
  EXPECT_NEAR(latency(8, 0.1, Kind::all_reduce, "tree"), 2 * 3 * 4.8 * us, 1e-12);
  EXPECT_NEAR(latency(8, 0.1, Kind::all_to_all, "direct"), 4.8 * us, 1e-12);
  EXPECT_NEAR(latency(2, 0.1, Kind::all_gather, "ring"), 4 * us, 1e-12);
}

}  // namespace
}  // namespace lockstep::test
