// How much is found out about a step changes none of what is found.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "sim/simulate.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

Simulation simulated(const scenario::Scenario& scenario, Detail detail) {
  spdlog::logger silent("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.detail = detail;
  return simulate(scenario, options, silent);
}

TEST(Detail, ChangesNothingOfWhatIsFound) {
  for (const auto* name : {"pipeline_alike.yaml", "zero_on_slow_links.yaml"}) {
    SCOPED_TRACE(name);
    const auto scenario = scenario::load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios" / name);
    const auto all = simulated(scenario, Detail::causes);
    EXPECT_FALSE(all.metrics.critical_path.parts.empty());
    for (const auto detail : {Detail::totals, Detail::stages}) {
      const auto some = simulated(scenario, detail);
      EXPECT_EQ(some.metrics.step_time, all.metrics.step_time);
      EXPECT_EQ(some.metrics.executed_flops, all.metrics.executed_flops);
      EXPECT_EQ(some.metrics.breakdown.compute, all.metrics.breakdown.compute);
      EXPECT_EQ(some.metrics.breakdown.exposed_comm, all.metrics.breakdown.exposed_comm);
      EXPECT_EQ(some.metrics.memory.peak, all.metrics.memory.peak);
      ASSERT_EQ(some.metrics.stages.size(), all.metrics.stages.size());
      for (std::size_t stage = 0; stage < some.metrics.stages.size(); ++stage) {
        const auto &one = some.metrics.stages[stage], &other = all.metrics.stages[stage];
        EXPECT_EQ(one.rank, other.rank);
        EXPECT_EQ(one.memory.peak, other.memory.peak);
        if (detail == Detail::stages) EXPECT_EQ(one.idle.total(), other.idle.total());
      }
    }
  }
}

}  // namespace
}  // namespace lockstep
