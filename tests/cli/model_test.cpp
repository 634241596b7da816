// lockstep model.
#include <gmock/gmock.h>

#include "tests/cli/program_run.hpp"

namespace lockstep::test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::StartsWith;
using Words = std::vector<std::string>;

class ModelCommand : public CommandLine {};

// DeepSeek-V3 as published: 671,026,404,352 in the model, 37,552,282,624 met by a token, both matrices 129280 x 7168.
TEST_F(ModelCommand, JsonOfDeepSeekV3) {
  const auto model = json({"model", "deepseek-v3"});
  EXPECT_THAT(keys_of(model), IsSupersetOf(Words{"model_type", "total_params", "active_params", "embedding_params",
                                                 "lm_head_params", "mtp_params", "flops_per_token_forward", "layers"}));
  EXPECT_EQ(model["total_params"], 671'026'404'352);
  EXPECT_EQ(model["active_params"], 37'552'282'624);
  EXPECT_EQ(model["embedding_params"], 129'280 * 7168);
  EXPECT_EQ(model["lm_head_params"], 129'280 * 7168);
  EXPECT_EQ(model["mtp_params"], 11'610'067'968);
  EXPECT_EQ(model["kv_cache_bytes_per_token"], 61 * (512 + 64) * 2);
  ASSERT_EQ(model["layers"].size(), 2u);
  EXPECT_EQ(model["layers"][0]["layers"], "0-2");
  EXPECT_EQ(model["layers"][0]["d_ff"], 18'432);
  EXPECT_EQ(model["layers"][1]["count"], 58);
  EXPECT_EQ(model["layers"][1]["experts"]["groups_per_token"], 4);
  // Parts add up to both sums.
  std::int64_t total = 0;
  std::int64_t active = 0;
  for (const auto& part : model["parts"]) {
    total += part["total"].get<std::int64_t>();
    active += part["active"].get<std::int64_t>();
  }
  EXPECT_EQ(total, model["total_params"]);
  EXPECT_EQ(active, model["active_params"]);
}

// Without attention's part, a dense model costs 2 per weight; each token of a longer sequence adds, causal,
// 2 L N H: 2 x 80 x 8192 FLOPs.
TEST_F(ModelCommand, FlopsGrowWithTheSequence) {
  const auto flops = [&](const std::string& tokens) {
    return json({"model", "llama-3-70b", "--sequence-length", tokens})["flops_per_token_forward"].get<double>();
  };
  EXPECT_DOUBLE_EQ(flops("8192") - flops("4096"), 4096.0 * 2 * 80 * 8192);
  EXPECT_DOUBLE_EQ(flops("4096"), 2.0 * 69'501'714'432 + 4096.0 * 2 * 80 * 8192);
}

// A gated llama of D = 64, 4 heads of 16, F = 128, V = 1000 and 2 layers:
// 2 x 1000 x 64 + 2 x (4 x 64 x 64 + 3 x 64 x 128 + 2 x 64) + 64 = 210,240.
TEST_F(ModelCommand, ReadsAConfigAndWritesAFile) {
  write("config.json", R"({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                           "intermediate_size": 128, "vocab_size": 1000})");
  const auto text = good({"model", "./config.json", "--json", "model.json"});
  EXPECT_THAT(text, HasSubstr("(llama): 210,240 parameters"));
  EXPECT_THAT(text, HasSubstr("gated 128"));
  EXPECT_EQ(json_file("model.json")["total_params"], 210'240);
}

TEST_F(ModelCommand, TextNamesWhatAModelIsMadeOf) {
  const auto text = good({"model", "llama-4-maverick"});
  EXPECT_THAT(text, StartsWith("llama-4-maverick (transformer): 400,711,848,960 parameters, 17,184,691,200 active"));
  EXPECT_THAT(text, HasSubstr("1 of 128 experts, gated 8192, + 1 shared of 8192"));
  EXPECT_THAT(text, HasSubstr("chunk 8192"));
  EXPECT_THAT(text, HasSubstr("801.42 GB"));  // 2 x 400.711848960
}

TEST_F(ModelCommand, EveryModelOfTheCatalogPrints) {
  for (const char* name : {"gpt3-175b", "megatron-1t", "gemma-3-27b", "falcon-40b", "dbrx", "gpt-oss-120b"}) {
    EXPECT_THAT(good({"model", name}), StartsWith(std::string(name) + " (transformer): "));
  }
}

TEST_F(ModelCommand, RefusesWhatItCannotRead) {
  const auto refused = [&](const Words& arguments, const std::string& what) {
    const auto result = run(arguments);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.output, "");
    EXPECT_THAT(result.errors, HasSubstr(what));
  };
  refused(
      {"model", "deepsek-v3"},
      "model: model 'deepsek-v3' is not in the catalog; expected a name from the catalog or a path to a config.json; "
      "did you mean `deepseek-v3`");
  refused({"model", "./absent.json"}, "absent.json: no such file");
  refused({"model", "deepseek-v3", "--sequence-length", "0"},
          "--sequence-length: '0' is too small; expected 1 to 1000000000 tokens");
  write("bad.json", "{\"model_type\": \"mixtrl\"}");
  refused({"model", "bad.json"}, "bad.json:1:16: model_type: `mixtrl` is not supported");
  // A run reports a model that the step cannot build at the scenario's `model` key.
  write(
      "sparse.yaml",
      "format: 1\nmodel: {layers: 4, d_model: 512, d_ff: 1024, heads: 8, vocabulary: 1000, latent_attention: {kv_rank: "
      "64, "
      "nope_head_size: 64, rope_head_size: 32, value_head_size: 64, indexer: {heads: 4, head_size: 32, top_k: 128}}}\n"
      "cluster: tpu-v5p:4x4x4\nparallel: {fsdp: 64}\nbatch: {sequences: 64, sequence_length: 512}\n");
  refused({"check", "sparse.yaml"},
          "sparse.yaml:2:8: model: an indexer whose queries do not come out of a latent is not simulated");
  write("new.json", "{\"model_type\": \"llama\"}");
  refused({"model", "new.json", "--as", "lama"}, "--as: 'lama' is not a type that Lockstep reads");
  refused({"model", "deepseek-v3", "--as", "llama"}, "--as: 'deepseek-v3' is a model of the catalog");
}

// A file of a type without a reader is refused, and its sizes stand in a block, which makes the model that --as does.
TEST_F(ModelCommand, UnknownTypesGiveABlockToEdit) {
  write("new.json", R"({"model_type": "newest", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                        "num_key_value_heads": 2, "intermediate_size": 128, "vocab_size": 1000})");
  const auto result = run({"model", "new.json"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, HasSubstr("new.json:1:16: model_type: `newest` is not supported"));
  EXPECT_THAT(result.output, HasSubstr("# new.json is a `newest`"));
  const auto block = good({"model", "new.json", "--as", "llama", "--block"});
  EXPECT_THAT(result.output, HasSubstr(block.substr(block.find("layers:"))));
  EXPECT_THAT(block, HasSubstr("layers: 2\nd_model: 64\nd_ff: 128\nheads: 4\nkv_heads: 2\nhead_size: 16\n"));
  EXPECT_THAT(good({"model", "qwen3-next-80b-a3b", "--block"}), HasSubstr("rule: gated_delta"));
}

TEST_F(ModelCommand, LayersThatCarryAState) {
  const auto model = json({"model", "nemotron-3-super-120b-a12b"});
  EXPECT_EQ(model["total_params"], 120'668'687'360);
  ASSERT_EQ(model["layers"].size(), 3u);
  EXPECT_EQ(model["layers"][0]["recurrence"]["state_numbers"], 128 * 64 * 128);
  EXPECT_EQ(model["kv_cache_bytes_per_token"], 8 * 2 * 2 * 128 * 2) << "eight layers with attention";
  const auto text = good({"model", "kimi-linear-48b-a3b"});
  EXPECT_THAT(text, HasSubstr("Kimi delta"));
  EXPECT_THAT(good({"model", "glm-5"}), HasSubstr("sparse latent"));
}

TEST_F(ModelCommand, LayersWithCompressedEntries) {
  const auto model = json({"model", "deepseek-v4-flash"});
  EXPECT_EQ(model["total_params"], 284'332'230'231);
  ASSERT_EQ(model["layers"].size(), 3u);
  EXPECT_EQ(model["layers"][1]["attention"], "compressed sparse");
  EXPECT_EQ(model["layers"][1]["tokens_per_entry"], 4);
  EXPECT_EQ(model["layers"][1]["kv_width"], 512 + 512 / 4 + 128 / 4);
  EXPECT_FALSE(model["layers"][0].contains("tokens_per_entry"));
  EXPECT_THAT(good({"model", "deepseek-v4-flash"}), HasSubstr("window 128, best 512 of 1/4"));
}

}  // namespace
}  // namespace lockstep::test
