// Collectives as flows on SimGrid: the max-min equations, by hand.
#include <gtest/gtest.h>

#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

constexpr double GB = 1e9;

Spans run_flows(const program::Program& program) { return run_in_child(program, engine::EngineKind::simgrid); }

void expect_close(double actual, double expected) { EXPECT_NEAR(actual, expected, 1e-12 * expected); }

/// A program in which flow i, of rank i, is alone in collective i and they all start at 0.
struct FlowCase {
  std::vector<std::int32_t> links;
  double bytes;
};
program::Program flows_at_once(const std::vector<double>& capacities, const std::vector<FlowCase>& flows) {
  program::Program program = ranks(static_cast<std::int32_t>(flows.size()));
  for (const double capacity : capacities) add_link(program, capacity);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    const std::int32_t communicator = add_lone_flow(program, static_cast<std::int32_t>(i), flows[i].links);
    add_collective(program, communicator, {{Seconds(0), {flows[i].bytes}}});
  }
  return program;
}

// Ring all-gather of V bytes on X ranks, bidirectional, as two macro flows that cross all X links of a
// direction: T = alpha + V (X-1) / (2X) / B. With V = 64 MB, X = 4, B = 50 GB/s, alpha = 3 us:
// T = 3e-6 + 24e6 / 50e9 = 483 us.
TEST(CollectiveFlows, RingTakesLatencyPlusBytesOverBandwidth) {
  program::Program program = ranks(4);
  for (int link = 0; link < 8; ++link) add_link(program, 50 * GB);
  const std::int32_t ring = add_communicator(program, 1, {{{0, 1, 2, 3}, {{0, {0, 1, 2, 3}}, {0, {4, 5, 6, 7}}}}});
  const std::int32_t gather = add_collective(program, ring, {{Seconds(3e-6), {24e6}}});

  const Spans spans = run_flows(program);
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(spans.start(gather, rank), 0.0);
    expect_close(spans.end(gather, rank), 483e-6);
  }
}

// The rate of a flow is the smallest capacity on its route: T = bytes / min(C).
TEST(CollectiveFlows, SlowestLinkOfTheRouteSetsTheRate) {
  const Spans spans = run_flows(flows_at_once({4 * GB, 1 * GB, 2 * GB}, {{{0, 1, 2}, 3 * GB}}));
  expect_close(spans.end(0), 3.0);
}

// n flows on one link get C/n each: two flows of 1 and 2 GB at 1 GB/s. Both at 1/2 until the first ends
// at 2 s; the other has 1 GB left at full rate: 3 s.
TEST(CollectiveFlows, TwoFlowsOnOneLinkGetHalfEach) {
  const Spans spans = run_flows(flows_at_once({1 * GB}, {{{0}, 1 * GB}, {{0}, 2 * GB}}));
  expect_close(spans.end(0, 0), 2.0);
  expect_close(spans.end(1, 1), 3.0);
}

// Max-min, links A = 1 and B = 2 GB/s, flows f1 over A and B, f2 over A, f3 over B. A fills first:
// f1 = f2 = 1/2, and f3 = 2 - 1/2 = 3/2. With 1, 3 and 5 GB: f1 ends at 2 s, when f2 has 2 GB left, now
// at rate 1 (ends at 4 s), and f3 has 5 - 3 = 2 GB left, now at rate 2 (ends at 3 s).
TEST(CollectiveFlows, MaxMinOfThreeFlowsOverTwoLinks) {
  const Spans spans = run_flows(flows_at_once({1 * GB, 2 * GB}, {{{0, 1}, 1 * GB}, {{0}, 3 * GB}, {{1}, 5 * GB}}));
  expect_close(spans.end(0, 0), 2.0);
  expect_close(spans.end(1, 1), 4.0);
  expect_close(spans.end(2, 2), 3.0);
}

// A link that a route lists w times counts w times: w r <= C. Alone with w = 2: rate C/2.
TEST(CollectiveFlows, LinkRepeatedInARouteHasThatWeight) {
  const Spans spans = run_flows(flows_at_once({1 * GB}, {{{0, 0}, 1 * GB}}));
  expect_close(spans.end(0), 2.0);
}

// Shared: 2r + r = C, so both get C/3 until the first (1 GB) ends at 3 s; the other has 1 of 2 GB left,
// now at rate 1 (weight 1): 4 s.
TEST(CollectiveFlows, WeightsCountInSharing) {
  const Spans spans = run_flows(flows_at_once({1 * GB}, {{{0, 0}, 1 * GB}, {{0}, 2 * GB}}));
  expect_close(spans.end(0, 0), 3.0);
  expect_close(spans.end(1, 1), 4.0);
}

