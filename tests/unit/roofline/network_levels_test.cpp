// The levels of a network's roofline by hand. A layer of two matrices has B = 4 D F bytes in 16 bits and B FLOPs for a
// token in the forward. A gather of B in a ring of n over links of W, each step L longer, takes B (n-1)/n / W + (n-1)
// L; it hides behind C / B tokens' worth of compute a second from t = C (n-1)/(n W) + (n-1) L C / B tokens a chip on.
#include <gmock/gmock.h>
#include <spdlog/logger.h>

#include <limits>

#include "sim/studies/roofline/network_study.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep::test {
namespace {

constexpr double c = 989e12, width = 4096, depth = 16384, layer_bytes = 4 * width * depth;

/// Nodes of H100 with a library that knows rings alone, without launches; one switch between them.
Keys nodes_of(int chips, int nodes) {
  const auto all = std::to_string(chips * nodes);
  return {{"model", "{type: two-matmul, layers: 4, d_model: 4096, d_ff: 16384}"},
          {"cluster",
           "{node: {chip: h100, chips: " + std::to_string(chips) +
               ", scale_up: {kind: switch, link: 400 GB/s, latency: 2 us}, nics: {count: " + std::to_string(chips) +
               ", rate: 400 Gbps, pcie: 63 GB/s}, algorithms: [ring]}, nodes: " + std::to_string(nodes) +
               ", fabric: {kind: crossbar, nic_latency: 3 us, switch_latency: 1 us}}"},
          {"parallel", "{fsdp: " + all + "}"},
          {"mesh", "{fsdp: rest}"},
          {"batch", "{sequences: " + all + ", sequence_length: 1024}"}};
}

roofline::NetworkRoofline study(const Keys& keys) {
  spdlog::logger log("test");
  return roofline::study_network(small_scenario(keys), log, [](std::string_view, double) {});
}

void expect_threshold(const roofline::NetworkLevel& level, double book, double exact) {
  EXPECT_NEAR(level.book, book, 1e-9 * book) << level.group;
  EXPECT_NEAR(level.exact, exact, 1e-6 * exact) << level.group;
  EXPECT_NEAR(level.simulated, exact, 0.01 * exact) << level.group;
}

// Inside one node W is a chip's port of 400 GB/s and L is 2 us: the book's C / W = 2472.5 tokens, and for n = 2, 4, 8
// (n-1)/n of them and the latencies.
TEST(NetworkLevels, InsideANode) {
  for (const int n : {2, 4, 8}) {
    const auto made = study(nodes_of(n, 1));
    ASSERT_EQ(made.levels.size(), 1U);
    EXPECT_EQ(made.chips, n);
    EXPECT_EQ(made.tokens_per_chip, 1024);
    EXPECT_EQ(made.flops.value(), c);
    const double latency = (n - 1) * 2e-6 * c / layer_bytes;
    expect_threshold(made.levels[0], c / 400e9, c / 400e9 * (n - 1) / n + latency);
    EXPECT_EQ(made.levels[0].group, "FSDP over the " + std::to_string(n) + " chips of a node");
  }
}

// Nodes of one chip have no level inside. Between them W is a NIC of 50 GB/s and L is 3 + 3 us.
TEST(NetworkLevels, OverNodesOfOneChip) {
  for (const int n : {2, 5}) {
    const auto made = study(nodes_of(1, n));
    ASSERT_EQ(made.levels.size(), 1U);
    const double latency = (n - 1) * 6e-6 * c / layer_bytes;
    expect_threshold(made.levels[0], c / 50e9, c / 50e9 * (n - 1) / n + latency);
    EXPECT_EQ(made.levels[0].group, "FSDP over all " + std::to_string(n) + " nodes");
  }
}

// 4 nodes of 2: a level inside each, as one node alone has it, and one over all. There the book counts all NICs of a
// node, 2 x 50 GB/s; the ring's own is no faster than the node's share of the array over them, B 3/4.
TEST(NetworkLevels, AreInsideFirstAndThenOverAll) {
  const auto made = study(nodes_of(2, 4));
  ASSERT_EQ(made.levels.size(), 2U);
  const auto alone = study(nodes_of(2, 1));
  EXPECT_EQ(made.levels[0].exact, alone.levels[0].exact);
  EXPECT_EQ(made.levels[0].simulated, alone.levels[0].simulated);
  EXPECT_NEAR(made.levels[1].book, c / 100e9, 1e-9 * c / 100e9);
  EXPECT_GE(made.levels[1].exact, c / 100e9 * 3 / 4);
  EXPECT_NEAR(made.levels[1].simulated, made.levels[1].exact, 0.01 * made.levels[1].exact);
}

// At x tokens a chip, below the threshold t, a gather takes t/x of the forward's compute f and exposes (t/x - 1) f. The
// backward takes 2 f, with a gather and a scatter, and exposes 2 (t/x - 1) f: together t/x - 1 of the layer's 3 f.
// Beyond t nothing is exposed, and more tokens never expose more.
TEST(NetworkLevels, PointsFallToNothing) {
  const auto level = study(nodes_of(4, 1)).levels.at(0);
  ASSERT_EQ(level.points.size(), 4U);
  double before = std::numeric_limits<double>::infinity();
  for (const auto& point : level.points) {
    EXPECT_NEAR(point.line, std::max(0.0, level.exact / point.tokens_per_chip - 1), 1e-9);
    EXPECT_NEAR(point.simulated, point.line, 0.02) << point.tokens_per_chip;
    EXPECT_LE(point.simulated, before);
    before = point.simulated;
  }
  EXPECT_GT(level.points.front().simulated, 1);
  EXPECT_NEAR(level.points.back().simulated, 0, 1e-9);
  EXPECT_NEAR(level.points.back().tokens_per_chip / level.exact, 2, 0.01);
}

// p pods of 64 chips of a TPU v5p, 25 GB/s for each host of 4 chips: the book's C / W of a chip, 459e12 / 6.25e9, over
// 64 chips. The all-reduce of B/64 a chip moves 2 B/64 (p-1)/p and must hide behind the two products of the backward:
// (p-1)/p of the book's, and the latencies of a few hops of 10 us, below 5 % of the 2.7 ms that B/64 takes.
TEST(NetworkLevels, PodsOverTheDataCentreNetwork) {
  for (const int p : {2, 4}) {
    const auto pods = std::to_string(p);
    const auto made = study({{"model", "{type: two-matmul, layers: 4, d_model: 8192, d_ff: 32768}"},
                             {"cluster", "{chip: tpu-v5p, shape: [4, 4, 4], pods: " + pods + "}"},
                             {"parallel", "{data: " + pods + ", fsdp: 64}"},
                             {"mesh", "{data: [pod], fsdp: rest}"},
                             {"batch", "{sequences: 256, sequence_length: 1024}"}});
    ASSERT_EQ(made.levels.size(), 1U);
    const auto& level = made.levels[0];
    EXPECT_EQ(level.unit, 64);
    const double book = 459e12 / 6.25e9 / 64, least = book * (p - 1) / p;
    EXPECT_NEAR(level.book, book, 1e-9 * book);
    EXPECT_GE(level.exact, least * (1 - 1e-9));
    EXPECT_LE(level.exact, 1.05 * least);
    EXPECT_NEAR(level.simulated, level.exact, 0.02 * level.exact);
  }
}

// One torus has closed forms of its own; anything else is a network.
TEST(NetworkLevels, AreOfAnythingButOneTorus) {
  EXPECT_FALSE(roofline::is_network(small_scenario()));
  EXPECT_TRUE(roofline::is_network(small_scenario(nodes_of(8, 1))));
  EXPECT_TRUE(roofline::is_network(small_scenario({{"cluster", "{chip: tpu-v5p, shape: [2, 2, 1], pods: 2}"},
                                                   {"parallel", "{data: 8}"},
                                                   {"mesh", "{data: rest}"}})));
}

}  // namespace
}  // namespace lockstep::test
