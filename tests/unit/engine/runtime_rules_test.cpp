// The rules by which operations start, on the reference engine: times are sums that can be read off.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/core/errors.hpp"
#include "sim/engine/runtime/runtime.hpp"
#include "tests/unit/engine/child_run.hpp"
#include "tests/unit/engine/small_program.hpp"

namespace lockstep::test {
namespace {

void expect_span(const engine::EngineResult& result, std::int32_t op, double start, double end, std::int32_t rank = 0) {
  ASSERT_TRUE(result.timeline.took_part(op, rank));
  EXPECT_DOUBLE_EQ(result.timeline.span(op, rank).start.value(), start) << "op " << op;
  EXPECT_DOUBLE_EQ(result.timeline.span(op, rank).end.value(), end) << "op " << op;
}

// One stream runs one thing at a time, lower priority value first: 3 s before 2 s.
TEST(RuntimeRules, StreamRunsOneThingAtATimeByPriority) {
  program::Program program = ranks(1);
  const std::int32_t late = add_compute(program, 2, {}, 1);
  const std::int32_t early = add_compute(program, 3, {}, 0);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, early, 0, 3);
  expect_span(result, late, 3, 5);
}

TEST(RuntimeRules, PositionBreaksTies) {
  program::Program program = ranks(1);
  const std::int32_t first = add_compute(program, 2);
  const std::int32_t second = add_compute(program, 3);
  const std::int32_t third = add_compute(program, 1);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, first, 0, 2);
  expect_span(result, second, 2, 5);
  expect_span(result, third, 5, 6);
}

TEST(RuntimeRules, DifferentStreamsOverlap) {
  program::Program program = ranks(1);
  const std::int32_t compute = add_compute(program, 2);
  const std::int32_t other = add_compute(program, 3, {}, 0, 1);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, compute, 0, 2);
  expect_span(result, other, 0, 3);
}

// An op on streams 0 and 1 waits for both: max(2, 3), and holds both for 1 s.
TEST(RuntimeRules, OperationOnTwoStreamsNeedsBoth) {
  program::Program program = ranks(1);
  add_compute(program, 2, {}, 0, 0);
  add_compute(program, 3, {}, 0, 1);
  const std::int32_t both = add_compute(program, 1, {}, 1);
  program.ops.back().streams = {0, 1};
  const std::int32_t after = add_compute(program, 1, {}, 2, 1);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, both, 3, 4);
  expect_span(result, after, 4, 5);
}

// start = max over members of (2 s x slowdown) = 3 s; all members share the span.
TEST(RuntimeRules, CollectiveWaitsForTheSlowestMember) {
  program::Program program = ranks(3);
  program.slowdown_of_rank[1] = 1.5;
  const std::int32_t all = add_communicator(program, 0, {{{0, 1, 2}, {}}});
  const std::int32_t compute = add_compute(program, 2);
  const std::int32_t reduce = add_timed_collective(program, all, 1, {compute});
  const engine::EngineResult result = run_reference(program);
  expect_span(result, compute, 0, 2, 0);
  expect_span(result, compute, 0, 3, 1);
  for (std::int32_t rank = 0; rank < 3; ++rank) expect_span(result, reduce, 3, 4, rank);
  EXPECT_FALSE(result.timeline.uniform(compute));
  EXPECT_TRUE(result.timeline.uniform(reduce));
}

// Groups of one collective are independent: each starts when its own members are ready.
TEST(RuntimeRules, GroupsDoNotWaitForEachOther) {
  program::Program program = ranks(4);
  program.slowdown_of_rank[3] = 2;
  const std::int32_t pairs = add_communicator(program, 0, {{{0, 1}, {}}, {{2, 3}, {}}});
  const std::int32_t compute = add_compute(program, 1);
  const std::int32_t reduce = add_timed_collective(program, pairs, 1, {compute});
  const engine::EngineResult result = run_reference(program);
  expect_span(result, reduce, 1, 2, 0);
  expect_span(result, reduce, 2, 3, 2);
}

