// Which stage runs what, and about how long. Ideal times: of a layer of two products F = I = W = 4 B D F / peak for the
// B tokens of a rank; a stage takes as long as its layers. Between stages: hops and the bytes of a layer's input.
#include <gmock/gmock.h>

#include "sim/preparation/preparation.hpp"
#include "tests/unit/scenario/small_scenario.hpp"
#include "workloads/pipeline/schedules/schedules.hpp"

namespace lockstep::test {
namespace {

using ::testing::ElementsAre;

constexpr double peak = 459e12;
constexpr double layer_s = 4.0 * 64 * 64 * 128 / peak;  ///< 8 sequences of 16 tokens in two microbatches: B = 64

preparation::PreparedStep piped(const Keys& more = {}) {
  Keys keys{{"parallel", "{pipeline: 4}"}, {"batch", "{sequences: 8, sequence_length: 16, microbatches: 2}"}};
  keys.insert(keys.end(), more.begin(), more.end());
  return preparation::prepare_step(small_scenario(keys));
}

// 6 layers on 4 stages: 1, 2, 2, 1.
TEST(PipelinePlacement, StagesTakeAsLongAsTheirLayers) {
  const auto pipeline = piped().pipeline;
  EXPECT_THAT(pipeline.first_block, ElementsAre(0, 1, 3, 5, 6));
  const int layers[] = {1, 2, 2, 1};
  ASSERT_EQ(pipeline.times.stages.size(), 4U);
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const auto& times = pipeline.times.stages[stage];
    EXPECT_DOUBLE_EQ(times.forward, layers[stage] * layer_s);
    EXPECT_DOUBLE_EQ(times.input_gradient, layers[stage] * layer_s);
    EXPECT_DOUBLE_EQ(times.weight_gradient, layers[stage] * layer_s);
  }
}

// 2 B x 64 tokens x 64 over a link of 90 GB/s, after a hop of 1 us: stages stand side by side on the ring.
TEST(PipelinePlacement, LatencyIsAHopAndALayersInput) {
  EXPECT_NEAR(piped().pipeline.times.latency, 1e-6 + 2.0 * 64 * 64 / 90e9, 1e-12);
}

TEST(PipelinePlacement, TheOrderIsTheSchedules) {
  for (const std::string name : {"gpipe", "1f1b", "zb-h1"}) {
    const auto pipeline = piped({{"pipeline", "{schedule: " + name + "}"}}).pipeline;
    workloads::ScheduleRequest request;
    request.name = name;
    request.ranks = 4;
    request.microbatches = 2;
    EXPECT_EQ(pipeline.order.to_string(), make_order(request).to_string());
  }
}

TEST(PipelinePlacement, LayersAsTheUserSays) {
  EXPECT_THAT(piped({{"pipeline", "{layers: [3, 1, 1, 1]}"}}).pipeline.first_block, ElementsAre(0, 3, 4, 5, 6));
}

// Embedding, 6 layers, a prediction module and a head on two ranks: four stages are two chunks of an interleaved order,
// whose virtual stage i is chunk i / 2 of rank i mod 2.
TEST(PipelinePlacement, ALayoutSaysWhatStandsOnEachStage) {
  const Keys keys{{"model",
                   "{layers: 6, d_model: 32, d_ff: 128, heads: 8, kv_heads: 4, head_size: 4, vocabulary: 96, "
                   "mtp_modules: 1}"},
                  {"parallel", "{pipeline: 2, data: 2}"},
                  {"pipeline", "{schedule: interleaved, layout: 'Et|t*5|m|L'}"}};
  const auto prepared = preparation::prepare_step(small_scenario(keys));
  EXPECT_EQ(prepared.pipeline.order.shape.chunks, 2);
  EXPECT_THAT(prepared.pipeline.first_block, ElementsAre(0, 2, 7, 8, 9));
  EXPECT_EQ(preparation::layout_of(prepared), "Et|t*5|m|L");
  EXPECT_THAT(prepared.pipeline.order.shape.virtual_stages_of(0), ElementsAre(0, 2));
}

TEST(PipelinePlacement, WithoutAPipelineMicrobatchesGoInTurn) {
  const auto pipeline =
      preparation::prepare_step(small_scenario({{"batch", "{sequences: 8, sequence_length: 16, microbatches: 2}"}}))
          .pipeline;
  EXPECT_EQ(pipeline.order.to_string(), "0F0,0B0,0F1,0B1\n");
  EXPECT_THAT(pipeline.first_block, ElementsAre(0, 6));
}

// The first two layers of each stage run their forward again: of the kinds embedding, layer, head (0 to 2) they are the
// second set (3 to 5). Their backward, I and W together, takes a forward longer, that of the others not.
TEST(PipelinePlacement, RecomputesTheFirstLayersOfEachStage) {
  const Keys keys{{"model", small_transformer},
                  {"parallel", "{pipeline: 2, data: 2}"},
                  {"training", "{recompute: {mode: full, layers: 2}}"}};
  const auto preparation = preparation::prepare_step(small_scenario(keys));
  EXPECT_EQ(preparation.model.layers.size(), 6U);
  EXPECT_THAT(preparation.pipeline.kinds, ElementsAre(0, 4, 4, 1, 4, 4, 1, 2));
  const auto kept = preparation::prepare_step(small_scenario({keys[0], keys[1]}));
  EXPECT_THAT(kept.pipeline.kinds, ElementsAre(0, 1, 1, 1, 1, 1, 1, 2));
  // Stage 0 has no head: its forward are its three layers'. Stage 1 has the same layers.
  const double layer = kept.pipeline.times.stages[0].forward / 3;
  for (std::size_t stage = 0; stage < 2; ++stage) {
    const auto& again = preparation.pipeline.times.stages[stage];
    const auto& once = kept.pipeline.times.stages[stage];
    EXPECT_DOUBLE_EQ(again.forward, once.forward);
    const double longer = again.input_gradient + again.weight_gradient - once.input_gradient - once.weight_gradient;
    EXPECT_NEAR(longer, 2 * layer, 1e-9 * layer);
  }
}

// Early stages hold activations longer: three layers of the first stage run again, and none of the second.
TEST(PipelinePlacement, RecomputesOtherLayersOnEachStage) {
  const auto preparation =
      preparation::prepare_step(small_scenario({{"model", small_transformer},
                                                {"parallel", "{pipeline: 2, data: 2}"},
                                                {"training", "{recompute: {mode: full, layers: [3, 0]}}"}}));
  EXPECT_THAT(preparation.pipeline.kinds, ElementsAre(0, 4, 4, 4, 1, 1, 1, 2));
}

TEST(PipelinePlacement, MistakesStandAtTheirKeys) {
  EXPECT_EQ(refused([] { (void)piped({{"pipeline", "{schedule: dualpipe}"}}); }).substr(0, 19), "batch.microbatches:");
  EXPECT_EQ(refused([] {
              (void)piped({{"pipeline", "{schedule: 1f1b, group: 4}"}});
            }),
            "pipeline.group: '1f1b' has no group size [a group with interleaved or overlap-1f1b only]");
  EXPECT_EQ(refused([] {
              (void)piped({{"pipeline", "{layers: [2, 2, 2]}"}});
            }),
            "pipeline.layers: 3 numbers for 4 stages [one number of layers per stage, in forward order]");
  EXPECT_EQ(refused([] {
              (void)piped({{"model", "{type: two-matmul, layers: 3, d_model: 64, d_ff: 128}"}});
            }),
            "parallel.pipeline: 4 stages for the model's 3 layers [fewer stages (pipeline x chunks)]");
}

}  // namespace
}  // namespace lockstep::test
