// Hugging Face configs of dense models: class defaults, and everything that is refused.
#include "workloads/model/huggingface/import_hf.hpp"
#include "tests/source_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/model/layer_pattern.hpp"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

const std::filesystem::path source_root = source_dir;

/// A folder of its own for each test, because tests run side by side.
class ImportHf : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::path(testing::TempDir()) / ("lockstep_import_" + std::to_string(::getpid()) + "_" +
                                                     testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path write(const std::string& text, const std::string& name = "config.json") const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  workloads::Model accepted(const std::string& text) const {
    Problems problems;
    workloads::Model model = workloads::import_hf_config(write(text), problems);
    EXPECT_THAT(lines_of(problems), IsEmpty()) << text;
    return model;
  }
  std::vector<std::string> complaints(const std::string& text) const { return complaints_of(write(text)); }
  static std::vector<std::string> complaints_of(const std::filesystem::path& file) {
    Problems problems;
    (void)workloads::import_hf_config(file, problems);
    return lines_of(problems);
  }

  std::filesystem::path folder_;
};

/// D = 64, 4 heads, 2 layers, F = 128, V = 1000, and whatever else the test says.
std::string small_config(const std::string& model_type, const std::string& more = "") {
  return R"({"model_type": ")" + model_type + R"(", "hidden_size": 64, "num_attention_heads": 4,)" +
         R"("num_hidden_layers": 2, "intermediate_size": 128, "vocab_size": 1000)" + (more.empty() ? "" : ", " + more) +
         "}";
}

// The first layer has none before it whose choice of tokens it could take over: with an offset of 0 it would be a
// shared one (max(0 - 0 + 1, 0) = 1, which 4 does not divide). Of letters, only F and S say which layers choose.
TEST_F(ImportHf, LayersThatShareAChoiceHaveOneToShare) {
  const auto offset = [&](const std::string& more) {
    return complaints(small_config("glm_moe_dsa", "\"num_experts_per_tok\": 2, " + more));
  };
  const auto names = [](const std::string& key) { return Contains(HasSubstr(key)); };
  EXPECT_THAT(offset(R"("index_topk_freq": 4, "index_skip_topk_offset": 0)"), names("index_skip_topk_offset"));
  EXPECT_THAT(offset(R"("index_topk_freq": 4, "index_skip_topk_offset": 1)"), Not(names("index_skip_topk_offset")));
  EXPECT_THAT(offset(R"("index_topk_freq": 1, "index_skip_topk_offset": 0)"), Not(names("index_skip_topk_offset")));
  EXPECT_THAT(offset(R"("index_topk_pattern": "FX")"), names("other letters than F"));
  EXPECT_THAT(offset(R"("index_topk_pattern": "FS")"), Not(names("index_topk_pattern")));
}

// Layers by name, or by the tokens of an entry with those of a prediction module behind them; without either two layers
// see all entries. Other ratios, missing layers and biases are refused.
TEST_F(ImportHf, CompressedLayersOfDeepSeekV4) {
  const auto layers = [&](const std::string& more) {
    Problems problems;
    const auto model = workloads::import_hf_config(write(small_config("deepseek_v4", more)), problems);
    EXPECT_THAT(lines_of(problems), IsEmpty()) << more;
    std::string letters;
    for (const auto& kind : model.layer_kinds) letters += workloads::letter_of(kind.compression);
    return letters;
  };
  const std::string groups = R"("o_groups": 2)";
  EXPECT_EQ(layers(groups), "aa");
  EXPECT_EQ(layers(groups + R"(, "compress_ratios": [0, 4, 0])"), "wc");
  EXPECT_EQ(layers(groups + R"(, "layer_types": ["sliding_attention", "compressed_sparse_attention"])"), "wc");
  EXPECT_EQ(layers(groups + R"(, "compress_ratios": [8, 4], "compress_rates": {"heavily_compressed_attention": 8})"),
            "ac");
  const auto wrong = [&](const std::string& more) { return complaints(small_config("deepseek_v4", groups + more)); };
  EXPECT_THAT(wrong(R"(, "compress_ratios": [0, 7])"), Contains(HasSubstr("entries of 7 tokens are neither")));
  EXPECT_THAT(wrong(R"(, "compress_ratios": [0])"), Contains(HasSubstr("1 entries for 2 layers")));
  EXPECT_THAT(wrong(R"(, "compress_ratios": [0, 4, 128])"), Contains(HasSubstr("3 entries for 2 layers")));
  EXPECT_THAT(wrong(R"(, "attention_bias": true)"), Contains(HasSubstr("biases of DeepSeek-V4's projections")));
  EXPECT_THAT(wrong(R"(, "hc_mult": 65)"), Contains(HasSubstr("65 residual streams")));
}

