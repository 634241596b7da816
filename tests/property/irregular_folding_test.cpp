// Folded = unfolded on machines and work that are not alike everywhere. Folding puts ranks into one class only if
// nothing tells them apart, so every rank has the spans of its class: start(op, rank) = start(op, class(rank)), bit for
// bit where chips and links are as they were made, and to 1e-12 of the step where rates differ, since the solver then
// adds the same numbers in another order. SimGrid's spans are ours to 1e-9, but for a step here and
// there that turns a rounding into more: groups that meet on links are early or late by what they met before, and who
// comes first of two that come together decides what follows. Such a step is known by what a ten-billionth more rate on
// every other link does to it. Operations that run as chains have the spans that they have by themselves, to 1e-12 of
// the step or to the 1e-12 s within which events are one instant: the end of an operation inside a chain is no event,
// so others that end at that instant keep their own dates.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <map>

#include "sim/engine/runtime/chains.hpp"
#include "sim/engine/runtime/network.hpp"
#include "sim/program/fold.hpp"
#include "tests/property/irregular_steps.hpp"
#include "tests/property/simulated_step.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

constexpr int steps_of_a_part = 30, parts = 10;

timeline::Timeline max_min(const program::Program& program, bool chains = true) {
  spdlog::logger silent("test");
  return engine::run(program, {engine::EngineKind::max_min, {}, false, chains}, silent).timeline;
}

program::RankClasses each_its_own(std::int32_t ranks) {
  program::RankClasses classes;
  for (std::int32_t rank = 0; rank < ranks; ++rank) classes.class_of_rank.push_back(rank);
  return classes;
}

/// How far spans move if every other link has a ten-billionth more rate.
double moved_by_other_rates(program::Program program, const timeline::Timeline& before) {
  for (std::size_t link = 0; link < program.links.size(); link += 2)
    program.links[link] = program.links[link] * (1 + 1e-10);
  return test::furthest_apart(max_min(program), before, each_its_own(program.ranks()));
}

class IrregularFolding : public testing::TestWithParam<int> {};

TEST_P(IrregularFolding, IsExact) {
  int merged_in_part = 0, unsteady = 0;
  std::size_t operations = 0, chains = 0;
  for (int number = GetParam() * steps_of_a_part; number < (GetParam() + 1) * steps_of_a_part; ++number) {
    const auto step = test::irregular_step(number);
    SCOPED_TRACE("step " + std::to_string(number) + "\n" + step.text);
    const auto folded = fold(step.program);
    check(folded.program);
    const auto classes = folded.ranks.count();
    if (classes > 1 && classes < step.program.ranks()) ++merged_in_part;
    const auto of_classes = max_min(folded.program);
    EXPECT_LE(test::furthest_apart(max_min(step.program), of_classes, folded.ranks), step.perturbed ? 1e-12 : 1e-15);
    const double by_chains = test::furthest_apart(max_min(folded.program, false), of_classes, each_its_own(classes));
    const double makespan_s = of_classes.makespan().value();
    // The ends of members within a chain are no events, so that what ends within one instant may end apart, a few times
    // in a row.
    EXPECT_LE(by_chains * makespan_s, std::max(1e-12 * makespan_s, 4 * engine::one_instant_s));
    operations += folded.program.ops.size();
    chains += position_of(engine::Chains::longest(folded.program).count());
    const auto simgrid = test::timeline_of(folded.program, engine::EngineKind::simgrid);
    const double apart = test::furthest_apart(simgrid, of_classes, each_its_own(classes));
    if (apart <= 1e-9) continue;
    ++unsteady;
    EXPECT_LE(apart, moved_by_other_rates(folded.program, of_classes));
  }
  EXPECT_GE(5 * merged_in_part, 2 * steps_of_a_part) << "too few steps whose classes are neither one nor all ranks";
  EXPECT_LE(unsteady, 1);
  EXPECT_LT(10 * chains, 9 * operations) << "too few operations that run as one";
}

INSTANTIATE_TEST_SUITE_P(Part, IrregularFolding, testing::Range(0, parts));

// The 300 steps have every fabric with every irregularity, and every schedule.
TEST(IrregularSteps, AreOfAllKinds) {
  std::map<std::string, int> pairs, schedules;
  for (int number = 0; number < parts * steps_of_a_part; ++number) {
    const auto deal = test::irregular_deal(number);
    ++pairs[deal.fabric + " " + deal.irregularity];
    ++schedules[deal.schedule];
  }
  EXPECT_EQ(pairs.size(), 7U * 6U);
  const auto all = workloads::schedules();
  EXPECT_EQ(std::ssize(schedules), 1 + std::count_if(all.begin(), all.end(),
                                                     [](const workloads::Schedule& one) { return !one.takes_slices; }));
  for (const auto& [name, count] : schedules) EXPECT_GE(count, 5) << name;
}

}  // namespace
}  // namespace lockstep