// A collective that waits for rank 1's stream (busy until 5 s) holds nothing on rank 0: lower priorities
// run there, [0,2] and [2,6]. At 6 s the collective goes before what else waits on rank 0.
TEST(RuntimeRules, WaitingCollectiveHoldsNothing) {
  program::Program program = ranks(2);
  program.stage_of_rank = {0, 1};
  const std::int32_t both = add_communicator(program, 0, {{{0, 1}, {}}});
  add_compute(program, 5, {}, -1, 0, 1);
  const std::int32_t reduce = add_timed_collective(program, both, 1, {}, 0, 0);
  const std::int32_t first = add_compute(program, 2, {}, 1);
  const std::int32_t second = add_compute(program, 4, {}, 2);
  const std::int32_t third = add_compute(program, 1, {}, 3);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, first, 0, 2);
  expect_span(result, second, 2, 6);
  expect_span(result, reduce, 6, 7);
  expect_span(result, third, 7, 8);
}

// A high-priority collective blocked elsewhere lets the next one that waits for the same stream through:
// at 1 s rank 0's stream 1 is free; X (ranks 0, 1) is blocked by rank 1 until 3 s, Y (rank 0) runs [1,2].
TEST(RuntimeRules, BlockedOfferPassesTheStreamOn) {
  program::Program program = ranks(2);
  program.stage_of_rank = {0, 1};
  const std::int32_t both = add_communicator(program, 0, {{{0, 1}, {}}});
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  add_compute(program, 1, {}, -1, 1, 0);
  add_compute(program, 3, {}, -1, 1, 1);
  const std::int32_t x = add_timed_collective(program, both, 1, {}, 0);
  const std::int32_t y = add_timed_collective(program, alone, 1, {}, 1);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, y, 1, 2);
  expect_span(result, x, 3, 4);
}

// At 1 s op 0 frees stream 0, for which `waiting` waits, and op 1 makes `urgent` ready for the same
// stream: both ends are taken in before either starts, so priority decides.
TEST(RuntimeRules, AllEndsOfAnInstantComeBeforeAnyStart) {
  program::Program program = ranks(1);
  add_compute(program, 1, {}, -1, 0);
  const std::int32_t enabler = add_compute(program, 1, {}, -1, 1);
  const std::int32_t waiting = add_compute(program, 2, {}, 5, 0);
  const std::int32_t urgent = add_compute(program, 3, {enabler}, 0, 0);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, urgent, 1, 4);
  expect_span(result, waiting, 4, 6);
}

// Rounding does not make an instant two: 0.1 + 0.2 and 0.3 differ by 1 ulp, and priority still decides.
TEST(RuntimeRules, RoundingDoesNotDecideWhoGoesFirst) {
  program::Program program = ranks(1);
  const std::int32_t a = add_compute(program, 0.1, {}, -1, 1);
  const std::int32_t b = add_compute(program, 0.2, {a}, -1, 1);  // ends at 0.1 + 0.2
  add_compute(program, 0.3, {}, -1, 0);                          // ends at 0.3
  const std::int32_t waiting = add_compute(program, 1, {}, 5, 0);
  const std::int32_t urgent = add_compute(program, 1, {b}, 0, 0);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, urgent, 0.3, 1.3);
  expect_span(result, waiting, 1.3, 2.3);
}

/// `layers` of gather (g s, stream 1) before compute (c s, stream 0), gathers running ahead.
double prefetched(double g, double c, int layers) {
  program::Program program = ranks(2);
  const std::int32_t all = add_communicator(program, 0, {{{0, 1}, {}}});
  std::int32_t compute = -1;
  for (int layer = 0; layer < layers; ++layer) {
    const std::int32_t gather = add_timed_collective(program, all, g);
    compute = add_compute(program, c, compute < 0 ? std::vector{gather} : std::vector{gather, compute});
  }
  return run_reference(program).timeline.makespan().value();
}

// Prefetch: makespan = g + (L-1) max(g, c) + c.
TEST(RuntimeRules, PrefetchOverlapsWithCompute) {
  EXPECT_DOUBLE_EQ(prefetched(1, 3, 3), 1 + 2 * 3 + 3);
  EXPECT_DOUBLE_EQ(prefetched(4, 3, 3), 4 + 2 * 4 + 3);
}

// Beside a collective for h of its time, compute of c s goes at 1/s: h + (c - h / s) = c + h (1 - 1/s), 4 + 3/2 with s
// = 2. The kernel before and the one after are not slowed down.
TEST(RuntimeRules, ComputeSlowsDownBesideACollectiveOnItsChip) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  const std::int32_t before = add_compute(program, 1);
  add_timed_collective(program, alone, 3, {before});
  const std::int32_t beside = add_compute(program, 4, {before});
  const std::int32_t after = add_compute(program, 2, {beside});
  share_chips(program, 2);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, before, 0, 1);
  expect_span(result, beside, 1, 6.5);
  expect_span(result, after, 6.5, 8.5);
}