TEST_F(ImportHf, ConfigOfTheMainScenario) {
  Problems problems;
  const workloads::Model model =
      workloads::import_hf_config(source_root / "scenarios/configs/meta-llama/Meta-Llama-3-70B/config.json", problems);
  EXPECT_THAT(lines_of(problems), IsEmpty());
  EXPECT_EQ(model.name, "Meta-Llama-3-70B");
  EXPECT_EQ(model.model_type, "llama");
  EXPECT_THAT(model.source, EndsWith("Meta-Llama-3-70B/config.json"));
  EXPECT_EQ(count_parameters(model).total(), 70'553'706'496);
}

TEST_F(ImportHf, NamedAfterTheFileUnlessThatIsConfig) {
  Problems problems;
  EXPECT_EQ(workloads::import_hf_config(write(small_config("llama"), "tiny-0.1.json"), problems).name, "tiny-0.1");
  EXPECT_EQ(workloads::import_hf_config(write(small_config("llama")), problems).name, folder_.filename().string());
  EXPECT_THAT(lines_of(problems), IsEmpty());
}

TEST_F(ImportHf, LlamaDefaultsAndNulls) {
  for (const char* more : {"", R"("num_key_value_heads": null, "head_dim": null, "tie_word_embeddings": null)"}) {
    const workloads::Model model = accepted(small_config("llama", more));
    EXPECT_EQ(model.kv_heads, 4);
    EXPECT_EQ(model.head_size, 16);  // 64 / 4
    EXPECT_FALSE(model.tied_embeddings);
    EXPECT_FALSE(model.qkv_bias || model.attention_output_bias || model.mlp_bias);
    EXPECT_TRUE(model.gated);
  }
}

TEST_F(ImportHf, LlamaKeys) {
  const workloads::Model model =
      accepted(small_config("llama", R"("num_key_value_heads": 2, "head_dim": 24, "attention_bias": true,
      "mlp_bias": true, "tie_word_embeddings": true, "rope_scaling": {"factor": 8.0}, "eos_token_id": [1, 2])"));
  EXPECT_EQ(model.kv_heads, 2);
  EXPECT_EQ(model.head_size, 24);
  EXPECT_TRUE(model.qkv_bias && model.attention_output_bias && model.mlp_bias && model.tied_embeddings);
}

TEST_F(ImportHf, DefaultsBelongToTheModelType) {
  const std::string without_optional_keys = R"({"hidden_size": 2048, "num_attention_heads": 32, "num_hidden_layers": 2,
      "intermediate_size": 128, "vocab_size": 1000, "model_type": )";
  EXPECT_EQ(accepted(without_optional_keys + R"("llama"})").kv_heads, 32);
  EXPECT_EQ(accepted(without_optional_keys + R"("mistral"})").kv_heads, 8);
  EXPECT_EQ(accepted(without_optional_keys + R"("mistral", "num_key_value_heads": null})").kv_heads, 32);
  EXPECT_EQ(accepted(without_optional_keys + R"("gemma"})").kv_heads, 16);
  EXPECT_EQ(accepted(without_optional_keys + R"("gemma2"})").kv_heads, 4);
  EXPECT_EQ(accepted(without_optional_keys + R"("gemma2"})").head_size, 256);
  EXPECT_TRUE(accepted(without_optional_keys + R"("gemma2"})").tied_embeddings);
  EXPECT_EQ(accepted(without_optional_keys + R"("qwen3"})").head_size, 128);
  EXPECT_TRUE(accepted(without_optional_keys + R"("qwen2"})").qkv_bias);
  EXPECT_FALSE(accepted(without_optional_keys + R"("qwen2"})").attention_output_bias);
  EXPECT_TRUE(accepted(without_optional_keys + R"("gpt_neox"})").attention_output_bias);
}

TEST_F(ImportHf, TextPartOfAMultimodalConfig) {
  const workloads::Model model = accepted(R"({"model_type": "gemma3", "tie_word_embeddings": false, "hidden_size": 1,
      "text_config": {"model_type": "gemma3_text", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                      "intermediate_size": 128}})");
  EXPECT_EQ(model.model_type, "gemma3_text");
  EXPECT_EQ(model.d_model, 64);
  EXPECT_EQ(model.vocabulary, 262'208);
  EXPECT_FALSE(model.tied_embeddings);  // the flag beside text_config counts
}

TEST_F(ImportHf, MissingFileAndDirectory) {
  EXPECT_THAT(complaints_of(folder_ / "absent.json"), ElementsAre(HasSubstr("absent.json: no such file")));
  EXPECT_THAT(complaints_of(folder_), ElementsAre(HasSubstr("is a directory")));
}

TEST_F(ImportHf, MalformedJsonHasItsPlace) {
  EXPECT_THAT(complaints("{\n  \"model_type\": \"llama\",\n}\n"),
              ElementsAre(AllOf(HasSubstr("config.json:3:1"), HasSubstr("malformed JSON"))));
  EXPECT_THAT(complaints(""), ElementsAre(HasSubstr("the file is empty")));
  EXPECT_THAT(complaints("model_type: llama\n"), ElementsAre(HasSubstr("config.json:1:1")));
  EXPECT_THAT(complaints("[1, 2]"), ElementsAre(HasSubstr("is a list")));
}

TEST_F(ImportHf, EveryMissingKeyIsNamedOnce) {
  EXPECT_THAT(
      complaints(R"({"model_type": "llama"})"),
      UnorderedElementsAre(HasSubstr("1:1: hidden_size: missing"), HasSubstr("1:1: num_attention_heads: missing"),
                           HasSubstr("1:1: num_hidden_layers: missing"), HasSubstr("1:1: intermediate_size: missing"),
                           HasSubstr("1:1: vocab_size: missing")));
  EXPECT_THAT(complaints(R"({"hidden_size": 64})"), ElementsAre(HasSubstr("1:1: model_type: missing")));
  EXPECT_THAT(complaints(R"({"text_config": {}})"), ElementsAre(HasSubstr("text_config.model_type: missing")));
}

TEST_F(ImportHf, WrongValuesAreNamedAtTheirPlace) {
  EXPECT_THAT(complaints("{\"model_type\": \"llama\",\n\"hidden_size\": 0,\n\"num_attention_heads\": -4,\n"
                         "\"num_hidden_layers\": \"2\",\n\"intermediate_size\": 1.5,\n\"vocab_size\": [1],\n"
                         "\"num_key_value_heads\": 3000000000,\n\"attention_bias\": 1}"),
              UnorderedElementsAre(
                  HasSubstr(":2:16: hidden_size: `0`"), HasSubstr(":3:24: num_attention_heads: `-4`"),
                  HasSubstr(":4:22: num_hidden_layers: \"2\""), HasSubstr(":5:22: intermediate_size: `1.5`"),
                  HasSubstr(":6:15: vocab_size: is a list"), HasSubstr(":7:24: num_key_value_heads: `3000000000`"),
                  HasSubstr(":8:19: attention_bias: `1`")));
}

TEST_F(ImportHf, SizesThatDoNotFitTogether) {
  EXPECT_THAT(complaints(small_config("llama", R"("num_key_value_heads": 3)")),
              ElementsAre(HasSubstr("4 query heads do not divide evenly over 3")));
  EXPECT_THAT(
      complaints(R"({"model_type": "llama", "hidden_size": 100, "num_attention_heads": 3, "num_hidden_layers": 2,
                             "intermediate_size": 8, "vocab_size": 9})"),
      ElementsAre(HasSubstr("d_model 100 is not a multiple of 3 heads")));
  // A refused size is complained of once, not again for not fitting the others.
  EXPECT_THAT(complaints(small_config("llama", R"("num_key_value_heads": 3, "head_dim": 0)")),
              ElementsAre(HasSubstr("head_dim: `0`")));
  EXPECT_THAT(complaints(R"({"model_type": "gpt2", "n_embd": 2147483648, "n_head": 1, "n_layer": 100000,
                             "n_positions": 2147483648, "vocab_size": 2147483648})"),
              ElementsAre(HasSubstr("more than 1e15 parameters")));
}

