// The times of one layer and the thresholds say the same thing: at a threshold two times are equal.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/roofline/book_chips.hpp"

namespace lockstep {
namespace {

using test::v5p;

constexpr double chips = 4096;
constexpr double wide = 32768;

// T_math = 4 B D F / (N C), T_fsdp = 4 D F / (Y W M_X), T_tp = 4 B D / (X W M_Y) on the book's numbers:
// B = 2^20, D = 8192, F = 32768, N = 4096, Y = 16, X = 256.
TEST(LayerTimes, ByHand) {
  const roofline::LayerShape layer{1048576, 8192, wide};
  EXPECT_DOUBLE_EQ(math_time(v5p(), layer, chips).value(), 4.0 * 1048576 * 8192 * 32768 / (4096 * 4.59e14));
  EXPECT_DOUBLE_EQ(fsdp_time(v5p(), layer, 16, 2).value(), 4.0 * 8192 * 32768 / (16 * 1.8e11 * 2));
  EXPECT_DOUBLE_EQ(tensor_time(v5p(), layer, 256, 1).value(), 4.0 * 1048576 * 8192 / (256 * 1.8e11));
}

// FSDP alone (Y = 1): at B/N = C/(W M) the layer computes as long as it gathers, whatever D and F.
TEST(LayerTimes, MeetAtTheFsdpThreshold) {
  for (const int axes : {1, 2, 3}) {
    const roofline::LayerShape layer{fsdp_threshold(v5p(), axes) * chips, 6144, 21000};
    EXPECT_NEAR(math_time(v5p(), layer, chips) / fsdp_time(v5p(), layer, 1, axes), 1, 1e-12);
  }
}

// TP alone (X = 1): at Y = M F W / C all chips of one group, for any batch.
TEST(LayerTimes, MeetAtTheTensorLimit) {
  for (const double tokens : {1e3, 1e6}) {
    const double size = tensor_limit(v5p(), wide, 2);
    const roofline::LayerShape layer{tokens, 8192, wide};
    EXPECT_NEAR(math_time(v5p(), layer, size) / tensor_time(v5p(), layer, 1, 2), 1, 1e-12);
  }
}

// At X_opt both communications take the same time, and any other X makes the longer of them longer.
TEST(LayerTimes, XOptBalancesBothCommunications) {
  const roofline::LayerShape layer{5e5, 8192, wide};
  auto longer = [&](double fsdp) {
    return std::max(fsdp_time(v5p(), layer, chips / fsdp, 2), tensor_time(v5p(), layer, fsdp, 1));
  };
  const double best = best_fsdp_size(layer, chips, 2, 1);
  EXPECT_NEAR(fsdp_time(v5p(), layer, chips / best, 2) / tensor_time(v5p(), layer, best, 1), 1, 1e-12);
  for (const double factor : {0.5, 0.9, 1.1, 2.0}) EXPECT_GT(longer(best * factor), longer(best) * 1.05);
}

// T_math / T_comms = sqrt(B F M_X M_Y) / (alpha sqrt N) is what the two times give at X_opt.
TEST(LayerTimes, TheMixedRatioIsThatOfTheTimes) {
  for (const double tokens : {1e5, 1e6, 1e7}) {
    const roofline::LayerShape layer{tokens, 8192, wide};
    const auto comms = fsdp_time(v5p(), layer, chips / best_fsdp_size(layer, chips, 2, 1), 2);
    EXPECT_NEAR(mixed_ratio(v5p(), layer, chips, 2, 1), math_time(v5p(), layer, chips) / comms, 1e-12 * tokens);
  }
}

}  // namespace
}  // namespace lockstep
