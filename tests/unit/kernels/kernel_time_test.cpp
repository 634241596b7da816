// Each term of docs/models/kernels.md on a chip of round numbers: 1e12 FLOP/s and 1e9 B/s that kernels reach.
#include "sim/cost/kernel_time.hpp"

#include <gtest/gtest.h>

namespace lockstep {
namespace {

cost::KernelRates plain() {
  cost::KernelRates rates{FlopsPerSecond(2e12), FlopsPerSecond(1e12), BytesPerSecond(1e9), {}};
  rates.chip.units = 100;
  return rates;
}

topologies::ChipKernels with_systolic(int side) {
  topologies::ChipKernels chip;
  chip.systolic = side;
  return chip;
}

// time = bytes / M + gap: 5e6 / 1e9 + 1e-3.
TEST(KernelTimeTest, MemoryBoundKernelsMoveTheirBytesAndWaitForTheNextLaunch) {
  auto rates = plain();
  rates.chip.gap = Seconds(1e-3);
  EXPECT_DOUBLE_EQ(kernel_time(rates, {workloads::ComputeWork::memory, Flops(0), Bytes(5'000'000)}).value(), 6e-3);
}

TEST(KernelTimeTest, BookkeepingTakesNoTime) {
  auto rates = plain();
  rates.chip.gap = Seconds(1);
  EXPECT_EQ(kernel_time(rates, {}).value(), 0);
}

// 64 x 64 is one tile of 100 that could run: 100 (64 + e)(64 + e) / 64^2, with e = 16: 156.25.
TEST(KernelTimeTest, OneTileOccupiesOneUnitOfAll) {
  auto chip = plain().chip;
  chip.tile_edge = 16;
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, {1, 64, 64, 512}), 156.25);
}

// 404 x 4 tiles of 64 x 64 are 17 waves of 100 for the work of 16.16; larger tiles waste more here.
TEST(KernelTimeTest, TheLastWaveIsPaidWhole) {
  EXPECT_DOUBLE_EQ(cost::product_overhead(plain().chip, {1, 404 * 64, 256, 512}), 1700.0 / 1616.0);
  EXPECT_DOUBLE_EQ(cost::product_overhead(plain().chip, {1, 400 * 64, 256, 512}), 1);
}

// Experts share their waves: 100 products of one tile each fill one wave, one after the other they would take 100.
TEST(KernelTimeTest, GroupedProductsFillWavesTogether) {
  EXPECT_DOUBLE_EQ(cost::product_overhead(plain().chip, {100, 64, 64, 512}), 1);
  EXPECT_DOUBLE_EQ(cost::product_overhead(plain().chip, {1, 64, 64, 512}), 100);
}

// Large products take the largest tile: (1 + e/256)^2 with e = 8.
TEST(KernelTimeTest, EdgesOfTilesCost) {
  auto chip = plain().chip;
  chip.tile_edge = 8;
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, {1, 256 * 100, 256 * 10, 512}), (264.0 / 256) * (264.0 / 256));
}

// Rows to a multiple of 8, n and k to the side of the matrix unit: 16/9 x 256/130 x 256/200.
TEST(KernelTimeTest, SystolicUnitsPad) {
  EXPECT_DOUBLE_EQ(cost::product_overhead(with_systolic(128), {1, 9, 130, 200}), 16.0 / 9 * 256 / 130 * 256 / 200);
  EXPECT_DOUBLE_EQ(cost::product_overhead(with_systolic(128), {4, 8, 128, 256}), 1);
}

// Tokens of experts in tiles of 512 rows: each expert's 1024 begin somewhere in a tile and run in 1024/512 + 1 on the
// average. In a weight's gradient they are the depth. Equal slots of a capacity are no grouped product.
TEST(KernelTimeTest, TilesThatTwoExpertsShareRunTwice) {
  auto chip = with_systolic(128);
  chip.grouped_tile = 512;
  workloads::KernelShape shape{16, 1024, 2048, 4096};
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, shape), 1);
  shape.counted = workloads::KernelShape::Counted::rows;
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, shape), 1.5);
  shape = {16, 2048, 4096, 1024};
  shape.counted = workloads::KernelShape::Counted::depth;
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, shape), 1.5);
}

