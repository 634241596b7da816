// The book's two figures. With B tokens over N chips: T_math = 4 B D F / (N C), FSDP over all M axes 4 D F / (W M),
// tensor parallelism 4 B D / (W M): T_math / T_comms grows with B/N for FSDP, not at all for TP, and with its root for
// both at the best split.
#include "tools/output/studies/roofline_plots.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

/// C = 1e14 FLOP/s, W = 1e11 B/s: alpha = 1000. 64 chips, two axes for FSDP, one for TP.
roofline::RooflineStudy study() {
  roofline::RooflineStudy made;
  made.balance = {FlopsPerSecond(1e14), BytesPerSecond(1e11)};
  made.layer = {0, 8192, 32768};
  made.chips = 64;
  made.fsdp_axes = 2;
  made.tensor_axes = 1;
  return made;
}

const output::PlotLine& line(const output::LinePlot& plot, const std::string& name) {
  for (const auto& one : plot.lines) {
    if (one.name == name) return one;
  }
  throw std::out_of_range(name);
}

double slope(const output::PlotLine& line, std::size_t from, std::size_t to) {
  return std::log(line.points[to].second / line.points[from].second) /
         std::log(line.points[to].first / line.points[from].first);
}

// FSDP: B/N M / alpha = B/N x 3 / 1000. TP: F M / (alpha N) = 32768 x 3 / 64000 = 1.536.
TEST(RatioPlot, SlopesOfOneNoneAndAHalf) {
  const auto plot = output::ratio_plot(study());
  const auto &fsdp = line(plot, "FSDP"), &tensor = line(plot, "tensor parallel"), &mixed = line(plot, "FSDP + TP");
  for (const auto& [tokens, ratio] : fsdp.points) EXPECT_NEAR(ratio, tokens * 3 / 1000, 1e-9 * ratio);
  for (const auto& [tokens, ratio] : tensor.points) EXPECT_NEAR(ratio, 32768 * 3 / 64000.0, 1e-9);
  // X_opt = sqrt(B/F M_X/M_Y N) = sqrt(B/N / 4) is between 1 and 64 from 4 tokens a chip to 16384.
  EXPECT_NEAR(slope(mixed, 5, 30), 0.5, 1e-9);
  EXPECT_NEAR(mixed.points[20].second, std::sqrt(mixed.points[20].first * 64 * 32768 * 2) / (1000 * 8), 1e-9);
  for (const auto& [tokens, ratio] : line(plot, "compute-bound above").points) EXPECT_EQ(ratio, 1);
}

// From 10 to 10,000 tokens a chip, three decades of twenty points each.
TEST(RatioPlot, CoversThreeDecades) {
  const auto plot = output::ratio_plot(study());
  const auto& points = line(plot, "FSDP").points;
  ASSERT_EQ(points.size(), 61U);
  EXPECT_NEAR(points.front().first, 10, 1e-9);
  EXPECT_NEAR(points.back().first, 10000, 1e-6);
}

// In ms: math 4 B D F / (N C), FSDP 4 D F / (3 W) whatever the batch, TP 4 B D / (3 W).
TEST(TimesPlot, TimesOfOneLayer) {
  const auto plot = output::times_plot(study());
  const double D = 8192, F = 32768;
  for (const auto& [tokens, ms] : line(plot, "math").points)
    EXPECT_NEAR(ms, 4e3 * tokens * D * F / (64 * 1e14), 1e-9 * ms);
  for (const auto& [tokens, ms] : line(plot, "FSDP").points) EXPECT_NEAR(ms, 4e3 * D * F / 3e11, 1e-9 * ms);
  for (const auto& [tokens, ms] : line(plot, "tensor parallel").points)
    EXPECT_NEAR(ms, 4e3 * tokens * D / 3e11, 1e-9 * ms);
  EXPECT_NEAR(line(plot, "math").points.front().first, 640, 1e-9);
}

// Where the best FSDP size would be more than the chips, all of them do FSDP and none TP.
TEST(TimesPlot, TheBestSplitStaysWithinTheChips) {
  auto narrow = study();
  narrow.layer.d_ff = 16;
  const auto plot = output::times_plot(narrow);
  const auto& mixed = line(plot, "FSDP + TP").points.back();
  // X = 64: FSDP alone over its two axes takes 4 D F / (2 W); TP of one chip is not told from the rest of its formula.
  EXPECT_NEAR(mixed.second, 1e3 * std::max(4 * 8192.0 * 16 / 2e11, 4 * mixed.first * 8192 / (64 * 1e11)),
              1e-9 * mixed.second);
}

TEST(PlanText, NamesWhatIsSplit) {
  EXPECT_EQ(output::plan_text({64, 1}), "FSDP 64");
  EXPECT_EQ(output::plan_text({1, 8}), "TP 8");
  EXPECT_EQ(output::plan_text({16, 4}), "FSDP 16 x TP 4");
}

}  // namespace
}  // namespace lockstep
