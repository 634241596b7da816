// ZeRO on P = 7.5e9 parameters and n = 64 devices; 2 bytes of weights, 2 of gradients, 12 of optimizer state
// (fp32 master weights and two Adam moments) a parameter:
//   stage 0  16 P              120   GB
//   stage 1   4 P + 12 P / n    31.4 GB
//   stage 2   2 P + 14 P / n    16.6 GB
//   stage 3       16 P / n       1.9 GB
#include <gtest/gtest.h>

#include "tests/unit/memory/memory_over_time.hpp"

namespace lockstep {
namespace {

using test::OneRank;

constexpr double parameters = 7.5e9;
constexpr double devices = 64;

struct Held {
  double weights, gradients, optimizer;
  [[nodiscard]] double total() const { return weights + gradients + optimizer; }
};

Held at_stage(int zero) {
  const OneRank rank("validation_zero.yaml", {{"parallel.zero", std::to_string(zero)}});
  EXPECT_EQ(rank.step().parameters, static_cast<std::int64_t>(parameters));
  return {static_cast<double>(rank.step().held[0].weights.value()),
          static_cast<double>(rank.accumulated_gradients().value()),
          static_cast<double>(rank.step().held[0].optimizer.value())};
}

TEST(ZeroTest, Stage0KeepsEverything) {
  const auto held = at_stage(0);
  EXPECT_DOUBLE_EQ(held.weights, 2 * parameters);
  EXPECT_DOUBLE_EQ(held.gradients, 2 * parameters);
  EXPECT_DOUBLE_EQ(held.optimizer, 12 * parameters);
  EXPECT_NEAR(held.total(), 120e9, 0.05e9);
}

TEST(ZeroTest, Stage1SplitsTheOptimizerState) {
  const auto held = at_stage(1);
  EXPECT_DOUBLE_EQ(held.weights, 2 * parameters);
  EXPECT_DOUBLE_EQ(held.gradients, 2 * parameters);
  EXPECT_DOUBLE_EQ(held.optimizer, 12 * parameters / devices);
  EXPECT_NEAR(held.total(), 31.4e9, 0.05e9);
}

TEST(ZeroTest, Stage2SplitsGradientsToo) {
  const auto held = at_stage(2);
  EXPECT_DOUBLE_EQ(held.weights, 2 * parameters);
  EXPECT_DOUBLE_EQ(held.gradients, 2 * parameters / devices);
  EXPECT_DOUBLE_EQ(held.optimizer, 12 * parameters / devices);
  EXPECT_NEAR(held.total(), 16.6e9, 0.05e9);
}

TEST(ZeroTest, Stage3SplitsWeightsToo) {
  const auto held = at_stage(3);
  EXPECT_DOUBLE_EQ(held.weights, 2 * parameters / devices);
  EXPECT_DOUBLE_EQ(held.gradients, 2 * parameters / devices);
  EXPECT_DOUBLE_EQ(held.optimizer, 12 * parameters / devices);
  EXPECT_NEAR(held.total(), 1.9e9, 0.05e9);
}

// FSDP is stage 3 under another name.
TEST(ZeroTest, FsdpIsStage3) {
  const OneRank fsdp("validation_zero.yaml", {{"mesh", "{fsdp: rest}"}, {"parallel", "{fsdp: 64}"}});
  const auto held = at_stage(3);
  EXPECT_DOUBLE_EQ(static_cast<double>(fsdp.step().held[0].weights.value()), held.weights);
  EXPECT_DOUBLE_EQ(static_cast<double>(fsdp.accumulated_gradients().value()), held.gradients);
  EXPECT_DOUBLE_EQ(static_cast<double>(fsdp.step().held[0].optimizer.value()), held.optimizer);
}

// The peak is never less than what is held throughout plus the accumulated gradients, which meet at the update.
TEST(ZeroTest, ThePeakHoldsAllThree) {
  for (const char* zero : {"0", "1", "2", "3"}) {
    const OneRank rank("validation_zero.yaml", {{"parallel.zero", zero}});
    EXPECT_GE(rank.memory.peak,
              rank.step().held[0].weights + rank.step().held[0].optimizer + rank.accumulated_gradients())
        << zero;
  }
}

}  // namespace
}  // namespace lockstep