// 5e6 B of which 2e6 go to where an index says, at a quarter of 1e9 B/s: 3 ms + 8 ms.
TEST(KernelTimeTest, RowsBehindAnIndexMoveSlower) {
  auto rates = plain();
  rates.chip.indexed = 0.25;
  EXPECT_DOUBLE_EQ(kernel_time(rates, {.traffic = Bytes(5'000'000), .indexed = Bytes(2'000'000)}).value(), 11e-3);
}

// 1 + depth / k = 1.25.
TEST(KernelTimeTest, ShortSumsDoNotFillThePipeline) {
  auto chip = with_systolic(128);
  chip.depth = 64;
  EXPECT_DOUBLE_EQ(cost::product_overhead(chip, {1, 128, 128, 256}), 1.25);
}

// 2e9 FLOPs at 2e12 are 1 ms; 3e6 B are 3 ms; of the shorter, the first 0.25 ms stand alone: 3.25 ms. In 16 bits the
// FLOPs take 2 ms.
TEST(KernelTimeTest, ComputeAndMemoryOverlapButForTheirEnds) {
  auto rates = plain();
  rates.chip.staging = Bytes(250'000);
  workloads::Kernel kernel{workloads::ComputeWork::product, Flops(2e9), Bytes(3'000'000), {}};
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 3.25e-3);
  rates.chip.staging = Bytes(1'000'000'000);
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 4e-3);
  kernel.work = workloads::ComputeWork::head_product;
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 5e-3);
}

// time = max(flops / C, operands / M) + sums / (accumulation x data sheet's bandwidth). 1e6 B of operands take 1 ms of
// 1e9 B/s beside 2 ms of multiplications; 2e6 B of sums follow at 2e9 B/s, or at half of that: 2 + 1 and 2 + 2 ms.
// Without the parameter all 3e6 B move beside the multiplications, 3 ms, and sums at 4e9 B/s are no faster than that.
TEST(KernelTimeTest, ProductsAddTheirResultsAfterMultiplying) {
  auto rates = plain();
  rates.chip.memory = 0.5;
  workloads::Kernel kernel{workloads::ComputeWork::product, Flops(4e9), Bytes(3'000'000), {}};
  kernel.added = Bytes(2'000'000);
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 3e-3);
  rates.chip.accumulation = 1;
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 3e-3);
  rates.chip.accumulation = 0.5;
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 4e-3);
  rates.chip.accumulation = 2;
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 3e-3);
}

// (1 + softmax/h)(1 + block/keys) / share: (1 + 64/128)(1 + 128/1024) / 0.5, and without a mask (1 + 64/128) / 0.5. The
// backward has twice the FLOPs and no more exponentials: (1 + 32/128) / 0.25, and over 0.8 of that share where values
// are not as wide as keys.
TEST(KernelTimeTest, FusedAttentionPaysForSoftmaxAndTheDiagonal) {
  topologies::ChipKernels chip;
  chip.attention.forward = 0.5;
  chip.attention.backward = 0.25;
  chip.attention.softmax = 64;
  chip.attention.block = 128;
  workloads::KernelShape shape{32, 1024, 128, 1024, true};
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 1.5 * 1.125 / 0.5);
  shape.causal = false;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 3);
  shape.backward = true;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 5);
  chip.attention.unlike_heads = 0.8;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 5);
  shape.unlike_heads = true;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 6.25);
  shape.backward = false;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), 3) << "the forward knows no such heads";
}

// clock = (a power + 1 - a)^(-1/1.57), at most that of a benchmark. Of power 0.5: all attention 0.5^(-1/1.57) = 1.555,
// half of the time 0.75^(-1/1.57) = 1.201, none of it 1.
TEST(KernelTimeTest, AttentionRunsAtTheClockOfItsStepsPower) {
  topologies::ChipKernels chip;
  chip.sustained = 0.5;
  chip.attention.power = 0.5;
  EXPECT_NEAR(cost::attention_clock(chip, 1), 1.555, 0.001);
  EXPECT_NEAR(cost::attention_clock(chip, 0.5), 1.201, 0.001);
  EXPECT_DOUBLE_EQ(cost::attention_clock(chip, 0), 1);
  chip.sustained = 0.9;
  EXPECT_DOUBLE_EQ(cost::attention_clock(chip, 1), 1 / 0.9) << "no faster than without a limit";
  chip.attention.power = 1;
  EXPECT_DOUBLE_EQ(cost::attention_clock(chip, 1), 1);
}