TEST_F(ImportHf, UnsupportedTypesListTheSupportedOnes) {
  EXPECT_THAT(
      complaints(small_config("mamba2_hybrid")),
      ElementsAre(AllOf(HasSubstr("1:16: model_type: `mamba2_hybrid` is not supported"), HasSubstr(" gemma gemma2 "),
                        HasSubstr(" mistral mixtral "), Not(HasSubstr("did you mean")))));
  EXPECT_THAT(complaints(small_config("lama")),
              ElementsAre(AllOf(HasSubstr("model_type: `lama` is not supported"), HasSubstr("did you mean `llama`"))));
  EXPECT_THAT(complaints(R"({"model_type": ["llama"]})"), ElementsAre(HasSubstr("model_type: is a list")));
  EXPECT_THAT(workloads::supported_model_types(),
              ElementsAre("dbrx", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "falcon", "gemma",
                          "gemma2", "gemma3_text", "gemma4_text", "glm4_moe", "glm_moe_dsa", "gpt2", "gpt_neox",
                          "gpt_oss", "grok", "grok-1", "kimi_k2", "kimi_linear", "llama", "llama4_text", "minimax_m2",
                          "mistral", "mixtral", "nemotron_h", "olmo", "olmo2", "olmoe", "phi3", "qwen2", "qwen2_moe",
                          "qwen3", "qwen3_moe", "qwen3_next"));
}

