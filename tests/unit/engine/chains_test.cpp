// Two operations that follow each other on a stream of a stage are one chain if nothing can come between them, the
// second waits for nothing new, and nobody waits for the first alone. Then the second starts where the first ends, and
//   start(n) = start(1) + duration(1) + ... + duration(n-1)
// whatever else happens, so running chains gives the spans of running each operation by itself.
#include "sim/engine/runtime/chains.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <map>

#include "sim/engine/engine.hpp"
#include "tests/unit/engine/random_program.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

std::vector<std::vector<std::int32_t>> longest(const program::Program& program) {
  check(program);
  const auto chains = engine::Chains::longest(program);
  std::vector<std::vector<std::int32_t>> result;
  for (std::int32_t chain = 0; chain < chains.count(); ++chain) {
    const auto members = chains.members(chain);
    result.emplace_back(members.begin(), members.end());
    EXPECT_EQ(chains.first(chain), members.front());
    for (const auto op : members) EXPECT_EQ(chains.of(op), chain);
  }
  return result;
}

/// Two ranks in one group.
struct TwoRanks {
  program::Program program = ranks(2);
  std::int32_t together = add_communicator(program, 0, {{{0, 1}, {}}});
  std::int32_t compute(std::vector<std::int32_t> after = {}) { return add_compute(program, 1, std::move(after)); }
  std::int32_t collective(const std::vector<std::int32_t>& after = {}) {
    return add_collective(program, together, {}, after);
  }
};

TEST(Chains, OneAfterTheOther) {
  TwoRanks pair;
  for (std::int32_t op = 0; op < 4; ++op) pair.compute(op > 0 ? std::vector{op - 1} : std::vector<std::int32_t>{});
  EXPECT_THAT(longest(pair.program), ElementsAre(ElementsAre(0, 1, 2, 3)));
  const auto alone = engine::Chains::each_alone(pair.program);
  ASSERT_EQ(alone.count(), 4);
  EXPECT_THAT(alone.members(2), ElementsAre(2));
}

// 1 is a collective that 2 waits for; that 3 waits for it too holds nothing up, since it comes after 2.
TEST(Chains, BeginWithWhatWaitsForOthers) {
  TwoRanks pair;
  pair.compute();
  pair.collective();
  pair.compute({0, 1});
  pair.compute({2, 1});
  EXPECT_THAT(longest(pair.program), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2, 3)));
}

// 3 waits for 0 and 1, so for 1, which ends later; 4 waits for 1 alone.
TEST(Chains, EndWithWhatOthersWaitFor) {
  TwoRanks pair;
  pair.compute();
  pair.compute({0});
  pair.compute({1});
  pair.collective({0, 1});
  pair.collective({1});
  EXPECT_THAT(longest(pair.program), ElementsAre(ElementsAre(0, 1), ElementsAre(2), ElementsAre(3), ElementsAre(4)));
}

// 2 may run before 1 or after it, 3 comes after both. 3 and 4 are one.
TEST(Chains, NeedAnOrderOfTheirStream) {
  TwoRanks pair;
  pair.compute();
  pair.compute({0});
  pair.compute({0});
  pair.compute({1, 2});
  pair.compute({3});
  EXPECT_THAT(longest(pair.program), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2), ElementsAre(3, 4)));
}

// 3 waits for nothing at all, so it may take the stream at any time.
TEST(Chains, AreNotWhereAnyOtherMayRun) {
  TwoRanks pair;
  for (std::int32_t op = 0; op < 3; ++op) pair.compute(op > 0 ? std::vector{op - 1} : std::vector<std::int32_t>{});
  pair.compute();
  EXPECT_EQ(longest(pair.program).size(), 4U);
}

// The same operations, on a stream that a collective takes as well.
TEST(Chains, AreNotOnStreamsOfCollectives) {
  TwoRanks pair;
  pair.compute();
  pair.compute({0});
  EXPECT_EQ(longest(pair.program).size(), 1U);
  add_collective(pair.program, pair.together, {}, {}, 0, 0);
  EXPECT_EQ(longest(pair.program).size(), 3U);
}

// Stages and streams do not disturb each other.
TEST(Chains, AreOfOneStageAndStream) {
  program::Program program = ranks(2);
  program.stage_of_rank[1] = 1;
  for (const std::int32_t stream : {0, 1}) {
    for (const std::int32_t stage : {0, 1}) add_compute(program, 1, {}, 0, stream, stage);
  }
  for (std::int32_t op = 0; op < 4; ++op)
    add_compute(program, 1, {op}, 0, program.ops[op].streams.front(), program.ops[op].stage);
  EXPECT_THAT(longest(program),
              ElementsAre(ElementsAre(0, 4), ElementsAre(1, 5), ElementsAre(2, 6), ElementsAre(3, 7)));
}