/// Of attention over 1,024 keys, at half the rate of products: `random` is what a score's number at random costs.
void expect_overheads(double random, double whole, double with_dropout) {
  topologies::ChipKernels chip;
  chip.attention.random = random;
  chip.attention.forward = 0.5;
  chip.attention.softmax = 64;
  workloads::KernelShape shape{32, 1024, 128, 1024};
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), whole);
  shape.dropout = true;
  EXPECT_DOUBLE_EQ(cost::attention_overhead(chip, shape), with_dropout);
}

// With dropout a score costs its exponential and its random number: (1 + 2 softmax/h) / share = (1 + 128/128) / 0.5.
TEST(KernelTimeTest, DroppedScoresCostTheirSoftmaxTwice) {
  expect_overheads(topologies::AttentionKernels{}.random, 3, 4);
}

// cuDNN of 2024 makes four times as many random numbers as it uses bits of: (1 + (1 + 4) 64/128) / 0.5, and 3 without.
TEST(KernelTimeTest, CudnnOf2024DrawsAWordForEachScore) { expect_overheads(4, 3, 7); }

// Unfused: both products whole, though the mask halves their FLOPs, then the scores' bytes, in four kernels:
// 2 x 2 x 8 x 1024 x 1024 x 128 / 1e12 + 1e6 / 1e9 + 4 x 1e-4. Backward: twice the products in six kernels.
TEST(KernelTimeTest, UnfusedAttentionComputesMaskedScores) {
  auto rates = plain();
  rates.chip.units = 0;
  rates.chip.systolic = 128;
  rates.chip.gap = Seconds(1e-4);
  const double both = 4.0 * 8 * 1024 * 1024 * 128;
  workloads::Kernel kernel{
      workloads::ComputeWork::attention, Flops(both / 2), Bytes(1'000'000), {8, 1024, 128, 1024, true, false, false}};
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), both / 1e12 + 1e-3 + 4e-4);
  kernel.shape.backward = true;
  EXPECT_DOUBLE_EQ(kernel_time(rates, kernel).value(), 2 * both / 1e12 + 1e-3 + 6e-4);
}

// time = flops / C + casts / M + 2 gaps: 2e12 / 2e12 + 3e9 / 1e9 + 2 x 1e-3, on products too large for tiles to matter.
TEST(KernelTimeTest, OperandsOf8BitsAreMadeByAKernelOfTheirOwn) {
  auto rates = plain();
  rates.chip.gap = Seconds(1e-3);
  workloads::Kernel product{
      workloads::ComputeWork::product, Flops(2e12), Bytes(0), {1, 256 * 100, 256, 512}, Bytes(3'000'000'000)};
  EXPECT_NEAR(kernel_time(rates, product).value(), 4.002, 1e-12);
  EXPECT_EQ(cost::launches(rates.chip, product), 2);
  product.casts = Bytes(0);
  EXPECT_NEAR(kernel_time(rates, product).value(), 1.001, 1e-12);
}

// 16 experts of a rank are 16 launches on a GPU, 32 with their casts, and one kernel on a TPU.
TEST(KernelTimeTest, GpusLaunchAKernelForEachExpert) {
  const workloads::Kernel products{workloads::ComputeWork::product, Flops(1), Bytes(1), {16, 64, 64, 512}, Bytes(0)};
  auto cast = products;
  cast.casts = Bytes(1);
  EXPECT_EQ(cost::launches(plain().chip, products), 16);
  EXPECT_EQ(cost::launches(plain().chip, cast), 32);
  EXPECT_EQ(cost::launches(with_systolic(128), products), 1);
  cast.shape.grouped = true;  // one product and one cast for all experts
  EXPECT_EQ(cost::launches(plain().chip, cast), 2);
}

}  // namespace
}  // namespace lockstep
