// What is wrong with a recipe is told at its option, in one line each, also where only the machine shows it.
#include <gmock/gmock.h>

#include "tests/unit/recipes/recipe_files.hpp"

namespace lockstep::test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

const std::string shape =
    "--num-layers 8 --hidden-size 512 --num-attention-heads 8 --micro-batch-size 1 --seq-length 128 --vocab-size 1024 "
    "--bf16 --global-batch-size 64 ";

std::string of_megatron(const std::string& more, const std::string& cluster = "h100:1") {
  recipes::RecipeRequest request;
  request.cluster = cluster;
  return refusal(shape + more, request);
}

// 3 x 2 ranks do not divide 8 chips.
TEST(RefusedRecipe, DegreesThatDoNotMakeUpTheMachine) {
  EXPECT_EQ(
      of_megatron("\\\n  --tensor-model-parallel-size 3 --pipeline-model-parallel-size 2"),
      "recipe:2:34: --pipeline-model-parallel-size: tensor 3 x context 1 x pipeline 2 = 6 ranks do not divide the "
      "machine's 8 chips; expected a --cluster with a multiple of 6 chips\n");
}

// 64 sequences on 16 replicas are 4 microbatches of 1; 48 replicas do not divide them.
TEST(RefusedRecipe, ABatchThatDoesNotDivide) {
  EXPECT_EQ(of_megatron("", "h100:2"), "");
  EXPECT_THAT(
      of_megatron("", "h100:6"),
      HasSubstr("--global-batch-size: 64 sequences are no whole number of microbatches of 1 on each of 48 replicas"));
}

// Eight layers, of which the layout has seven: found when the pipeline is placed, told at the option.
TEST(RefusedRecipe, ALayoutOfAnotherModel) {
  EXPECT_THAT(of_megatron("\\\n--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*4|t*3L'"),
              AllOf(StartsWith("recipe:2:34: --pipeline-model-parallel-layout: the layout has 7 t; the model has 8 t"),
                    HasSubstr("(pipeline.layout)")));
  EXPECT_THAT(of_megatron("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et*4|x'"),
              HasSubstr("'x' is no part of a layout"));
}

// Every problem at once, each at its place.
TEST(RefusedRecipe, ValuesThatAreNone) {
  const auto said = of_megatron("--context-parallel-size $CP --hidden-size many");
  EXPECT_THAT(
      said, HasSubstr("--context-parallel-size: '$CP' is not a whole number from 1 to 1000000; expected its value, by "
                      "--variable NAME=VALUE"));
  EXPECT_THAT(said, HasSubstr("--hidden-size: 'many' is not a whole number"));
}

// Words that MaxText does not have, all at once, each with those that it has.
TEST(RefusedRecipe, WordsThatMaxTextDoesNotHave) {
  const std::string yaml = "model_name: llama3-8b\nper_device_batch_size: 2\nmax_target_length: 2048\n";
  recipes::RecipeRequest request;
  request.cluster = "tpu-v5p:2x2x2";
  request.format = "maxtext";
  EXPECT_EQ(refusal(yaml + "remat_policy: minimal\ndtype: bfloat16\nweight_dtype: null\nquantization: \"\"\n", request),
            "");
  const auto said =
      refusal(yaml + "remat_policy: minimall\ndtype: bf16\nweight_dtype: auto\nquantization: fp8_magic\n", request);
  EXPECT_THAT(said,
              HasSubstr("recipe:4:15: remat_policy: 'minimall' is not known; expected one of none, full, custom, "));
  EXPECT_THAT(said, HasSubstr(", qkv_proj_offloaded; did you mean `minimal`\n"));
  EXPECT_THAT(said, HasSubstr("recipe:5:8: dtype: 'bf16' is not known; expected one of bfloat16, float32, float16\n"));
  EXPECT_THAT(
      said, HasSubstr("recipe:6:15: weight_dtype: 'auto' is not known; expected one of bfloat16, float32, float16\n"));
  EXPECT_THAT(said, HasSubstr("recipe:7:15: quantization: 'fp8_magic' is not known; expected one of int8, int4, "));
  EXPECT_THAT(refusal("python3 -m MaxText.train base.yml model_name=llama3-8b quantization=$QUANT\n", request),
              HasSubstr("quantization: '$QUANT' is not known; expected its value, by --variable NAME=VALUE"));
}

