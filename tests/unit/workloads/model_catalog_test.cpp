// The catalog of models against published counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "tests/source_dir.hpp"
#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/model/huggingface/import_hf.hpp"
#include "workloads/model/model.hpp"
#include "workloads/model/model_block.hpp"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path source_root = source_dir;
const std::filesystem::path catalog = source_root / "workloads" / "catalog";

workloads::Model load(std::string_view name) {
  Problems problems;
  workloads::Model model = workloads::load_model(catalog, name, problems);
  EXPECT_THAT(lines_of(problems), IsEmpty()) << name;
  return model;
}

TEST(Catalog, EveryFileLoadsAndNamesItsSource) {
  const std::vector<std::string> names = workloads::model_names(catalog);
  EXPECT_GE(names.size(), 38u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const workloads::Model model = load(name);
    EXPECT_EQ(model.name, name);
    EXPECT_FALSE(model.source.empty()) << name;
    EXPECT_GT(count_parameters(model).total(), 1'000'000'000) << name;
  }
}

// A model, its block, and the model that is read from it are the same.
TEST(Catalog, EveryModelHasABlockThatMakesItAgain) {
  for (const std::string& name : workloads::model_names(catalog)) {
    const workloads::Model model = load(name);
    const auto block = block_of(model);
    ASSERT_TRUE(block) << name;
    Problems problems;
    workloads::Model again = workloads::read_model(YamlView::from_text(*block, "m.yaml", problems), "m");
    EXPECT_THAT(lines_of(problems), IsEmpty()) << name << "\n" << *block;
    again.name = model.name;
    again.source = model.source;
    EXPECT_TRUE(again == model) << name << "\n" << *block;
  }
}

// Windows in layers 1, 2 and 5 of 6 follow no rule.
TEST(Block, IsNoneForLayersWithoutARule) {
  workloads::Model model = load("gemma-2-2b");
  model.layers = 6;
  model.layer_kinds.assign(6, workloads::LayerKind{});
  for (const workloads::LayerId layer : {0, 1, 4}) model.layer_kinds[layer] = {workloads::AttentionReach::sliding, 8};
  EXPECT_FALSE(block_of(model));
}

TEST(Catalog, UnknownNameIsAProblemWithASuggestion) {
  Problems problems;
  (void)workloads::load_model(catalog, "llama-3-70", problems);
  EXPECT_THAT(lines_of(problems),
              ElementsAre(AllOf(HasSubstr("no model `llama-3-70`"), HasSubstr("did you mean `llama-3-70b`"))));
}

TEST(Catalog, NamesAreNotPaths) {
  for (const char* name : {"", "../catalog/llama-3-8b", "llama-3-8b.yaml", "."}) {
    Problems problems;
    (void)workloads::load_model(catalog, name, problems);
    EXPECT_EQ(problems.size(), 1u) << name;
  }
}

TEST(Catalog, MissingFolderHasNoModels) { EXPECT_THAT(workloads::model_names(catalog / "nowhere"), IsEmpty()); }

// Llama-2-13b: the parts of model_test.cpp, 8,493,465,600 + 4,194,304,000 + 327,680,000 + 414,720.
// GPT-3: 96 (12 h^2 + 13 h) + (50304 + 2048) h + 2 h with h = 12288.
// PaLM: 118 (3 D F + 2 D N H + 2 D H + D) + V D + D, published as 540.35e9; one key-value head of H = 256.
TEST(Catalog, CountsOfModelsWithoutAConfigHere) {
  EXPECT_EQ(count_parameters(load("llama-2-13b")).total(), 13'015'864'320);
  EXPECT_EQ(count_parameters(load("gpt3-175b")).total(), 174'604'836'864);
  EXPECT_EQ(
      count_parameters(load("palm-540b")).total(),
      118 * (3LL * 18432 * 73728 + 2LL * 18432 * 48 * 256 + 2LL * 18432 * 256 + 18432) + 256000LL * 18432 + 18432);
}

TEST(Catalog, EqualsTheImportOfTheSameModel) {
  const std::map<std::string, std::string> config_of = {
      {"llama-2-7b", "meta-llama__Llama-2-7b-hf"},
      {"llama-2-70b", "meta-llama__Llama-2-70b-hf"},
      {"llama-3-8b", "meta-llama__Meta-Llama-3-8B"},
      {"llama-3-70b", "meta-llama__Meta-Llama-3-70B"},
      {"llama-3-405b", "meta-llama__Meta-Llama-3.1-405B"},
      {"mistral-7b", "mistralai__Mistral-7B-v0.1"},
      {"yi-34b", "01-ai__Yi-34B"},
      {"deepseek-llm-67b", "deepseek-ai__deepseek-llm-67b-base"},
      {"olmo-7b", "allenai__OLMo-7B-hf"},
      {"qwen2.5-7b", "Qwen__Qwen2.5-7B"},
      {"gemma-2-2b", "google__gemma-2-2b"},
      {"gemma-2-27b", "google__gemma-2-27b"},
      {"gemma-3-27b", "google__gemma-3-27b-pt"},
      {"qwen3-32b", "Qwen__Qwen3-32B"},
      {"qwen3-30b-a3b", "Qwen__Qwen3-30B-A3B"},
      {"qwen3-235b-a22b", "Qwen__Qwen3-235B-A22B"},
      {"mixtral-8x7b", "mistralai__Mixtral-8x7B-v0.1"},
      {"deepseek-v3", "deepseek-ai__DeepSeek-V3"},
      {"deepseek-v2-lite", "deepseek-ai__DeepSeek-V2-Lite"},
      {"gpt-oss-120b", "openai__gpt-oss-120b"},
      {"llama-4-scout", "meta-llama__Llama-4-Scout-17B-16E-Instruct"},
      {"llama-4-maverick", "meta-llama__Llama-4-Maverick-17B-128E-Instruct"},
      {"glm-4.5", "zai-org__GLM-4.5"},
      {"dbrx", "databricks__dbrx-base"},
      {"olmoe-1b-7b", "allenai__OLMoE-1B-7B-0924"},
      {"falcon-40b", "tiiuae__falcon-40b"},
      {"deepseek-v3.2", "deepseek-ai__DeepSeek-V3.2"},
      {"deepseek-v4-flash", "deepseek-ai__DeepSeek-V4-Flash-Base"},
      {"deepseek-v4-pro", "deepseek-ai__DeepSeek-V4-Pro-Base"},
      {"glm-5", "zai-org__GLM-5"},
      {"qwen3-next-80b-a3b", "Qwen__Qwen3-Next-80B-A3B-Instruct"},
      {"nemotron-h-8b", "nvidia__Nemotron-H-8B-Base-8K"},
      {"nemotron-3-nano-30b-a3b", "nvidia__NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"},
      {"nemotron-3-super-120b-a12b", "nvidia__NVIDIA-Nemotron-3-Super-120B-A12B-BF16"},
      {"kimi-linear-48b-a3b", "moonshotai__Kimi-Linear-48B-A3B-Base"},
      {"gemma-4-31b", "google__gemma-4-31B-it"},
  };
  for (const auto& [name, config] : config_of) {
    Problems problems;
    workloads::Model imported =
        workloads::import_hf_config(source_root / "tests/data/hf_configs" / (config + ".json"), problems);
    EXPECT_THAT(lines_of(problems), IsEmpty()) << name;
    const workloads::Model model = load(name);
    imported.name = model.name;
    imported.source = model.source;
    imported.model_type = model.model_type;
    EXPECT_TRUE(imported == model) << name << "\n" << to_string(imported) << to_string(model);
  }
}

// The ten shapes of table 1 of the Megatron SC21 paper, with its printed sizes in 1e9 and its equations
//   (2) P = 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)); ours adds the final norm, 2 h
//   (3) F = 96 B s l h^2 (1 + s/(6 h) + V/(16 l h)): layers four times (recomputation), unembedding three times
TEST(Catalog, MegatronShapesFollowThePapersEquations) {
  const std::map<std::string, double> printed = {
      {"megatron-1.7b", 1.7},   {"megatron-3.6b", 3.6}, {"megatron-7.5b", 7.5},   {"megatron-18b", 18.4},
      {"megatron-39b", 39.1},   {"megatron-76b", 76.1}, {"megatron-145b", 145.6}, {"megatron-310b", 310.1},
      {"megatron-530b", 529.6}, {"megatron-1t", 1008.0}};
  constexpr double s = 2048;
  constexpr double V = 51200;
  for (const auto& [name, billions] : printed) {
    const workloads::Model model = load(name);
    const auto l = static_cast<double>(model.layers);
    const auto h = static_cast<double>(model.d_model);
    const double count = static_cast<double>(count_parameters(model).total());
    EXPECT_NEAR(count / 1e9, billions, 0.05) << name;
    EXPECT_NEAR(count, 12 * l * h * h * (1 + 13 / (12 * h) + (V + s) / (12 * l * h)) + 2 * h, 1.0 + count * 1e-14)
        << name;
    const double unembedding = 2 * V * h;
    const double with_recomputation = 4 * forward_flops_per_token(model, 2048, false) - unembedding;
    const double paper = 96 * l * h * h * (1 + s / (6 * h) + V / (16 * l * h));
    EXPECT_NEAR(with_recomputation / paper, 1.0, 1e-12) << name;
  }
}

}  // namespace
}  // namespace lockstep
