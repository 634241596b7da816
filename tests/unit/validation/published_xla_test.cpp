// What XLA hides on GPUs, in the rows of MaxText and Pax of tests/validation/data, which name their sources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "sim/studies/validation/ablation.hpp"
#include "sim/studies/validation/published_private.hpp"
#include "tests/unit/validation/published_rows.hpp"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

// XLA that was given no profile hides no reductions of MaxText's unrolled layers, and in a loop over layers nothing
// beyond an iteration. DGX Cloud's MaxText profiles a first run. JAX had cuDNN 8 until May 2024.
TEST(PublishedTables, XlaWithoutAProfileHidesLittle) {
  for (const auto& run : runs_of("maxtext_gpu_a3")) {
    EXPECT_EQ(run.value_of("communication.gradient_buckets"), "1 TB") << run.name;
    EXPECT_EQ(run.value_of("training.attention_kernel"), "flash-attention-2") << run.name;
  }
  const auto runs = runs_of("jax_gpu");
  const auto unrolled = first(runs, "Llama2-7B, dgx-h100"), loop = first(runs, "Llama3.1-70B, dgx-h200");
  EXPECT_EQ(unrolled.step.prefetch, 1);
  EXPECT_TRUE(unrolled.step.gradient_buckets.reaches_over_layers());
  EXPECT_EQ(loop.step.prefetch, 0);
  EXPECT_EQ(loop.step.reductions_in_flight, 0);
  EXPECT_TRUE(loop.step.gradient_buckets.ends_with_layer());
  EXPECT_EQ(loop.training.attention_kernel, "cudnn-9.0");
  const auto profiled = first(runs_of("dgxc_benchmarking"), "llama-2-70b, H100, bf16");
  EXPECT_EQ(profiled.step.prefetch, 1);
  EXPECT_TRUE(profiled.step.gradient_buckets.ends_with_layer());
}

// That effect can be taken away where a row has it, and nothing is changed where it has not.
TEST(PublishedTables, CollectivesThatNothingHidesAreAnEffect) {
  const auto& effects = validation::model_effects();
  const auto effect = std::find_if(effects.begin(), effects.end(), [](const auto& each) {
    return std::string_view(each.name) == "gathers and reductions that nothing hides";
  });
  ASSERT_NE(effect, effects.end());
  const auto runs = runs_of("jax_gpu");
  for (const auto* family : {"Llama2-7B, dgx-h100", "Llama3.1-70B, dgx-h200"}) {
    auto scenario = first(runs, family);
    EXPECT_TRUE(effect->without(scenario)) << family;
    EXPECT_EQ(scenario.step.prefetch, 1);
    EXPECT_EQ(scenario.step.reductions_in_flight, 1);
    EXPECT_TRUE(scenario.step.gradient_buckets.ends_with_layer());
    EXPECT_FALSE(effect->without(scenario)) << "a second time";
  }
}

// Pax's 5B of 24 layers, d = 4096: 24 (12 d^2 + 13 d) + (50,304 + 2,048) d + 2 d = 5.0476e9. 8 sequences on each of 256
// chips at 594.13 a second: 3.447 s. Where products are kept attention runs again, since it is none of them.
TEST(PublishedTables, JaxGpu) {
  const auto runs = runs_of("jax_gpu");
  const auto& pax = runs.at(5);
  EXPECT_EQ(pax.family, "Pax GPT3-5B, dgx-a100, bf16");
  EXPECT_NEAR(static_cast<double>(count_parameters(scenario_of(pax, ".").model).total()), 5.0476e9, 1e5);
  EXPECT_NEAR(pax.time->value, 2048 / 594.13, 1e-9);
  EXPECT_EQ(pax.value_of("training.recompute.parts"), "[core_attention, norms, activations]");
  EXPECT_EQ(runs.at(0).value_of("training.recompute.parts"), "[norms, activations]");
  EXPECT_EQ(axis(scenario_of(runs.at(1), "."), "data"), 32);
  EXPECT_THAT(runs.at(2).value_of("training.recompute.kept"), HasSubstr("attention, attention output"));
  EXPECT_EQ(runs.at(3).value_of("training.recompute.kept"), "[down projection]");
}

}  // namespace
}  // namespace lockstep
