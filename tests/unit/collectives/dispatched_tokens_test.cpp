// All-to-alls of tokens as dispatchers run them, on N = n x g chips: k = 8 experts a token at random, V/N bytes of
// slots on each chip. With s(m) = m (1 - (1 - 1/m)^k) / k, the share of a token's k copies if each of m places gets
// one:
//   each expert   T = max( V/N (N-g)/N / nic, V/N (g-1)/N / port ) + r
//   forwarded     T = max( s(n) V/N (n-1)/n / nic, s(N) V/N (g-1)/g / port ) + r + l     in a node  s(N) V/N (N-1)/N /
//   port + l
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/collectives/network_case.hpp"

namespace lockstep::test {
namespace {

constexpr auto tokens = workloads::CollectiveKind::all_to_all;
constexpr double v = 512e6;
const Bytes size(512'000'000);
constexpr double local = us, remote = 4 * us;

double share(double places) { return places * (1 - std::pow(1 - 1 / places, 8)) / 8; }
workloads::TokenCopies by(workloads::TokenPath path) { return {8, 1, 1, path, -1}; }
const auto forwarded = by(workloads::TokenPath::forwarded), each_expert = by(workloads::TokenPath::each_expert);

void expect_time(const NetworkCase& groups, workloads::TokenCopies copies, double expected) {
  const auto choice = groups.network().choose(tokens, size, "", copies);
  EXPECT_NEAR(choice.cost.value(), expected, 1e-9 * expected) << choice.label;
  EXPECT_EQ(groups.network().cost(tokens, size, "", copies), choice.cost);
  EXPECT_NEAR(groups.simulated(choice), expected, 1e-9 * expected) << choice.label << " on SimGrid";
  EXPECT_NEAR(groups.shared(choice), expected, 1e-9 * expected) << choice.label << " by max_min";
}

TEST(DispatchedTokens, CrossToANodeOnceAndGoOnInside) {
  for (const int n : {2, 4, 8}) {
    const NetworkCase groups(nodes(n, node()), "all");
    const double members = 8.0 * n, own = v / members;
    expect_time(groups, forwarded,
                std::max(share(n) * own * (n - 1) / n / nic, share(members) * own * 7 / 8 / port) + remote + local);
    expect_time(groups, each_expert, own * (members - 8) / members / nic + remote);
  }
}

// On two nodes with slow ports the way inside decides: 1 - (1 - 1/16)^8 of 16 chips get a token, 6.5 of 8 slots.
TEST(DispatchedTokens, MayWaitForThePartInside) {
  auto slow = node();
  slow.scale_up_link = BytesPerSecond(60e9);
  const NetworkCase groups(nodes(2, slow), "all");
  const double inside = share(16) * v / 16 * 7 / 8 / 60e9;
  ASSERT_GT(inside, share(2) * v / 16 / 2 / nic);
  expect_time(groups, forwarded, inside + remote + local);
}

TEST(DispatchedTokens, InOneNodeGoToEachChipOnce) {
  const NetworkCase groups(nodes(1, node()), "local");
  expect_time(groups, forwarded, share(8) * v / 8 * 7 / 8 / port + local);
  expect_time(groups, each_expert, v / 8 * 7 / 8 / port + local);
}

// One chip of each node: a node is a chip, and there is nothing to pass on.
TEST(DispatchedTokens, BetweenChipsOfDifferentNodes) {
  const NetworkCase groups(nodes(4, node()), "unit");
  expect_time(groups, forwarded, share(4) * v / 4 * 3 / 4 / nic + remote);
}

// DeepSeek-V3's routing: 8 experts in 4 of 8 groups; on 8 nodes a token reaches at most 4 of them, or 32 of the 64
// chips.
TEST(DispatchedTokens, NodeLimitedRouting) {
  const NetworkCase groups(nodes(8, node()), "all");
  const double own = v / 64;
  expect_time(groups, {8, 8, 4, workloads::TokenPath::forwarded, 20},
              std::max(share(4) * own * 7 / 8 / nic, share(32) * own * 7 / 8 / port) + remote + local);
}

// A rail-optimised fabric with an uplink of a quarter of a leaf's bandwidth: forwarded tokens stay on their rails and
// lose nothing; straight ways cross rails, and a leaf's 4 NICs send 4 x 3 x 7 of their chunks over one NIC's rate.
TEST(DispatchedTokens, StayOnTheirRails) {
  auto fabric = fat_tree(4, 4);
  fabric.kind = topologies::RailOptimised{.nodes_per_scalable_unit = 4};
  fabric.radix = 64;
  const NetworkCase rails(nodes(4, node(), fabric), "all");
  expect_time(rails, forwarded, share(4) * v / 32 * 3 / 4 / nic + remote + local);
  expect_time(rails, each_expert, v / 32 / 32 * 4 * 3 * 7 / nic + remote + 2 * 0.5 * us);
}

// With one expert a token there is nothing to save, and with no dispatcher the choice is the library's.
TEST(DispatchedTokens, OneExpertSavesNothing) {
  const NetworkCase groups(nodes(4, node()), "all");
  expect_time(groups, {1, 1, 1, workloads::TokenPath::forwarded, 20}, v / 32 * 3 / 4 / nic + remote + local);
  EXPECT_EQ(groups.network().choose(tokens, size, "", {1, 1, 1}).cost, groups.network().choose(tokens, size).cost);
  for (const auto& choice : groups.network().choices(tokens, size))
    EXPECT_NE(choice.algorithm->name(), "forwarded all-to-all");
}

}  // namespace
}  // namespace lockstep::test
