#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/roofline/book_chips.hpp"

namespace lockstep {
namespace {

using test::v5p;

// alpha = C / W = 4.59e14 / (2 x 9e10) = 2550 FLOPs a byte.
TEST(ChipBalanceTest, V5pComputes2550FlopsInTheTimeOfAByte) {
  EXPECT_DOUBLE_EQ(v5p().flops.value(), 4.59e14);
  EXPECT_DOUBLE_EQ(v5p().axis.value(), 1.8e11);
  EXPECT_NEAR(v5p().intensity(), 2550, 1e-9);
}

// W counts both directions of one axis, so it is twice the one-way link, and a chip without a torus has none.
TEST(ChipBalanceTest, AChipWithoutATorusHasNoAxis) {
  topologies::Chip chip;
  chip.peak[topologies::Precision::bf16] = FlopsPerSecond(1e15);
  EXPECT_DOUBLE_EQ(roofline::balance_of(chip, topologies::Precision::bf16).flops.value(), 1e15);
  EXPECT_DOUBLE_EQ(roofline::balance_of(chip, topologies::Precision::bf16).axis.value(), 0);
}

// int8 doubles the peak (9.18e14), and with it the tokens needed.
TEST(ChipBalanceTest, FollowsThePrecision) {
  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies" / "catalog", "tpu-v5p", problems);
  EXPECT_NEAR(roofline::balance_of(chip, topologies::Precision::int8).intensity(), 5100, 1e-9);
}

// DP and FSDP hide when B/X > C / (W M_X): 2550 tokens a chip on one axis, 1275 on two, 850 on three.
TEST(FsdpThresholdTest, DividesByTheAxesItSpans) {
  EXPECT_NEAR(fsdp_threshold(v5p(), 1), 2550, 1e-9);
  EXPECT_NEAR(fsdp_threshold(v5p(), 2), 1275, 1e-9);
  EXPECT_NEAR(fsdp_threshold(v5p(), 3), 850, 1e-9);
}

// A whole v5p pod: 850 x 8960 = 7.616e6 tokens a step.
TEST(FsdpThresholdTest, AWholePodNeedsSevenAndAHalfMillionTokens) {
  EXPECT_NEAR(fsdp_threshold(v5p(), 3) * test::v5p_pod, 7.6e6, 0.02e6);
}

// TP hides while Y < M_Y F / alpha: 28672 / 2550 = 11.24, 50000 / 2550 = 19.6; no batch in it.
TEST(TensorLimitTest, GrowsWithTheWidthAndTheAxes) {
  EXPECT_NEAR(tensor_limit(v5p(), 28672, 1), 11.2, 0.05);
  EXPECT_NEAR(tensor_limit(v5p(), 50000, 1), 19.6, 0.05);
  EXPECT_DOUBLE_EQ(tensor_limit(v5p(), 28672, 2), 2 * tensor_limit(v5p(), 28672, 1));
}

// LLaMA-3 70B: the largest power of two below 28672 / 2550 = 11.2 is 8 on one axis, below 2 x 11.2 = 22.5 it is 16.
TEST(TensorLimitTest, OfLlama3IsEightWaysOnOneAxisAndSixteenOnTwo) {
  const auto ways = [](int axes) {
    return std::exp2(std::floor(std::log2(tensor_limit(v5p(), test::llama3_70b_ff, axes))));
  };
  EXPECT_EQ(ways(1), 8);
  EXPECT_EQ(ways(2), 16);
}

// X_opt = sqrt(B/F M_X/M_Y N) = sqrt(49152/32768 x 2 x 64) = sqrt(192) = 13.86; the nearest split of 64 is 16 x 4.
TEST(BestFsdpSizeTest, Of64Chips) {
  const double best = roofline::best_fsdp_size({49152, 1, 32768}, 64, 2, 1);
  EXPECT_NEAR(best, std::sqrt(192.0), 1e-9);
  EXPECT_NEAR(best, 13.9, 0.05);
  const auto plan = roofline::nearest_plan(best, 64);
  EXPECT_EQ(plan.fsdp, 16);
  EXPECT_EQ(plan.tensor, 4);
}

// B/N > alpha^2 / (M_X M_Y F) = 2550^2 / (2 x 32768) = 99.2.
TEST(MixedThresholdTest, NeedsATenthOfFsdpAlone) { EXPECT_NEAR(mixed_threshold(v5p(), 32768, 2, 1), 99.2, 0.05); }

// LLaMA-3 70B, B = 4.19e6, N = 8960: X_opt = sqrt(4.19e6/28672 x 2 x 8960) = 1618. A power of two near it is
// 2048 x 4; 8960 = 2^8 x 5 x 7 chips hold TP 4, which leaves FSDP 2240.
TEST(BestFsdpSizeTest, OfLlama3OnAPod) {
  const double best = roofline::best_fsdp_size({4.19e6, 8192, test::llama3_70b_ff}, test::v5p_pod, 2, 1);
  EXPECT_NEAR(best, 1618, 1);
  EXPECT_EQ(std::exp2(std::ceil(std::log2(best))), 2048);
  const auto plan = roofline::nearest_plan(best, 8960);
  EXPECT_EQ(plan.tensor, 4);
  EXPECT_EQ(plan.fsdp, 2240);
}

// LLaMA-2 13B, 3e6 tokens on 16x16x16: 732 tokens a chip; FSDP needs 850; FSDP + TP 2550^2/(2 x 13824) = 235;
// X_opt = sqrt(3e6/13824 x 2 x 4096) = 1333, so 1024 x 4.
TEST(BestFsdpSizeTest, OfLlama2OnFourThousandChips) {
  const double tokens_per_chip = 3e6 / 4096;
  EXPECT_NEAR(tokens_per_chip, 732, 0.5);
  EXPECT_LT(tokens_per_chip, fsdp_threshold(v5p(), 3));
  EXPECT_NEAR(mixed_threshold(v5p(), 13824, 2, 1), 235, 0.5);
  EXPECT_GT(tokens_per_chip, mixed_threshold(v5p(), 13824, 2, 1));
  const double best = roofline::best_fsdp_size({3e6, 5120, 13824}, 4096, 2, 1);
  EXPECT_NEAR(best, 1333, 1);
  const auto plan = roofline::nearest_plan(best, 4096);
  EXPECT_EQ(plan.fsdp, 1024);
  EXPECT_EQ(plan.tensor, 4);
}

// 6 x tokens x parameters / (chips x C x MFU) = 6 x 3e6 x 13e9 / (4096 x 4.59e14 x 0.4) = 0.311 s.
TEST(StepTimeTest, OfLlama2AtFortyPercent) {
  EXPECT_NEAR(6 * 3e6 * 13e9 / (4096 * v5p().flops.value() * 0.4), 0.31, 0.005);
}

// Tokens of a slice > C / W_dcn: 4.46e14 / 6.25e9 = 71,360; with the catalog's 4.59e14, 73,440.
TEST(DcnThresholdTest, IsSeventyThousandTokensASlice) {
  EXPECT_DOUBLE_EQ(roofline::dcn_threshold(FlopsPerSecond(4.46e14), BytesPerSecond(6.25e9)), 71360);
  EXPECT_DOUBLE_EQ(roofline::dcn_threshold(v5p().flops, BytesPerSecond(6.25e9)), 73440);
}

// A host's 25 GB/s over its 2x2x1 chips is the 6.25e9 B/s of the formula.
TEST(DcnThresholdTest, TheCatalogGivesTheSameShareOfAHost) {
  Problems problems;
  const auto chip = topologies::load_chip(scenario::data_root() / "topologies" / "catalog", "tpu-v5p", problems);
  ASSERT_TRUE(chip.torus && chip.dcn_per_host);
  double chips_of_host = 1;
  for (const int size : chip.torus->host) chips_of_host *= size;
  EXPECT_DOUBLE_EQ(chip.dcn_per_host->value() / chips_of_host, 6.25e9);
}

// A wish outside the range is clamped; only powers of two that divide the chips are named.
TEST(NearestPlanTest, StaysInsideTheChips) {
  EXPECT_EQ(roofline::nearest_plan(1e9, 64).tensor, 1);
  EXPECT_EQ(roofline::nearest_plan(1e-9, 64).tensor, 64);
  EXPECT_EQ(roofline::nearest_plan(3, 12).tensor, 4);  // 12 / 3
  EXPECT_EQ(roofline::nearest_plan(1, 12).tensor, 4);  // 8 does not divide 12
  EXPECT_EQ(roofline::nearest_plan(1, 7).tensor, 1);   // odd: no TP at all
}

}  // namespace
}  // namespace lockstep