TEST(RefusedRecipe, WithoutAMachineOrAFormat) {
  EXPECT_THAT(of_megatron("", ""), StartsWith("--cluster: is missing: a recipe does not say its machine"));
  EXPECT_THAT(refusal("# nothing of the kind\n", {}), StartsWith("recipe: is no recipe of a known format"));
  recipes::RecipeRequest request;
  request.format = "nemo";
  EXPECT_THAT(refusal(shape, request), StartsWith("--format: 'nemo' is not a format of recipes"));
}

TEST(RefusedRecipe, BrokenSyntax) {
  recipes::RecipeRequest request;
  request.cluster = "h100:1";
  EXPECT_THAT(refusal(shape + "--lr \"0.1", request), StartsWith("recipe:1:"));
  EXPECT_THAT(refusal("[model]\nname = \"llama3\nflavor = 8B\n", request), StartsWith("recipe:2:"));
  EXPECT_THAT(refusal("{\"zero_optimization\": {\"stage\": 3}", request), StartsWith("recipe:"));
}

// Each line doubles what the last one holds; 2^40 characters are refused before they are there.
TEST(RefusedRecipe, ScriptsThatWouldFillTheMemory) {
  std::string text = "A0=xxxxxxxx\n";
  for (int i = 0; i < 37; ++i)
    text += "A" + std::to_string(i + 1) + "=\"$A" + std::to_string(i) + "$A" + std::to_string(i) + "\"\n";
  recipes::RecipeRequest request;
  request.cluster = "h100:1";
  EXPECT_THAT(refusal(text + "train " + shape + " $A37", request), HasSubstr("the script expands to more than 4 MiB"));
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "${A:-";
  EXPECT_NE(refusal("B=" + deep + "\n" + shape, request), "");
  EXPECT_THAT(refusal("[model]\na" + std::string(200'000, '.') + "b = 1\n", request), HasSubstr("more than 64 parts"));
}

// Options that are left out are told with their reasons, or counted.
TEST(LeftOutOptions, HaveAReasonEach) {
  const auto recipe =
      imported(shape + "--moe-token-dispatcher-type flex --lr 0.1 --log-interval 1 --made-up 7", "h100:1");
  ASSERT_EQ(recipe.left_out.size(), 2U);
  EXPECT_EQ(recipe.left_out[0].option, "--moe-token-dispatcher-type flex");
  EXPECT_THAT(recipe.left_out[0].why, HasSubstr("communication.dispatcher"));
  EXPECT_EQ(recipe.left_out[1].option, "--made-up 7");
  EXPECT_EQ(recipe.left_out[1].why, "not known");
  EXPECT_EQ(recipe.without_influence, 2);
}

// Formats that MaxText has and a scenario has not.
TEST(LeftOutOptions, FormatsOfMaxText) {
  const auto recipe = imported(
      "python3 -m MaxText.train base.yml model_name=llama3-8b per_device_batch_size=2 quantization=int4 "
      "dtype=float32\n",
      "tpu-v5p:2x2x2");
  EXPECT_EQ(value_of(recipe, "training.precision"), "bf16");
  ASSERT_EQ(recipe.left_out.size(), 2U);
  EXPECT_THAT(recipe.left_out[0].option, HasSubstr("quantization"));
  EXPECT_THAT(recipe.left_out[0].why, HasSubstr("count as in bf16"));
  EXPECT_THAT(recipe.left_out[1].option, HasSubstr("dtype"));
}

}  // namespace
}  // namespace lockstep::test
