// Biases and sinks: vectors that are added where a product stores its result or a softmax ends, so that the forward
// takes no longer. A bias' gradient is a sum over tokens, which reads the gradient of the product's result once.
#include <gmock/gmock.h>

#include <cmath>

#include "tests/source_dir.hpp"
#include "tests/unit/workloads/small_models.hpp"

namespace lockstep::test {
namespace {

using testing::ElementsAre;

workloads::Model with_biases() {
  auto model = transformer();
  model.qkv_bias = model.attention_output_bias = model.mlp_bias = true;
  return model;
}

std::vector<std::string> only_in(const workloads::BlockSteps& with, const workloads::BlockSteps& without) {
  std::vector<std::string> names;
  for (const auto& step : with) {
    const auto same =
        std::find_if(without.begin(), without.end(), [&](const auto& other) { return other.name == step.name; });
    if (same == without.end()) names.push_back(step.name + " " + std::to_string(step.traffic.value()));
  }
  return names;
}

// 128 tokens; D = 32, N H = 32, K H = 16, F = 128, of 2 bytes.
TEST(Biases, ReadTheGradientOfTheResultOnce) {
  const auto with = derived(with_biases(), {}).layer(), without = derived(transformer(), {}).layer();
  EXPECT_THAT(only_in(with.forward, without.forward), ElementsAre());
  EXPECT_EQ(with.forward.size(), without.forward.size());
  EXPECT_THAT(only_in(with.backward, without.backward),
              ElementsAre("down projection bias gradient 8192", "up projection bias gradient 32768",
                          "gate projection bias gradient 32768", "attention output bias gradient 8192",
                          "value projection bias gradient 4096", "key projection bias gradient 4096",
                          "query projection bias gradient 8192"));
  std::int64_t parameters = 0;
  for (const auto& update : with.weights) parameters += update.parameters;
  for (const auto& update : without.weights) parameters -= update.parameters;
  EXPECT_EQ(parameters, 32 + 2 * 16 + 32 + 2 * 128 + 32);
}

// Under tensor 4 each rank sums what it has: of the residual stream a quarter of the tokens, for which the sums of the
// four are added up; of heads and of F a quarter of the columns, and their biases stay apart.
TEST(Biases, AreSplitAsTheResultIs) {
  const auto layer = derived(with_biases(), workloads::Parallel{.data = 2, .tensor = 4}).layer();
  const auto of = [&](const std::string& name) {
    return *std::find_if(layer.weights.begin(), layer.weights.end(),
                         [&](const auto& update) { return update.weight == name; });
  };
  const auto step_of = [&](const std::string& name) {
    return layer.backward[static_cast<workloads::BlockStepId>(of(name).gradient_steps.at(0))];
  };
  EXPECT_EQ(step_of("Wobias").traffic.value(), 64 / 4 * 32 * 2);
  EXPECT_EQ(step_of("Wupbias").traffic.value(), 64 * 128 / 4 * 2);
  EXPECT_EQ(of("Wobias").stored.value(), 32 * 2);
  EXPECT_EQ(of("Wupbias").stored.value(), 128 / 4 * 2);
  ASSERT_EQ(of("Wobias").each_microbatch.size(), 1U);
  EXPECT_EQ(of("Wobias").each_microbatch.front().axes, workloads::AxisNames{"tensor"});
  EXPECT_TRUE(of("Wupbias").each_microbatch.empty());
}

// 16 sequences of 8 tokens, 8 heads: two numbers of 4 bytes for each token and head.
TEST(Sinks, AddUpTwoNumbersOfEachRow) {
  auto model = transformer();
  model.attention_sinks = true;
  const auto with = derived(model, {}).layer(), without = derived(transformer(), {}).layer();
  EXPECT_EQ(with.forward.size(), without.forward.size());
  EXPECT_THAT(only_in(with.backward, without.backward), ElementsAre("attention sinks gradient 8192"));
}

// A bias is computed again with its product, and what a schedule puts off are the products of weights alone.
TEST(Biases, GoWithTheirProduct) {
  workloads::DerivePolicy policy;
  for (const bool all : {false, true}) {
    policy.recompute.all = all;
    const auto with = derived(with_biases(), {}, policy).layer(), without = derived(transformer(), {}, policy).layer();
    EXPECT_EQ(with.backward.size(), without.backward.size() + 7);
    const auto of_input = steps_of_input_gradient(with);
    for (const auto i : with.backward.ids()) {
      const auto& name = with.backward[i].name;
      if (name.ends_with("bias gradient")) EXPECT_TRUE(of_input[i]) << name;
      if (name.ends_with("weight gradient")) EXPECT_FALSE(of_input[i]) << name;
    }
  }
}

// What the step stores, updates and reduces are the parameters of the model, but for what docs/models/transformer.md
// leaves out: positions, biases of layer norms (half of them), gates of shared experts.
TEST(Biases, StepsHaveTheParametersOfTheModel) {
  const std::filesystem::path catalog = std::filesystem::path(source_dir) / "workloads/catalog";
  int models = 0;
  for (const auto& name : workloads::model_names(catalog)) {
    SCOPED_TRACE(name);
    Problems problems;
    const auto model = workloads::load_model(catalog, name, problems);
    problems.throw_if_any();
    if (!model.attention || model.streams > 1 || model.indexer || model.mtp_modules > 0) continue;
    ++models;
    const auto blocks = blocks_of(model);
    const auto sizes = sizes_of(model, 1, 4096);
    std::int64_t parameters = 0;
    for (const auto kind : blocks.order) {
      for (const auto& weight : blocks.kinds[kind].weights)
        parameters += weight.tied ? 0 : sizes.own_elements(weight.dims);
    }
    const auto count = count_parameters(model);
    std::int64_t expected = count.total() - count.positions;
    if (model.norm == workloads::NormKind::layer_norm) expected -= count.norms / 2;
    if (model.experts && model.experts->shared_gate) expected -= model.layers * model.d_model;
    EXPECT_EQ(parameters, expected);
  }
  EXPECT_GT(models, 40);
}

}  // namespace
}  // namespace lockstep::test
