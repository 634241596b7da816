// A late chip may make a step shorter: groups that ran the phases of an algorithm at the same times, and shared the
// links of each phase, come apart and have them in turn. What it can gain has a bound that needs no simulation. With
// every group of a collective alone on the network,
//   lower bound = max( longest path through the step, operations of the busiest stream )  <=  any run of the step
// since no group is faster than alone, and being late shortens no operation. So T(late) / T >= lower bound / T.
#include <gtest/gtest.h>

#include "tests/property/simulated_step.hpp"

namespace lockstep {
namespace {

using test::Case;
using test::SimulatedStep;

double seconds_with(const SimulatedStep& step, const program::Perturbation& late) {
  auto scenario = step.scenario;
  scenario.perturbations = {late};
  return test::timeline_of(lower_with_perturbations(scenario, step.preparation), engine::EngineKind::simgrid)
      .makespan()
      .value();
}

std::vector<program::Perturbation> late_chips() {
  std::vector<program::Perturbation> all;
  for (const double slowdown : {1.01, 1.1, 1.5, 3.0}) {
    for (const std::uint64_t seed : {1U, 2U, 3U}) all.emplace_back(program::RandomSlowChips{1, seed, slowdown});
  }
  for (const std::uint64_t seed : {1U, 2U})
    all.emplace_back(program::Jitter{program::Jitter::Distribution::uniform, 0.2, seed});
  return all;
}

/// The shortest step with late chips, over the step without; checks that none is below the floor.
double least(const Case& one) {
  SCOPED_TRACE(one.to_string());
  const SimulatedStep step(one.load());
  const double prompt = step.simgrid.makespan().value();
  const double floor = std::max(step.critical_path(), step.busiest_stream()).value();
  EXPECT_LE(floor, prompt * (1 + 1e-9));
  double least = 1e9;
  for (const auto& late : late_chips()) {
    const double seconds = seconds_with(step, late);
    EXPECT_GE(seconds, floor * (1 - 1e-9));
    least = std::min(least, seconds / prompt);
  }
  testing::Test::RecordProperty("floor", std::to_string(floor / prompt));
  testing::Test::RecordProperty("least", std::to_string(least));
  return least;
}

// Recursive halving of two groups on the same NICs and uplinks: 7/8 of the step is reductions whose remote phases take
// twice as long together as alone. So a late chip gains, here more than a tenth.
TEST(LateRanks, PhasesOfTwoGroupsInTurn) { EXPECT_LT(least({"validation_late_groups.yaml", {}}), 0.9); }

// NCCL has no recursive halving, and its rings keep all their links busy to the end. What is left to take in turn is
// their latency, in which nobody uses the links: less than a hundredth.
TEST(LateRanks, RingsGainLittle) {
  for (const char* of_nccl : {"dgx-a100", "dgx-h100"}) {
    for (const char* parallel : {"{fsdp: 16, data: 2, zero: 0}", "{fsdp: 32}", "{data: 32, zero: 1}"}) {
      EXPECT_GE(
          least({"validation_late_groups.yaml",
                 {{"cluster.node", of_nccl},
                  {"parallel", parallel},
                  {"mesh", std::string(parallel).find("data: 2,") != std::string::npos ? "{data: [gpu/2], fsdp: rest}"
                                                                                       : "{}"}}}),
          0.99);
    }
  }
}

}  // namespace
}  // namespace lockstep
