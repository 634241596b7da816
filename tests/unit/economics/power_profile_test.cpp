// Power over a step: each chip draws what its state says, so energy is the sum over chips and states of power x time.
#include "sim/studies/economics/power_profile.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/economics/small_step.hpp"

namespace lockstep {
namespace {

using economics::ChipPower;
using economics::power_over_step;

const Indexed<topologies::ChipKindId, ChipPower> unequal{ChipPower{Watts(100), Watts(200), Watts(400)}};

// E = sum over ranks of 400 W x computing + 200 W x exposed communication + 100 W x the rest.
TEST(PowerProfile, HasTheEnergyOfTheBreakdowns) {
  const auto simulation = test::simulated(test::scenario_of(test::small));
  double expected = 0;
  for (topologies::RankId lane = 0; lane < simulation.program.ranks(); ++lane) {
    const auto parts = metrics::breakdown_of(simulation.program, simulation.run.timeline, lane);
    expected += simulation.ranks.size[lane] *
                (400 * parts.compute.value() + 200 * parts.exposed_comm.value() + 100 * parts.bubble.value());
  }
  const auto profile = power_over_step(simulation, unequal);
  EXPECT_NEAR(profile.step.value(), expected, 1e-9 * expected);
  EXPECT_NEAR(profile.mean.value(), expected / simulation.metrics.step_time.value(), 1e-9 * profile.mean.value());
}

// The windows are the step cut into pieces: their times are its time, their energies its energy.
TEST(PowerProfile, WindowsAddUpToTheStep) {
  for (const auto* microbatches : {"4", "64"}) {  // the second repeats in the middle
    const auto simulation =
        test::simulated(test::scenario_of(test::small, {{"mesh", "{tensor: [x], pipeline: [y], fsdp: rest}"},
                                                        {"parallel", "{tensor: 4, pipeline: 4, fsdp: 4}"},
                                                        {"pipeline", "{schedule: 1f1b}"},
                                                        {"batch.sequences", "256"},
                                                        {"batch.microbatches", microbatches}}));
    const auto profile = power_over_step(simulation, unequal);
    double seconds = 0, joules = 0;
    for (const auto& window : profile.windows) {
      seconds += window.in_step.value();
      joules += (window.power * (window.end - window.start)).value();
    }
    EXPECT_NEAR(seconds, simulation.metrics.step_time.value(), 1e-9 * seconds);
    const auto simulated_energy = profile.step.value();
    if (simulation.run.timeline.repetition().copies == 0) {
      EXPECT_NEAR(joules, simulated_energy, 1e-9 * joules);
    }
    EXPECT_LE(profile.least, profile.mean);
    EXPECT_LE(profile.mean, profile.most);
  }
}

// Brute force: every rank and microbatch by itself has the same energy and shares.
TEST(PowerProfile, IsTheSameUnfolded) {
  for (const auto* schedule : {"1f1b", "gpipe", "zb-h1"}) {
    const auto scenario = test::scenario_of(test::small, {{"mesh", "{tensor: [x], pipeline: [y], fsdp: rest}"},
                                                          {"parallel", "{tensor: 4, pipeline: 4, fsdp: 4}"},
                                                          {"pipeline", std::string("{schedule: ") + schedule + "}"},
                                                          {"batch.sequences", "128"},
                                                          {"batch.microbatches", "32"}});
    const auto folded = power_over_step(test::simulated(scenario), unequal);
    const auto whole = power_over_step(test::simulated(scenario, false), unequal);
    EXPECT_NEAR(folded.step.value(), whole.step.value(), 1e-9 * whole.step.value()) << schedule;
    EXPECT_NEAR(folded.computing, whole.computing, 1e-9) << schedule;
    EXPECT_NEAR(folded.communicating, whole.communicating, 1e-9) << schedule;
  }
}

// A chip that draws the same in every state draws it all the time, whatever the step does.
TEST(PowerProfile, IsFlatWhereStatesAreAlike) {
  const auto simulation = test::simulated(test::scenario_of(test::small));
  const auto profile = power_over_step(simulation, {ChipPower{Watts(300), Watts(300), Watts(300)}});
  EXPECT_NEAR(profile.least.value(), 64 * 300, 1e-6);
  EXPECT_NEAR(profile.most.value(), 64 * 300, 1e-6);
}

}  // namespace
}  // namespace lockstep
