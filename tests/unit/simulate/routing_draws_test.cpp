// Where switches hash connections onto paths, the time of a step depends on the seed s of the hash: T(s). A run draws
// the scenario's seed and those that follow it, and says
//   best = min T(s), worst = max T(s), median = the middle one of the sorted T(s), of an even number the mean of two.
#include "sim/step_draws.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include <algorithm>

#include "sim/simulate.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

scenario::Scenario on_tree(const std::string& routing) {
  return scenario::load_scenario(
      std::filesystem::path(source_dir) / "tests/data/scenarios/pipeline_alike.yaml",
      {{"cluster",
        "{node: dgx-h100, nodes: 16, fabric: {like: infiniband-ndr-fat-tree, radix: 16, routing: " + routing + "}}"},
       {"mesh", "{}"},
       {"parallel", "{fsdp: 128}"},
       {"pipeline", "{}"},
       {"batch", "{sequences: 128, sequence_length: 512, microbatches: 1}"}});
}

Simulation run(const scenario::Scenario& scenario, int draws) {
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.draws = draws;
  return simulate(scenario, options, log);
}

TEST(RoutingDraws, SortsItsTimes) {
  const StepDraws odd({Seconds(3), Seconds(1), Seconds(2)});
  EXPECT_EQ(odd.best(), Seconds(1));
  EXPECT_EQ(odd.median(), Seconds(2));
  EXPECT_EQ(odd.worst(), Seconds(3));
  EXPECT_EQ(StepDraws({Seconds(4), Seconds(1), Seconds(2), Seconds(3)}).median(), Seconds(2.5));
}

TEST(RoutingDraws, AreTheStepsUnderTheSeedsThatFollow) {
  const auto scenario = on_tree("ecmp");
  const auto simulation = run(scenario, 4);
  ASSERT_TRUE(simulation.routing_draws);
  EXPECT_EQ(simulation.routing_draws->count(), 4U);
  std::vector<Seconds> alone;
  for (std::uint64_t further = 0; further < 4; ++further)
    alone.push_back(run(with_routing_seed(scenario, further), 1).metrics.step_time);
  EXPECT_EQ(simulation.metrics.step_time, alone.front());
  EXPECT_EQ(simulation.routing_draws->best(), *std::min_element(alone.begin(), alone.end()));
  EXPECT_EQ(simulation.routing_draws->worst(), *std::max_element(alone.begin(), alone.end()));
  EXPECT_LT(simulation.routing_draws->best(), simulation.routing_draws->worst())
      << "the case is one without collisions";
}

TEST(RoutingDraws, ThereAreNoneWithoutAHash) {
  EXPECT_FALSE(run(on_tree("spray"), 4).routing_draws);
  EXPECT_FALSE(run(on_tree("ecmp"), 1).routing_draws) << "not asked for";
  auto one_node = on_tree("ecmp");
  one_node.cluster.units = 1;
  EXPECT_FALSE(is_hashed(one_node.cluster)) << "a single node has no network of switches";
}

}  // namespace
}  // namespace lockstep
