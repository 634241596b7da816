// Which blocks stand on which stage. L layers on S stages: ceil(L / S) each, and one less, as often as that is too
// many, on the last stage, the first, the last but one, the second, ... What is before the layers goes to the first
// stage, what is after them to the last.
#include <gmock/gmock.h>

#include <numeric>

#include "workloads/step/step_pipeline.hpp"

namespace lockstep {
namespace {

using ::testing::ElementsAre;

std::vector<bool> blocks(int before, int layers, int after) {
  std::vector<bool> is_layer(static_cast<std::size_t>(before), false);
  is_layer.insert(is_layer.end(), static_cast<std::size_t>(layers), true);
  is_layer.insert(is_layer.end(), static_cast<std::size_t>(after), false);
  return is_layer;
}

std::string refused(const std::vector<bool>& is_layer, std::int32_t stages,
                    const std::vector<std::int64_t>& layers = {}) {
  const auto split = workloads::split_layers(is_layer, stages, layers);
  return split.what + " [" + split.expected + "]";
}

// An embedding, 5 layers and a head on 4 stages: 2 each is 3 too many, so the last, the first and the last but one have
// one less: 1, 2, 1, 1.
TEST(SplitLayers, SparesTheEndsFirst) {
  EXPECT_THAT(workloads::split_layers(blocks(1, 5, 1), 4, {}).first_block, ElementsAre(0, 2, 4, 5, 7));
  EXPECT_THAT(workloads::split_layers(blocks(1, 6, 1), 4, {}).first_block, ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(workloads::split_layers(blocks(1, 7, 1), 4, {}).first_block, ElementsAre(0, 3, 5, 7, 9));
  EXPECT_THAT(workloads::split_layers(blocks(1, 8, 1), 4, {}).first_block, ElementsAre(0, 3, 5, 7, 10));
  EXPECT_THAT(workloads::split_layers(blocks(0, 8, 0), 4, {}).first_block, ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(workloads::split_layers(blocks(1, 3, 3), 1, {}).first_block, ElementsAre(0, 7));
}

// Fewer layers than stages, but not than blocks: the embedding and the head are enough for a stage.
TEST(SplitLayers, AnEmbeddingOrAHeadIsEnoughForAStage) {
  EXPECT_THAT(workloads::split_layers(blocks(1, 2, 1), 4, {}).first_block, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(workloads::split_layers(blocks(0, 2, 1), 3, {}).first_block, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(refused(blocks(1, 2, 1), 5), "5 stages for the model's 2 layers [fewer stages (pipeline x chunks)]");
  EXPECT_EQ(refused(blocks(2, 2, 0), 4),
            "stage 3 of 4 would hold nothing: the model has 2 layers "
            "[fewer stages (pipeline x chunks), or layers on every stage]");
}

TEST(SplitLayers, AsTheUserSays) {
  EXPECT_THAT(workloads::split_layers(blocks(1, 6, 1), 3, {1, 4, 1}).first_block, ElementsAre(0, 2, 6, 8));
  EXPECT_THAT(workloads::split_layers(blocks(1, 6, 1), 3, {0, 6, 0}).first_block, ElementsAre(0, 1, 7, 8));
  EXPECT_EQ(refused(blocks(1, 6, 1), 3, {3, 3}),
            "2 numbers for 3 stages [one number of layers per stage, in forward order]");
  EXPECT_EQ(refused(blocks(1, 6, 1), 3, {3, 3, 1}),
            "the stages' layers add up to 7, the model has 6 [numbers that add up to 6]");
  EXPECT_EQ(refused(blocks(1, 6, 1), 3, {3, 0, 3}),
            "stage 1 of 3 would hold nothing: the model has 6 layers "
            "[fewer stages (pipeline x chunks), or layers on every stage]");
}

// In every size all blocks stand in order and on one stage each, the numbers of layers differ by one at most, and the
// stages in the middle have at least as many as the ends.
TEST(SplitLayers, AreAsEvenAsTheyCome) {
  int split_ones = 0;
  for (int before = 0; before <= 2; ++before) {
    for (int after = 0; after <= 2; ++after) {
      for (int layers = 1; layers <= 17; ++layers) {
        for (std::int32_t stages = 1; stages <= 9; ++stages) {
          const auto is_layer = blocks(before, layers, after);
          const auto split = workloads::split_layers(is_layer, stages, {});
          ASSERT_TRUE(layers < stages || split.what.empty()) << layers << " on " << stages;
          if (!split.what.empty()) continue;
          ++split_ones;
          ASSERT_EQ(std::ssize(split.first_block), stages + 1);
          ASSERT_EQ(split.first_block.front(), 0);
          ASSERT_EQ(split.first_block.back(), std::ssize(is_layer));
          std::vector<int> of_stage;
          for (std::size_t stage = 0; stage < static_cast<std::size_t>(stages); ++stage) {
            const auto first = is_layer.begin() + split.first_block[stage];
            const auto last = is_layer.begin() + split.first_block[stage + 1];
            ASSERT_LT(first, last) << "a stage without blocks";
            of_stage.push_back(static_cast<int>(std::count(first, last, true)));
          }
          ASSERT_EQ(std::accumulate(of_stage.begin(), of_stage.end(), 0), layers);
          const auto [least, most] = std::minmax_element(of_stage.begin(), of_stage.end());
          ASSERT_LE(*most - *least, 1);
          for (std::size_t i = 1; i + 1 < of_stage.size(); ++i)
            ASSERT_GE(of_stage[i], std::min(of_stage.front(), of_stage.back())) << "the middle has at least as many";
        }
      }
    }
  }
  EXPECT_GT(split_ones, 1000);
}

TEST(StepPipeline, FindsTheStageOfEachBlock) {
  workloads::StepPipeline pipeline;
  pipeline.first_block = {0, 2, 3, 7};
  std::vector<std::int32_t> stages;
  for (int block = 0; block < 7; ++block) stages.push_back(pipeline.stage_of_block(block));
  EXPECT_THAT(stages, ElementsAre(0, 0, 1, 2, 2, 2, 2));
  EXPECT_EQ(pipeline.blocks_of(0), 2);
  EXPECT_EQ(pipeline.blocks_of(1), 1);
  EXPECT_EQ(pipeline.blocks_of(2), 4);
}

TEST(StepPipeline, OfOneStageTakesMicrobatchesInTurn) {
  const auto pipeline = workloads::single_stage(5, 3);
  EXPECT_THAT(pipeline.first_block, ElementsAre(0, 5));
  EXPECT_EQ(pipeline.order.to_string(), "0F0,0B0,0F1,0B1,0F2,0B2\n");
  EXPECT_EQ(pipeline.order.shape.virtual_stages(), 1);
}

/// A backward step that computes.
workloads::BlockStep computes(std::vector<int> after, double flops) {
  workloads::BlockStep step;
  step.flops = Flops(flops);
  step.after = std::move(after);
  return step;
}

// 0 is a gradient that arrives, 1 and 4 lead to the input's gradient, 2 and 3 make a weight's. Step 5 copies what 0
// left (no work at all), and so does 6, but it also reads the forward.
TEST(StepsOfInputGradient, AreThoseItWaitsForAndCopiesMadeWithThem) {
  workloads::ShardedLayer block;
  block.backward = {computes({workloads::BlockStep::outside}, 1),
                    computes({0}, 1),
                    computes({0}, 1),
                    computes({2}, 1),
                    computes({1}, 1),
                    computes({0}, 0),
                    computes({0}, 0),
                    computes({2}, 0)};
  block.backward[6].saved = {3};
  block.input_gradient_steps = {4, workloads::BlockStep::outside};
  EXPECT_THAT(steps_of_input_gradient(block), ElementsAre(true, true, false, false, true, true, false, false));
  block.backward[5].given_time = Seconds(0);
  EXPECT_FALSE(steps_of_input_gradient(block)[5]) << "measured operations are no copies";
  block.backward[5].given_time.reset();
  block.backward[5].traffic = Bytes(1);
  EXPECT_FALSE(steps_of_input_gradient(block)[5]);
}

std::string laid_out(const std::vector<bool>& is_layer, const workloads::PipelineLayout& layout) {
  const auto split = workloads::split_by_layout(is_layer, layout);
  return split.what + " [" + split.expected + "]";
}

// The blocks of a layout stand one behind the other: embedding, 6 layers, a prediction module and a head.
TEST(SplitLayers, AsALayoutSays) {
  const auto model = blocks(1, 6, 2);
  EXPECT_THAT(workloads::split_by_layout(model, {"Ett", "tt", "tt", "m", "L"}).first_block,
              ElementsAre(0, 3, 5, 7, 8, 9));
  EXPECT_THAT(workloads::split_by_layout(model, {"E", "tttttt", "mL"}).first_block, ElementsAre(0, 1, 7, 9));
  EXPECT_THAT(workloads::split_by_layout(blocks(0, 2, 0), {"t", "t"}).first_block, ElementsAre(0, 1, 2));
  EXPECT_EQ(workloads::layout_of(model, {0, 3, 8, 9}), (workloads::PipelineLayout{"Ett", "ttttm", "L"}));
}

TEST(SplitLayers, RefusesALayoutThatIsNotTheModels) {
  const std::string letters =
      " [one letter for each part of the model: E embedding, t layer, m prediction module, L loss]";
  EXPECT_EQ(laid_out(blocks(1, 6, 2), {"Ett", "tt", "tL"}),
            "the layout has 5 t, no m; the model has 6 t, 1 m" + letters);
  EXPECT_EQ(laid_out(blocks(1, 2, 1), {"EEt", "tLL"}), "the layout has 2 E, 2 L; the model has 1 E, 1 L" + letters);
  EXPECT_EQ(laid_out(blocks(0, 2, 0), {"Et", "t"}), "the layout has 1 E; the model has no E" + letters);
  EXPECT_EQ(laid_out(blocks(1, 2, 2), {"Et", "mt", "L"}), "'m' is out of order on stage 1 [E first, then t, m and L]");
  EXPECT_EQ(laid_out(blocks(1, 2, 1), {"Et", "", "tL"}), "stage 1 of 3 holds nothing [a letter between two bars]");
}

}  // namespace
}  // namespace lockstep
