// The literature's bubble at the mean times of a scenario's stages: 1F1B's is (P - 1)(F + I + W).
#include "tools/output/results/expected_bubble.hpp"

#include <gmock/gmock.h>

#include "tests/unit/trace/simulated.hpp"

namespace lockstep {
namespace {

// Four stages of two layers, eight microbatches of 8 x 512 tokens: F = 2 layers x 2 x 2 B D F / C, I and W as much, so
// the bubble is 3 x 3 x 4 x 2 x 4096 x 1024 x 4096 / 1e14 FLOP/s = 12.37 ms, and the simulated one as long but for
// the memory traffic beside the products.
TEST(ExpectedBubbleTest, OfStagesThatAreAlike) {
  const Simulated pipeline("pipeline_alike.yaml");
  const auto bubble = output::expected_bubble(pipeline.scenario, pipeline.simulation);
  ASSERT_TRUE(bubble);
  EXPECT_NEAR(bubble->times.forward, 4 * 2.0 * 4096 * 1024 * 4096 / 1e14, 0.02 * bubble->times.forward);
  EXPECT_NEAR(bubble->form.value,
              3 * (bubble->times.forward + bubble->times.input_gradient + bubble->times.weight_gradient), 1e-12);
  EXPECT_TRUE(bubble->form.applies);
  double worst = 0;
  for (const auto& stage : pipeline.simulation.metrics.stages)
    worst = std::max(worst, stage.idle.step_bubble().value());
  EXPECT_NEAR(bubble->form.value, worst, 1e-3 * worst);
}

// One stage twice as slow forwards: the form takes the mean, 5/4 of F, and says that it does not apply.
TEST(ExpectedBubbleTest, OfStagesThatDiffer) {
  Simulated pipeline("pipeline_alike.yaml");
  const auto even = output::expected_bubble(pipeline.scenario, pipeline.simulation);
  pipeline.simulation.preparation.pipeline.times.stages[2].forward *= 2;
  const auto uneven = output::expected_bubble(pipeline.scenario, pipeline.simulation);
  ASSERT_TRUE(even && uneven);
  EXPECT_NEAR(uneven->times.forward, 1.25 * even->times.forward, 1e-12);
  EXPECT_NEAR(uneven->form.value - even->form.value, 3 * 0.25 * even->times.forward, 1e-12);
  EXPECT_FALSE(uneven->form.applies);
  EXPECT_THAT(uneven->form.conditions, testing::HasSubstr("all stages are alike"));
}

TEST(ExpectedBubbleTest, NoneWithoutAPipelineOrForAnOrderOfOnesOwn) {
  const Simulated flat("small.yaml");
  EXPECT_FALSE(output::expected_bubble(flat.scenario, flat.simulation));
  Simulated pipeline("pipeline_alike.yaml");
  pipeline.scenario.pipeline.file = "order.csv";
  EXPECT_FALSE(output::expected_bubble(pipeline.scenario, pipeline.simulation));
}

}  // namespace
}  // namespace lockstep