// A type without a reader is read as the type whose keys it has, or as the type that one names.
TEST_F(ImportHf, UnknownTypesHaveADraft) {
  const auto written = [](const std::string& text) {
    const std::string file = testing::TempDir() + "unknown_type.json";
    std::ofstream(file) << text;
    return file;
  };
  const std::string sizes =
      R"("hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 10)";
  const auto dense = workloads::draft_of_unknown(written(R"({"model_type": "new", )" + sizes + "}"));
  ASSERT_TRUE(dense);
  EXPECT_EQ(dense->model_type, "new");
  EXPECT_EQ(dense->read_as, "llama");
  EXPECT_EQ(dense->model.d_ff, 96);
  const auto latent = workloads::draft_of_unknown(
      written(R"({"model_type": "new", "kv_lora_rank": 8, "first_k_dense_replace": 1, )" + sizes + "}"));
  ASSERT_TRUE(latent);
  EXPECT_EQ(latent->read_as, "deepseek_v3");
  EXPECT_TRUE(latent->model.latent);
  EXPECT_FALSE(workloads::draft_of_unknown(written(R"({"model_type": "llama", )" + sizes + "}"))) << "has a reader";
  EXPECT_FALSE(workloads::draft_of_unknown(written(R"({"model_type": "new"})"))) << "no sizes";
  Problems problems;
  const auto as = workloads::import_hf_config(written(R"({"model_type": "new", )" + sizes + "}"), problems, "qwen2");
  EXPECT_EQ(problems.size(), 0U);
  EXPECT_TRUE(as.qkv_bias);
  EXPECT_EQ(as.model_type, "qwen2");
}

TEST_F(ImportHf, CrossAttentionIsRefused) {
  EXPECT_THAT(complaints(R"({"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 8,
                             "vocab_size": 9, "add_cross_attention": true})"),
              ElementsAre(HasSubstr("cross-attention is not modelled")));
}

}  // namespace
}  // namespace lockstep