// No further than s c, however long the collective; and two at a time take no more of the chip than one.
TEST(RuntimeRules, ComputeSlowsDownNoFurtherThanTheSlowdown) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  add_timed_collective(program, alone, 100);
  add_timed_collective(program, alone, 100, {}, 0, 2);
  const std::int32_t beside = add_compute(program, 4);
  share_chips(program, 1.25);
  expect_span(run_reference(program), beside, 0, 5);
}

// 4 s from 0 on; collectives from 1 to 2 and from 3 to 5 of the clock: 1 + 1/2 + 1 + 2/2 are done by 5, and 1/2 is
// left.
TEST(RuntimeRules, ComputeSpeedsUpAgainAfterTheCollective) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  const std::int32_t wait = add_timed_collective(program, alone, 1);
  const std::int32_t first = add_timed_collective(program, alone, 1, {wait});
  const std::int32_t pause = add_timed_collective(program, alone, 1, {first});
  add_timed_collective(program, alone, 2, {pause});
  const std::int32_t beside = add_compute(program, 4);
  share_chips(program, 2);
  for (const auto quiet : {wait, pause}) program.ops[static_cast<std::size_t>(quiet)].shares_chip = false;
  expect_span(run_reference(program), beside, 0, 5.5);
}

// 4 s beside a dispatcher's transfer of 2 s at a factor of 1.25, from 1 s on together with a collective of 2 s at a
// factor of 2, which counts where both run: 1/1.25 + 2/2 are done by 3 s, and 2.2 s are left.
TEST(RuntimeRules, TheSlowerOfDispatchAndCollectiveCounts) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  const auto dispatch = add_timed_collective(program, alone, 2);
  const auto wait = add_timed_collective(program, alone, 1, {}, 0, 2);
  add_timed_collective(program, alone, 2, {wait}, 0, 2);
  const auto beside = add_compute(program, 4);
  share_chips(program, 2);
  program.ops[static_cast<std::size_t>(wait)].shares_chip = false;
  program.ops[static_cast<std::size_t>(dispatch)].dispatches = true;
  program.dispatch_slowdown = {1.25};
  expect_span(run_reference(program), beside, 0, 5.2);
}

// A collective of another rank, or one that does not share the chip, slows nothing down. On a slow rank the slowdowns
// multiply: 2 s x 1.5 x 2.
TEST(RuntimeRules, ComputeSlowsDownWhereTheCollectiveRuns) {
  program::Program program = ranks(2);
  program.slowdown_of_rank[1] = 1.5;
  const std::int32_t second = add_communicator(program, 0, {{{1}, {}}});
  add_timed_collective(program, second, 100);
  const std::int32_t compute = add_compute(program, 2);
  share_chips(program, 2);
  engine::EngineResult result = run_reference(program);
  expect_span(result, compute, 0, 2, 0);
  expect_span(result, compute, 0, 6, 1);
  program.ops[0].shares_chip = false;
  expect_span(run_reference(program), compute, 0, 3, 1);
}

// The host launches kernels of 1 s at 3 s and at 3.5 s: the first waits for it, the second for the first. Until then
// they slow nothing down and are not slowed down: the collective is gone at 3 s.
TEST(RuntimeRules, KernelsWaitForTheirLaunch) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  add_timed_collective(program, alone, 3);
  const std::int32_t first = add_compute(program, 1);
  program.ops.back().launched = Seconds(3);
  const std::int32_t second = add_compute(program, 1);
  program.ops.back().launched = Seconds(3.5);
  engine::EngineResult result = run_reference(program);
  expect_span(result, first, 0, 4);
  expect_span(result, second, 4, 5);
  share_chips(program, 2);
  result = run_reference(program);
  expect_span(result, first, 0, 4);
  expect_span(result, second, 4, 5);
}

