// Rates of single kernels of attention against the catalog's.
#include "sim/studies/calibration/validate_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sim/scenario/scenario.hpp"
#include "tests/source_dir.hpp"

namespace lockstep {
namespace {

const std::string header =
    "chip,kernel,precision,pass,causal,heads,queries,keys,head_size,value_head_size,tflops,source\n";

std::vector<validation::ValidatedRun> validated(const std::string& rows, const std::string& model = "calibrated") {
  Problems problems;
  const auto text = header + rows;
  const CsvTable table(text, "attention.csv", problems);
  EXPECT_TRUE(calibration::has_attention_columns(table));
  return calibration::validate_attention(table, "attention", model);
}

// measured = 2 heads q k h (causal) x 1, 2.5 or 3.5 / rate, here 2 x 16 x 8192 x 8192 x 128 = 2.749e11 FLOPs at 1e12.
// predicted = FLOPs / (peak matrix) x (1 + softmax/h)(1 + block/k) / share + gap, with twice the FLOPs and softmax/2 in
// the backward; at peak FLOPs / peak.
TEST(ValidateAttention, CountsAsBenchmarksDoAndPredictsAsSteps) {
  const auto row = [](const std::string& pass) {
    return "h100,flash-attention-2,bf16," + pass + ",true,16,8192,8192,128,,1,\n";
  };
  const auto runs = validated(row("forward") + row("backward") + row("both"));
  ASSERT_EQ(runs.size(), 3U);
  const double flops = 2.0 * 16 * 8192 * 8192 * 128;
  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies/catalog", "h100", problems);
  const auto& kernels = *chip.kernels;
  const auto& named = *topologies::attention_called(kernels, "flash-attention-2");
  const double rate = 989e12 * kernels.matrix.at(topologies::Precision::bf16);
  const double diagonal = 1 + named.block / 8192;
  const double forward = flops / rate * (1 + named.softmax / 128) * diagonal / named.forward;
  const double backward = 2 * flops / rate * (1 + named.softmax / 256) * diagonal / named.backward;
  constexpr double hidden = 0.03;  // loads and stores that nothing hides, and the gap
  EXPECT_NEAR(runs[0].measured_s, flops / 1e12, 1e-9);
  EXPECT_NEAR(runs[1].measured_s, 2.5 * flops / 1e12, 1e-9);
  EXPECT_NEAR(runs[2].measured_s, 3.5 * flops / 1e12, 1e-9);
  EXPECT_NEAR(runs[0].predicted_s / forward, 1, hidden);
  EXPECT_NEAR(runs[1].predicted_s / backward, 1, hidden);
  EXPECT_NEAR(runs[2].predicted_s, runs[0].predicted_s + runs[1].predicted_s, 1e-12);
  const auto at_peak = validated(row("both"), "ideal");
  EXPECT_NEAR(at_peak.front().predicted_s, 3 * flops / 989e12, 1e-9);
}

/// The columns of all problems of these rows.
std::vector<std::string> problems_of(const std::string& rows) {
  Problems problems;
  const auto text = header + rows;
  const CsvTable table(text, "attention.csv", problems);
  (void)calibration::validate_attention(table, "attention", "calibrated");
  std::vector<std::string> keys;
  for (const auto& problem : problems.list()) keys.push_back(std::to_string(problem.where.line) + " " + problem.key);
  return keys;
}

TEST(ValidateAttention, EveryMistakeHasItsPlace) {
  EXPECT_EQ(problems_of("h100,flash-attention-9,bf16,forward,true,16,8192,8192,128,,1,\n"
                        "nobody,cudnn-9,bf16,forward,true,16,8192,8192,128,,1,\n"
                        "h100,cudnn-9,bf17,sideways,perhaps,0,99999999,-1,128,x,,\n"
                        "h100,cudnn-9,bf16,both,false,16,8192,8192,128,,-5,\n"),
            (std::vector<std::string>{"2 kernel", "3 chip", "4 precision", "4 pass", "4 value_head_size", "4 heads",
                                      "4 queries", "4 keys", "4 causal", "4 tflops", "5 tflops"}));
}

TEST(ValidateAttention, SkipsChipsWithoutKernels) {
  const auto runs = validated("h20,cudnn-9,bf16,forward,true,16,8192,8192,128,,1,\n");
  EXPECT_EQ(runs[0].run.skipped_because, "chip h20 has no kernels of attention 'cudnn-9' in bf16");
}

// 346 published rates; four parameters for each chip and library.
TEST(ValidateAttention, PublishedKernels) {
  Problems problems;
  const CsvTable table(std::filesystem::path(source_dir) / "tests/validation/data/attention_kernels.csv", problems);
  std::map<std::string, std::pair<int, double>> errors;
  for (const auto& run : calibration::validate_attention(table, "attention_kernels", "calibrated")) {
    ASSERT_TRUE(run.run.skipped_because.empty()) << run.run.skipped_because;
    for (const auto& of : {run.run.family, std::string("all")}) {
      errors[of].first += 1;
      errors[of].second += std::abs(run.error());
    }
  }
  EXPECT_EQ(errors["all"].first, 346);
  for (const auto& [family, error] : errors) EXPECT_LT(error.second / error.first, 0.09) << family;
}

}  // namespace
}  // namespace lockstep
