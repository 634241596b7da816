// Every machine of the shipped catalog runs a step: each node as two of them on its usual network, each chip of a torus
// as a small slice. The time is at least that of the chips' peak rate, and a network adds to it.
#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/simulate.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

metrics::Metrics metrics_on(const std::string& cluster, std::int64_t chips) {
  const auto scenario =
      test::small_scenario({{"model", "{type: two-matmul, layers: 2, d_model: 2048, d_ff: 8192}"},
                            {"cluster", cluster},
                            {"parallel", "{data: " + std::to_string(chips) + "}"},
                            {"batch", "{sequences: " + std::to_string(chips) + ", sequence_length: 256}"}});
  spdlog::logger log("test");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  return simulate(scenario, options, log).metrics;
}

void expect_a_step(const std::string& cluster, std::int64_t chips) {
  SCOPED_TRACE(cluster);
  const auto metrics = metrics_on(cluster, chips);
  EXPECT_EQ(metrics.chips, chips);
  EXPECT_GT(metrics.step_time, metrics.model_flops / (metrics.peak * static_cast<double>(chips)));
  EXPECT_LE(metrics.memory.peak, metrics.memory.capacity);
}

TEST(CatalogMachines, EveryNodeRuns) {
  const auto catalog = scenario::data_root() / "topologies/catalog";
  ASSERT_GE(topologies::node_names(catalog).size(), 20u);
  for (const auto& name : topologies::node_names(catalog)) {
    Problems problems;
    const auto node = topologies::load_node(catalog, name, problems);
    problems.throw_if_any();
    expect_a_step("{node: " + name + ", nodes: 2}", 2 * node.chips);
  }
}

TEST(CatalogMachines, EveryTorusRuns) {
  const auto catalog = scenario::data_root() / "topologies/catalog";
  for (const auto& name : topologies::chip_names(catalog)) {
    Problems problems;
    const auto chip = topologies::load_chip(catalog, name, problems);
    problems.throw_if_any();
    if (!chip.torus) continue;
    expect_a_step("{chip: " + name + ", shape: " + (chip.torus->pod.size() == 2 ? "[4, 4]" : "[4, 4, 1]") + "}", 16);
  }
}

}  // namespace
}  // namespace lockstep