// Three kernels of 1 s whose launches end 2 s, 4 s and 6 s after the host has waited. It waits for the first, which has
// its inputs at 3 s, and again for the third, which has them at 8 s: the first runs from 5 s, the second from 3 + 4 s,
// the third from 8 + 6 s.
TEST(RuntimeRules, LaunchesCountFromWhereTheHostWaited) {
  program::Program program = ranks(1);
  const std::int32_t alone = add_communicator(program, 0, {{{0}, {}}});
  const std::int32_t received = add_timed_collective(program, alone, 3);
  const std::int32_t first = add_compute(program, 1, {received});
  const std::int32_t second = add_compute(program, 1, {first});
  const std::int32_t third = add_compute(program, 1, {second});
  for (const std::int32_t kernel : {first, second, third}) program.ops[kernel].launched = Seconds(2.0 * kernel);
  for (const std::int32_t kernel : {first, third}) program.ops[kernel].host_waits = true;
  for (const bool shared : {false, true}) {
    if (shared) share_chips(program, 2);
    const engine::EngineResult result = run_reference(program);
    expect_span(result, first, 3, 6);
    expect_span(result, second, 6, 8);
    expect_span(result, third, 8, 15);
  }
}

// Zero-duration operations end at the instant they start, in a chain too: 1 + 0 + 0 + 0 + 2.
TEST(RuntimeRules, ZeroDurationTakesNoTime) {
  program::Program program = ranks(2);
  const std::int32_t all = add_communicator(program, 0, {{{0, 1}, {}}});
  std::int32_t last = add_compute(program, 1);
  const std::int32_t zero = add_compute(program, 0, {last});
  const std::int32_t reduce = add_timed_collective(program, all, 0, {zero});
  last = add_compute(program, 0, {reduce});
  last = add_compute(program, 2, {last});
  const engine::EngineResult result = run_reference(program);
  expect_span(result, zero, 1, 1);
  expect_span(result, reduce, 1, 1, 1);
  expect_span(result, last, 1, 3);
}

// A rank waits only for predecessors it takes part in: rank 1 (stage 1) does not wait for op 0.
TEST(RuntimeRules, PredecessorsOfOtherStagesDoNotCount) {
  program::Program program = ranks(2);
  program.stage_of_rank = {0, 1};
  const std::int32_t first = add_compute(program, 4, {}, 0, 0, 0);
  const std::int32_t second = add_compute(program, 1, {first}, 0, 0, 1);
  const engine::EngineResult result = run_reference(program);
  expect_span(result, second, 0, 1, 1);
  EXPECT_FALSE(result.timeline.took_part(second, 0));
  EXPECT_FALSE(result.timeline.took_part(first, 1));
}

// 2 computes x 3 ranks; the reference engine has no flows.
TEST(RuntimeRules, CountsActivitiesAndReportsProgress) {
  program::Program program = ranks(3);
  add_compute(program, 1);
  add_compute(program, 1);
  engine::EngineOptions options;
  options.kind = engine::EngineKind::reference;
  std::vector<double> reported;
  options.progress = [&](double fraction) { reported.push_back(fraction); };
  spdlog::logger silent("test");
  const engine::EngineResult result = run(program, options, silent);
  EXPECT_EQ(result.statistics.activities, 6);
  EXPECT_EQ(result.statistics.flows, 0);
  EXPECT_EQ(reported, (std::vector<double>{0, 0.5, 1}));
}

TEST(RuntimeRules, EmptyProgramTakesNoTime) { EXPECT_EQ(run_reference(ranks(2)).timeline.makespan().value(), 0); }

/// Forgets what it is given.
class LosesWork final : public engine::Network {
 public:
  [[nodiscard]] Seconds now() const override { return Seconds(0); }
  void start_compute(engine::Work, Seconds) override {}
  [[nodiscard]] bool start_collective(engine::Work, std::int32_t, std::int32_t) override { return true; }
  void run(const TakeIn& take_in) override { take_in({}); }
  [[nodiscard]] std::int64_t flows() const override { return 0; }
};

TEST(RuntimeRules, OperationsThatNeverEndAreNamed) {
  program::Program program = ranks(2);
  add_compute(program, 0);
  const std::int32_t lost = add_compute(program, 1);
  add_compute(program, 1, {lost});
  LosesWork network;
  const engine::Setup setup(program, engine::Chains::each_alone(program));
  engine::Runtime runtime(setup, network, {});
  try {
    static_cast<void>(runtime.run());
    FAIL() << "must throw";
  } catch (const InternalError& error) {
    EXPECT_STREQ(error.what(), "4 operations never ended: op 1 (vertex 1, 2 left); op 2 (vertex 2, 2 left);");
  }
}

}  // namespace
}  // namespace lockstep::test
