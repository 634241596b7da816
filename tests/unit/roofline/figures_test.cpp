// The facts that the book's two figures show, from the closed forms that draw them.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/roofline/book_chips.hpp"

namespace lockstep {
namespace {

using test::v5p;

/// Figure 1: math time over communication time against tokens per chip, v5p 4x4x4, F = 30,000.
struct Cube {
  static constexpr double chips = 64;
  static roofline::LayerShape layer(double tokens_per_chip) { return {tokens_per_chip * chips, 8192, 30000}; }
  static double fsdp(double tokens_per_chip) {
    return math_time(v5p(), layer(tokens_per_chip), chips) / fsdp_time(v5p(), layer(tokens_per_chip), 1, 3);
  }
  static double tensor(double tokens_per_chip) {
    return math_time(v5p(), layer(tokens_per_chip), chips) / tensor_time(v5p(), layer(tokens_per_chip), 1, 3);
  }
  static double mixed(double tokens_per_chip) { return mixed_ratio(v5p(), layer(tokens_per_chip), chips, 2, 1); }
};

double log_slope(double (*curve)(double), double from, double to) {
  return std::log(curve(to) / curve(from)) / std::log(to / from);
}

// TP does not depend on the batch: F M / (alpha N) = 30000 x 3 / (2550 x 64) = 0.551, below 1 everywhere.
TEST(RatioFigure, TensorParallelIsFlat) {
  for (const double b : {10.0, 100.0, 1000.0, 1e4}) EXPECT_NEAR(Cube::tensor(b), 30000.0 * 3 / (2550 * 64), 1e-12);
}

TEST(RatioFigure, FsdpHasSlopeOneAndMixedOneHalf) {
  for (const double b : {10.0, 300.0, 5000.0}) {
    EXPECT_NEAR(log_slope(Cube::fsdp, b, 2 * b), 1, 1e-9);
    EXPECT_NEAR(log_slope(Cube::mixed, b, 2 * b), 0.5, 1e-9);
  }
}

// Mixed crosses 1 at alpha^2 / (2 F) = 108, FSDP at 850; between them only mixed hides its communication.
TEST(RatioFigure, OnlyMixedHidesBetweenAHundredAnd850) {
  EXPECT_NEAR(Cube::mixed(2550.0 * 2550 / 60000), 1, 1e-12);
  EXPECT_NEAR(Cube::fsdp(850), 1, 1e-12);
  for (const double b : {110.0, 200.0, 400.0, 849.0}) {
    EXPECT_GT(Cube::mixed(b), 1) << b;
    EXPECT_LT(Cube::fsdp(b), 1) << b;
    EXPECT_LT(Cube::tensor(b), 1) << b;
  }
  EXPECT_LT(Cube::mixed(100), 1);
  EXPECT_GT(Cube::fsdp(851), 1);
}

/// Figure 2: times against the batch, 16x16x16, D = 8192, F = 32768.
constexpr double chips = 4096;
roofline::LayerShape batch_of(double tokens) { return {tokens, 8192, 32768}; }
Seconds mixed_time(double tokens) {
  const double best = best_fsdp_size(batch_of(tokens), chips, 2, 1);
  return tensor_time(v5p(), batch_of(tokens), best, 1);
}

// The math line meets the mixed curve at B = N alpha^2 / (2 F) = 4096 x 2550^2 / 65536 = 406,406.
TEST(TimeFigure, MathMeetsMixedNearFourHundredThousandTokens) {
  const double meeting = chips * 2550 * 2550 / (2 * 32768);
  EXPECT_NEAR(meeting, 4e5, 0.1e5);
  EXPECT_NEAR(math_time(v5p(), batch_of(meeting), chips) / mixed_time(meeting), 1, 1e-12);
  EXPECT_LT(math_time(v5p(), batch_of(meeting / 2), chips), mixed_time(meeting / 2));
  EXPECT_GT(math_time(v5p(), batch_of(meeting * 2), chips), mixed_time(meeting * 2));
}

// At 2.6e5 tokens X_opt = sqrt(2.6e5/32768 x 2 x 4096) = 256: FSDP 256 x TP 16.
TEST(TimeFigure, AtSmallBatchTheOptimumIs256By16) {
  const auto plan = roofline::nearest_plan(best_fsdp_size(batch_of(262144), chips, 2, 1), 4096);
  EXPECT_EQ(plan.fsdp, 256);
  EXPECT_EQ(plan.tensor, 16);
}

}  // namespace
}  // namespace lockstep
