#include <gtest/gtest.h>

#include <cmath>

#include "sim/studies/validation/validate.hpp"

namespace lockstep {
namespace {

// Errors -10 %, +20 %, +30 %, -40 %: mean of sizes 25 %, median between 20 and 30, bias 0, largest 40.
TEST(ErrorStatistics, OfFourErrors) {
  const auto made = validation::statistics_of({-0.1, 0.2, 0.3, -0.4});
  EXPECT_EQ(made.rows, 4U);
  EXPECT_DOUBLE_EQ(made.mean_abs, 0.25);
  EXPECT_DOUBLE_EQ(made.median_abs, 0.25);
  EXPECT_NEAR(made.bias, 0, 1e-15);
  EXPECT_DOUBLE_EQ(made.max_abs, 0.4);
  EXPECT_EQ(validation::statistics_of({}).rows, 0U);
}

// rho = 1 - 6 sum d^2 / (n (n^2 - 1)). Ranks 1 2 3 4 against 1 3 2 4: d^2 sums to 2, rho = 1 - 12 / 60 = 0.8.
TEST(Spearman, ByItsFormula) {
  EXPECT_NEAR(validation::spearman({1, 2, 3, 4}, {10, 30, 20, 40}).value(), 0.8, 1e-12);
  EXPECT_NEAR(validation::spearman({1, 2, 3}, {9, 8, 7}).value(), -1, 1e-12);
}

// Ties share their mean rank: 1, 2.5, 2.5, 4 against 1, 2, 3, 4 gives Pearson 4.5 / sqrt(4.5 x 5).
TEST(Spearman, TiesShareARank) {
  EXPECT_NEAR(validation::spearman({5, 6, 6, 7}, {1, 2, 3, 4}).value(), std::sqrt(0.9), 1e-12);
  EXPECT_FALSE(validation::spearman({1, 1, 1}, {1, 2, 3}));
  EXPECT_FALSE(validation::spearman({1, 2}, {1, 2}));
}

validation::ValidatedRun row(const std::string& family, double measured, double predicted) {
  validation::ValidatedRun run;
  run.run.table = "t";
  run.run.family = family;
  run.measured_s = measured;
  run.predicted_s = predicted;
  return run;
}

// Ranks are compared within a model only: each is in order, though over both models together they are not.
TEST(Families, RanksWithinAModel) {
  auto skipped = row("a", 0, 0);
  skipped.run.skipped_because = "because";
  const auto families = validation::families_of(
      {row("a", 1, 10), row("a", 2, 20), row("b", 4, 4), row("a", 3, 30), row("b", 5, 5), row("b", 6, 6), skipped});
  ASSERT_EQ(families.size(), 3U);
  EXPECT_EQ(families[0].name, "");
  EXPECT_EQ(families[0].time.rows, 6U);
  EXPECT_EQ(families[0].skipped, 1U);
  EXPECT_DOUBLE_EQ(families[0].spearman.value(), 1);
  EXPECT_DOUBLE_EQ(families[0].time.bias, 4.5);  // three rows at 10 times, three exact
  EXPECT_EQ(families[1].name, "a");
  EXPECT_DOUBLE_EQ(families[1].time.mean_abs, 9);
  EXPECT_DOUBLE_EQ(families[2].time.mean_abs, 0);
}

}  // namespace
}  // namespace lockstep
