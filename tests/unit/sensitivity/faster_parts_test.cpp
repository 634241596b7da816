// The cables and switches that a step uses most, twice as fast: the saving is that of the same network with faster
// cables in its file. Hosts gpu1 and gpu2 on leaf1, gpu3 and gpu4 on leaf2, two spines with slow cables.
#include "sim/studies/sensitivity/faster_parts.hpp"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "sim/studies/sensitivity/elasticity.hpp"
#include "tests/source_dir.hpp"
#include "tests/unit/scenario/small_scenario.hpp"

namespace lockstep {
namespace {

scenario::Scenario with_uplinks(double part) {
  const std::string file = std::string(source_dir) + "/tests/data/networks/two_leaves.csv";
  auto scenario = test::small_scenario({{"model", "{type: two-matmul, layers: 2, d_model: 4096, d_ff: 8192}"},
                                        {"cluster", "{graph: '" + file + "', node: {like: dgx-h100, chips: 1}}"},
                                        {"parallel", "{}"},
                                        {"mesh", "{data: rest}"}});
  auto& given = std::get<topologies::GivenNetwork>(scenario.cluster.fabric.kind);
  auto graph = std::make_shared<topologies::NetworkGraph>(*given.graph);
  for (auto& cable : graph->cables) {
    if (std::holds_alternative<topologies::SwitchEnd>(cable.from)) cable.rate = *cable.rate * part;
  }
  given.graph = std::move(graph);
  return scenario;
}

TEST(FasterParts, SaveWhatFasterCablesInTheFileDo) {
  spdlog::logger log("quiet");
  SimulateOptions options;
  options.engine = engine::EngineKind::max_min;
  options.record_phases = true;
  const auto slow = with_uplinks(0.05);
  const auto whole = sensitivity::simulate_with_elasticity(slow, options, log);
  const auto parts = sensitivity::faster_parts(slow, whole, log);
  const double twice = simulate(with_uplinks(0.1), options, log).metrics.step_time / whole.metrics.step_time;
  ASSERT_FALSE(parts.empty());
  EXPECT_GT(parts.front().gain, 0.1);
  EXPECT_NEAR(parts.front().gain, 1 - twice, 1e-6);
  bool names_uplinks = false;
  for (const auto& part : parts) {
    names_uplinks = names_uplinks || part.name == "leaf1 - spine1 and 1 more";
    if (part.name.starts_with("gpu")) {
      EXPECT_LT(part.gain, 1e-6) << "a NIC waits for the uplinks";
    }
    EXPECT_LE(part.used, 1);
  }
  EXPECT_TRUE(names_uplinks);
}

}  // namespace
}  // namespace lockstep
