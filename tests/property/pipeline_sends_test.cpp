// `pipeline.sends: in_order`: the queue of a rank's sends and receives follows from its program, not from times.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "sim/program/fold.hpp"
#include "sim/program/lower.hpp"
#include "tests/property/simulated_step.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep {
namespace {

using test::Case;

/// A pipeline alone on a ring or line; chips `chip` times 200 TFLOP/s, links `link` times 5 GB/s.
Case pipeline(const workloads::Schedule& schedule, int p, int m, double chip, double link) {
  const auto text = [](double number) { return std::to_string(number); };
  const auto P = std::to_string(p), M = std::to_string(m);
  return {"pipeline_alike.yaml",
          {{"model.layers", std::to_string(p * schedule.usual_chunks)},
           {"cluster.shape", "[" + P + "]"},
           {"cluster.chip.peak", "{bf16: " + text(200 * chip) + " TFLOP/s}"},
           {"cluster.chip.torus.link", text(5 * link) + " GB/s"},
           {"parallel.pipeline", P},
           {"pipeline", "{schedule: " + std::string(schedule.name) + ", sends: in_order}"},
           {"batch", "{sequences: " + M + ", sequence_length: 512, microbatches: " + M + "}"}}};
}

double step_s(const Case& one, engine::EngineKind engine) {
  const auto scenario = one.load();
  const auto preparation = preparation::prepare_step(scenario);
  return test::timeline_of(fold(lower_with_perturbations(scenario, preparation)).program, engine).makespan().value();
}

/// What automatic schedules do follows from times.
std::vector<const workloads::Schedule*> timeless() {
  std::vector<const workloads::Schedule*> result;
  for (const workloads::Schedule& schedule : workloads::schedules()) {
    if (!schedule.chooses_by_time && !schedule.takes_slices) result.push_back(&schedule);
  }
  return result;
}

// A chip or a link k times faster makes no operation longer; order and resources are the same; so no start is later,
// and the step no longer. Closed forms: operations take what they take whatever else is on the links; the bound is
// rounding. The halves of an overlapped pair go on as they are ready, which is an order that times decide: there 5 %.
// Chosen at random, the same at every run.
TEST(SendsInOrder, NothingFasterLengthensTheStep) {
  constexpr int count = 120;
  std::mt19937 random(17);
  const auto any = [&](auto const& list) { return list[random() % std::size(list)]; };
  const auto all = timeless();
  int compared = 0;
  while (compared < count) {
    const auto& schedule = *any(all);
    const int p = any(std::vector{2, 3, 4, 5, 8}), m = any(std::vector{2, 3, 4, 6, 8, 12, 16, 24});
    if (schedule.why_not(p, m, schedule.usual_chunks)) continue;
    const double chip = any(std::vector{0.25, 1.0, 4.0, 16.0}), link = any(std::vector{0.25, 1.0, 4.0, 16.0});
    const auto slow = pipeline(schedule, p, m, chip, link);
    SCOPED_TRACE(slow.to_string());
    const double bound = step_s(slow, engine::EngineKind::reference) * (1 + (schedule.overlaps ? 0.05 : 1e-9));
    for (const double k : {1.25, 2.0, 16.0}) {
      EXPECT_LE(step_s(pipeline(schedule, p, m, chip * k, link), engine::EngineKind::reference), bound)
          << "a chip " << k << " times faster";
      EXPECT_LE(step_s(pipeline(schedule, p, m, chip, link * k), engine::EngineKind::reference), bound)
          << "a link " << k << " times faster";
    }
    ++compared;
  }
}

// The same over real links, where sends to ranks further than the neighbour share some. GPipe on eight stages with 24
// microbatches of 24 at 5 GB/s once took 33.4 ms, and 70.8 ms with chips of 16 times the rate.
TEST(SendsInOrder, GpipeOnFasterChipsTakesNoLonger) {
  const auto& gpipe = *workloads::find_schedule("gpipe");
  const double before = step_s(pipeline(gpipe, 8, 24, 1, 1), engine::EngineKind::max_min);
  for (const double k : {2.0, 4.0, 16.0})
    EXPECT_LE(step_s(pipeline(gpipe, 8, 24, k, 1), engine::EngineKind::max_min), before * (1 + 1e-9)) << k;
}

// Operations and what they wait for are numbered alike whatever the chip and the link: nothing that numbers decide can
// hang on estimated times.
TEST(StepNumbers, DoNotFollowFromTimes) {
  for (const auto* schedule : timeless()) {
    if (schedule->why_not(4, 8, schedule->usual_chunks)) continue;
    SCOPED_TRACE(schedule->name);
    const auto one = preparation::prepare_step(pipeline(*schedule, 4, 8, 1, 1).load());
    for (const auto& [chip, link] : {std::pair{16.0, 1.0}, std::pair{1.0, 64.0}, std::pair{0.01, 64.0}}) {
      const auto other = preparation::prepare_step(pipeline(*schedule, 4, 8, chip, link).load());
      ASSERT_EQ(one.step.size(), other.step.size());
      for (workloads::OpId id = 0; id < one.step.size(); ++id) {
        const auto &a = one.step.op(id), &b = other.step.op(id);
        ASSERT_EQ(a->name, b->name) << id;
        ASSERT_EQ(a.stage, b.stage) << id;
        ASSERT_EQ(a.microbatch, b.microbatch) << id;
        ASSERT_EQ(one.step.predecessors(id), other.step.predecessors(id)) << id;
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
