// For every kernel, on every chip of the catalog that has kernels: ideal <= roofline <= calibrated, and more of m, n or
// k never takes less time.
#include <gtest/gtest.h>

#include "sim/cost/time_model.hpp"
#include "sim/scenario/scenario.hpp"

namespace lockstep {
namespace {

std::vector<topologies::Chip> calibrated_chips() {
  std::vector<topologies::Chip> chips;
  const auto catalog = scenario::data_root() / "topologies/catalog";
  for (const auto& name : topologies::chip_names(catalog)) {
    Problems problems;
    auto chip = topologies::load_chip(catalog, name, problems);
    if (chip.kernels) chips.push_back(std::move(chip));
  }
  return chips;
}

cost::ComputeRates rates(const topologies::Chip& chip, cost::TimeModel model) {
  const auto peak = *chip.peak_for(topologies::Precision::bf16);
  const double share = chip.kernels->matrix.at(topologies::Precision::bf16) * chip.kernels->sustained;
  return {model, peak, peak, chip.memory_bandwidth,
          cost::KernelRates{peak * share, peak * share, chip.memory_bandwidth * chip.kernels->memory, *chip.kernels}};
}

workloads::Kernel product(const workloads::KernelShape& shape) {
  const auto& [batch, m, n, k, causal, backward, fused, counted, dropout] = shape;
  return {workloads::ComputeWork::product, Flops(2.0 * static_cast<double>(batch * m * n * k)),
          Bytes(2 * batch * (m * n + m * k + k * n)), shape};
}

workloads::Kernel attention(const workloads::KernelShape& shape) {
  const auto& [batch, m, n, k, causal, backward, fused, counted, dropout] = shape;
  const double all = 4.0 * static_cast<double>(batch * m * n * k) * (backward ? 2 : 1);
  return {workloads::ComputeWork::attention, Flops(causal ? all / 2 : all),
          Bytes(2 * batch * (m * n + k * n) * 2 + (fused ? 0 : 10 * batch * m * k)), shape};
}

class KernelBoundsTest : public ::testing::TestWithParam<std::int64_t> {
 protected:
  static void expect_bounds(const topologies::Chip& chip, const workloads::Kernel& kernel) {
    const auto time = [&](cost::TimeModel model) { return compute_time(rates(chip, model), kernel).value(); };
    EXPECT_LE(time(cost::TimeModel::ideal), time(cost::TimeModel::roofline));
    EXPECT_LE(time(cost::TimeModel::roofline), time(cost::TimeModel::calibrated))
        << chip.name << " m " << kernel.shape.m << " n " << kernel.shape.n;
  }
};

TEST_P(KernelBoundsTest, OfProductsAndAttention) {
  const auto chips = calibrated_chips();
  ASSERT_GE(chips.size(), 6U);
  for (const auto& chip : chips) {
    const auto calibrated = rates(chip, cost::TimeModel::calibrated);
    for (const std::int64_t n : {1, 64, 100, 1000, 4096, 28672}) {
      for (const std::int64_t k : {16, 128, 1000, 8192}) {
        const workloads::KernelShape shape{3, GetParam(), n, k};
        expect_bounds(chip, product(shape));
        const auto time = compute_time(calibrated, product(shape));
        for (auto wider :
             {workloads::KernelShape{3, GetParam() + 37, n, k}, workloads::KernelShape{3, GetParam(), n + 37, k},
              workloads::KernelShape{3, GetParam(), n, k + 37}, workloads::KernelShape{4, GetParam(), n, k}}) {
          EXPECT_LE(time.value(), compute_time(calibrated, product(wider)).value() * (1 + 1e-12))
              << chip.name << " " << GetParam() << " x " << n << " x " << k;
        }
      }
    }
    for (const bool backward : {false, true}) {
      for (const bool causal : {false, true}) {
        for (const std::int64_t head : {64, 128, 192}) {
          for (const bool fused : {false, true})
            expect_bounds(chip, attention({32, GetParam(), head, GetParam(), causal, backward, fused}));
        }
      }
    }
    expect_bounds(chip, {workloads::ComputeWork::memory, Flops(0), Bytes(GetParam() * 1000)});
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, KernelBoundsTest, ::testing::Values(1, 127, 128, 2048, 5000, 16384));

}  // namespace
}  // namespace lockstep
