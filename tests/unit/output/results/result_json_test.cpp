// result.json adds up: the breakdown of a rank, the idle times of a stage, the parts of memory and those of the
// critical path.
#include "tools/output/results/result_json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/output/hostile_name.hpp"
#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

using nlohmann::json;

json read(const Simulated& simulated, output::WallTimes times = output::WallTimes::hidden) {
  return json::parse(result_json(simulated.scenario, simulated.simulation, times));
}

double sum(const json& object) {
  double all = 0;
  for (const auto& value : object) all += value.get<double>();
  return all;
}

class ResultJson : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Output, ResultJson, testing::Values("small.yaml", "pipeline_alike.yaml", "trace_fsdp.yaml"),
                         [](const auto& test) {
                           const std::string file = test.param;
                           return file.substr(0, file.find('.'));
                         });

TEST_P(ResultJson, TimesAddUp) {
  const Simulated simulated(GetParam());
  const auto result = read(simulated);
  const double step = result["step_time_s"];
  EXPECT_EQ(step, simulated.simulation.metrics.step_time.value());
  EXPECT_NEAR(sum(result["breakdown"]), step, 1e-9 * step);
  double exposed = 0, path = 0;
  for (const auto& use : result["comm"]) {
    EXPECT_LE(use["exposed_s"].get<double>(), use["busy_s"].get<double>() * (1 + 1e-9));
    exposed += use["exposed_s"].get<double>();
  }
  EXPECT_NEAR(exposed, result["breakdown"]["exposed_comm_s"], 1e-9 * step);
  for (const auto& part : result["critical_path"]["parts"]) path += part["time_s"].get<double>();
  EXPECT_NEAR(path, step, 1e-9 * step);
  for (const auto& stage : result["stages"]) {
    EXPECT_NEAR(sum(stage["breakdown"]), step, 1e-9 * step);
    EXPECT_NEAR(sum(stage["idle"]) + stage["breakdown"]["compute_s"].get<double>(), step, 1e-9 * step);
  }
}

TEST_P(ResultJson, MemoryAddsUp) {
  const auto result = read(Simulated(GetParam()));
  std::int64_t fullest = 0;
  for (const auto& stage : result["stages"]) {
    const auto& memory = stage["memory"];
    std::int64_t parts = 0, activations = 0;
    for (const auto* kind : {"weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes", "other_bytes"})
      parts += memory[kind].get<std::int64_t>();
    EXPECT_EQ(parts, memory["peak_bytes"]);
    EXPECT_EQ(memory["spare_bytes"].get<std::int64_t>(),
              memory["capacity_bytes"].get<std::int64_t>() - memory["peak_bytes"].get<std::int64_t>());
    for (const auto& block : memory["activations_by_block"]) activations += block["bytes"].get<std::int64_t>();
    EXPECT_EQ(activations, memory["activations_bytes"]);
    fullest = std::max(fullest, memory["peak_bytes"].get<std::int64_t>());
  }
  EXPECT_EQ(result["memory"]["peak_bytes"], fullest);
}

TEST_P(ResultJson, RanksAndUtilisation) {
  const auto result = read(Simulated(GetParam()));
  std::int64_t ranks = 0, mesh = 1;
  for (const auto& stage : result["stages"]) ranks += stage["ranks"].get<std::int64_t>();
  for (const auto& axis : result["mesh"]) mesh *= axis["size"].get<std::int64_t>();
  EXPECT_EQ(ranks, result["chips"]);
  EXPECT_EQ(mesh, result["chips"]);
  EXPECT_GT(result["mfu"], 0);
  EXPECT_LE(result["mfu"], result["hfu"]);
  EXPECT_LE(result["hfu"], 1);
  for (const auto* share : {"bubble_fraction_step", "bubble_fraction_span"}) {
    EXPECT_GE(result["pipeline"][share], 0);
    EXPECT_LT(result["pipeline"][share], 1);
  }
  EXPECT_LE(result["pipeline"]["bubble_fraction_span"], result["pipeline"]["bubble_fraction_step"]);
}

// The clock's times are the only ones in which two equal runs differ.
TEST_P(ResultJson, TwoRunsAreAlikeToTheByte) {
  const Simulated once(GetParam()), again(GetParam());
  EXPECT_EQ(result_json(once.scenario, once.simulation, output::WallTimes::hidden),
            result_json(again.scenario, again.simulation, output::WallTimes::hidden));
  EXPECT_TRUE(read(once)["engine"]["wall_s"].is_null());
  EXPECT_TRUE(read(once, output::WallTimes::shown)["engine"]["wall_s"].is_number());
  EXPECT_TRUE(read(once, output::WallTimes::shown)["engine"]["fold_wall_s"].is_number());
}

TEST(ResultJsonNames, OfAnyKind) {
  Simulated simulated("small.yaml");
  simulated.scenario.name = test::hostile_name;
  EXPECT_EQ(read(simulated)["scenario"], test::hostile_name);
  simulated.scenario.name = "not UTF-8: \xff";
  EXPECT_EQ(read(simulated)["scenario"], "not UTF-8: \xef\xbf\xbd");
}

TEST(ResultJsonElasticity, IsNullUnlessAskedFor) {
  Simulated simulated("small.yaml");
  EXPECT_TRUE(read(simulated)["elasticity"].is_null());
  simulated.simulation.elasticity = {{"compute rate", -0.5, true}, {"latency", 0.25, false}};
  EXPECT_EQ(read(simulated)["elasticity"],
            (json{{{"parameter", "compute rate"}, {"value", -0.5}}, {{"parameter", "latency"}, {"value", 0.25}}}));
}

}  // namespace
}  // namespace lockstep