// Latency uses no bandwidth and is no sharing penalty: f1 (latency 0, 2 GB) has the link alone until 1 s,
// when f2 (latency 1 s, 1 GB) joins. Both at 1/2: f1's last 1 GB and f2's 1 GB end at 1 + 2 = 3 s.
TEST(CollectiveFlows, LatencyDelaysButDoesNotChangeTheShare) {
  program::Program program = flows_at_once({1 * GB}, {{{0}, 2 * GB}, {{0}, 1 * GB}});
  auto phases = program.ops[1].phases.items();
  phases[0].latency = Seconds(1);
  program.ops[1].phases = phases;
  const Spans spans = run_flows(program);
  expect_close(spans.end(0, 0), 3.0);
  expect_close(spans.end(1, 1), 3.0);
}

// T = sum over phases of (latency + slowest flow). Slots 0 and 1 on links of 1 GB/s:
// (1 + max(2, 3)) + (0.5 + max(4, 0)) + (0.25 + 0) = 8.75 s.
TEST(CollectiveFlows, PhasesFollowOneAnother) {
  program::Program program = ranks(2);
  add_link(program, GB);
  add_link(program, GB);
  const std::int32_t pair = add_communicator(program, 2, {{{0, 1}, {{0, {0}}, {1, {1}}}}});
  const std::int32_t op = add_collective(
      program, pair, {{Seconds(1), {2 * GB, 3 * GB}}, {Seconds(0.5), {4 * GB, 0}}, {Seconds(0.25), {0, 0}}});
  const Spans spans = run_flows(program);
  expect_close(spans.end(op, 0), 8.75);
  EXPECT_EQ(spans.end(op, 0), spans.end(op, 1));
}

// Two collectives of one group at once, on two streams: each flow gets C/2. 1 and 1 GB at 1 GB/s: 2 s.
// A third one, later and alone, takes 1 s: the flow is the same, the share is not.
TEST(CollectiveFlows, OneGroupRunsTwoCollectivesAtOnce) {
  program::Program program = ranks(1);
  add_link(program, GB);
  const std::int32_t communicator = add_lone_flow(program, 0, {0});
  const std::vector<collectives::Phase> phases{{Seconds(0), {1 * GB}}};
  const std::int32_t first = add_collective(program, communicator, phases, {}, 0, 1);
  const std::int32_t second = add_collective(program, communicator, phases, {}, 0, 2);
  const std::int32_t third = add_collective(program, communicator, phases, {first, second}, 0, 1);
  const Spans spans = run_flows(program);
  expect_close(spans.end(first), 2.0);
  expect_close(spans.end(second), 2.0);
  expect_close(spans.end(third), 3.0);
}

// Bytes need not be whole: T = 0.75 B / 1 GB/s.
TEST(CollectiveFlows, FractionsOfAByteCount) {
  expect_close(run_flows(flows_at_once({1 * GB}, {{{0}, 0.75}})).end(0), 0.75e-9);
}

// All phases empty: T = 0, and what follows starts at once.
TEST(CollectiveFlows, NothingToSendTakesNoTime) {
  program::Program program = flows_at_once({1 * GB}, {{{0}, 0}});
  const std::int32_t next = add_compute(program, 2, {0});
  const Spans spans = run_flows(program);
  EXPECT_EQ(spans.end(0), 0.0);
  EXPECT_EQ(spans.start(next), 0.0);
  EXPECT_EQ(spans.end(next), 2.0);
}

// More flows than one zone of routes holds (128^2): flow i, on its own link of (1 + i mod 7) GB/s,
// takes 1 / (1 + i mod 7) s.
TEST(CollectiveFlows, ManyRoutesKeepTheirLinks) {
  constexpr std::int32_t count = 128 * 128 + 50;
  program::Program program = ranks(count);
  std::vector<collectives::ProgramGroup> groups;
  for (std::int32_t i = 0; i < count; ++i) groups.push_back({{i}, {{0, {add_link(program, (1 + i % 7) * GB)}}}});
  const std::int32_t op = add_collective(program, add_communicator(program, 1, groups), {{Seconds(0), {1 * GB}}});
  const Spans spans = run_flows(program);
  for (std::int32_t i = 0; i < count; ++i) expect_close(spans.end(op, i), 1.0 / (1 + i % 7));
}

}  // namespace
}  // namespace lockstep::test
