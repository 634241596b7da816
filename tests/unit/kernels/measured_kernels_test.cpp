// The model beside measured kernels: products on nine chips, and the layer of a 22B model on eight A100.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "sim/cost/time_model.hpp"
#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

/// Error of the predicted rate of one row of tests/validation/data/gemm_achievable.csv. `parts`: the chip was measured
/// as so many devices, one of which ran the product. Not `sustained`: benchmarks are short.
double error_of(const std::string& line) {
  std::istringstream cells(line);
  std::string chip_name, precision, cell;
  std::getline(cells, chip_name, ',');
  const auto next = [&] {
    std::getline(cells, cell, ',');
    return cell;
  };
  const int parts = std::stoi(next());
  precision = next();
  const auto m = std::stoll(next()), n = std::stoll(next()), k = std::stoll(next());
  const double measured = std::stod(next()) * 1e12;

  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies/catalog", chip_name, problems);
  auto kernels = chip.kernels.value();
  kernels.staging = kernels.staging / parts;
  const auto number_format = *topologies::precision_named(precision);
  const auto rate = *chip.peak_for(number_format) * (kernels.matrix.at(number_format) / parts);
  const cost::KernelRates rates{rate, rate, chip.memory_bandwidth * (kernels.memory / parts), kernels};
  const Flops flops(2.0 * static_cast<double>(m * n * k));
  const Bytes moved = element_size(number_format) * (m * k + k * n) + Bytes(2) * (m * n);
  return flops.value() / kernel_time(rates, {workloads::ComputeWork::product, flops, moved, {1, m, n, k}}).value() /
             measured -
         1;
}

TEST(MeasuredKernelsTest, Products) {
  std::ifstream file(test::test_scenario("../../validation/data/gemm_achievable.csv"));
  std::string line;
  std::getline(file, line);
  double sum = 0;
  int rows = 0;
  while (std::getline(file, line)) {
    const double error = error_of(line);
    EXPECT_LT(std::abs(error), 0.1) << line << ": " << error;
    sum += std::abs(error);
    ++rows;
  }
  EXPECT_EQ(rows, 19);
  EXPECT_LT(sum / rows, 0.04);
}

struct MeasuredLayer {
  std::string sequence_parallel, recompute;
  double forward, backward;  // seconds
};

// Two layers less one. Korthikanti et al., arXiv 2205.05198, table 4: 64 heads, D 6144, 4 sequences of 2048, tensor
// parallel over 8 A100 in fp16, dropout, scores in memory.
TEST(MeasuredKernelsTest, LayersOf22BillionParameters) {
  const std::vector<MeasuredLayer> layers{{"false", "none", 7.7e-3, 11.9e-3},
                                          {"true", "none", 7.2e-3, 11.8e-3},
                                          {"false", "full", 7.7e-3, 19.5e-3},
                                          {"false", "selective", 7.7e-3, 13.2e-3},
                                          {"true", "selective", 7.2e-3, 13.1e-3}};
  double sum = 0;
  for (const auto& [sequence_parallel, recompute, forward, backward] : layers) {
    const auto ends = [&, sp = sequence_parallel, again = recompute](const std::string& count) {
      const test::OneRank rank(
          "small.yaml",
          {{"model", "{layers: " + count +
                         ", d_model: 6144, d_ff: 24576, heads: 64, vocabulary: 0, mlp: plain, norm: layer_norm}"},
           {"cluster", "a100:1"},
           {"mesh", "{}"},
           {"parallel", "{tensor: 8, sequence_parallel: " + sp + "}"},
           {"batch", "{sequences: 4, sequence_length: 2048}"},
           {"model_of_time", "calibrated"},
           {"training",
            "{precision: fp16, master_weights: true, attention: unfused, dropout: true, recompute: " + again + "}"}});
      return std::pair{rank.ends_of(workloads::StepPass::forward).back().value(),
                       rank.ends_of(workloads::StepPass::backward).back().value()};
    };
    const auto one = ends("1"), two = ends("2");
    const double forward_error = (two.first - one.first) / forward - 1;
    const double backward_error = (two.second - two.first - (one.second - one.first)) / backward - 1;
    for (const double error : {forward_error, backward_error}) {
      EXPECT_LT(std::abs(error), 0.1) << recompute << " " << error;
      sum += std::abs(error);
    }
  }
  EXPECT_LT(sum / 10, 0.08);
}

}  // namespace
}  // namespace lockstep
