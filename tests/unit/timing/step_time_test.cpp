// The time of a step alone, with steps joined and repeated periods counted instead of simulated, is that of the whole
// step, simulated operation by operation on links shared max-min.
#include "sim/timing/step_time.hpp"

#include <gtest/gtest.h>
#include <spdlog/logger.h>

#include "sim/program/fold.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

scenario::Scenario scenario(const std::string& file, const std::vector<scenario::KeyOverride>& overrides) {
  return load_scenario(std::filesystem::path(source_dir) / "tests/data/scenarios" / file, overrides);
}

double timed(const scenario::Scenario& scenario, engine::EngineKind engine = engine::EngineKind::max_min) {
  spdlog::logger silent("test");
  const preparation::PreparedStep prepared = preparation::prepare_step(scenario);
  return timing::step_time(scenario, prepared.machine, prepared.model, timing::joined_layers(scenario, prepared.model),
                           engine, silent)
      .value();
}

double simulated(const scenario::Scenario& scenario, engine::EngineKind engine = engine::EngineKind::max_min) {
  spdlog::logger silent("test");
  const preparation::PreparedStep prepared = preparation::prepare_step(scenario);
  const program::FoldedProgram folded = fold(lower_with_perturbations(scenario, prepared));
  return engine::run(folded.program, {engine, {}, false}, silent).timeline.makespan().value();
}

scenario::Scenario alike(std::int32_t microbatches, const std::string& pipeline = "{schedule: 1f1b}") {
  return scenario("pipeline_alike.yaml", {{"batch.sequences", std::to_string(8 * microbatches)},
                                          {"batch.microbatches", std::to_string(microbatches)},
                                          {"pipeline", pipeline}});
}

// Four stages of two layers, M microbatches of B = 8 x 512 tokens. A layer's forward is two products of 2 B D F FLOPs
// at C = 1e14, its backward twice that; nothing else takes noticeable time:
//   T = (M + P - 1) (f + b),   f + b = 3 x 2 x 4 B D F / C.
// With M = 1000 only a few of the microbatches are simulated.
TEST(StepTime, OfStagesAllAlikeIsTheClosedForm) {
  const double each = 3 * 2 * 4 * (8.0 * 512) * 1024 * 4096 / 1e14;
  for (const std::int32_t microbatches : {1, 4, 8, 9, 64, 1000}) {
    const double expected = (microbatches + 4 - 1) * each;
    EXPECT_NEAR(timed(alike(microbatches)), expected, 1e-4 * expected) << microbatches;
  }
}

// Schedules that repeat, those that do not, those that split backwards and those that put work off.
TEST(StepTime, IsThatOfTheWholeStepWhateverTheSchedule) {
  for (const char* schedule : {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "dualpipe-v", "naive"}) {
    for (const std::int32_t microbatches : {8, 40}) {
      const scenario::Scenario one = alike(microbatches, std::string("{schedule: ") + schedule + "}");
      const double whole = simulated(one);
      EXPECT_NEAR(timed(one), whole, 1e-9 * whole) << schedule << ", " << microbatches;
    }
  }
}

// Layouts whose collectives share links with the pipeline's transfers, so that the steady state is one of contention;
// uneven stages; slow chips; and the rooflines of memory.
TEST(StepTime, IsThatOfTheWholeStepWhereLinksAreShared) {
  const std::vector<std::vector<scenario::KeyOverride>> layouts{
      {{"cluster", "tpu-v5p:4x2"}, {"mesh", "{fsdp: [y], pipeline: [x]}"}, {"parallel", "{pipeline: 4, fsdp: 2}"}},
      {{"cluster", "tpu-v5p:4x4"}, {"mesh", "{tensor: [y], pipeline: [x]}"}, {"parallel", "{pipeline: 4, tensor: 4}"}},
      {{"cluster", "tpu-v5p:8"},
       {"mesh", "{pipeline: [x/4], data: rest}"},
       {"parallel", "{pipeline: 4, data: 2, zero: 2}"}},
      {{"cluster", "{node: dgx-h100, nodes: 4}"},
       {"mesh", "{pipeline: [node], fsdp: [gpu]}"},
       {"parallel", "{pipeline: 4, fsdp: 8}"}},
      {{"cluster", "tpu-v5p:4x2"},
       {"mesh", "{fsdp: [y], pipeline: [x]}"},
       {"parallel", "{pipeline: 4, fsdp: 2}"},
       {"model.layers", "7"}},
  };
  for (auto overrides : layouts) {
    overrides.push_back({"batch", "{sequences: 320, sequence_length: 512, microbatches: 40}"});
    std::string text;
    for (const auto& [key, value] : overrides) text += key + "=" + value + " ";
    const scenario::Scenario one = scenario("pipeline_alike.yaml", overrides);
    const double whole = simulated(one);
    EXPECT_NEAR(timed(one), whole, 1e-9 * whole) << text;
  }
}

// Without a pipeline one rank runs microbatch after microbatch; on the reference engine collectives take closed forms.
TEST(StepTime, NeedsNoPipelineAndServesTheReferenceEngine) {
  for (const char* microbatches : {"1", "2", "32"}) {
    const scenario::Scenario one = scenario(
        "validation_grid_two_matmul.yaml",
        {{"parallel", "{fsdp: 4}"},
         {"batch", "{sequences: 128, sequence_length: 512, microbatches: " + std::string(microbatches) + "}"}});
    for (const engine::EngineKind engine : {engine::EngineKind::max_min, engine::EngineKind::reference}) {
      const double whole = simulated(one, engine);
      EXPECT_NEAR(timed(one, engine), whole, 1e-9 * whole) << microbatches << ' ' << name(engine);
    }
  }
}

// Joined layers have fewer steps, and as many layers as before.
TEST(JoinedLayers, AreFewerStepsForEachLayer) {
  const scenario::Scenario one = scenario("validation_grid_transformer.yaml", {{"parallel", "{fsdp: 4}"}});
  const preparation::PreparedStep prepared = preparation::prepare_step(one);
  const auto joined = timing::joined_layers(one, prepared.model);
  ASSERT_EQ(joined.size(), prepared.model.layers.size());
  for (std::size_t i = 0; i < joined.size(); ++i) {
    EXPECT_LE(joined[i].forward.size(), prepared.model.layers[i].forward.size());
    EXPECT_EQ(joined[i].name, prepared.model.layers[i].name);
    if (joined[i].is_layer) {
      EXPECT_LT(joined[i].forward.size(), prepared.model.layers[i].forward.size());
    }
  }
}

}  // namespace
}  // namespace lockstep