TEST(Chains, AreOfKernelsThatAllSlowDownOrNone) {
  TwoRanks pair;
  for (std::int32_t op = 0; op < 5; ++op) pair.compute(op > 0 ? std::vector{op - 1} : std::vector<std::int32_t>{});
  pair.program.ops[1].shares_chip = pair.program.ops[2].shares_chip = true;
  EXPECT_THAT(longest(pair.program), ElementsAre(ElementsAre(0), ElementsAre(1, 2), ElementsAre(3, 4)));
}

timeline::Timeline timeline_of(const program::Program& program, bool chains) {
  spdlog::logger silent("test");
  engine::EngineOptions options;
  options.kind = engine::EngineKind::max_min;
  options.chains = chains;
  return run(program, options, silent).timeline;
}

// Members start and end where they would by themselves: 1 s, then a launch at 5 s and 2 s, one that takes no time, and
// 3 s, on a rank of speed 1 and on one that takes twice as long.
TEST(Chains, KeepTheSpansOfTheirMembers) {
  program::Program program = ranks(2);
  program.slowdown_of_rank[1] = 2;
  add_compute(program, 1);
  add_compute(program, 2, {0});
  add_compute(program, 0, {1});
  add_compute(program, 3, {2});
  program.ops[1].launched = Seconds(5);
  program.ops[2].launched = Seconds(100);  // it takes no time, so it waits for no launch
  ASSERT_EQ(longest(program).size(), 1U);
  const auto timeline = timeline_of(program, true);
  const auto span = [](double start, double end) { return timeline::Interval{Seconds(start), Seconds(end)}; };
  const std::vector<std::vector<timeline::Interval>> expected{{span(0, 1), span(1, 7), span(7, 7), span(7, 10)},
                                                              {span(0, 2), span(2, 9), span(9, 9), span(9, 15)}};
  for (std::int32_t rank = 0; rank < 2; ++rank) {
    for (std::int32_t op = 0; op < 4; ++op)
      EXPECT_EQ(timeline.simulated(op, rank), expected[position_of(rank)][position_of(op)]) << op;
  }
}

// Kernels of 2 s, 1 s and 3 s, the third launched at 4 s, beside a collective of 1.5 s that starts at 1 s and slows
// them down by a factor of 2. The first has 1 s left at 1 s, does 0.75 s of it until 2.5 s, and ends at 2.75 s. The
// second ends at 3.75 s; the third takes the stream then and runs from 4 s to 7 s.
TEST(Chains, OfKernelsThatSlowDownKeepTheirSpans) {
  TwoRanks pair;
  add_compute(pair.program, 1, {}, 0, 2);
  const auto first = add_compute(pair.program, 2);
  add_compute(pair.program, 1, {first});
  const auto third = add_compute(pair.program, 3, {first + 1});
  pair.program.ops[third].launched = Seconds(4);
  add_collective(pair.program, pair.together, {{Seconds(1.5), {}}}, {0});
  share_chips(pair.program, 2);
  pair.program.ops[0].shares_chip = false;
  ASSERT_EQ(longest(pair.program).size(), 3U);
  const auto timeline = timeline_of(pair.program, true);
  const double expected[][2] = {{0, 2.75}, {2.75, 3.75}, {3.75, 7}};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(timeline.simulated(first + i, 0).start.value(), expected[i][0], 1e-12);
    EXPECT_NEAR(timeline.simulated(first + i, 0).end.value(), expected[i][1], 1e-12);
  }
}

/// A random program whose stages compute one operation after the other, as those of steps do.
program::Program in_order(unsigned seed) {
  auto program = entangled(seed);
  if (seed % 2 == 0) share_chips(program, program.shared_slowdown.front());  // long chains of kernels that slow down
  std::map<std::int32_t, std::int32_t> last;                                 // by stage
  for (const auto id : program.ops.ids()) {
    auto& op = program.ops[id];
    if (op.kind != program::ProgramOp::Kind::compute) continue;
    if (const auto before = last.find(op.stage); before != last.end()) op.predecessors.push_back(before->second);
    last[op.stage] = id;
  }
  return program;
}

TEST(Chains, ChangeNothingInRandomPrograms) {
  std::size_t joined = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    for (const auto& program : {in_order(seed), entangled(seed)}) {
      joined += program.ops.size() - longest(program).size();
      const auto together = timeline_of(program, true), alone = timeline_of(program, false);
      const double scale = alone.makespan().value();
      for (const auto op : program.ops.ids()) {
        for (const auto rank : alone.ranks_of(op)) {
          const auto a = together.simulated(op, rank), b = alone.simulated(op, rank);
          ASSERT_NEAR(a.start.value(), b.start.value(), 1e-12 * scale) << op << " on " << rank;
          ASSERT_NEAR(a.end.value(), b.end.value(), 1e-12 * scale) << op << " on " << rank;
        }
      }
    }
  }
  EXPECT_GT(joined, 200U) << "too few chains to show anything";
}

}  // namespace
}  // namespace lockstep::test
