// Every config of tests/data/hf_configs against its row of parameters.csv, to the unit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <ostream>
#include <set>
#include <sstream>

#include "tests/source_dir.hpp"
#include "tests/unit/workloads/problem_lines.hpp"
#include "workloads/model/huggingface/import_hf.hpp"

namespace lockstep {
namespace {

const std::filesystem::path configs = std::filesystem::path(source_dir) / "tests" / "data" / "hf_configs";

struct Row {
  std::string file;
  std::int64_t total = 0, active = 0, active_without_embedding = 0, embedding = 0, lm_head = 0, mtp = 0,
               router_bias = 0;
  std::int64_t published = 0;
  std::string published_is;

  friend void PrintTo(const Row& row, std::ostream* out) { *out << row.file; }
};

std::vector<Row> rows() {
  std::ifstream table(configs / "parameters.csv");
  std::string line;
  std::getline(table, line);
  std::vector<Row> all;
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    Row row;
    std::getline(cells, row.file, ',');
    for (std::int64_t* number : {&row.total, &row.active, &row.active_without_embedding, &row.embedding, &row.lm_head,
                                 &row.mtp, &row.router_bias, &row.published}) {
      std::string cell;
      std::getline(cells, cell, ',');
      *number = std::stoll(cell);
    }
    std::getline(cells, row.published_is, ',');
    all.push_back(row);
  }
  return all;
}

workloads::Model imported(const std::string& file) {
  Problems problems;
  workloads::Model model = workloads::import_hf_config(configs / file, problems);
  EXPECT_THAT(lines_of(problems), testing::IsEmpty());
  return model;
}

class PublishedCounts : public testing::TestWithParam<Row> {};

// A wrong bias, norm, gate, tie, expert or layer pattern misses at least one of these.
TEST_P(PublishedCounts, EveryPartEqualsItsRow) {
  const Row& row = GetParam();
  const workloads::ParameterCount count = count_parameters(imported(row.file));
  EXPECT_EQ(count.total(), row.total);
  EXPECT_EQ(count.active(), row.active);
  EXPECT_EQ(count.active() - count.embedding, row.active_without_embedding);
  EXPECT_EQ(count.embedding, row.embedding);
  EXPECT_EQ(count.lm_head, row.lm_head);
  EXPECT_EQ(count.mtp, row.mtp);
  EXPECT_EQ(count.score_bias, row.router_bias);
  if (row.published_is == "total" || row.published_is == "text part") {
    EXPECT_EQ(count.total(), row.published);
  }
}

std::string test_name(const testing::TestParamInfo<Row>& row) {
  std::string name = std::filesystem::path(row.param.file).stem().string();
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Configs, PublishedCounts, testing::ValuesIn(rows()), test_name);

TEST(PublishedCounts, EveryConfigHasARow) {
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(configs)) {
    if (entry.path().extension() == ".json") files.insert(entry.path().filename().string());
  }
  std::set<std::string> listed;
  for (const Row& row : rows()) listed.insert(row.file);
  EXPECT_EQ(files, listed);
  EXPECT_EQ(files.size(), 54u);
}

// What the files of a checkpoint store = model + multi-token prediction + score biases + second copies of the
// vocabulary matrices + one fp32 scale for each 128 x 128 block of the fp8 matrices:
//   DeepSeek-V3   both matrices once more, 41,540,496 scales      GLM-4.5, 4.5-Air  both matrices once more
//   Falcon-40B    the tied matrix twice
//   DeepSeek-V3.2  both matrices once more, in bf16 without scales
// GLM-5 and Kimi-Linear store nothing twice.
TEST(PublishedCounts, CheckpointsFollowFromTheParts) {
  for (const Row& row : rows()) {
    if (row.published_is == "checkpoint without copies") {
      const workloads::ParameterCount count = count_parameters(imported(row.file));
      EXPECT_EQ(count.total() + count.mtp + count.score_bias, row.published) << row.file;
    }
    if (row.published_is != "checkpoint") continue;
    const workloads::Model model = imported(row.file);
    const workloads::ParameterCount count = count_parameters(model);
    const bool fp8 = model.model_type == "deepseek_v3";
    const std::int64_t copies = count.embedding * (model.tied_embeddings ? 1 : 2);
    EXPECT_EQ(count.total() + count.mtp + count.score_bias + copies + (fp8 ? 41'540'496 : 0), row.published)
        << row.file;
  }
}

// Nemotron 3 Super's module stands in its config. Qwen3-Next's does not: one more layer with attention and experts,
// three norms and a 2 D x D matrix.
TEST(PublishedCounts, TotalsWithAPredictionModule) {
  for (const Row& row : rows()) {
    if (!row.published_is.ends_with("with a prediction module")) continue;
    workloads::Model model = imported(row.file);
    model.mtp_modules = 1;
    const workloads::ParameterCount count = count_parameters(model);
    EXPECT_EQ(count.total() + count.mtp, row.published) << row.file;
  }
}

// Vision towers and projectors beside the text: 416,866,032 + 6,194,304 in Gemma 3, 871,932,416 in Llama 4.
TEST(PublishedCounts, MultimodalTotalsAddTheVisionPart) {
  for (const Row& row : rows()) {
    if (row.published_is != "multimodal total") continue;
    const workloads::Model model = imported(row.file);
    const std::int64_t vision = model.model_type == "gemma3_text" ? 416'866'032 + 6'194'304 : 871'932'416;
    EXPECT_EQ(count_parameters(model).total() + vision, row.published) << row.file;
  }
}

// The cost of training one token at sequence length 4096, causal, as arXiv 2505.09343 (table 2) prints it in
// GFLOP: 155 for DeepSeek-V2 and 250 for DeepSeek-V3. Three forward passes; V3 by hand:
//   6 x (36,625,603,584 - norms of 61 x (2 x 7168 + 1536 + 512) + 7168) = 219.7e9
//   + 61 layers x 3 x 2 x 4096/2 x 128 heads x (192 + 128) = 30.7e9
TEST(PublishedFlops, DeepSeekTrainingCostPerToken) {
  const auto gigaflops = [](const std::string& file) {
    return 3 * forward_flops_per_token(imported(file), 4096, true) / 1e9;
  };
  EXPECT_NEAR(gigaflops("deepseek-ai__DeepSeek-V2.json"), 155, 0.5);
  EXPECT_NEAR(gigaflops("deepseek-ai__DeepSeek-V3.json"), 250, 0.5);
}

// The same paper's table 1: KV cache of one token in bf16, 70,272, 327,680 and 516,096 bytes.
TEST(PublishedFlops, KvCacheOfOneToken) {
  const auto bytes = [](const std::string& file) {
    const workloads::Model model = imported(file);
    return 2 * kv_width_of_layers(model);
  };
  EXPECT_EQ(bytes("deepseek-ai__DeepSeek-V3.json"), 70'272);
  EXPECT_EQ(bytes("Qwen__Qwen2.5-72B.json"), 327'680);
  EXPECT_EQ(bytes("meta-llama__Meta-Llama-3.1-405B.json"), 516'096);
}

}  // namespace
}  // namespace lockstep
