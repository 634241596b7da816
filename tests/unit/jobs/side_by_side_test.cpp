// A step that is done n times, each time when the last rank has ended the one before, ends at n T, where T is the step
// alone; and jobs that share no link do not notice each other.
#include "sim/program/side_by_side.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "sim/engine/engine.hpp"
#include "sim/preparation/preparation.hpp"
#include "sim/program/fold.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

using test::Keys;
using test::small_scenario;

program::Program lowered(const scenario::Scenario& scenario) {
  return lower_with_perturbations(scenario, preparation::prepare_step(scenario));
}

timeline::Timeline timeline_of(const program::Program& program) {
  spdlog::logger log("quiet");
  engine::EngineOptions options;
  options.kind = engine::EngineKind::max_min;
  return engine::run(program, options, log).timeline;
}

Indexed<topologies::LinkId, topologies::LinkId> numbered_from(topologies::LinkId first, std::size_t links) {
  Indexed<topologies::LinkId, topologies::LinkId> numbers;
  for (std::size_t i = 0; i < links; ++i) numbers.push_back(first + static_cast<topologies::LinkId>(i));
  return numbers;
}

/// Two jobs on links of their own.
program::SharedProgram apart(const program::Program& one, std::int32_t times, const program::Program& other,
                             std::int32_t other_times, Seconds other_start) {
  auto links = one.links;
  for (const auto rate : other.links) links.push_back(rate);
  const std::vector<program::RepeatedStep> steps{
      {&one, times, Seconds(0), Seconds(0), numbered_from(0, one.links.size())},
      {&other, other_times, other_start, Seconds(0), numbered_from(one.links.next_id(), other.links.size())}};
  return side_by_side(steps, links);
}

struct Case {
  std::string name;
  Keys keys;
};
const std::vector<Case> cases{
    {"data", {}},
    {"fsdp", {{"parallel", "{fsdp: 4}"}}},
    {"tensor", {{"model", test::small_transformer}, {"parallel", "{tensor: 2, data: 2}"}}},
    {"pipeline",
     {{"model", test::small_transformer},
      {"parallel", "{pipeline: 4}"},
      {"batch", "{sequences: 8, sequence_length: 16, microbatches: 8}"}}},
    {"interleaved",
     {{"model", test::small_transformer},
      {"parallel", "{pipeline: 2, data: 2}"},
      {"pipeline", "{schedule: zb-h1}"},
      {"batch", "{sequences: 8, sequence_length: 16, microbatches: 4}"}}},
    {"experts", {{"model", test::small_mixture}, {"parallel", "{data: 2, expert: 2}"}}},
    {"slow chip", {{"perturbations", "[{chip: [1, 0, 0], slowdown: 1.5}]"}}},
};

TEST(SideBySide, StepsFollowEachOther) {
  for (const auto& [name, keys] : cases) {
    const auto step = lowered(small_scenario(keys));
    const double alone = timeline_of(step).makespan().value();
    const auto other = lowered(small_scenario());
    const double start = 0.3 * alone, other_alone = timeline_of(other).makespan().value();
    const auto together = apart(step, 3, other, 2, Seconds(start));
    const auto timeline = timeline_of(together.program);
    ASSERT_EQ(together.jobs.size(), 2u) << name;
    ASSERT_EQ(together.jobs[0].step_ends.size(), 3u) << name;
    for (std::size_t n = 0; n < 3; ++n) {
      const auto end = timeline.span(together.jobs[0].step_ends[n], together.jobs[0].first_rank).end;
      EXPECT_NEAR(end.value() / alone, static_cast<double>(n + 1), 1e-9) << name;
    }
    for (std::size_t n = 0; n < 2; ++n) {
      const auto end = timeline.span(together.jobs[1].step_ends[n], together.jobs[1].first_rank).end;
      EXPECT_NEAR(end.value(), start + static_cast<double>(n + 1) * other_alone, 1e-9 * end.value()) << name;
    }
  }
}

/// Ranks of different jobs are never of one class, and folding changes no date.
TEST(SideBySide, Folds) {
  const auto step = lowered(small_scenario());
  const auto together = apart(step, 2, step, 2, Seconds(0));
  const auto whole = timeline_of(together.program);
  const auto folded = program::fold(together.program);
  EXPECT_EQ(folded.ranks.count(), 2);
  const auto timeline = timeline_of(folded.program);
  for (const auto& job : together.jobs) {
    const auto rank = folded.ranks.class_of_rank[job.first_rank];
    for (const auto op : job.step_ends) EXPECT_EQ(timeline.span(op, rank).end, whole.span(op, job.first_rank).end);
  }
}

/// Two jobs whose flows cross the same links, at the same times, have half of each: as one job on links of half the
/// rate.
TEST(SideBySide, EqualJobsHalveTheirLinks) {
  const auto step = lowered(small_scenario());
  auto halved = step;
  for (auto& rate : halved.links) rate = rate * 0.5;
  const std::vector<program::RepeatedStep> both{
      {&step, 1, Seconds(0), Seconds(0), numbered_from(0, step.links.size())},
      {&step, 1, Seconds(0), Seconds(0), numbered_from(0, step.links.size())}};
  const auto together = side_by_side(both, step.links);
  const double makespan = timeline_of(together.program).makespan().value();
  EXPECT_NEAR(makespan / timeline_of(halved).makespan().value(), 1, 1e-12);
  EXPECT_GT(makespan, timeline_of(step).makespan().value());
}

}  // namespace
}  // namespace lockstep
