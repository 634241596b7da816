// Leave one table out: e + c x + m y of rows with log errors e and responses c, m; x, y least squares over the other
// tables.
#include "sim/studies/validation/leave_one_out.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace lockstep {
namespace {

validation::ValidatedRun row(const std::string& table, double log_error, validation::Response response,
                             const std::string& chip = "c") {
  validation::ValidatedRun run;
  run.run.table = table;
  run.traits.chip = chip;
  run.response = response;
  run.measured_s = 1;
  run.predicted_s = std::exp(log_error);
  return run;
}

// Tables a and b want matrix units 10 % and 20 % faster (response -1), so without b the scale is 1.1 and b keeps 0.1 of
// its log error; with both, the mean 0.15 leaves 0.05 to each. The little that holds scales in place moves this by a
// thousandth.
TEST(LeaveOneOut, TheOthersDecide) {
  const auto made = validation::leave_one_out({row("a", 0.1, {-1, 0}), row("b", 0.2, {-1, 0}), row("b", 0.2, {-1, 0})});
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[1].table, "b");
  EXPECT_NEAR(made[1].as_is.mean_abs, std::exp(0.2) - 1, 1e-12);
  EXPECT_NEAR(made[1].left_out.mean_abs, std::exp(0.1) - 1, 1e-3);
  EXPECT_NEAR(made[1].fitted.mean_abs, std::exp(0.05) - 1, 1e-3);
  EXPECT_NEAR(made[1].compute, std::exp(0.1), 1e-3);
  EXPECT_DOUBLE_EQ(made[1].memory, 1);
}

// Two rows that respond to either alone give both scales.
TEST(LeaveOneOut, ScalesOfTheMatrixUnitAndOfMemory) {
  const auto made =
      validation::leave_one_out({row("a", -0.1, {-1, 0}), row("a", 0.3, {0, -1}), row("b", 0, {-0.5, -0.5})});
  EXPECT_NEAR(made[1].compute, std::exp(-0.1), 1e-3);
  EXPECT_NEAR(made[1].memory, std::exp(0.3), 1e-3);
}

TEST(LeaveOneOut, AChipWithOneTableHasNothingToLeaveOut) {
  EXPECT_TRUE(validation::leave_one_out({row("a", 0.1, {-1, 0}), row("b", 0.1, {-1, 0}, "other")}).empty());
}

}  // namespace
}  // namespace lockstep
