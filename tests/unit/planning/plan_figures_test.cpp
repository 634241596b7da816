// The figures of a plan are those of `lockstep run`, on its critical rank: step = compute + exposed communication, by
// axis, + bubble; and the memory of the fullest stage is the sum of its kinds.
#include "sim/studies/planning/plan_figures.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <numeric>

#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

constexpr auto engine = engine::EngineKind::max_min;

scenario::Scenario pipeline(const std::vector<scenario::KeyOverride>& overrides = {}) {
  return load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios/pipeline_alike.yaml", overrides);
}

spdlog::logger& silent() {
  static spdlog::logger log("test");
  return log;
}

void expect_equal(const planning::PlanFigures& one, const planning::PlanFigures& other) {
  EXPECT_EQ(one.step_s, other.step_s);
  EXPECT_EQ(one.compute_s, other.compute_s);
  EXPECT_EQ(one.bubble_s, other.bubble_s);
  EXPECT_EQ(one.exposed_s, other.exposed_s);
  EXPECT_EQ(one.mfu, other.mfu);
  EXPECT_EQ(one.peak_bytes, other.peak_bytes);
}

TEST(PlanFigures, AreThoseOfARun) {
  for (const auto* schedule : {"{schedule: 1f1b}", "{schedule: zb-h1}", "{schedule: gpipe}"}) {
    SCOPED_TRACE(schedule);
    const auto scenario = pipeline({{"pipeline", schedule}});
    const auto figures = planning::simulated_figures(scenario, engine, silent());
    SimulateOptions options;
    options.engine = engine;
    const auto run = simulate(scenario, options, silent()).metrics;
    EXPECT_EQ(figures.step_s, run.step_time.value());
    EXPECT_EQ(figures.compute_s, run.breakdown.compute.value());
    EXPECT_EQ(figures.bubble_s, run.breakdown.bubble.value());
    EXPECT_EQ(figures.mfu, run.mfu());
    EXPECT_EQ(figures.peak_bytes, run.memory.peak.value());
    const double exposed = std::accumulate(figures.exposed_s.begin(), figures.exposed_s.end(), 0.0);
    EXPECT_NEAR(figures.compute_s + exposed + figures.bubble_s, figures.step_s, 1e-12 * figures.step_s);
    EXPECT_EQ(figures.weights_bytes + figures.gradients_bytes + figures.optimizer_bytes + figures.activations_bytes +
                  figures.other_bytes,
              figures.peak_bytes);
  }
}

// A child process answers what this one finds.
TEST(PlanFigures, AreTheSameInAChild) {
  const auto scenario = pipeline();
  expect_equal(planning::figures_in_child(scenario, engine, silent()),
               planning::simulated_figures(scenario, engine, silent()));
}

TEST(PlanFigures, OfAFileThatAsksForAPlanAndOfOneThatDoesNot) {
  auto scenario = pipeline();
  const auto asked = planning::figures_of_file(scenario, engine, silent());
  ASSERT_TRUE(asked);
  expect_equal(*asked, planning::simulated_figures(scenario, engine, silent()));
  scenario.mesh.clear();
  EXPECT_FALSE(planning::figures_of_file(scenario, engine, silent()));
}

}  // namespace
}  // namespace lockstep
